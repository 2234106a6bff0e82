package peers

import (
	"fmt"
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Settled is what it took until an assignor asked for no further round, when every copy had caught up before each.
type Settled struct {
	Rounds int
	Moves  int // active tasks that changed members
	Cold   int // of those, the ones whose new member had no copy that had caught up
}

// Settle lets the library run to its end after the event of a case, which comes to a group that the library itself has settled. The
// event is that a member joins, or that the one in the middle leaves. maxLearners is [assignor.Config.MaxLearners].
func Settle(c measure.Case, maxLearners int) (Settled, error) {
	in, err := cold(c)
	if err != nil {
		return Settled{}, err
	}
	in.Config.MaxLearners = maxLearners
	if _, err := settle(in); err != nil {
		return Settled{}, err
	}
	if in.Members, err = happen(in.Members, c.State); err != nil {
		return Settled{}, err
	}
	return settle(in)
}

// cold is the group of a case before anything has been assigned.
func cold(c measure.Case) (*measure.Input, error) {
	c.State = measure.Cold
	return c.Input()
}

func happen(members []assignor.Member, state string) ([]assignor.Member, error) {
	switch state {
	case measure.Join:
		return append(members, assignor.Member{ID: "worker-joins"}), nil
	case measure.Leave:
		middle := len(members) / 2
		return slices.Delete(members, middle, middle+1), nil
	default:
		return nil, fmt.Errorf("settle: not for the state %q", state)
	}
}

// A Planner decides one round of a group that has no copies.
type Planner func(*measure.Input) (Plan, error)

// Settle is [Settle] for a planner: it goes on until every task is somebody's, which takes one that has its members give a task up
// before another gets it a second round.
func (decide Planner) Settle(c measure.Case) (Settled, error) {
	in, err := cold(c)
	if err != nil {
		return Settled{}, err
	}
	if in, _, err = decide.settle(in); err != nil {
		return Settled{}, err
	}
	if in.Members, err = happen(in.Members, c.State); err != nil {
		return Settled{}, err
	}
	_, s, err := decide.settle(in)
	return s, err
}

func (decide Planner) settle(in *measure.Input) (*measure.Input, Settled, error) {
	const most = 10
	for s, before := (Settled{}), in; ; {
		s.Rounds++
		p, err := decide(in)
		if err != nil {
			return nil, s, err
		}
		missing, err := p.check(in)
		if err != nil {
			return nil, s, err
		}
		in = p.adopt(in)
		if missing == 0 {
			for i := range in.Members {
				s.count(&before.Members[i], in.Members[i].Active)
			}
			return in, s, nil
		}
		if s.Rounds == most {
			return nil, s, fmt.Errorf("%d tasks are left to nobody after %d rounds", missing, most)
		}
	}
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
			churn.CatchUp(&in.Members[i], assignor.Conservative)
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
