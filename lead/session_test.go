package lead_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

var (
	t00 = assignor.TaskID{Subtopology: 0, Partition: 0}
	t01 = assignor.TaskID{Subtopology: 0, Partition: 1}
)

// twoTasks is a group with the tasks 0_0 and 0_1.
func twoTasks() lead.Config {
	return lead.Config{Assignor: assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 2}}, AcceptableLag: 10}}
}

// handingOver is a group in which S1 runs both tasks, and S2 learns 0_0.
func handingOver(t *testing.T, config lead.Config) *cast {
	t.Helper()
	c := newCast(t, config, "S1")
	c.round()
	c.enter(config, "S2")
	c.round()
	c.want(`
		S1 round 8: start [0_0 0_1]
		S1 round 9:
		S2 round 9: learn [0_0], wake 1m0s`)
	return c
}

// TestWorkedExample plays the example of the package comment.
func TestWorkedExample(t *testing.T) {
	c := handingOver(t, twoTasks())
	c.tell("S2", "progress", c.sessions["S2"].Progress(c.clock, t00, 500))
	c.tell("S2", "progress", c.sessions["S2"].Progress(c.clock, t00, 10))
	c.after(time.Second)
	c.round()
	c.round()
	c.after(time.Hour)
	c.want(`
		S2 progress: wake 1m0s
		S2 progress: wake 1s
		S2 after 1s: call: learners have caught up, wake 10s
		S1 round 10: stop [0_0], call: somebody has stopped a task that runs elsewhere next, wake 10s
		S2 round 10: call: somebody has stopped a task that runs elsewhere next, wake 10s
		S1 round 11: drop [0_0]
		S2 round 11: start [0_0]`)
}

// TestOneRound: the owner stops what others learn before it joins, and its learner starts in that round.
func TestOneRound(t *testing.T) {
	config := twoTasks()
	config.OneRound = true
	c := handingOver(t, config)
	c.round()
	c.sessions["S2"].Progress(c.clock, t00, 0)
	c.round()
	c.want(`
		S1 joins: stop [0_0], wake 5m0s
		S1 round 10: start [0_0]
		S2 round 10: wake 1m0s
		S1 joins: stop [0_0], wake 5m0s
		S1 round 11: drop [0_0]
		S2 round 11: start [0_0]`)
}

// TestOneRoundMissed: an owner that has stopped a task for a round and hears nothing does not start it again, whatever comes.
func TestOneRoundMissed(t *testing.T) {
	config := twoTasks()
	config.OneRound = true
	c := handingOver(t, config)
	c.sessions["S2"].Progress(c.clock, t00, 0)
	send := c.join()
	c.deliver(send, "S2")
	c.want(`
		S1 joins: stop [0_0], wake 5m0s
		S2 round 10: start [0_0]`)
	c.number++
	c.wantReport("S1", "S1(assigned: [0_1], revoked: [0_0], learning: []) 9")
	c.sessions["S1"].Begin(c.clock, lead.Place{Round: 11, Member: "S1"})
	c.tell("S1", "late", c.sessions["S1"].Deliver(c.clock, 10, send[0].Data))
	c.tell("S1", "go on", c.sessions["S1"].Deliver(c.clock, 11, nil))
	c.want(`
		S1 late: wake 10s
		S1 go on: wake 5m0s`)
	c.wantReport("S1", "S1(assigned: [0_1], revoked: [0_0], learning: []) 9")

	// S2 is there again, but nobody can read what it says: to repeat what is does not give 0_0 back.
	c.names = []string{"S1", "S2"}
	c.round(unread("S2"))
	c.want(`
		S1 round 12: keep [0_0], wake 10s
		S2 round 12: wake 5m0s`)
	c.wantReport("S1", "S1(assigned: [0_1], revoked: [], learning: [], standby: [0_0 lag=0]) 12")
	c.wantReport("S2", "S2(assigned: [0_0], revoked: [], learning: []) 10")
}

// TestGivenBack: what was stopped for a round that cannot be decided goes back where all are there and up to date, stays stopped
// where nothing can be sent, and is a copy where somebody is unknown who may have it.
func TestGivenBack(t *testing.T) {
	config := twoTasks()
	config.OneRound = true
	c := handingOver(t, config)
	c.topology = []assignor.Subtopology{{ID: 0, Partitions: -1}}
	c.round()
	c.wantTrouble(assignor.ErrConfig)
	c.topology = nil
	c.round()
	c.limit = 1
	c.round()
	c.wantTrouble(assignor.ErrPayloadTooLarge)
	c.limit = 0
	c.round(func(r []lead.Report) []lead.Report { return append(r, lead.Report{}) })
	c.wantTrouble(lead.ErrUnread)
	c.round()
	c.want(`
		S1 joins: stop [0_0], wake 5m0s
		S1 round 10: start [0_0], wake 10s
		S2 round 10: wake 1m0s
		S1 round 11:
		S2 round 11: wake 1m0s
		S1 joins: stop [0_0], wake 5m0s
		S1 round 12: wake 10s
		S2 round 12: wake 5m0s
		S1 round 13: keep [0_0], wake 20s
		S2 round 13: wake 1m0s
		S1 round 14: start [0_0]
		S2 round 14: wake 1m0s`)
}

