package lead_test

import (
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
	"github.com/incremental-rebalance/assignor/lead/leadtest"
)

// FuzzSession lets anything happen to one session, in any order, with bytes of anybody: it keeps its invariants, and what it says to
// stop and to start adds up.
func FuzzSession(f *testing.F) {
	f.Add([]byte("JBDAPTLSXR"))
	f.Add([]byte{0, 1, 2, 8, 0, 0, 1, 1, 3, 0, 4, 0, 1, 3, 2, 5, 6, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &script{bytes: data}
		config := twoTasks()
		config.OneRound = s.next()%2 == 0
		session, err := lead.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ledger := &leadtest.Ledger{}
		var report []byte
		for len(s.bytes) > 0 && ledger.Err() == nil {
			todo := s.event(session, report)
			for _, task := range todo.Stop {
				ledger.Stopped("S1", task)
			}
			for _, task := range todo.Start {
				ledger.Started("S1", task)
			}
			for _, task := range s.stopped {
				if ledger.Runner(task) != "" {
					ledger.Stopped("S1", task)
				}
			}
			s.stopped = nil
			if todo.Report != nil {
				report = todo.Report
			}
			if todo.Wake < 0 {
				ledger.Fail("wake in %v", todo.Wake)
			}
			if err := session.Check(); err != nil {
				ledger.Fail("%w", err)
			}
		}
		if err := ledger.Err(); err != nil {
			t.Fatal(err)
		}
	})
}

// script draws events from bytes.
type script struct {
	bytes   []byte
	now     int64
	stopped []assignor.TaskID
	sent    []byte
}

func (s *script) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *script) task() assignor.TaskID {
	return assignor.TaskID{Subtopology: int32(s.next() % 2), Partition: int32(s.next() % 3)}
}

func (s *script) tasks() []assignor.TaskID {
	var tasks []assignor.TaskID
	for range s.next() % 4 {
		tasks = append(tasks, s.task())
	}
	return tasks
}

func (s *script) rest() []byte {
	n := min(int(s.next()), len(s.bytes))
	b := s.bytes[:n]
	s.bytes = s.bytes[n:]
	return b
}

// answer returns what any leader may send.
func (s *script) answer() []byte {
	switch s.next() % 4 {
	case 0:
		return s.rest()
	case 1:
		return s.sent
	}
	a := assignor.Assignment{Generation: int32(s.next() % 8), Members: []assignor.MemberAssignment{{Member: "m1", Instance: "S1"}}}
	ma := &a.Members[0]
	ma.Generation = a.Generation
	ma.Active, ma.Revoke, ma.Learners, ma.Standbys = s.tasks(), s.tasks(), s.tasks(), s.tasks()
	if n := len(ma.Active); n > 0 {
		ma.Handover = ma.Active[:int(s.next())%n]
	}
	ma.Leaving, ma.FollowUp = s.next()%2 == 0, s.next()%2 == 0
	payloads, err := a.Encode(0)
	if err != nil {
		return nil
	}
	return payloads[0]
}

func (s *script) event(session *lead.Session, report []byte) lead.Todo {
	s.now += int64(int8(s.next())) * int64(time.Second)
	now := time.Unix(s.now, 0)
	round := int32(s.next() % 4)
	switch s.next() % 14 {
	case 0:
		return session.Join(now)
	case 1:
		return session.Begin(now, lead.Place{Round: round, Member: "m1", Leads: s.next()%2 == 0})
	case 2:
		reports := []lead.Report{{Member: "m1", Data: report}, {Member: "m2", Data: s.rest()}}
		if s.next()%2 == 0 {
			reports = reports[:1]
		}
		todo := session.Decide(now, lead.Round{Number: round, Reports: reports, Limit: int(s.next())})
		for _, p := range todo.Send {
			if p.Member == "m1" {
				s.sent = p.Data
			}
		}
		return todo
	case 3, 4:
		return session.Deliver(now, round, s.answer())
	case 5:
		return session.Progress(now, s.task(), int64(int8(s.next())))
	case 6:
		return session.Broken(now, s.task(), int64(int8(s.next())))
	case 7:
		return session.Leave(now)
	case 8:
		return session.Stay(now)
	case 9:
		return session.Lost(now)
	case 10:
		s.stopped = s.tasks()
		return session.Stopped(now, s.stopped...)
	case 11:
		return session.Owns(now, s.tasks())
	case 12:
		return session.Follow(now, s.tasks())
	default:
		return session.Tick(now)
	}
}
