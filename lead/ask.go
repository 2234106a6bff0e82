package lead

import (
	"time"

	"github.com/incremental-rebalance/assignor"
)

// reason is why a member calls for a round, or looks again whether to. Each has at most one time at which it is due.
type reason uint8

const (
	followUp   reason = iota // the answer said so
	told                     // to leave, or to stay
	ready                    // learners have caught up, as many as RejoinMode asks for
	broken                   // an active task has lost its state
	recheck                  // a learner that holds the others up times out: look again
	deadline                 // of the leader: NextRebalance
	again                    // of the leader: the round was decided without knowing all, or not at all
	unanswered               // the answer did not come, or could not be read
	uncalled                 // the round that it called for has not come
	watched                  // learners may be stuck
	drained                  // nothing is left, and the others have had the time to hear of it
	numReasons
)

// reasons are the texts of those that are a call.
var reasons = [numReasons]string{
	followUp:   "somebody has stopped a task that runs elsewhere next",
	told:       "told to leave, or to stay",
	ready:      "learners have caught up",
	broken:     "an active task has lost its state",
	deadline:   "a deadline of the last round has passed",
	again:      "the last round was decided without knowing all, or not at all",
	unanswered: "no answer that can be read has come",
	uncalled:   "the round that it called for has not come",
}

// maxRetry is the longest that anybody waits until it tries again what has failed. It begins with assignor.RevokeRetry and doubles.
const maxRetry = 5 * time.Minute

// backoff returns first, doubled as often as something has failed before, up to maxRetry.
func backoff(first time.Duration, failures int) time.Duration {
	return min(first<<min(failures, 8), maxRetry)
}

// done completes a Todo with what is due now, and when to wake the member next.
func (s *Session) done(todo Todo) Todo {
	if s.isDue(recheck) {
		s.look()
	}
	if s.isDue(watched) {
		todo.Trouble = append(todo.Trouble, s.tellStuck()...)
	}
	if s.isDue(drained) {
		todo.Drained, s.due[drained] = true, s.in(assignor.RevokeRetry) // said again where the transport's leave has failed
	}
	for r := range numReasons {
		if reasons[r] != "" && s.isDue(r) && s.mayCall() {
			if r == unanswered && s.phase != settled {
				s.misses++
			}
			todo.Call = reasons[r]
			s.due = [numReasons]time.Duration{}
			s.due[uncalled] = s.in(assignor.RevokeRetry)
			break
		}
	}
	for _, at := range s.due {
		if wake := max(at-s.clock, 1); at > 0 && (todo.Wake == 0 || wake < todo.Wake) {
			todo.Wake = wake
		}
	}
	return todo
}

// isDue reports whether the time of a reason has come. A time of 0 is none.
func (s *Session) isDue(r reason) bool { return s.due[r] > 0 && s.due[r] <= s.clock }

// mayCall reports whether the member has a place from which it can call for a round.
func (s *Session) mayCall() bool { return s.phase != out }

// set makes a reason due in d, unless it is due already.
func (s *Session) set(r reason, d time.Duration) {
	if s.due[r] == 0 {
		s.due[r] = s.in(d)
	}
}
