package measure

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// subtopologies is how many every group has, with the same number of tasks each.
const subtopologies = 10

// The states of a group in which a round is measured. Before the event that names them, the members share the tasks evenly, task i
// with member i mod members, and the memory says so; a tenth is at least one.
const (
	Cold     = "cold"     // nobody runs anything and there is no memory
	Steady   = "steady"   // nothing has changed
	Join     = "join"     // one member more
	Leave    = "leave"    // the first member has gone
	Leave10  = "leave10"  // a tenth of the members has gone
	Drain    = "drain"    // the first member is leaving
	Learning = "learning" // a tenth more members have joined in the last round and are still learning
	Handover = "handover" // the same, and all have caught up
)

// States are all of them.
var States = []string{Cold, Steady, Join, Leave, Leave10, Drain, Learning, Handover}

// Case is a group and what has happened to it. Tasks is a multiple of 10, and at least Members.
type Case struct {
	State                    string
	Tasks, Members, Standbys int
}

// String is the case as a benchmark's name.
func (c Case) String() string {
	return fmt.Sprintf("members=%d/tasks=%d/state=%s/standbys=%d", c.Members, c.Tasks, c.State, c.Standbys)
}

// Input is what [assignor.Assign] takes.
type Input struct {
	Members []assignor.Member
	Memory  *assignor.Assignment
	Config  assignor.Config
}

// Assign decides the round.
func (in *Input) Assign() (*assignor.Assignment, error) {
	return assignor.Assign(in.Members, in.Memory, in.Config)
}

// Input returns the reports, the memory and the configuration of a case.
func (c Case) Input() (*Input, error) {
	in := c.steady()
	tenth := max(1, c.Members/10)
	switch c.State {
	case Steady:
	case Cold:
		in.Memory = nil
		for m := range in.Members {
			in.Members[m] = assignor.Member{ID: in.Members[m].ID}
		}
	case Join:
		in.join(1)
	case Leave:
		in.Members = in.Members[1:]
	case Leave10:
		in.Members = in.Members[tenth:]
	case Drain:
		in.Members[0].Leaving = true
	case Learning:
		in.join(tenth)
		return in, in.next(1_000_000)
	case Handover:
		in.join(tenth)
		return in, in.next(0)
	default:
		return nil, fmt.Errorf("measure: no state is called %q", c.State)
	}
	return in, nil
}

// steady is the group before anything happens to it. The standby of a task is with another member than that of its owner's next
// task, so that the standbys of one member's tasks are with all others.
func (c Case) steady() *Input {
	in := &Input{Config: assignor.Config{Standbys: c.Standbys}, Members: make([]assignor.Member, c.Members)}
	partitions := c.Tasks / subtopologies
	for s := range int32(subtopologies) {
		in.Config.Topology = append(in.Config.Topology, assignor.Subtopology{ID: s, Partitions: int32(partitions)})
	}
	for m := range in.Members {
		in.Members[m] = assignor.Member{ID: memberID(m), Generation: 1}
	}
	for i := range c.Tasks {
		id := assignor.TaskID{Subtopology: int32(i / partitions), Partition: int32(i % partitions)}
		owner := &in.Members[i%c.Members]
		owner.Active = append(owner.Active, id)
		for k := 1; k <= c.Standbys; k++ {
			other := &in.Members[(i+k*(1+i/c.Members%max(1, c.Members-1)))%c.Members]
			if other != owner {
				other.Standbys = append(other.Standbys, assignor.Replica{Task: id})
			}
		}
	}
	in.Memory = assignor.Recover(in.Members)
	return in
}

func memberID(m int) string { return fmt.Sprintf("worker-%05d", m) }

// join adds members that have nothing.
func (in *Input) join(n int) {
	for range n {
		in.Members = append(in.Members, assignor.Member{ID: memberID(len(in.Members))})
	}
}

// next goes on to the next round: the members have done what Assign tells them, and the learners are lag behind.
func (in *Input) next(lag int64) error {
	answer, err := in.Assign()
	if err != nil {
		return err
	}
	in.Members, in.Memory = churn.Obey(in.Members, answer, assignor.OneRound), answer
	for m := range in.Members {
		for i := range in.Members[m].Learners {
			in.Members[m].Learners[i].Lag = lag
		}
	}
	return nil
}
