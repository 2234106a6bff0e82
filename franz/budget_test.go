package franz_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A large group within the default budget: 1 000 members with ids of 49 bytes, 10 topics with names of 20, 30 000 tasks of which any
// member runs any. It goes on through a failure and a join.
func TestThirtyThousandRandomTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks = 30_000
		p := newPaper(t, 10, tasks/10, func(*franz.Config) {})
		p.add(1000)
		p.Deal()
		step := func(what string) {
			t.Helper()
			p.round()
			require.Empty(t, p.Trouble(franz.TroubleRound), what)
			require.LessOrEqual(t, p.Record+128*len(p.Members), franz.DefaultBudget, what)
			t.Logf("%s: %d bytes, %d copies of the memory, topics named: %t; %s", what, p.Record, p.Kept, p.Named(), p.Trouble(franz.TroubleBudget))
		}
		step("the first round")
		step("the second round")
		require.Equal(t, tasks, p.running())
		p.Leave(700)
		step("one has failed")
		require.Equal(t, tasks, p.running(), "failover goes last of all")
		p.add(1)
		step("one has joined")
		for range 3 {
			step("it takes over")
		}
		require.Equal(t, tasks, p.running())
		assert.Len(t, p.Members[999].Balancer.State().Active, tasks/1000)
	})
}

// 33 000 tasks on 300 members fit, without memories. The copies of a memory that went out come back in the next round's reports: a
// plan that counts them once is too large then, and if those who echo them go on with it, for good.
func TestEchoesDoNotFillTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, members = 33_000, 300
		p := newPaper(t, 10, tasks/10, func(*franz.Config) {})
		p.add(members)
		p.Deal()
		kept := map[int]int{}
		for round := range 8 {
			p.round()
			require.Empty(t, p.Trouble(franz.TroubleRound), "round %d", round)
			require.LessOrEqual(t, p.Record, franz.DefaultBudget)
			require.Equal(t, tasks, p.running())
			kept[p.Kept]++
		}
		assert.Len(t, kept, 1, "copies of the memory, round after round: %v", kept)
		p.Leave(100)
		p.round()
		require.Equal(t, tasks, p.running(), "failover")
	})
}

// Near the limit as many members keep the memory in one round as in the next, whatever the budget is.
func TestMemoryGoesOutSteadily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[int]bool{}
		for budget := 20_000; budget <= 60_000; budget += 1000 {
			p := newPaper(t, 2, 600, func(c *franz.Config) { c.Budget = budget })
			p.add(20)
			p.Deal()
			var kept []int
			for range 8 {
				p.round()
				require.Empty(t, p.Trouble(franz.TroubleRound), "budget %d", budget)
				kept = append(kept, p.Kept)
			}
			for _, k := range kept[3:] {
				require.Equal(t, kept[3], k, "budget %d: %v", budget, kept)
			}
			seen[kept[3]] = true
		}
		assert.Len(t, seen, 4, "from none to all")
	})
}

// started is what a round starts, and what goes on.
type started struct {
	runs, drains, learners, standbys, kept int
	named                                  bool
}

// starts returns what the last round starts, and checks that its answer is safe.
func (p *paperGroup) starts(reports []assignor.Member) (s started) {
	p.t.Helper()
	config := p.Config.Assignor
	for _, sub := range p.Config.Topology {
		config.Topology = append(config.Topology, assignor.Subtopology{ID: sub.ID, Partitions: p.Counts[sub.Topics[0]]})
	}
	answer := &assignor.Assignment{Members: p.Answers, Generation: p.Answers[0].Generation, FollowUp: p.Answers[0].FollowUp}
	require.NoError(p.t, assignor.Check(reports, answer, config))
	drained := map[assignor.TaskID]bool{}
	for _, ma := range p.Answers {
		for _, task := range ma.Handover {
			drained[task] = ma.Leaving
		}
	}
	s = started{kept: p.Kept, named: p.Named()}
	for _, ma := range p.Answers {
		s.runs += len(ma.Active)
		had := reports[slices.IndexFunc(reports, func(m assignor.Member) bool { return m.ID == ma.Member })]
		for _, task := range ma.Learners {
			switch {
			case drained[task]:
				s.drains++
			case !slices.ContainsFunc(had.Standbys, func(c assignor.Replica) bool { return c.Task == task }):
				s.learners++
			}
		}
		for _, task := range ma.Standbys {
			if !slices.ContainsFunc(had.Standbys, func(c assignor.Replica) bool { return c.Task == task }) && !slices.Contains(had.Active, task) {
				s.standbys++
			}
		}
	}
	return s
}

