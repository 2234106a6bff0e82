package lead

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// State is what a member is to do and how it stands. It shares nothing with the Session.
type State struct {
	Place      Place // in the round that it began last; its Leads is whether it was to
	Generation int32 // of the answer that it applies; 0: none
	Leads      bool  // that answer is its own

	Active   []assignor.TaskID  // it runs these
	Handover []assignor.TaskID  // those of Active that others learn
	Revoked  []assignor.TaskID  // stopped for the round that is under way; they may come back
	Revoking []assignor.TaskID  // stopped because the answer said so; they run elsewhere next
	Learners []assignor.Replica // it replays these in order to take them over
	Standbys []assignor.Replica // it keeps these warm
	Restores []assignor.Replica // those of Active that are not complete yet

	Leaving    bool
	LeavingFor time.Duration
	Lost       bool // it has no place: it runs nothing until it has joined again
}

// State returns how the member stands. It costs O(tasks).
func (s *Session) State(now time.Time) State {
	s.advance(now)
	s.age()
	state := State{
		Place:      s.place,
		Generation: s.me.Generation,
		Leads:      s.leads,
		Active:     slices.Clone(s.me.Active),
		Handover:   slices.Clone(s.handover),
		Revoked:    slices.Clone(s.me.Revoked),
		Revoking:   slices.Clone(s.revoking),
		Learners:   slices.Clone(s.me.Learners),
		Leaving:    s.me.Leaving,
		Lost:       s.phase == out && s.place.Round != 0,
	}
	if s.me.Leaving {
		state.LeavingFor = s.clock - s.leftAt
	}
	for _, c := range s.me.Standbys {
		switch {
		case has(s.me.Active, c.Task):
			state.Restores = append(state.Restores, c)
		case has(s.kept, c.Task):
			state.Standbys = append(state.Standbys, c)
		}
	}
	return state
}
