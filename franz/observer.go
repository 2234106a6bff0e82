package franz

import (
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Observer gets what is worth a metric. Its methods are called without any lock held, from kgo's goroutines or those that call
// the Balancer, possibly at once; they return quickly. Embed [NopObserver] for those that are to do nothing.
type Observer interface {
	// Session is called after each session has begun, and when the member has lost its place, with what OnChange gets.
	Session(State)
	// Balanced is called on the leader after each round that it decided.
	Balanced(Round)
	// Asked is called when the member calls for a round, with the reason.
	Asked(reason string)
	// Trouble is called when a trouble of State.Troubles begins and when it is over; while it lasts, at most once a minute, with
	// other words for it.
	Trouble(Trouble)
}

// Round is what a leader did in a round.
type Round struct {
	Generation      int32 // the broker's
	Members         int
	Tasks           int                     // that run
	Moves           int                     // decisions that are not "stays where it was"
	Reasons         map[assignor.Reason]int // how many of the Moves for which reason
	Learners        int                     // in the whole group
	MissingStandbys int                     // standbys that no instance could take: there are too few
	FollowUp        bool                    // everybody joins again at once: a task is to start elsewhere
	Metadata        int                     // bytes of all members' metadata
	Assignment      int                     // bytes of all assignments
	Record          int                     // bytes of the group's record, by the leader's count, which Config.Budget bounds
	Repeated        bool                    // trouble: what is was repeated
	Frozen          int                     // subtopologies that stay as they are: see TroubleTopics
	Took            time.Duration           // to decide and to encode
}

// NopObserver does nothing.
type NopObserver struct{}

// Session does nothing.
func (NopObserver) Session(State) {}

// Balanced does nothing.
func (NopObserver) Balanced(Round) {}

// Asked does nothing.
func (NopObserver) Asked(string) {}

// Trouble does nothing.
func (NopObserver) Trouble(Trouble) {}
