package lead_test

import (
	"errors"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// TestGivesWay: where a plan is too large the copies that can wait give way, learners last, and failover goes on; what is nowhere
// learned is no hand-over.
func TestGivesWay(t *testing.T) {
	config := twoTasks()
	config.Assignor.Standbys = 1
	config.Assignor.Topology[0].Partitions = 40
	c := newCast(t, config, "S1")
	c.round()
	c.enter(config, "S2")
	c.enter(config, "S3")
	sizes := map[string]int{}
	for limit := 400; limit > 0; limit-- {
		c.limit = limit
		c.trouble = nil
		send := c.join()
		total, learners, standbys, handovers := 0, 0, 0, 0
		for _, p := range send {
			total += len(p.Data)
			if ma, _, err := assignor.Decode(p.Data); err == nil {
				learners, standbys, handovers = learners+len(ma.Learners), standbys+len(ma.Standbys), handovers+len(ma.Handover)
			}
		}
		if total > limit {
			t.Fatalf("%d bytes of %d", total, limit)
		}
		if learners != handovers {
			t.Fatalf("%d learners, %d to be handed over", learners, handovers)
		}
		kind := "nothing"
		switch {
		case learners > 0 && standbys > 0:
			kind = "all"
		case learners > 0:
			kind = "learners"
		case total > 0:
			kind = "neither"
		}
		if kind != "all" {
			c.wantTrouble(assignor.ErrPayloadTooLarge)
		}
		if _, seen := sizes[kind]; !seen {
			sizes[kind] = limit
		}
	}
	if len(sizes) != 4 || !(sizes["all"] > sizes["learners"] && sizes["learners"] > sizes["neither"] && sizes["neither"] > sizes["nothing"]) {
		t.Errorf("limits at which it begins: %v", sizes)
	}
}

// TestHooks: a transport may decide and encode itself, and may want to decide again.
func TestHooks(t *testing.T) {
	c := newCast(t, twoTasks(), "S1")
	s := c.sessions["S1"]
	s.Join(c.clock)
	s.Begin(c.clock, lead.Place{Round: 8, Member: "S1", Leads: true})
	round := lead.Round{
		Number:  8,
		Reports: []lead.Report{{Member: "S1", Data: s.Join(c.clock).Report}},
		Assign: func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
			config.Topology = []assignor.Subtopology{{ID: 0, Partitions: 1}}
			return assignor.Assign(members, memory, config)
		},
		Encode: func(a *assignor.Assignment) (*assignor.Assignment, [][]byte, error) {
			payloads, err := a.Encode(0)
			return a, payloads, err
		},
	}
	s.Begin(c.clock, lead.Place{Round: 8, Member: "S1", Leads: true})
	todo := s.Decide(c.clock, round)
	s.DecideAgain()
	c.tell("S1", "delivered", s.Deliver(c.clock, 8, todo.Send[0].Data))
	c.want(`S1 delivered: start [0_0], wake 10s`)

	s.Join(c.clock)
	s.Begin(c.clock, lead.Place{Round: 9, Member: "S1", Leads: true})
	round.Number = 9
	round.Encode = func(a *assignor.Assignment) (*assignor.Assignment, [][]byte, error) { return a, nil, nil }
	if todo = s.Decide(c.clock, round); len(todo.Trouble) != 1 || todo.Plan != nil || len(todo.Send) != 1 || todo.Send[0].Data != nil {
		t.Errorf("%+v", todo)
	}
	round.Encode = func(*assignor.Assignment) (*assignor.Assignment, [][]byte, error) { return nil, nil, errors.New("no") }
	if todo = s.Decide(c.clock, round); len(todo.Trouble) != 1 || todo.Send[0].Data != nil {
		t.Errorf("%+v", todo)
	}
	if todo = s.Decide(c.clock, lead.Round{Number: 8}); todo.Send != nil || todo.Trouble != nil {
		t.Errorf("%+v", todo)
	}
}

// TestInsists: an order that a member missed is followed up while it is here, for a few rounds.
func TestInsists(t *testing.T) {
	c := handingOver(t, twoTasks())
	c.sessions["S2"].Progress(c.clock, t00, 0)
	c.names = []string{"S2", "S1"} // S2 leads, S1 misses every answer
	calls := 0
	for range 7 {
		send := c.join()
		for _, p := range send {
			if p.Member == "S2" && c.sessions["S2"].Deliver(c.clock, c.number, p.Data).Call != "" {
				calls++
			}
		}
	}
	if calls != 4 { // the first order and three more
		t.Errorf("S2 calls for %d rounds", calls)
	}
}

// TestReturnStays: what a former life reported of leaving is taken back by the new one, and said by one that leaves itself.
func TestReturnStays(t *testing.T) {
	c := newCast(t, twoTasks(), "S1", "S2")
	c.sessions["S2"].Leave(c.clock)
	c.round()
	c.sessions["S2"].Leave(c.clock)
	send := c.join()
	config := twoTasks()
	config.Instance = "S2"
	session, err := lead.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.sessions["S2"] = session
	c.clock = c.clock.Add(time.Second)
	session.Join(c.clock)
	session.Begin(c.clock, lead.Place{Round: c.number, Member: "S2"})
	c.Reset()
	c.deliver(send, "S2")
	c.want(`S2 round 9: call: told to leave, or to stay, wake 10s`)
}