// keepsCopies checks that no copy is given up for one that waits: where a member that stays has a standby of a task that it does not
// take over, the task has one.
func (p *paperGroup) keepsCopies(reports []assignor.Member) {
	p.t.Helper()
	copies, active := map[assignor.TaskID]int{}, map[assignor.TaskID]string{}
	for _, ma := range p.Answers {
		for _, task := range slices.Concat(ma.Learners, ma.Standbys) {
			copies[task]++
		}
		for _, task := range ma.Active {
			active[task] = ma.Member
		}
	}
	for _, m := range reports {
		for _, c := range m.Standbys {
			if active[c.Task] != m.ID && !m.Leaving {
				require.Positive(p.t, copies[c.Task], "%v, of which %s had a standby", c.Task, m.ID)
			}
		}
	}
}

// reports returns what the members joined with.
func (p *paperGroup) reports() (reports []assignor.Member) {
	p.t.Helper()
	for _, join := range p.Joins {
		var meta kmsg.ConsumerMemberMetadata
		var report assignor.Member
		require.NoError(p.t, meta.ReadFrom(join.ProtocolMetadata))
		require.NoError(p.t, report.UnmarshalBinary(meta.UserData))
		report.ID, report.Memory = join.MemberID, nil
		reports = append(reports, report)
	}
	return reports
}

// change changes what a member joined with.
func (p *paperGroup) change(i int, f func(*assignor.Member)) {
	p.t.Helper()
	var meta kmsg.ConsumerMemberMetadata
	var report assignor.Member
	require.NoError(p.t, meta.ReadFrom(p.Joins[i].ProtocolMetadata))
	require.NoError(p.t, report.UnmarshalBinary(meta.UserData))
	f(&report)
	data, err := report.MarshalBinary()
	require.NoError(p.t, err)
	meta.UserData = data
	p.Joins[i].ProtocolMetadata = meta.AppendTo(nil)
}

// within has a leader that is new decide the last round again, with a budget. It returns nothing where the round repeats what is.
func (p *paperGroup) within(budget int) (s started, decided bool) {
	p.t.Helper()
	config := p.Config
	config.Instance, config.Budget = "new", budget
	b, err := franz.New(config)
	require.NoError(p.t, err)
	require.NoError(p.t, p.Decide(b.GroupBalancer()))
	if len(lasting(b)) > 0 && lasting(b)[0].Kind == franz.TroubleRound {
		return s, false
	}
	reports := p.reports()
	p.keepsCopies(reports)
	return p.starts(reports), true
}

// What gives way, budget by budget, in one round: a member has failed, one drains, two have joined, and standbys are missing.
func TestWhatGivesWay(t *testing.T) {
	p := newPaper(t, 4, 100, func(c *franz.Config) { c.Assignor.Standbys, c.Budget = 1, 1<<20 })
	p.add(10)
	p.Deal()
	for range 4 {
		p.round()
	}
	p.Leave(8)
	p.add(2)
	p.join()
	p.change(7, func(m *assignor.Member) { m.Leaving = true })
	all, _ := p.within(1 << 20)
	t.Logf("with all the room: %+v", all)
	require.Equal(t, 400, all.runs)
	require.Positive(t, all.standbys)
	require.Positive(t, all.learners)
	require.Positive(t, all.drains)
	require.Equal(t, 3, all.kept)
	last, seen := all, map[started]bool{}
	for budget, step := 16_000, 64; ; budget -= step {
		got, decided := p.within(budget)
		if !decided {
			assert.False(t, last.named, "topics go before failover and drains, at %d", budget)
			break
		}
		assert.Equal(t, all.runs, got.runs, "failover, at %d", budget)
		assert.Equal(t, all.drains, got.drains, "drains, at %d", budget)
		if got.standbys < all.standbys {
			assert.Zero(t, got.kept, "the memory goes before standbys, at %d", budget)
		}
		if got.learners < all.learners {
			assert.Zero(t, got.standbys, "new standbys go before new learners, at %d", budget)
		}
		if last.named && !got.named {
			assert.LessOrEqual(t, last.learners, 1, "new learners go before topics, at %d", budget)
		}
		if got.kept == 0 {
			step = 4
		}
		if !seen[got] {
			t.Logf("%6d: %+v", budget, got)
		}
		last, seen[got] = got, true
	}
}

