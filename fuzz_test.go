package assignor_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/twin"
)

// source turns a fuzzer's bytes into reports and memories, most of which cannot be. It never runs dry: behind the last byte all
// are 0.
type source struct {
	data []byte
}

func (s *source) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// number returns a small number, or one time in eight an extreme one.
func (s *source) number() int64 {
	b := s.byte()
	if b < 0xe0 {
		return int64(b % 16)
	}
	return []int64{math.MinInt64, math.MinInt32, -1, math.MaxInt32 - 1, math.MaxInt32, math.MaxInt64, 1 << 40, 100_000}[b%8]
}

func (s *source) bool() bool { return s.byte()&1 == 1 }

func (s *source) duration() time.Duration {
	return time.Duration(s.number()) * time.Second // overflows on purpose
}

func (s *source) name() string {
	return []string{"", "a", "b", "c", "d", "e", "a\x00", "é"}[s.byte()%8]
}

func (s *source) task() assignor.TaskID {
	return assignor.TaskID{Subtopology: int32(s.number() % 5), Partition: int32(s.number() % 7)}
}

func (s *source) tasks() []assignor.TaskID {
	tasks := make([]assignor.TaskID, s.byte()%6)
	for i := range tasks {
		tasks[i] = s.task()
	}
	return tasks
}

func (s *source) replicas() []assignor.Replica {
	replicas := make([]assignor.Replica, s.byte()%5)
	for i := range replicas {
		replicas[i] = assignor.Replica{Task: s.task(), Lag: s.number(), For: s.duration()}
	}
	return replicas
}

func (s *source) member(id string) assignor.Member {
	m := assignor.Member{
		ID: id, Instance: s.name(), Capacity: int32(s.number()), Version: s.byte() % 4, Generation: int32(s.number()),
		Leaving: s.bool(), LeavingFor: s.duration(), Active: s.tasks(), Revoked: s.tasks(), Learners: s.replicas(), Standbys: s.replicas(),
	}
	if s.bool() {
		m.Tags = map[string]string{"zone": s.name(), "rack": s.name()}
	}
	if s.byte()%8 == 0 {
		m.Memory = s.assignment()
	}
	return m
}

func (s *source) members() []assignor.Member {
	members := make([]assignor.Member, s.byte()%6)
	for i := range members {
		id := string(rune('m' + i))
		if s.byte() == 0xff {
			id = s.name() // empty, or given twice
		}
		members[i] = s.member(id)
	}
	return members
}

func (s *source) assignment() *assignor.Assignment {
	a := &assignor.Assignment{Generation: int32(s.number())}
	for range s.byte() % 5 {
		a.Members = append(a.Members, assignor.MemberAssignment{
			Member: string(rune('m' + s.byte()%6)), Instance: s.name(), Leaving: s.bool(), Active: s.tasks(), Revoke: s.tasks(),
			Handover: s.tasks(), Learners: s.tasks(), Standbys: s.tasks(),
		})
	}
	for range s.byte() % 3 {
		a.Departed = append(a.Departed, assignor.Departure{Instance: s.name(), Absent: s.duration(), Tasks: s.tasks()})
	}
	return a
}

func (s *source) config() assignor.Config {
	c := assignor.Config{
		Standbys: int(s.byte() % 4), MaxLearners: int(s.byte() % 4), AcceptableLag: int64(s.byte() % 8),
		LearnerTimeout: time.Duration(s.byte()%4) * time.Second, ScaleDownTimeout: time.Duration(s.byte()%8) * time.Second,
		RejoinDelay: time.Duration(s.byte()%8) * time.Second, ImbalancePercent: int(s.byte() % 101), NewInstancesOnly: s.bool(),
		Generation: int32(s.number()), SincePrevious: time.Duration(s.byte()) * time.Second,
	}
	if s.bool() {
		c.SpreadTags = []string{"zone", "rack"}
	}
	for id := range int32(1 + s.byte()%4) {
		c.Topology = append(c.Topology, assignor.Subtopology{ID: id, Partitions: int32(s.byte() % 7), Stateless: s.byte()%3 == 0, Weight: int32(s.byte() % 4)})
	}
	return c
}

func addFuzzSeeds(f *testing.F) {
	f.Helper()
	f.Add([]byte{})
	f.Add([]byte("a group of members that report what they run, and a leader that remembers"))
	for seed := range byte(8) {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(i)*31*(seed+1) + seed*97
		}
		f.Add(data)
	}
}

