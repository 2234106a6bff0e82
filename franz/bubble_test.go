//go:build synctests

package franz_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bubble runs f on a cluster in virtual time: hours pass in no time, and nothing depends on how fast the machine is.
func bubble(t *testing.T, f func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newCluster(t, &kfake.VirtualNetwork{}))
	})
}

func TestVirtualJoin(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		a := c.start("a")
		c.settled(time.Minute, 1)
		assert.True(t, a.balancer.Leader())
		c.monitor.reset()
		b := c.start("b")
		c.eventually(10*time.Second, "b learns half", func() bool { return len(b.balancer.State().Learning) == partitions/2 })
		assert.Len(t, a.owned(), partitions, "the owner runs on")
		assert.Len(t, a.balancer.State().Handover, partitions/2)
		assert.Empty(t, b.owned())
		c.settled(time.Minute, 2)
		c.onlyMoved(partitions / 2)
		assert.Equal(t, 3, c.monitor.rounds, "the join, and two rounds of the hand-over for all four learners together")
		assert.NotEmpty(t, a.balancer.State().Moves)
	})
}

func TestVirtualThirdMember(t *testing.T) {
	bubble(t, func(c *cluster) {
		c.group("ab")
		c.start("c")
		c.settled(time.Minute, 3)
		c.onlyMoved(2)
	})
}

func TestVirtualStandbys(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc", func(s *settings) { s.config.Assignor.Standbys = 1 })
		time.Sleep(time.Minute)
		c.monitor.reset()
		victim := workers[2]
		lost := len(victim.owned())
		victim.kill()
		c.settled(time.Minute, 2)
		moved, _ := c.monitor.moves()
		assert.Equal(t, lost, moved)
		for _, w := range workers[:2] {
			assert.Empty(t, w.balancer.State().Restores, "what the killed one ran went to standbys that had caught up")
		}
	})
}

func TestVirtualDrain(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		w := workers[1]
		owned := len(w.owned())
		require.NoError(t, w.balancer.Drain(t.Context()))
		assert.True(t, w.balancer.State().Left)
		<-w.balancer.Done()
		assert.Len(t, c.GroupInfo(c.groupID).Members, 2)
		c.settled(time.Minute, 2)
		c.onlyMoved(owned)
		w.close()
	})
}

func TestVirtualDrainOfAStaticMember(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("ab", static)
		require.NoError(t, workers[0].balancer.Drain(t.Context()))
		assert.Len(t, c.GroupInfo(c.groupID).Members, 1, "it has left by its instance id")
		c.settled(time.Minute, 1)
		c.onlyMoved(partitions / 2)
	})
}

func TestVirtualStay(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		w := workers[1]
		for _, other := range c.workers {
			other.stuck.Store(true)
		}
		ended := make(chan error)
		go func() { ended <- w.balancer.Drain(t.Context()) }()
		time.Sleep(10 * time.Second)
		assert.True(t, w.balancer.State().Leaving)
		assert.True(t, w.balancer.Stay())
		require.ErrorIs(t, <-ended, franz.ErrStays)
		assert.False(t, w.balancer.Stay(), "it stays already")
		c.settled(time.Minute, 3)
		c.onlyMoved(0)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, w.balancer.Drain(ctx), context.DeadlineExceeded)
		w.balancer.Stay()
	})
}

// The deadline of a drain holds on whoever leads: it is in the reports.
func TestVirtualDrainDeadlineSurvivesTheLeader(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abcd", func(s *settings) { s.config.Assignor.ScaleDownTimeout = time.Minute })
		for _, w := range workers {
			w.stuck.Store(true) // nobody ever catches up
		}
		told := time.Now()
		leader := c.leader()
		leaving := c.follower()
		ended := make(chan error)
		go func() { ended <- leaving.balancer.Drain(t.Context()) }()
		time.Sleep(20 * time.Second)
		leader.kill()
		require.NoError(t, <-ended)
		assert.InDelta(t, time.Minute, time.Since(told), float64(3*time.Second))
		c.settled(time.Minute, 2)
	})
}

