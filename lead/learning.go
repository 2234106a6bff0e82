package lead

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// learning is kept up by every change of a learner, so that one that says how far it is costs the same among thousands.
//
//	the learners of a member           fresh 1, cold {8s: 2}
//	0_0 lag 0, in the report lag 900
//	0_1 lag 0, in the report lag 0
//	0_2 lag 70, 0_3 lag unknown        both began when the clock was at 8s
type learning struct {
	fresh  int                               // those that have caught up, of which the last report did not say so
	cold   map[time.Duration]int             // the others that have not, by when they began: a key for each answer that began one
	nearer map[assignor.TaskID]time.Duration // when a learner came nearer to the end of its changelog, or began
}

// learn takes up the learners that there are now.
func (s *Session) learn() {
	nearer := make(map[assignor.TaskID]time.Duration, len(s.me.Learners))
	for _, c := range s.me.Learners {
		nearer[c.Task] = s.clock
		if before, learned := s.learning.nearer[c.Task]; learned {
			nearer[c.Task] = before
		}
	}
	s.learning.nearer = nearer
	s.recount()
	s.watch()
}

// recount counts the learners anew.
func (s *Session) recount() {
	s.learning.fresh, s.learning.cold = 0, map[time.Duration]int{}
	for _, c := range s.me.Learners {
		s.count(c, 1)
	}
}

// count adds a learner n times, which is 1 or -1.
func (s *Session) count(c assignor.Replica, n int) {
	if !s.caughtUp(c.Lag) {
		began := s.aged - c.For
		if s.learning.cold[began] += n; s.learning.cold[began] == 0 {
			delete(s.learning.cold, began)
		}
		return
	}
	if last := find(s.sent.Learners, c.Task); last == nil || !s.caughtUp(last.Lag) {
		s.learning.fresh += n
	}
}

// moved makes this the lag of a learner, and reports whether that may make a round due.
func (s *Session) moved(learner *assignor.Replica, lag int64) bool {
	if lag >= 0 && (learner.Lag < 0 || lag < learner.Lag) {
		s.learning.nearer[learner.Task] = s.clock
	}
	turned := s.caughtUp(learner.Lag) != s.caughtUp(lag)
	s.count(*learner, -1)
	learner.Lag = lag
	s.count(*learner, 1)
	return turned
}

// lookAtLearners calls for a round where learners have caught up since the last report, as many as RejoinMode asks for. What stood in
// the report is no news: an answer that leaves such a learner what it is had its reasons, and asking again would go on for ever.
// It costs what learning.cold has keys: of the learners of one age one stands for all.
func (s *Session) lookAtLearners() {
	s.due[recheck] = 0
	if s.learning.fresh == 0 {
		s.due[ready] = 0
		return
	}
	learners, next := []assignor.Replica{{Lag: 0}}, time.Duration(0)
	for began := range s.learning.cold { // order-free: whether there is any, and the least
		c := assignor.Replica{Lag: assignor.UnknownLag, For: s.clock - began}
		learners = append(learners, c)
		if timeout := s.config.Assignor.LearnerTimeout; timeout > c.For {
			next = soonest(next, s.in(timeout-c.For+time.Millisecond))
		}
	}
	now := s.config.RejoinMode.ShouldRejoin(learners, s.config.Assignor)
	s.when(ready, now, s.config.Debounce)
	if !now {
		s.due[recheck] = next
	}
}

// soonest returns the earlier of two times, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// patience is how long a learner may stay where it is, where LearnerTimeout is not shorter, until that is trouble.
const patience = time.Minute

// stuck returns the learners that have not come nearer for too long, and when another may have been; 0: there are none. Nobody
// can tell that they have caught up, so they would learn for ever. An empty changelog is caught up too, and that has to be said.
func (s *Session) stuck() (stuck []assignor.TaskID, next time.Duration) {
	limit := min(patience, cmp.Or(s.config.Assignor.LearnerTimeout, patience))
	for _, c := range s.me.Learners {
		if s.caughtUp(c.Lag) || s.lost {
			continue
		}
		at := s.learning.nearer[c.Task] + limit
		if at <= s.clock {
			stuck, at = append(stuck, c.Task), s.in(limit)
		}
		next = soonest(next, at)
	}
	return stuck, next
}

// watch sets when to look for learners that are stuck.
func (s *Session) watch() { _, s.due[watched] = s.stuck() }

// tellStuck returns the trouble with those that are.
func (s *Session) tellStuck() []error {
	s.watch()
	stuck, _ := s.stuck()
	if len(stuck) == 0 {
		return nil
	}
	return []error{fmt.Errorf("lead: %q learns %v and comes no nearer: call Progress whenever a lag changes, with 0 for an empty changelog too",
		s.me.Instance, stuck)}
}

// Stuck returns the learners that have come no nearer for a minute or, where that is shorter, Assignor.LearnerTimeout. A Wake comes
// when there may be others, and while there are any. It costs O(learners).
func (s *Session) Stuck(now time.Time) []assignor.TaskID {
	s.advance(now)
	stuck, _ := s.stuck()
	return slices.Clip(stuck)
}
