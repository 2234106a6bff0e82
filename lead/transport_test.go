package lead_test

import (
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// TestCan: what a member cannot run it neither runs nor copies nor reports, whatever a leader says.
func TestCan(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	config.Can = func(task assignor.TaskID) bool { return task != t01 }
	c := newCast(t, config, "S1")
	c.round()
	c.want(`S1 round 8: start [0_0]`)
	c.wantReport("S1", "S1(assigned: [0_0], revoked: [], learning: []) 8")
}

// TestRestores: where a member says that it knows its disk, a task that starts from nothing restores; a stateless one does not, and
// leaves nothing behind.
func TestRestores(t *testing.T) {
	config := twoTasks()
	config.Restores, config.Local = true, []assignor.Replica{{Task: t01, Lag: 10}}
	config.Assignor.Topology = append(config.Assignor.Topology, assignor.Subtopology{ID: 1, Partitions: 1, Stateless: true})
	c := newCast(t, config, "S1")
	c.round()
	s := c.sessions["S1"]
	restores := func() []assignor.TaskID {
		var tasks []assignor.TaskID
		for _, r := range s.State(c.clock).Restores {
			tasks = append(tasks, r.Task)
		}
		return tasks
	}
	if got := restores(); !slices.Equal(got, []assignor.TaskID{t00}) { // what is left of 0_1 is near enough to its end
		t.Error(got)
	}
	s.Progress(c.clock, t00, 10)
	if got := restores(); got != nil {
		t.Error(got)
	}
	s.Broken(c.clock, assignor.TaskID{Subtopology: 1}, 5)
	s.Lost(c.clock)
	c.wantReport("S1", "S1(assigned: [], revoked: [], learning: [], standby: [0_0, 0_1]) 0")
}

// TestOwns: a transport that has an answer of its own, or takes tasks away, says what runs; the answer that was acted on stays the last.
func TestOwns(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	c.Reset()
	s := c.sessions["S1"]
	c.tell("S1", "owns", s.Owns(c.clock, []assignor.TaskID{t01}))
	if runs, copied := s.Has(t01); !runs || copied {
		t.Error(runs, copied)
	}
	if runs, copied := s.Has(t00); runs || !copied {
		t.Error(runs, copied)
	}
	c.tell("S1", "owns", s.Owns(c.clock, nil))
	c.want(`
		S1 owns: stop [0_0], start [0_1]
		S1 owns: stop [0_1]`)
	if !s.Settled() {
		t.Error("it takes part in no round")
	}
	c.wantReport("S1", "S1(assigned: [], revoked: [], learning: [], standby: [0_0 lag=0, 0_1 lag=0]) 8")
	if s.Settled() {
		t.Error("it has joined")
	}
}

// TestUnlisted: where the transport does not tell what a member runs, the memory does; what it was told to stop is free if it has stopped it.
func TestUnlisted(t *testing.T) {
	for _, test := range []struct {
		name    string
		applied int32
		rows    string
	}{
		{"it has applied the last answer", 11, `
			S1 round 12: wake 10s
			S3 round 12: start [0_1]`},
		{"it may have missed it", 0, `
			S1 round 12: call: somebody has stopped a task that runs elsewhere next, wake 10s
			S3 round 12: call: somebody has stopped a task that runs elsewhere next, wake 10s`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCast(t, twoTasks(), "S1", "S2")
			c.round()
			c.enter(twoTasks(), "S3")
			c.sessions["S2"].Leave(c.clock)
			c.round()
			c.round()
			c.sessions["S3"].Progress(c.clock, t01, 0)
			c.round() // S2 is told to stop 0_1
			c.Reset()
			send := c.join(unread("S2"), func(reports []lead.Report) []lead.Report {
				reports[1].Known, reports[1].Unlisted = &assignor.Member{Generation: test.applied}, true
				return reports
			})
			c.deliver(send, "S1", "S3")
			c.want(test.rows)
		})
	}
}

// TestNoDebounce: no debounce is none, but for the time that others have to hear of what a drain leaves them.
func TestNoDebounce(t *testing.T) {
	config := twoTasks()
	config.Debounce = lead.NoDebounce
	c := handingOver(t, config)
	c.tell("S2", "progress", c.sessions["S2"].Progress(c.clock, t00, 0))
	c.round()
	c.round()
	c.sessions["S2"].Leave(c.clock)
	for range 4 {
		c.round()
		c.catchUp("S1")
	}
	c.Reset()
	c.after(lead.DefaultDebounce - time.Millisecond)
	c.after(time.Millisecond)
	c.want(`S2 after 1ms: drained, wake 10s`)
}