// TestUnread: a report that cannot be read stops nothing and gives nobody anything, however often; what the transport itself knows
// of its member is as good.
func TestUnread(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	c.sessions["S1"].Leave(c.clock)
	for range 7 {
		c.round(unread("S2"))
	}
	c.wantTrouble(assignor.ErrVersion)
	c.want(`
		S1 round 8: start [0_0]
		S2 round 8: start [0_1]
		S1 round 9: wake 10s
		S2 round 9: wake 5m0s
		S1 round 10: wake 20s
		S2 round 10: wake 5m0s
		S1 round 11: wake 40s
		S2 round 11: wake 5m0s
		S1 round 12: wake 1m20s
		S2 round 12: wake 5m0s
		S1 round 13: wake 2m40s
		S2 round 13: wake 5m0s
		S1 round 14: wake 5m0s
		S2 round 14: wake 5m0s
		S1 round 15: wake 5m0s
		S2 round 15: wake 5m0s`)
	c.round(unread("S2"), func(reports []lead.Report) []lead.Report {
		reports[1].Known = &assignor.Member{Instance: "S2", Generation: 1000, Active: []assignor.TaskID{t01}}
		return reports
	})
	c.want(`
		S1 round 16: stop [0_0], call: somebody has stopped a task that runs elsewhere next, wake 10s
		S2 round 16: call: somebody has stopped a task that runs elsewhere next, wake 10s`)
	c.wantReport("S1", "S1(assigned: [], revoked: [], learning: [], standby: [0_0 lag=0]) 16")
}

// TestKnown: a round that stands on what the transport knows of a member is decided again.
func TestKnown(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	c.Reset()
	c.round(unread("S2"), func(reports []lead.Report) []lead.Report {
		reports[1].Known = &assignor.Member{Instance: "S2", Generation: 8, Active: []assignor.TaskID{t01}}
		return reports
	})
	c.want(`
		S1 round 9: wake 10s
		S2 round 9:`)
}

// TestUnreadLeader: a leader whose own report cannot be read goes on as it is too, and does not remember what it has not applied.
func TestUnreadLeader(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	c.round(unread("S1"))
	c.round()
	c.want(`
		S1 round 8: start [0_0]
		S2 round 8: start [0_1]
		S1 round 9: wake 10s
		S2 round 9:
		S1 round 10:
		S2 round 10:`)
}

// TestTwice: a member that reports two things at once has said nothing, and one whose report came twice has said it.
func TestTwice(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.round()
	old := c.reports[1]
	twice := func(reports []lead.Report) []lead.Report { return append(reports, reports[1]) }
	both := func(reports []lead.Report) []lead.Report { return append([]lead.Report{old}, reports...) }
	c.round(twice)
	if len(c.trouble) > 0 {
		t.Error(c.trouble)
	}
	c.names = []string{"S1", "S2"}
	c.round(both)
	c.wantTrouble(lead.ErrUnread)
	c.want(`
		S1 round 8: start [0_0]
		S2 round 8: start [0_1]
		S1 round 9:
		S2 round 9:
		S1 round 10: wake 10s
		S2 round 10: wake 5m0s`)
}

// TestStale: an answer of another round, one that came before, and one that cannot be read change nothing.
func TestStale(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	first := c.join()
	c.deliver(first, "S1")
	c.enter(twoTasks(), "S2")
	c.join()
	s := c.sessions["S1"]
	c.tell("S1", "another round", s.Deliver(c.clock, 8, first[0].Data))
	c.tell("S1", "an old answer", s.Deliver(c.clock, 9, first[0].Data))
	c.want(`
		S1 round 8: start [0_0 0_1]
		S1 another round: wake 10s
		S1 an old answer: wake 10s`)
	c.join()
	c.tell("S1", "noise", s.Deliver(c.clock, 10, []byte("noise")))
	c.after(20 * time.Second)
	c.want(`
		S1 noise: wake 20s
		S1 after 20s: call: no answer that can be read has come, wake 10s
		S2 after 20s: call: no answer that can be read has come, wake 10s`)
	c.wantTrouble(assignor.ErrVersion)
	c.wantReport("S1", "S1(assigned: [0_0, 0_1], revoked: [], learning: []) 8")
}

// TestUndelivered: a leader does not remember what it decided but what was delivered.
func TestUndelivered(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2", "S3")
	c.round()
	c.names = []string{"S1", "S3"} // S2 is gone, and nobody hears who gets its task
	lost := c.join()
	again := c.join()
	if len(lost) != 2 || len(again) != 2 || bytes.Equal(lost[0].Data, again[0].Data) {
		t.Fatal("not two plans")
	}
	for i := range lost { // apart from the generation they say the same: nothing of the first has happened
		a, _, err := assignor.Decode(lost[i].Data)
		b, _, errAgain := assignor.Decode(again[i].Data)
		if err != nil || errAgain != nil || a.String() != b.String() || a.Generation+1 != b.Generation {
			t.Errorf("%v, %v, %v, %v", a, b, err, errAgain)
		}
	}
}

// TestRecalls: a leader that was absent takes what the others know.
func TestRecalls(t *testing.T) {
	config := twoTasks()
	config.Assignor.RejoinDelay = time.Hour
	c := newCast(t, config, "S1", "S2", "S3")
	c.round()
	c.names = []string{"S2", "S3"} // S1 dies, and its task waits
	c.round()
	c.want(`
		S1 round 8: start [0_0]
		S2 round 8: start [0_1]
		S3 round 8:
		S2 round 9: wake 1h0m0s
		S3 round 9:`)
	c.clock = c.clock.Add(20 * time.Minute)
	c.sessions["S1"].Lost(c.clock) // it was only slow
	c.sessions["S1"].Progress(c.clock, t00, 0)
	c.names = []string{"S3"} // now S2, who leads, dies
	c.round()
	c.want(`S3 round 10: wake 40m0s`)
	c.names = []string{"S1", "S3"} // its own memory is older than what the others know: two are absent
	c.round()
	c.want(`
		S1 round 11: start [0_0], wake 1h0m0s
		S3 round 11:`)
}
