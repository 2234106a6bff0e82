package peers

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Settled is what it took until an assignor asked for no further round, when every copy had caught up before each.
type Settled struct {
	Rounds int
	Moves  int // active tasks that changed members
	Cold   int // of those, the ones whose new member had no copy that had caught up
}

// Settle lets the library run to its end after the event of a case, which comes to a group that the library itself has settled.
// maxLearners is [assignor.Config.MaxLearners].
func Settle(c measure.Case, maxLearners int) (Settled, error) {
	before := c
	before.State = measure.Cold
	in, err := before.Input()
	if err != nil {
		return Settled{}, err
	}
	in.Config.MaxLearners = maxLearners
	if _, err := settle(in); err != nil {
		return Settled{}, err
	}
	switch c.State {
	case measure.Join:
		in.Members = append(in.Members, assignor.Member{ID: "worker-joins"})
	case measure.Leave:
		in.Members = in.Members[1:]
	default:
		return Settled{}, fmt.Errorf("settle: not for the state %q", c.State)
	}
	return settle(in)
}

func settle(in *measure.Input) (Settled, error) {
	var s Settled
	for more := true; more; {
		s.Rounds++
		answer, err := in.Assign()
		if err != nil {
			return s, err
		}
		if err := assignor.Check(in.Members, answer, in.Config); err != nil {
			return s, err
		}
		more = answer.FollowUp
		for i := range in.Members {
			ma, _ := answer.For(in.Members[i].ID)
			s.count(&in.Members[i], ma.Active)
			more = more || len(ma.Learners) > 0
			in.Members[i] = in.Members[i].Next(ma, assignor.OneRound)
			catchUp(in.Members[i].Learners)
			catchUp(in.Members[i].Standbys)
		}
		in.Memory = answer
		if s.Rounds > 10_000 {
			return s, fmt.Errorf("settle: not in %d rounds", s.Rounds)
		}
	}
	return s, nil
}

// count counts the tasks that a member runs from now on and did not before.
func (s *Settled) count(member *assignor.Member, active []assignor.TaskID) {
	had, warm := map[assignor.TaskID]bool{}, map[assignor.TaskID]bool{}
	for _, tasks := range [][]assignor.TaskID{member.Active, member.Revoked} {
		for _, id := range tasks {
			had[id] = true
		}
	}
	for _, copies := range [][]assignor.Replica{member.Learners, member.Standbys} {
		for _, c := range copies {
			warm[c.Task] = c.Lag == 0
		}
	}
	for _, id := range active {
		if had[id] {
			continue
		}
		s.Moves++
		if !warm[id] {
			s.Cold++
		}
	}
}

func catchUp(copies []assignor.Replica) {
	for i := range copies {
		copies[i].Lag = 0
	}
}
