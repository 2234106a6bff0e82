package worlds

import (
	"fmt"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// The size of a world.
const (
	numInstances = 3
	numTasks     = 3
)

// mask is a set of tasks.
type mask uint8

func (m mask) has(t int) bool { return m>>t&1 == 1 }

// Instance is what one instance will report, and what the leader remembers of it. Each has one member, of the same name.
type Instance struct {
	Present, Leaving, Overdue bool
	Age                       uint8 // 0: has applied no answer; else the rank of the generation of the last it applied
	Active, Revoked           mask
	Learners, HotLearners     mask // those that have caught up are in both
	Standbys, HotStandbys     mask
	Behind                    mask // copies in Standbys of which it is known that they are behind

	Known, KnownLeaving  bool // the leader's memory has it
	LastActive, LastStop mask
	Awaited              mask // it has vanished, and these wait for it
	Late                 bool // for longer than the rejoin delay
}

// State is a group between two rounds.
type State struct {
	Instances [numInstances]Instance
	Memory    bool
	MemoryAge uint8 // the rank of its generation
	Events    uint8 // since the last round
}

// World is the setting in which states follow each other.
type World struct {
	Name   string
	Config assignor.Config
	Mode   assignor.HandoverMode
	Missed bool  // members may miss an answer
	Twin   bool  // every answer must be the one of the naive twin
	Events uint8 // how many events may come between two rounds

	// Assign is assignor.Assign where it is nil.
	Assign func([]assignor.Member, *assignor.Assignment, assignor.Config) (*assignor.Assignment, error)

	orders []renaming // the ways to rename its tasks
}

var names = [numInstances]string{"S1", "S2", "S3"}

// taskID returns the id of task t: the tasks of the topology in their order.
func (w *World) taskID(t int) assignor.TaskID {
	for _, sub := range w.Config.Topology {
		if t < int(sub.Partitions) {
			return assignor.TaskID{Subtopology: sub.ID, Partition: int32(t)}
		}
		t -= int(sub.Partitions)
	}
	panic("no such task")
}

func (w *World) number(id assignor.TaskID) int {
	first := 0
	for _, sub := range w.Config.Topology {
		if sub.ID == id.Subtopology {
			return first + int(id.Partition)
		}
		first += int(sub.Partitions)
	}
	panic("no such task")
}

// tasks returns all tasks.
func (w *World) tasks() mask {
	n := int32(0)
	for _, sub := range w.Config.Topology {
		n += sub.Partitions
	}
	return 1<<n - 1
}

// stateful returns the tasks with state.
func (w *World) stateful() mask {
	var m mask
	t := 0
	for _, sub := range w.Config.Topology {
		for range sub.Partitions {
			if !sub.Stateless {
				m |= 1 << t
			}
			t++
		}
	}
	return m
}

func (w *World) ids(m mask) []assignor.TaskID {
	var ids []assignor.TaskID
	for t := range numTasks {
		if m.has(t) {
			ids = append(ids, w.taskID(t))
		}
	}
	return ids
}

func (w *World) set(ids []assignor.TaskID) mask {
	var m mask
	for _, id := range ids {
		m |= 1 << w.number(id)
	}
	return m
}

// behind is the lag of a copy that is known to be behind.
const behind = 50

func (w *World) replicas(all, hot, cold mask) []assignor.Replica {
	var list []assignor.Replica
	for t := range numTasks {
		lag := int64(assignor.UnknownLag)
		switch {
		case !all.has(t):
			continue
		case hot.has(t):
			lag = 0
		case cold.has(t):
			lag = behind
		}
		list = append(list, assignor.Replica{Task: w.taskID(t), Lag: lag})
	}
	return list
}

// reports returns what the members of a state report.
func (w *World) reports(s *State) []assignor.Member {
	var members []assignor.Member
	for i := range s.Instances {
		in := &s.Instances[i]
		if !in.Present {
			continue
		}
		m := assignor.Member{
			ID: names[i], Instance: names[i], Generation: int32(in.Age), Leaving: in.Leaving, Active: w.ids(in.Active), Revoked: w.ids(in.Revoked),
			Learners: w.replicas(in.Learners, in.HotLearners, 0), Standbys: w.replicas(in.Standbys, in.HotStandbys, in.Behind),
		}
		if in.Overdue {
			m.LeavingFor = w.Config.ScaleDownTimeout
		}
		members = append(members, m)
	}
	return members
}

// memory returns what the leader remembers in a state.
func (w *World) memory(s *State) *assignor.Assignment {
	if !s.Memory {
		return nil
	}
	a := &assignor.Assignment{Generation: int32(s.MemoryAge)}
	for i := range s.Instances {
		in := &s.Instances[i]
		if in.Known {
			a.Members = append(a.Members, assignor.MemberAssignment{
				Member: names[i], Instance: names[i], Leaving: in.KnownLeaving, Generation: a.Generation, Active: w.ids(in.LastActive), Revoke: w.ids(in.LastStop),
			})
		}
		if in.Awaited != 0 {
			d := assignor.Departure{Instance: names[i], Tasks: w.ids(in.Awaited)}
			if in.Late {
				d.Absent = w.Config.RejoinDelay
			}
			a.Departed = append(a.Departed, d)
		}
	}
	return a
}

// remember sets what the leader remembers.
func (w *World) remember(s *State, a *assignor.Assignment) {
	s.Memory, s.MemoryAge = a != nil, 0
	for i := range s.Instances {
		in := &s.Instances[i]
		in.Known, in.KnownLeaving, in.LastActive, in.LastStop, in.Awaited, in.Late = false, false, 0, 0, 0, false
	}
	if a == nil {
		return
	}
	s.MemoryAge = uint8(a.Generation)
	for k := range a.Members {
		ma := &a.Members[k]
		in := s.named(ma.Instance)
		in.Known, in.KnownLeaving, in.LastActive, in.LastStop = true, ma.Leaving, w.set(ma.Active), w.set(ma.Revoke)
	}
	for _, d := range a.Departed {
		in := s.named(d.Instance)
		in.Awaited, in.Late = w.set(d.Tasks), d.Absent >= max(1, w.Config.RejoinDelay)
	}
}

func (s *State) named(instance string) *Instance {
	for i := range names {
		if names[i] == instance {
			return &s.Instances[i]
		}
	}
	panic("no such instance: " + instance)
}

// String shows a state as rows.
func (w *World) String(s *State) string {
	var b strings.Builder
	for _, m := range w.reports(s) {
		fmt.Fprintf(&b, "  %v generation %d", m, m.Generation)
		if m.Leaving {
			fmt.Fprintf(&b, " leaving for %v", m.LeavingFor.Round(time.Second))
		}
		b.WriteByte('\n')
	}
	a := w.memory(s)
	if a == nil {
		b.WriteString("  no memory\n")
		return b.String()
	}
	fmt.Fprintf(&b, "  memory of generation %d:\n", a.Generation)
	for _, ma := range a.Members {
		fmt.Fprintf(&b, "    %v", ma)
		if ma.Leaving {
			b.WriteString(" leaving")
		}
		b.WriteByte('\n')
	}
	for _, d := range a.Departed {
		fmt.Fprintf(&b, "    awaited: %s%v absent %v\n", d.Instance, d.Tasks, d.Absent)
	}
	return b.String()
}
