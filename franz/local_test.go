package franz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainNews is newsSince, by looking at every copy and at the whole report.
func plainNews(l *local, sent assignor.Member, now time.Time) news {
	hot := func(c assignor.Replica) bool { return l.caughtUp(c.Lag) }
	n, fresh := news{leaving: sent.Leaving != !l.leaving.IsZero()}, false
	learners := l.learners(now)
	for _, r := range learners {
		if timeout := l.config.Assignor.LearnerTimeout; timeout > r.For && !hot(r) {
			n.recheck = soonest(n.recheck, timeout-r.For+time.Millisecond)
		}
		said := func(s assignor.Replica) bool { return s.Task == r.Task && hot(s) }
		fresh = fresh || hot(r) && !slices.ContainsFunc(sent.Learners, said)
	}
	n.ready = fresh && l.config.RejoinMode.ShouldRejoin(learners, l.config.Assignor)
	if !fresh || n.ready {
		n.recheck = 0
	}
	for _, task := range l.active {
		said := func(s assignor.Replica) bool { return s.Task == task && !hot(s) }
		n.broken = n.broken || l.held[task].broken && !hot(assignor.Replica{Lag: l.held[task].lag}) && !slices.ContainsFunc(sent.Standbys, said)
	}
	return n
}

// What is counted along the way is what a look at everything finds, whatever happens to a member.
func TestNewsAreCountedRight(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		config := Config{Instance: "a", RejoinMode: assignor.RejoinMode(rnd.IntN(2)), Topology: []Subtopology{{Topics: []string{"x"}}}}
		config.Assignor.AcceptableLag = 10
		config.Assignor.LearnerTimeout = time.Duration(rnd.IntN(2)) * time.Minute
		topology := newTopology(config.Topology)
		l, sent, now := newLocal(&config, &topology), assignor.Member{}, time.Unix(1e9, 0)
		tasks := func() (list []assignor.TaskID) {
			for p := range int32(6) {
				if rnd.IntN(3) == 0 {
					list = append(list, assignor.TaskID{Partition: p})
				}
			}
			return list
		}
		for step := range 60 {
			now = now.Add(time.Duration(rnd.IntN(30)) * time.Second)
			task, lag := assignor.TaskID{Partition: rnd.Int32N(6)}, []int64{-1, 0, 3, 10, 11, 500}[rnd.IntN(6)]
			switch rnd.IntN(12) {
			case 0:
				sent = l.report(l.assigned, now)
			case 1:
				l.lose()
			case 2:
				l.fail(task, lag)
			case 3, 4:
				sent = l.report(l.assigned, now) // every session begins with one
				ma := &assignor.MemberAssignment{Active: tasks(), Learners: tasks(), Standbys: tasks()}
				if rnd.IntN(5) == 0 {
					ma = nil
				}
				assigned := map[string][]int32{}
				for p := range int32(6) {
					if ma != nil && slices.Contains(ma.Active, assignor.TaskID{Partition: p}) {
						assigned["x"] = append(assigned["x"], p)
					}
				}
				l.adopt(assigned, ma, nil, now)
			default:
				l.progress(task, lag, now)
			}
			want := plainNews(l, sent, now)
			got := l.newsSince(sent, now)
			want.standby = got.standby      // a matter of what it was told, not of copies
			if got.broken && !want.broken { // one that was restored since the last report, and broke again, may be told once more
				want.broken = slices.ContainsFunc(l.active, func(task assignor.TaskID) bool { return l.held[task].broken })
			}
			require.Equal(t, want, got, "seed %d, step %d: %+v", seed, step, l.held)
		}
	}
}

// learning returns a member that learns n tasks.
func learning(n int32) *Balancer {
	b, err := New(Config{Instance: "a", Topology: []Subtopology{{Topics: []string{"x"}}}})
	if err != nil {
		panic(err)
	}
	ma := &assignor.MemberAssignment{}
	for p := range n {
		ma.Learners = append(ma.Learners, assignor.TaskID{Partition: p})
	}
	b.local.adopt(nil, ma, nil, time.Now())
	b.inSession = true
	return b
}

// However many learners there are, a lag that changes costs the same, also when it is the one that makes a learner catch up.
func TestProgressAllocatesNothingForOtherLearners(t *testing.T) {
	cost := func(n int32) float64 {
		b := learning(n)
		lag := int64(0)
		return testing.AllocsPerRun(100, func() {
			lag = 1<<30 - lag // far behind, caught up, far behind ...
			require.True(t, b.Progress(assignor.TaskID{Partition: n / 2}, lag))
		})
	}
	assert.LessOrEqual(t, cost(3000), cost(2))
}

func BenchmarkProgress(b *testing.B) {
	for _, n := range []int32{100, 1000, 3000} {
		b.Run(fmt.Sprint("learners=", n), func(b *testing.B) {
			balancer, lag, p := learning(n), int64(1<<40), int32(0)
			for b.Loop() {
				lag--
				p = (p + 1) % n
				balancer.Progress(assignor.TaskID{Partition: p}, lag)
			}
		})
		b.Run(fmt.Sprint("learners=", n, "/catching-up"), func(b *testing.B) {
			balancer, p := learning(n), int32(0)
			for b.Loop() {
				balancer.Progress(assignor.TaskID{Partition: p % n}, int64(p/n%2)<<30)
				p++
			}
		})
	}
}

// The members of an instance that restarted have other ids, which is no other plan.
func TestSameByInstance(t *testing.T) {
	task := func(p int32) assignor.TaskID { return assignor.TaskID{Partition: p} }
	member := func(id, instance string, active ...assignor.TaskID) assignor.MemberAssignment {
		return assignor.MemberAssignment{Member: id, Instance: instance, Active: active}
	}
	then := []assignor.MemberAssignment{member("1", "h1", task(0)), member("2", "h1", task(1)), member("3", "h2", task(2))}
	for name, c := range map[string]struct {
		now  []assignor.MemberAssignment
		same bool
	}{
		"other ids":          {[]assignor.MemberAssignment{member("7", "h2", task(2)), member("8", "h1", task(1)), member("9", "h1", task(0))}, true},
		"another instance":   {[]assignor.MemberAssignment{member("1", "h1", task(0)), member("2", "h1", task(1)), member("3", "h3", task(2))}, false},
		"swapped":            {[]assignor.MemberAssignment{member("1", "h1", task(0)), member("2", "h1", task(2)), member("3", "h2", task(1))}, false},
		"one member less":    {[]assignor.MemberAssignment{member("1", "h1", task(0), task(1)), member("3", "h2", task(2))}, false},
		"one more":           {append(slices.Clone(then), member("4", "h4")), false},
		"shared differently": {[]assignor.MemberAssignment{member("1", "h1", task(0), task(1)), member("2", "h1"), member("3", "h2", task(2))}, false},
	} {
		assert.Equal(t, c.same, sameByInstance(c.now, then), name)
	}
}
