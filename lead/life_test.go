package lead_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// TestDrain: one that leaves runs on until others have all that it has, asks for what nobody tells it, and is drained when they have
// had the time to hear of it.
func TestDrain(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	c := newCast(t, config, "S1", "S2")
	c.round()
	c.want(`
		S1 round 8: start [0_0], keep [0_1]
		S2 round 8: start [0_1], keep [0_0]`)
	c.enter(config, "S3")
	c.round()
	c.Reset()
	c.tell("S2", "leaves", c.sessions["S2"].Leave(c.clock))
	c.want(`S2 leaves: call: told to leave, or to stay, wake 10s`)
	for range 6 {
		c.round()
		for _, name := range c.names {
			c.catchUp(name)
		}
		c.after(time.Second)
	}
	c.Reset()
	c.after(time.Second)
	c.want(``)
	state := c.sessions["S2"].State(c.clock)
	if !state.Leaving || state.LeavingFor != 7*time.Second || len(state.Active)+len(state.Standbys) > 0 {
		t.Errorf("%+v", state)
	}
	c.after(assignor.RevokeRetry)
	c.want(`S2 after 10s: drained, wake 10s`)
	c.tell("S2", "stays after all", c.sessions["S2"].Stay(c.clock))
	c.want(`S2 stays after all: call: told to leave, or to stay, wake 10s`)
}

// catchUp says that every copy of a member has replayed all there is.
func (c *cast) catchUp(name string) {
	state := c.sessions[name].State(c.clock)
	for _, list := range [][]assignor.Replica{state.Learners, state.Standbys, state.Restores} {
		for _, copied := range list {
			c.sessions[name].Progress(c.clock, copied.Task, 0)
		}
	}
}

// TestDrainNobody: one that is in no group has nothing to wait for.
func TestDrainNobody(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	c.tell("S1", "leaves", c.sessions["S1"].Leave(c.clock))
	c.want(`S1 leaves: drained, wake 10s`)
}

// TestReview: one that leaves and only keeps copies calls for nothing; its leader does, after ReviewInterval, until others have them.
func TestReview(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	c := newCast(t, config, "S1", "S2")
	c.round()
	c.catchUp("S1")
	c.catchUp("S2")
	c.enter(config, "S3")
	c.sessions["S2"].Leave(c.clock)
	for range 6 { // S3's standbys do not catch up
		c.round()
		c.catchUp("S1")
		for _, learner := range c.sessions["S3"].State(c.clock).Learners {
			c.sessions["S3"].Progress(c.clock, learner.Task, 0)
		}
	}
	if state := c.sessions["S2"].State(c.clock); len(state.Active) > 0 || len(state.Standbys) == 0 {
		t.Fatalf("%+v", state)
	}
	c.Reset()
	c.after(assignor.ReviewInterval)
	c.want(`S1 after 1m0s: call: a deadline of the last round has passed, wake 10s`)
	c.catchUp("S3")
	c.round()
	if state := c.sessions["S2"].State(c.clock); len(state.Standbys) > 0 {
		t.Errorf("S3 has all, and S2 still keeps %v", state.Standbys)
	}
}

// TestLost: one that the group has dropped runs nothing, and knows nothing of the state of what it ran. What it learns and keeps goes
// on, and counts as before.
func TestLost(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	c := newCast(t, config, "S1", "S2")
	c.round()
	c.Reset()
	c.catchUp("S1")
	s := c.sessions["S1"]
	c.tell("S1", "lost", s.Lost(c.clock))
	c.tell("S1", "later", s.Tick(c.clock.Add(time.Hour)))
	c.want(`
		S1 lost: stop [0_0]
		S1 later:`)
	state := s.State(c.clock)
	if !state.Lost || state.Generation != 8 || len(state.Active) > 0 || !slices.Equal(state.Suspect, []assignor.TaskID{t00}) {
		t.Errorf("%+v", state)
	}
	s.Progress(c.clock, t01, 3)
	s.Progress(c.clock, t00, assignor.UnknownLag)
	c.wantReport("S1", "S1(assigned: [], revoked: [], learning: [], standby: [0_0, 0_1 lag=3]) 0")
	if state = s.State(c.clock); !state.Lost || len(state.Suspect) != 1 {
		t.Errorf("it has only joined: %+v", state)
	}
	s.Begin(c.clock, lead.Place{Round: 9, Member: "S1"})
	s.Deliver(c.clock, 9, nil)
	s.Progress(c.clock, t00, 5)
	if state = s.State(c.clock); state.Lost || state.Generation != 0 || len(state.Suspect) > 0 {
		t.Errorf("it is back, and was told nothing: %+v", state)
	}
}

