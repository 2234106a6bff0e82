package leadtest

import (
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// Member is the code under test: what connects a session to a transport and to the tasks of a service. The kit calls it as things
// happen, one call at a time.
type Member interface {
	Rebalance()                          // a round is wanted: report (Session.Join)
	Begun(place lead.Place)              // the round of that report has begun
	Elected(round lead.Round)            // decide it
	Answer(round int32, data []byte)     // what its leader sent
	Dropped()                            // the group has dropped the member, or cannot be reached (Session.Lost)
	Awake()                              // the time that it asked for has come (Session.Tick)
	Leaves()                             // it is told to leave,
	Stays()                              // and to stay
	Lag(task assignor.TaskID, lag int64) // a copy is this far behind (Session.Progress)
	Check() error                        // whether the session keeps its invariants (Session.Check)
}

// Host is what a member is plugged into: the transport, and the tasks of the service.
type Host interface {
	Now() time.Time // the clock of the member's host
	Join(report []byte)
	Send(payloads []lead.Payload) // as leader; none: nothing
	Call(why string)              // for a round
	WakeIn(d time.Duration)       // 0: never; it takes the place of the one before
	Leave()                       // the group, for good
	Log(trouble []error)

	Stop(tasks []assignor.TaskID) // they have stopped when it returns
	Start(tasks []assignor.TaskID)
	Learn(tasks []assignor.TaskID)
	Keep(tasks []assignor.TaskID)
	Drop(tasks []assignor.TaskID)
}
