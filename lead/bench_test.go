package lead_test

import (
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/lead"
)

// leading is a session that is to decide a round, and the reports of it.
type leading struct {
	*lead.Session
	now     time.Time
	input   *measure.Input
	reports []lead.Report
	number  int32
}

// newLeading returns the first member's session, which has the memory of a case.
func newLeading(c measure.Case) (*leading, error) {
	input, err := c.Input()
	if err != nil {
		return nil, err
	}
	session, err := lead.New(lead.Config{Instance: input.Members[0].Instance, Assignor: input.Config})
	l := &leading{Session: session, now: time.Unix(1e9, 0), input: input, number: 10}
	if err != nil {
		return nil, err
	}
	for _, m := range input.Members {
		data, err := m.MarshalBinary()
		if err != nil {
			return nil, err
		}
		l.reports = append(l.reports, lead.Report{Member: m.ID, Data: data})
	}
	if input.Memory != nil {
		payload, err := withMemory(input.Memory)
		if err != nil {
			return nil, err
		}
		l.begin()
		l.Deliver(l.now, l.number, payload)
		if _, input.Memory, err = assignor.Decode(payload); err != nil { // both have the same one, wherever its arrays are
			return nil, err
		}
	}
	l.begin()
	return l, nil
}

func (l *leading) begin() {
	l.number++
	l.Join(l.now)
	l.Begin(l.now, lead.Place{Round: l.number, Member: l.reports[0].Member, Leads: true})
}

// withMemory returns a payload that the memory rides along with.
func withMemory(memory *assignor.Assignment) ([]byte, error) {
	payloads, err := memory.Encode(0)
	if err != nil {
		return nil, err
	}
	for _, payload := range payloads {
		if _, rides, err := assignor.Decode(payload); err != nil || rides != nil {
			return payload, err
		}
	}
	return nil, nil
}

// decide decides the round by the session, byHand as its leader would without one.
func (l *leading) decide() error {
	todo := l.Decide(l.now, lead.Round{Number: l.number, Reports: l.reports})
	if len(todo.Trouble) > 0 {
		return todo.Trouble[0]
	}
	return nil
}

func (l *leading) byHand() error {
	decoder := assignor.ReportDecoder{}
	if l.input.Memory != nil {
		decoder.Known = l.input.Memory.Generation
	}
	members := make([]assignor.Member, len(l.reports))
	for i, r := range l.reports {
		m, err := decoder.Decode(r.Data)
		if err != nil {
			return err
		}
		m.ID = r.Member
		members[i] = m
	}
	config := l.input.Config
	config.Generation = l.number
	a, err := assignor.Assign(members, l.input.Memory, config)
	if err != nil {
		return err
	}
	_, err = a.Encode(0)
	return err
}

// BenchmarkDecide sets a session's round beside the same round by hand: x-by-hand is how many times that it takes, both measured in
// turns by the processor's time.
func BenchmarkDecide(b *testing.B) {
	for _, c := range []measure.Case{
		{State: measure.Steady, Tasks: 100_000, Members: 1000},
		{State: measure.Join, Tasks: 100_000, Members: 1000},
	} {
		b.Run(c.String(), func(b *testing.B) {
			if testing.Short() {
				c.Tasks, c.Members = 1000, 10
			}
			l, err := newLeading(c)
			if err != nil {
				b.Fatal(err)
			}
			session, err := measure.Timed(l.decide)
			if err != nil {
				b.Fatal(err)
			}
			hand, err := measure.Timed(l.byHand)
			if err != nil {
				b.Fatal(err)
			}
			times, err := measure.Sample(25, 0, session, hand)
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				if err := l.decide(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(measure.Ratio(times[0], times[1]), "x-by-hand")
		})
	}
}

// BenchmarkProgress is a member that says how far a copy is, of many that it learns.
func BenchmarkProgress(b *testing.B) {
	config := lead.Config{Instance: "S1", Assignor: assignor.Config{Topology: []assignor.Subtopology{{Partitions: 3000}}, AcceptableLag: 10}}
	session, err := lead.New(config)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	a := assignor.Assignment{Generation: 1, Members: []assignor.MemberAssignment{{Member: "m1", Instance: "S1", Generation: 1}}}
	for p := range int32(3000) {
		a.Members[0].Learners = append(a.Members[0].Learners, assignor.TaskID{Partition: p})
	}
	payloads, err := a.Encode(0)
	if err != nil {
		b.Fatal(err)
	}
	session.Join(now)
	session.Begin(now, lead.Place{Round: 1, Member: "m1"})
	session.Deliver(now, 1, payloads[0])
	b.ResetTimer()
	for i := range b.N {
		session.Progress(now, assignor.TaskID{Partition: int32(i % 3000)}, int64(100+i%1000))
	}
}