// TestBroken: an active task that has lost its state goes to a copy that has caught up, and what starts incomplete is reported so.
func TestBroken(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	c := newCast(t, config, "S1", "S2")
	c.round()
	c.catchUp("S2")
	c.Reset()
	s := c.sessions["S1"]
	c.tell("S1", "not its own", s.Broken(c.clock, t01, 100))
	c.tell("S1", "broken", s.Broken(c.clock, t00, assignor.UnknownLag))
	c.tell("S1", "mended", s.Progress(c.clock, t00, 5))
	c.tell("S1", "behind", s.Progress(c.clock, t00, 500))
	c.tell("S1", "broken again", s.Broken(c.clock, t00, 1000))
	c.after(time.Second)
	c.want(`
		S1 not its own:
		S1 broken: wake 1s
		S1 mended:
		S1 behind:
		S1 broken again: wake 1s
		S1 after 1s: call: an active task has lost its state, wake 10s`)
	c.round()
	c.round()
	if state := c.sessions["S2"].State(c.clock); !slices.Contains(state.Active, t00) {
		t.Errorf("S2 has %+v", state)
	}
}

// TestBrokenAlone: what stood in the report is no news, where nobody else can take the task.
func TestBrokenAlone(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	c.round()
	c.sessions["S1"].Broken(c.clock, t00, 500)
	c.after(time.Second)
	c.round()
	c.after(time.Hour)
	c.want(`
		S1 round 8: start [0_0 0_1]
		S1 after 1s: call: an active task has lost its state, wake 10s
		S1 round 9:`)
	c.wantReport("S1", "S1(assigned: [0_0, 0_1], revoked: [], learning: [], standby: [0_0 lag=500]) 9")
}

// TestAnotherLife: a group that was made anew counts from the start, and what was remembered of the old one is forgotten.
func TestAnotherLife(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	c.round()
	s := c.sessions["S1"]
	s.Lost(c.clock)
	s.Join(c.clock)
	s.Begin(c.clock, lead.Place{Round: 1, Member: "m1"})
	payload, err := assignor.MemberAssignment{Member: "m1", Instance: "S1", Generation: 1, Active: []assignor.TaskID{t00}}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	c.Reset()
	c.tell("S1", "anew", s.Deliver(c.clock, 1, payload))
	c.want(`S1 anew: start [0_0], drop [0_1]`)
}

// TestLearnerTimeout: a conservative member asks when a learner that holds the others up has had its time.
func TestLearnerTimeout(t *testing.T) {
	config := twoTasks()
	config.Assignor.LearnerTimeout = time.Minute
	config.Assignor.Topology[0].Partitions = 4
	c := handingOverAll(t, config)
	learners := c.sessions["S2"].State(c.clock).Learners
	c.sessions["S2"].Progress(c.clock, learners[1].Task, 500)
	c.tell("S2", "progress", c.sessions["S2"].Progress(c.clock, learners[0].Task, 0))
	c.after(59 * time.Second)
	c.after(time.Second + time.Millisecond)
	c.after(time.Second)
	c.want(`
		S2 progress: wake 1m0s
		S2 after 1.001s: wake 1s
		S2 after 1s: call: learners have caught up, wake 10s`)
	state := c.sessions["S2"].State(c.clock)
	if got := state.Learners[1].For; got != 61*time.Second+time.Millisecond {
		t.Errorf("a learner is %v old", got)
	}
	c.round()
	c.round()
	c.catchUp("S1")
	c.Reset()
	c.after(time.Hour) // what stood in the report is no news, and one of them is stuck
	c.want(`S2 after 1h0m0s: wake 1m0s`)
}

// handingOverAll is a group in which S2 learns at least two tasks.
func handingOverAll(t *testing.T, config lead.Config) *cast {
	t.Helper()
	c := newCast(t, config, "S1")
	c.round()
	c.enter(config, "S2")
	c.round()
	c.Reset()
	if n := len(c.sessions["S2"].State(c.clock).Learners); n < 2 {
		t.Fatalf("S2 learns %d", n)
	}
	return c
}

// TestStuck: a learner of which nobody says that it has come nearer is trouble, as long as that lasts.
func TestStuck(t *testing.T) {
	config := twoTasks()
	config.Assignor.Topology[0].Partitions = 4
	c := handingOverAll(t, config)
	s := c.sessions["S2"]
	learners := s.State(c.clock).Learners
	for i, step := range []struct {
		lags  [2]int64 // said in the beginning
		wait  time.Duration
		stuck int
	}{
		{[2]int64{50, assignor.UnknownLag}, 59 * time.Second, 0},
		{[2]int64{50, assignor.UnknownLag}, time.Second, 2},
		{[2]int64{49, 50}, 59 * time.Second, 0},
		{[2]int64{48, 50}, time.Second, 1},
		{[2]int64{48, 50}, 59 * time.Second, 2},
		{[2]int64{0, 50}, time.Minute, 1},
		{[2]int64{0, 0}, time.Hour, 0},
	} {
		for k, lag := range step.lags {
			s.Progress(c.clock, learners[k].Task, lag)
		}
		c.trouble = nil
		c.after(step.wait)
		if stuck := s.Stuck(c.clock); len(stuck) != step.stuck {
			t.Errorf("step %d: %v", i, stuck)
		}
		if step.wait < time.Minute && step.wait > time.Second {
			continue // nothing has woken it
		}
		if told := len(c.trouble) > 0; told != (step.stuck > 0) {
			t.Errorf("step %d: %v", i, c.trouble)
		}
	}
}

