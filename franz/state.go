package franz

import (
	"maps"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// State is what a member is to do, and how it stands. It shares nothing with the Balancer. As JSON it reads back as the same
// value; its lists are never null, and a duration is a number of nanoseconds.
type State struct {
	Instance   string `json:"instance"`
	Member     string `json:"member"`     // the id that the coordinator gave it, "" before the first join
	Generation int32  `json:"generation"` // of the last assignment, 0: none yet, or the fallback's; no fence, see the README
	Leader     bool   `json:"leader"`     // it decided this generation

	Active   []assignor.TaskID  `json:"active"`   // run these
	Handover []assignor.TaskID  `json:"handover"` // those of them that others learn; they run on
	Revoking []assignor.TaskID  `json:"revoking"` // stopped, or stopping: they run elsewhere next
	Learning []assignor.Replica `json:"learning"` // replay these in order to take them over; For is how long it has been at it
	Standby  []assignor.Replica `json:"standby"`  // keep these warm
	Restores []assignor.Replica `json:"restores"` // those of Active that are further behind than AcceptableLag

	// Suspect are the copies, in whatever other list they are, of tasks that the member ran when it lost its place. Others may have
	// run them since, and what this member wrote in the meantime is void: its state may hold it all the same. Their lag is
	// unknown until Progress says otherwise, and it must not before the state is known to have nothing that is void: throw it
	// away, or replay it from a point that a fence in the changelog covers.
	Suspect []assignor.TaskID `json:"suspect"`

	Leaving      bool      `json:"leaving"`
	LeavingSince time.Time `json:"leavingSince,omitzero"`
	Left         bool      `json:"left"`   // drained and out of the group
	Lost         bool      `json:"lost"`   // the coordinator dropped it; it runs nothing until it is back
	Closed       bool      `json:"closed"` // its client is closed, and runs nothing

	Troubles []Trouble `json:"troubles"` // the last that are over, by their end, then those that last, by their beginning

	// What this member decided for the generation, of the whole group. Where another leads there is nothing: ask the leader.
	Moves           []assignor.Move `json:"moves"`           // with reasons; From and To are instances
	MissingStandbys int             `json:"missingStandbys"` // standbys that no instance could take: there are too few
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
	l, now := b.local, time.Now()
	s := State{
		Instance:     b.config.Instance,
		Member:       b.memberID,
		Generation:   l.last.Generation,
		Leader:       b.leads,
		Active:       listed(l.active),
		Handover:     []assignor.TaskID{},
		Revoking:     []assignor.TaskID{},
		Learning:     listed(l.learners(now)),
		Standby:      []assignor.Replica{},
		Restores:     []assignor.Replica{},
		Suspect:      []assignor.TaskID{},
		Leaving:      !l.leaving.IsZero(),
		LeavingSince: moment(l.leaving),
		Left:         b.left,
		Lost:         l.lost,
		Closed:       b.closed,
		Troubles:     b.troubles.list(),
		Moves:        []assignor.Move{},
	}
	if !l.lost && !b.closed && !b.left {
		s.Handover, s.Revoking = listed(l.last.Handover), listed(l.last.Revoke)
	}
	for i := range s.Troubles {
		s.Troubles[i].Since, s.Troubles[i].Until = moment(s.Troubles[i].Since), moment(s.Troubles[i].Until)
	}
	if b.leads {
		s.Moves, s.MissingStandbys = listed(b.moves), b.missing
	}
	for _, task := range slices.SortedFunc(maps.Keys(l.held), assignor.TaskID.Compare) {
		h := l.held[task]
		c := assignor.Replica{Task: task, Lag: h.lag}
		if h.suspect {
			s.Suspect = append(s.Suspect, task)
		}
		switch {
		case l.runs(task):
			s.Restores = append(s.Restores, c)
		case h.since.IsZero() && slices.Contains(l.last.Standbys, task):
			s.Standby = append(s.Standby, c)
		}
	}
	return s
}

// moment returns a time as JSON has it: without the monotonic clock, which only this process knows.
func moment(t time.Time) time.Time { return t.Round(0).UTC() }

// listed returns a copy of a list that is not nil: JSON has [] for it where it is empty.
func listed[T any](list []T) []T { return append([]T{}, list...) }