// An owner that is cut off loses its tasks after the session timeout. It runs on without knowing it, but what it commits is
// refused; and when it is back, it has nothing until the group gives it something.
func TestVirtualOwnerCutOff(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		zombie := c.follower()
		generation := zombie.generation()
		c.monitor.reset()
		zombie.cutOff()
		c.eventually(time.Minute, "the others run all", func() bool {
			_, each := c.monitor.running()
			return each[zombie.name] == 0
		})
		zombie.mend()
		assert.NotEqual(t, int16(0), c.commit(generation), "a commit of the old generation is fenced")
		c.settled(time.Minute, 3)
		assert.Len(t, workers, 3)
		assert.Positive(t, zombie.sessions.Load())
	})
}

// generation is how a member appears in its commits.
type generation struct {
	member string
	number int32
}

func (w *worker) generation() generation {
	member, number := w.client.GroupMetadata()
	return generation{member, number}
}

// commit commits for a generation, and returns the broker's error code.
func (c *cluster) commit(g generation) int16 {
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = c.groupID, g.member, g.number
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Offset = 1
	top := kmsg.NewOffsetCommitRequestTopic()
	top.Topic, top.Partitions = c.topic, []kmsg.OffsetCommitRequestTopicPartition{part}
	req.Topics = append(req.Topics, top)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	return resp.Topics[0].Partitions[0].ErrorCode
}

// A member that the coordinator forgets loses what it runs and comes back; nobody else notices.
func TestVirtualCoordinatorForgets(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.group("abc")
		forgotten := c.follower()
		c.expel(forgotten)
		c.eventually(time.Minute, "it has noticed", func() bool { return forgotten.troubles.Load() > 0 })
		c.settled(time.Minute, 3)
		moved, _ := c.monitor.moves()
		tasks, _ := c.monitor.pauses()
		assert.LessOrEqual(t, moved, 6, "its tasks, there and back")
		assert.LessOrEqual(t, len(tasks), 6)
	})
}

// expel removes a member behind its back.
func (c *cluster) expel(w *worker) {
	w.zombie.Store(true)
	member, _ := w.client.GroupMetadata()
	c.expelMember(member)
}

func (c *cluster) expelMember(id string) {
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = c.groupID
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = id
	req.Members = append(req.Members, member)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	require.Zero(c.t, resp.ErrorCode)
}

// A peer that takes its time to stop tasks holds the round up, not the others' tasks.
func TestVirtualBlockedPeer(t *testing.T) {
	for _, test := range []struct {
		name  string
		block time.Duration
	}{{"within the rebalance timeout", 4 * time.Second}, {"until it is thrown out", 40 * time.Second}} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				patient := func(s *settings) {
					s.opts = append(s.opts, kgo.RebalanceTimeout(10*time.Second), kgo.SessionTimeout(30*time.Second))
				}
				c.group("abc", patient)
				blocked := c.follower()
				gate := make(chan struct{})
				blocked.block.Store(&gate)
				blocked.zombie.Store(test.block > 10*time.Second) // then others own what it still runs
				c.start("d", patient)
				time.Sleep(test.block)
				blocked.block.Store(nil)
				close(gate)
				c.settled(2*time.Minute, 4)
				tasks, longest := c.monitor.pauses()
				assert.Less(t, longest, test.block+5*time.Second)
				moved, _ := c.monitor.moves()
				assert.LessOrEqual(t, len(tasks), moved+2)
			})
		})
	}
}

// Broken: a copy that has caught up takes over from an owner that lost its state.
func TestVirtualBroken(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("ab", func(s *settings) { s.config.Assignor.Standbys = 1 })
		time.Sleep(time.Minute)
		c.monitor.reset()
		task := workers[0].owned()[0]
		workers[0].disk.set(task, 10*fullLag)
		require.True(t, workers[0].balancer.Broken(task, 10*fullLag))
		require.False(t, workers[1].balancer.Broken(task, 0), "b does not run it")
		c.eventually(10*time.Second, "b has taken it over", func() bool { return contains(workers[1].owned(), task) })
		require.Empty(t, c.monitor.violated())
		_, longest := c.monitor.pauses()
		assert.Less(t, longest, shortly)
	})
}