// TestUncalled: a call that nobody heard is made again.
func TestUncalled(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	c.round()
	c.Reset()
	c.tell("S1", "leaves", c.sessions["S1"].Leave(c.clock))
	c.after(10 * time.Second)
	c.want(`
		S1 leaves: call: told to leave, or to stay, wake 10s
		S1 after 10s: call: the round that it called for has not come, wake 10s`)
}

// TestClocks: a clock that is set back stands still, one that jumps to the end of time has an end.
func TestClocks(t *testing.T) {
	c := handingOver(t, twoTasks())
	s := c.sessions["S2"]
	age := func(now time.Time) time.Duration { return s.State(now).Learners[0].For }
	for _, step := range []struct {
		now  time.Time
		want time.Duration
	}{
		{c.clock.Add(time.Minute), time.Minute},
		{c.clock.Add(-time.Hour), time.Minute},
		{c.clock.Add(-time.Hour + time.Second), time.Minute + time.Second},
		{time.Time{}.Add(1), time.Minute + time.Second},
	} {
		if got := age(step.now); got != step.want {
			t.Errorf("at %v the learner is %v old, want %v", step.now, got, step.want)
		}
	}
	for range 3 {
		s.Tick(time.Unix(1<<40, 0))
		s.Tick(time.Unix(0, 0))
	}
	if got := age(time.Unix(0, 0)); got < math.MaxInt64-time.Hour {
		t.Errorf("at the end of time the learner is %v old", got)
	}
	if todo := s.Leave(time.Unix(1<<40, 0)); todo.Call == "" {
		t.Errorf("%+v", todo)
	}
}

// TestReturn: a static member takes the place of its former life without a round. One that led calls for a round, unless it finds that
// the round would be decided again as it was.
func TestReturn(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		c := newCast(t, twoTasks(), "S1", "S2")
		c.round()
		c.round()
		send := c.join()
		c.deliver(send, "S1", "S2")
		c.Reset()
		config := twoTasks()
		config.Instance, config.Local = "S1", []assignor.Replica{{Task: t00, Lag: 3}}
		session, err := lead.New(config)
		if err != nil {
			t.Fatal(err)
		}
		c.sessions["S1"] = session
		session.Join(c.clock)
		session.Begin(c.clock, lead.Place{Round: 10, Member: "S1", Leads: true})
		c.tell("S1", "returns", session.Deliver(c.clock, 10, send[0].Data))
		if resumes {
			c.tell("S1", "decides again", session.Resume(c.clock, lead.Round{Number: 10, Reports: c.reports}))
			c.after(time.Hour)
			c.want(`
				S1 returns: start [0_0], wake 1s
				S1 decides again:`)
			continue
		}
		c.after(time.Second)
		c.want(`
			S1 returns: start [0_0], wake 1s
			S1 after 1s: call: the last round was decided without knowing all, or not at all, wake 10s`)
	}
}

// TestReturnAwaits: one that returns to the place of a leader with a deadline to keep does not know how far off that is.
func TestReturnAwaits(t *testing.T) {
	config := twoTasks()
	config.Assignor.RejoinDelay = time.Hour
	c := newCast(t, config, "S1", "S2", "S3")
	c.round()
	c.names = []string{"S1", "S3"} // S2 is awaited
	send := c.join()
	config.Instance = "S1"
	session, err := lead.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.sessions["S1"] = session
	session.Join(c.clock)
	session.Begin(c.clock, lead.Place{Round: c.number, Member: "S1", Leads: true})
	c.Reset()
	c.deliver(send, "S1")
	c.tell("S1", "decides again", session.Resume(c.clock, lead.Round{Number: c.number, Reports: c.reports}))
	c.want(`
		S1 round 9: start [0_0], wake 1s
		S1 decides again: wake 1s`)
}

// TestStopped: what the service stops on its own is not reported as running.
func TestStopped(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	c.round()
	c.tell("S1", "stopped", c.sessions["S1"].Stopped(c.clock, t01, assignor.TaskID{Subtopology: 9}))
	c.wantReport("S1", "S1(assigned: [0_0], revoked: [], learning: [], standby: [0_1]) 8")
	c.round()
	c.want(`
		S1 round 8: start [0_0 0_1]
		S1 stopped:
		S1 round 9: start [0_1]`)
}

// TestFollow: another balancer decided.
func TestFollow(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	c.Reset()
	c.tell("S1", "follows", c.sessions["S1"].Follow(c.clock, []assignor.TaskID{t01}))
	c.want(`S1 follows: stop [0_0], start [0_1]`)
	c.wantReport("S1", "S1(assigned: [0_1], revoked: [], learning: [], standby: [0_0 lag=0]) 0")
}

// TestNew: every problem of a config at once; the topology may come later.
func TestNew(t *testing.T) {
	config := twoTasks()
	config.Assignor.Topology, config.Assignor.Standbys = nil, -1
	if _, err := lead.New(config); !errors.Is(err, assignor.ErrConfig) {
		t.Error(err)
	}
	config.Assignor.Standbys = 0
	if _, err := lead.New(config); err != nil {
		t.Error(err)
	}
}
