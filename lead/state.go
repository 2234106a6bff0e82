package lead

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// State is what a member is to do and how it stands. It shares nothing with the Session.
type State struct {
	Place      Place // in the round that it began last; its Leads is whether it was to
	Generation int32 // of the last answer that it took, also where it has lost its place since; 0: none
	Leads      bool  // that answer is its own

	Active   []assignor.TaskID  // it runs these
	Handover []assignor.TaskID  // those of Active that others learn
	Revoked  []assignor.TaskID  // stopped for the round that is under way; they may come back
	Revoking []assignor.TaskID  // stopped because the answer said so; they run elsewhere next
	Learners []assignor.Replica // it replays these in order to take them over
	Standbys []assignor.Replica // it keeps these warm
	Restores []assignor.Replica // those of Active that are not complete yet

	// Suspect are those of all copies that it ran when it lost its place, and of which nobody has said since how far they are: others
	// may have run them, and the state may hold what the service wrote in the meantime.
	Suspect []assignor.TaskID

	Leaving      bool
	LeavingFor   time.Duration
	LeavingSince time.Time // by the clock of the event
	Lost         bool      // it has lost its place: it runs nothing until an answer comes
}

// State returns how the member stands. It costs O(tasks).
func (s *Session) State(now time.Time) State {
	s.advance(now)
	s.age()
	state := State{
		Place:      s.place,
		Generation: s.last,
		Leads:      s.leads,
		Active:     slices.Clone(s.me.Active),
		Handover:   slices.Clone(s.handover),
		Revoked:    slices.Clone(s.me.Revoked),
		Revoking:   slices.Clone(s.revoking),
		Learners:   slices.Clone(s.me.Learners),
		Suspect:    slices.Clone(s.suspect),
		Leaving:    s.me.Leaving,
		Lost:       s.lost,
	}
	if s.me.Leaving {
		state.LeavingFor, state.LeavingSince = s.clock-s.leftAt, s.left
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
