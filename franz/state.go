package franz

import (
	"maps"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// State is what a member is to do, and how it stands. It shares nothing with the Balancer.
type State struct {
	Instance   string `json:"instance"`
	Member     string `json:"member"`     // the id that the coordinator gave it, "" before the first join
	Generation int32  `json:"generation"` // of the last assignment, 0: none yet
	Leader     bool   `json:"leader"`     // it decided this generation

	Active   []assignor.TaskID `json:"active"`   // run these
	Handover []assignor.TaskID `json:"handover"` // those of them that others learn; they run on
	Revoking []assignor.TaskID `json:"revoking"` // stopped, or stopping: they run elsewhere next
	Learning []Copy            `json:"learning"` // replay these in order to take them over
	Standby  []Copy            `json:"standby"`  // keep these warm
	Restores []Copy            `json:"restores"` // those of Active whose state is not complete

	Leaving      bool      `json:"leaving"`
	LeavingSince time.Time `json:"leavingSince,omitzero"`
	Left         bool      `json:"left"` // drained and out of the group
	Lost         bool      `json:"lost"` // the coordinator dropped it; it runs nothing until it is back

	Troubles []Trouble       `json:"troubles"`        // the last that are over, by their end, then those that last, by their beginning
	Moves    []assignor.Move `json:"moves,omitempty"` // what this member decided when it last led, with reasons
}

// Copy is a copy of a task's state on the member's disk.
type Copy struct {
	Task  assignor.TaskID `json:"task"`
	Lag   int64           `json:"lag"`            // records; assignor.UnknownLag where nobody has said
	Since time.Time       `json:"since,omitzero"` // of a learner: when it began
}

// State returns how the member stands now.
func (b *Balancer) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state()
}

// Leader reports whether this member decided the current generation.
func (b *Balancer) Leader() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leads
}

func (b *Balancer) state() State {
	l := b.local
	s := State{
		Instance:     b.config.Instance,
		Member:       b.memberID,
		Generation:   l.last.Generation,
		Leader:       b.leads,
		Active:       slices.Clone(l.active),
		Leaving:      !l.leaving.IsZero(),
		LeavingSince: l.leaving,
		Left:         b.left,
		Lost:         l.lost,
		Troubles:     b.troubles.list(),
		Moves:        slices.Clone(b.moves),
	}
	if !l.lost {
		s.Handover, s.Revoking = slices.Clone(l.last.Handover), slices.Clone(l.last.Revoke)
	}
	for _, task := range slices.SortedFunc(maps.Keys(l.held), assignor.TaskID.Compare) {
		h := l.held[task]
		c := Copy{Task: task, Lag: h.lag, Since: h.since}
		switch {
		case l.runs(task):
			s.Restores = append(s.Restores, c)
		case !h.since.IsZero():
			s.Learning = append(s.Learning, c)
		case slices.Contains(l.last.Standbys, task):
			s.Standby = append(s.Standby, c)
		}
	}
	return s
}
