package lead

import (
	"errors"
	"fmt"
	"slices"

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
		p.assignment, p.send, err = r.encode(withoutStarts(a, members, kinds))
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

// withoutStarts returns the assignment without the copies that moves of these kinds start and of which their members have no state.
func withoutStarts(a *assignor.Assignment, members []assignor.Member, kinds []assignor.MoveKind) *assignor.Assignment {
	reports := make(map[string]assignor.Member, len(members))
	for _, m := range members {
		reports[m.ID] = m
	}
	starts := map[string][]assignor.TaskID{}
	less := *a
	less.Moves = slices.DeleteFunc(slices.Clone(a.Moves), func(move assignor.Move) bool {
		waits := slices.Contains(kinds, move.Kind) && move.Reason != assignor.ReasonLeaving && !hasState(reports[move.To], move.Task)
		if waits {
			starts[move.To] = append(starts[move.To], move.Task)
		}
		return waits
	})
	less.Members = slices.Clone(a.Members)
	for i := range less.Members {
		ma := &less.Members[i]
		if gone := union(starts[ma.Member], nil); len(gone) > 0 {
			ma.Learners, ma.Standbys = without(ma.Learners, gone), without(ma.Standbys, gone)
		}
	}
	handovers(&less)
	return &less
}

func hasState(m assignor.Member, task assignor.TaskID) bool {
	is := func(c assignor.Replica) bool { return c.Task == task }
	return slices.ContainsFunc(m.Learners, is) || slices.ContainsFunc(m.Standbys, is) ||
		slices.Contains(m.Active, task) || slices.Contains(m.Revoked, task)
}

// handovers makes the Handover of each member the tasks that others learn.
func handovers(a *assignor.Assignment) {
	var learned []assignor.TaskID
	for i := range a.Members {
		learned = append(learned, a.Members[i].Learners...)
	}
	learned = union(learned, nil)
	for i := range a.Members {
		ma := &a.Members[i]
		ma.Handover = without(ma.Handover, without(ma.Handover, learned))
	}
}
