package lead

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// plan is an assignment and its payloads.
type plan struct {
	assignment *assignor.Assignment
	send       []Payload
	left       error // what had to give way, nil: nothing
}

// fit returns the plan of an assignment. Where it is too large, what can wait gives way: first the copies of the memory (Encode leaves
// them out), then standbys that have not begun, then learners that have not, but for those of instances that leave. What goes on,
// failover and drains never give way: where they do not fit, it fails. All of a kind give way at once: which of them would fit, the
// next round could not know, so it would start others.
func fit(a *assignor.Assignment, members []assignor.Member, r Round) (p plan, err error) {
	p.assignment, p.send, err = r.encode(a)
	for _, kinds := range [][]assignor.MoveKind{{assignor.MoveStandby}, {assignor.MoveStandby, assignor.MoveLearn}} {
		if r.Encode != nil || !errors.Is(err, assignor.ErrPayloadTooLarge) {
			break
		}
		p.left = fmt.Errorf("lead: round %d starts no copy that can wait (%v): raise Round.Limit, or take fewer members or tasks: %w", r.Number, kinds, err)
		starts := slices.DeleteFunc(Starts(a, members), func(move assignor.Move) bool { return !slices.Contains(kinds, move.Kind) })
		p.assignment, p.send, err = r.encode(Postpone(a, starts))
	}
	return p, err
}

// encode returns the payloads of an assignment, all of them or an error.
func (r *Round) encode(a *assignor.Assignment) (*assignor.Assignment, []Payload, error) {
	var data [][]byte
	var err error
	if r.Encode != nil {
		a, data, err = r.Encode(a)
	} else {
		data, err = a.Encode(r.Limit)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(data) != len(a.Members) {
		return nil, nil, fmt.Errorf("lead: Round.Encode returned %d payloads for %d members", len(data), len(a.Members))
	}
	send := make([]Payload, len(data))
	for i := range data {
		send[i] = Payload{a.Members[i].Member, data[i]}
	}
	return a, send, nil
}

// Starts returns the copies that an answer to these reports starts and that can wait, by their moves, what is to wait last first:
// learners, but for those of instances that leave, then standbys. A copy of which its member has state has begun.
func Starts(a *assignor.Assignment, members []assignor.Member) []assignor.Move {
	reports := make(map[string]*assignor.Member, len(members))
	for i := range members {
		reports[members[i].ID] = &members[i]
	}
	var starts []assignor.Move
	for _, move := range a.Moves {
		learns := move.Kind == assignor.MoveLearn && move.Reason != assignor.ReasonLeaving
		if (learns || move.Kind == assignor.MoveStandby) && !hasState(reports[move.To], move.Task) {
			starts = append(starts, move)
		}
	}
	slices.SortStableFunc(starts, func(a, b assignor.Move) int { return cmp.Compare(a.Kind, b.Kind) }) // MoveLearn comes first
	return starts
}

// hasState reports whether a member reports any state of a task.
func hasState(m *assignor.Member, task assignor.TaskID) bool {
	return m != nil && (find(m.Standbys, task) != nil || find(m.Learners, task) != nil || has(m.Active, task) || has(m.Revoked, task))
}

// at is a task at a member.
type at struct {
	member string
	task   assignor.TaskID
}

// Postpone returns the assignment without these starts: as a round decides that does not make them. A standby that was to move
// stays where it is. It shares with a what it does not change.
func Postpone(a *assignor.Assignment, starts []assignor.Move) *assignor.Assignment {
	if len(starts) == 0 {
		return a
	}
	dropped, stays := map[at]bool{}, map[at]bool{}
	evened := map[assignor.TaskID]bool{}
	less := *a
	for _, move := range starts {
		dropped[at{move.To, move.Task}] = true
		if move.Kind == assignor.MoveStandby {
			evened[move.Task] = move.Reason == assignor.ReasonStandbyBalance
			less.MissingStandbys++
		} else {
			dropped[at{move.From, move.Task}] = true // it no longer hands it over
		}
	}
	less.Moves = slices.DeleteFunc(slices.Clone(a.Moves), func(move assignor.Move) bool {
		switch move.Kind {
		case assignor.MoveLearn, assignor.MoveStandby:
			return dropped[at{move.To, move.Task}]
		case assignor.MoveStopStandby:
			if evened[move.Task] && move.Reason == assignor.ReasonTooManyStandbys {
				evened[move.Task], stays[at{move.From, move.Task}] = false, true
				less.MissingStandbys--
				return true
			}
		}
		return false
	})
	less.Members = slices.Clone(a.Members)
	for i := range less.Members {
		ma := &less.Members[i]
		for _, list := range []*[]assignor.TaskID{&ma.Learners, &ma.Standbys, &ma.Handover} {
			*list = slices.DeleteFunc(slices.Clone(*list), func(task assignor.TaskID) bool { return dropped[at{ma.Member, task}] })
		}
	}
	for place := range stays { // order-free: into sorted lists
		i, known := slices.BinarySearchFunc(less.Members, place.member, func(ma assignor.MemberAssignment, id string) int { return strings.Compare(ma.Member, id) })
		if known {
			less.Members[i].Standbys = union(less.Members[i].Standbys, []assignor.TaskID{place.task})
		}
	}
	return &less
}