// A standby that was to move to a new member stays where it is while that is short of bytes.
func TestStandbyThatCannotMoveStays(t *testing.T) {
	p := newPaper(t, 4, 60, func(c *franz.Config) { c.Assignor.Standbys, c.Budget = 1, 1<<20 })
	p.add(6)
	for range 3 {
		p.round()
	}
	p.add(2)
	p.join()
	all, _ := p.within(1 << 20)
	require.Positive(t, all.standbys)
	for budget := 8000; ; budget -= 16 {
		got, decided := p.within(budget) // which looks after the copies
		if !decided || got.standbys == 0 {
			require.True(t, decided)
			return
		}
	}
}

// Members of a version that does not read what it runs from its payload get their topics: the round repeats what is instead.
func TestOlderMembersGetTheirTopics(t *testing.T) {
	p := newPaper(t, 4, 100, func(c *franz.Config) { c.Budget = 1 << 20 })
	p.add(10)
	p.Deal()
	p.round()
	p.join()
	decided := func(budget int) bool {
		_, decided := p.within(budget)
		return decided
	}
	least := 16_000 // that the round needs
	for decided(least - 16) {
		least -= 16
	}
	require.True(t, decided(least))
	require.False(t, p.Named(), "payloads suffice for members of this version")
	p.change(3, func(m *assignor.Member) { m.Version = assignor.PayloadVersion - 1 })
	require.False(t, decided(least))
	require.True(t, decided(16_000))
	require.True(t, p.Named())
	for budget := 16_000; decided(budget); budget -= 16 {
		require.True(t, p.Named(), "at %d", budget)
	}
}

// The leader warns from 80 % of the budget on, once while that lasts, and says when it is over.
func TestBudgetWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &told{}
		p := newPaper(t, 4, 250, func(c *franz.Config) { c.Observer = o })
		p.add(10)
		p.Deal()
		for range 3 {
			p.round()
		}
		require.Empty(t, o.troubles)
		o, p = &told{}, newPaper(t, 4, 250, func(c *franz.Config) { c.Budget = p.Record + p.Record/5 })
		p.Config.Observer = o
		p.add(10)
		p.Deal()
		for range 5 {
			p.round()
			time.Sleep(10 * time.Second)
		}
		budget := ofKind(o.troubles, franz.TroubleBudget)
		require.Len(t, budget, 1, "%v", o.troubles)
		assert.Contains(t, budget[0].Text, "over 80 % of Config.Budget")
		assert.Contains(t, budget[0].Text, "message.max.bytes")
		for range 5 {
			p.Leave(len(p.Members) - 1)
		}
		p.round()
		budget = ofKind(o.troubles, franz.TroubleBudget)
		require.Len(t, budget, 2)
		assert.False(t, budget[1].Lasts())
	})
}

// Whatever the budget is: where a group without standbys starts and fails over, one with standbys does too. Reports grow after the
// first round, and what was started then must not have used that up.
func TestStandbysLeaveRoomForFailover(t *testing.T) {
	const tasks = 600
	goesOn := func(t *testing.T, budget, standbys int) bool {
		t.Helper()
		o := &told{}
		p := newPaper(t, 3, tasks/3, func(c *franz.Config) { c.Assignor.Standbys, c.Budget, c.Observer = standbys, budget, o })
		p.add(12)
		for range 4 {
			p.round()
		}
		p.Leave(10)
		p.Leave(7)
		p.round()
		return len(ofKind(o.troubles, franz.TroubleRound)) == 0 && p.running() == tasks
	}
	synctest.Test(t, func(t *testing.T) {
		budget := 20_000
		for ; goesOn(t, budget, 0); budget -= 200 {
			require.True(t, goesOn(t, budget, 2), "budget %d", budget)
		}
		require.Less(t, budget, 8000)
	})
}