// FuzzAssign gives Assign members, memories and configs that cannot be. It must not panic, must fail only where it says that it
// does, must give a safe answer otherwise, the one that its naive twin gives, whatever the order of its input, and must leave its
// arguments alone.
func FuzzAssign(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		config, members := s.config(), s.members()
		var memory *assignor.Assignment
		if s.bool() {
			memory = s.assignment()
		}
		again := &source{data}
		configBefore, membersBefore := again.config(), again.members()
		a, err := assignor.Assign(members, memory, config)
		if !reflect.DeepEqual(members, membersBefore) || !reflect.DeepEqual(config, configBefore) {
			t.Fatal("Assign has changed its arguments")
		}
		ids := map[string]bool{}
		for _, m := range members {
			ids[m.ID] = true
		}
		if refused := len(members) == 0 || ids[""] || len(ids) < len(members); refused != (err != nil) {
			t.Fatalf("%d members, %d ids: %v", len(members), len(ids), err)
		}
		if err != nil {
			assignor.Recover(members)
			return
		}
		if err := assignor.Check(members, a, config); err != nil {
			t.Fatalf("%v\nmembers: %v\nmemory: %+v\nconfig: %+v\nanswer:\n%v", err, members, memory, config, a)
		}
		want, wantErr := twin.Assign(members, memory, config)
		if diff := twin.Difference(a, nil, want, wantErr); diff != "" {
			t.Fatalf("its naive twin differs: %s\n%s", diff, twin.Input{Members: members, Memory: memory, Config: config})
		}
		slices.Reverse(members)
		for i := range members {
			slices.Reverse(members[i].Active)
			slices.Reverse(members[i].Learners)
			slices.Reverse(members[i].Standbys)
		}
		if b, _ := assignor.Assign(members, memory, config); !reflect.DeepEqual(a, b) {
			t.Fatalf("the order of the input changes the answer:\n%v\n%v\n%v\n%v", a, a.Moves, b, b.Moves)
		}
	})
}

// FuzzNext checks that an obedient member's next report does not change by obeying twice, and that Assign copes with it.
func FuzzNext(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		mode := assignor.HandoverMode(s.byte() % 2)
		m, a := s.member("m"), s.assignment()
		for _, ma := range a.Members {
			ma.Handover = nil
			disjoint(&ma.Active, &ma.Revoke, &ma.Learners, &ma.Standbys) // as in an answer
			if s.bool() {
				ma.Handover = ma.Active[:len(ma.Active)/2]
			}
			next := m.Next(ma, mode)
			if again := next.Next(ma, mode); !reflect.DeepEqual(next, again) {
				t.Fatalf("not idempotent: %v, then %v", next, again)
			}
			if cap(next.Active) != len(next.Active) || cap(next.Standbys) != len(next.Standbys) || cap(next.Learners) != len(next.Learners) {
				t.Fatal("a list has room to grow")
			}
		}
	})
}

// disjoint leaves each task in the first of the lists that has it, once.
func disjoint(lists ...*[]assignor.TaskID) {
	seen := map[assignor.TaskID]bool{}
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(task assignor.TaskID) bool {
			again := seen[task]
			seen[task] = true
			return again
		})
	}
}

// FuzzRecover checks that a rebuilt memory gives nobody a task that it does not claim, gives no task twice, and is what its twin
// makes.
func FuzzRecover(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		members := s.members()
		for i := range members {
			members[i].Memory = nil
		}
		got := assignor.Recover(members)
		if want := twin.Recover(members); !reflect.DeepEqual(want, got) {
			t.Fatalf("recovered:\n%v\nits twin:\n%v", got, want)
		}
		owner := map[assignor.TaskID]string{}
		for _, ma := range got.Members {
			i := slices.IndexFunc(members, func(m assignor.Member) bool { return m.ID == ma.Member })
			for _, task := range ma.Active {
				if !slices.Contains(members[i].Active, task) && !slices.Contains(members[i].Revoked, task) {
					t.Fatalf("%s gains %v", ma.Member, task)
				}
				if owner[task] != "" {
					t.Fatalf("%v is given to %s and to %s", task, owner[task], ma.Member)
				}
				owner[task] = ma.Member
			}
		}
	})
}

// FuzzParseTaskID checks that what can be read is written the same again.
func FuzzParseTaskID(f *testing.F) {
	for _, s := range []string{"0_0", "0_12", "2147483647_2147483647", "-1_0", "00_1", "1_", "_", "1_2_3", "+1_2", "2147483648_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := assignor.ParseTaskID(s)
		if err == nil && id.String() != s {
			t.Fatalf("%q reads as %v", s, id)
		}
	})
}