// The tasks of an instance that vanished wait for it: it gets them back if it returns in time, else others get them when the
// leader's timer says so.
func TestVirtualRejoinDelay(t *testing.T) {
	for name, away := range map[string]time.Duration{"in time": 20 * time.Second, "too late": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				patient := func(s *settings) { s.config.Assignor.RejoinDelay = time.Minute }
				c.group("abc", patient)
				w := c.follower()
				owned := w.owned()
				w.kill()
				killed := time.Now()
				time.Sleep(away)
				all, _ := c.monitor.running()
				if away < time.Minute {
					assert.Equal(t, partitions-len(owned), all, "they wait")
				} else {
					assert.Equal(t, partitions, all, "others have them")
					_, longest := c.monitor.pauses()
					assert.InDelta(t, time.Minute, longest, float64(15*time.Second))
				}
				again := c.start(w.name, patient)
				c.settled(2*time.Minute, 3)
				if away < time.Minute {
					assert.Equal(t, owned, again.owned())
					assert.Less(t, time.Since(killed), time.Minute)
				}
			})
		})
	}
}

// A learner that takes too long holds nobody up.
func TestVirtualLearnerTimeout(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		impatient := func(s *settings) { s.config.Assignor.LearnerTimeout = 30 * time.Second }
		c.group("a", impatient)
		b := c.start("b", impatient)
		c.eventually(10*time.Second, "b learns", func() bool { return len(b.balancer.State().Learning) == 4 })
		slow := b.balancer.State().Learning[0].Task
		b.disk.set(slow, 1<<40)
		begun := time.Now()
		c.eventually(time.Minute, "the others have moved", func() bool { return len(b.owned()) == 3 })
		assert.InDelta(t, 30*time.Second, time.Since(begun), float64(3*time.Second))
		assert.False(t, contains(b.owned(), slow))
		require.Empty(t, c.monitor.violated())
	})
}

// A deadline belongs to a leader and a generation: a leader that has lost either forces no round by it.
func TestVirtualTimersEndWithTheirGeneration(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abcd", func(s *settings) { s.config.Assignor.ScaleDownTimeout = time.Minute })
		for _, w := range workers {
			w.stuck.Store(true)
		}
		leaving := c.follower()
		ended := make(chan error, 1)
		go func() { ended <- leaving.balancer.Drain(t.Context()) }()
		time.Sleep(20 * time.Second)
		leaving.balancer.Stay()
		require.ErrorIs(t, <-ended, franz.ErrStays)
		time.Sleep(5 * time.Second)
		number := c.GroupInfo(c.groupID).Epoch
		time.Sleep(5 * time.Minute)
		assert.Equal(t, number, c.GroupInfo(c.groupID).Epoch, "the deadline of the drain that was taken back calls for no round")
	})
}

// asks tells when a member calls for a round.
type asks struct {
	franz.Observer
	at chan time.Time
}

func (a asks) Asked(string) { a.at <- time.Now() }

// A member waits for more of its learners as long as it is told to, and not at all where it is told so.
func TestVirtualDebounce(t *testing.T) {
	for debounce, wait := range map[time.Duration]time.Duration{franz.NoDebounce: 0, 0: franz.DefaultDebounce, 3 * time.Second: 3 * time.Second} {
		t.Run(debounce.String(), func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.group("a")
				at := make(chan time.Time, 100)
				b := c.start("b", func(s *settings) {
					s.config.Debounce, s.config.Observer = debounce, asks{s.config.Observer, at}
				})
				b.stuck.Store(true)
				c.eventually(10*time.Second, "b learns half", func() bool { return len(b.balancer.State().Learning) == partitions/2 })
				told := time.Now()
				for _, l := range b.balancer.State().Learning {
					b.balancer.Progress(l.Task, 0)
				}
				assert.Equal(t, wait, (<-at).Sub(told))
				b.stuck.Store(false)
				c.settled(time.Minute, 2)
				require.NoError(t, b.balancer.Drain(t.Context()), "it leaves in good order all the same")
				c.settled(time.Minute, 1)
				_, longest := c.monitor.pauses()
				assert.Less(t, longest, shortly)
			})
		})
	}
}
