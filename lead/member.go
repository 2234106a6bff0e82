package lead

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Progress says how many records a copy on the member's disk still has to replay: a learner's, a standby's, or that of an active
// task that restores before it runs. 0 is caught up, assignor.UnknownLag takes back what was said. Of a task of which it has
// no copy it does nothing. A copy near the end of a busy topic never reaches 0: Assignor.AcceptableLag says what is near enough.
// It costs O(log copies), however many learners there are.
func (s *Session) Progress(now time.Time, task assignor.TaskID, lag int64) Todo {
	s.advance(now)
	lag = max(assignor.UnknownLag, lag)
	if lag >= 0 && has(s.suspect, task) {
		s.suspect = without(s.suspect, []assignor.TaskID{task})
	}
	runs := has(s.me.Active, task)
	learner, standby := find(s.me.Learners, task), find(s.me.Standbys, task)
	switch {
	case learner != nil:
		if s.moved(learner, lag) {
			s.look()
		}
	case runs && s.caughtUp(lag):
		s.forget(task)
	case standby != nil:
		standby.Lag = lag
	case runs:
		s.remember(task, lag)
	}
	return s.done(Todo{})
}

// Broken says that an active task has lost its state and restores it, with the records still to replay or assignor.UnknownLag. The
// member calls for a round, in which a copy elsewhere that has caught up takes the task over. Progress follows the restoration.
func (s *Session) Broken(now time.Time, task assignor.TaskID, lag int64) Todo {
	s.advance(now)
	switch runs := has(s.me.Active, task) && !s.stateless(task); {
	case runs && s.caughtUp(lag): // restored already
		s.suspect = without(s.suspect, []assignor.TaskID{task})
		s.forget(task)
	case runs:
		s.remember(task, max(assignor.UnknownLag, lag))
		s.broken = union(s.broken, []assignor.TaskID{task})
		s.look()
	}
	return s.done(Todo{})
}

// Stopped says that the service has stopped tasks on its own, or that the transport has taken them: the member does not run them any
// more, and never will but for a later answer. What is left of their state is behind by nobody knows how much.
func (s *Session) Stopped(now time.Time, tasks ...assignor.TaskID) Todo {
	s.advance(now)
	for _, task := range tasks {
		if has(s.me.Active, task) || has(s.me.Revoked, task) {
			s.remember(task, assignor.UnknownLag)
		}
	}
	gone := union(tasks, nil)
	s.me.Active, s.me.Revoked = without(s.me.Active, gone), without(s.me.Revoked, gone)
	s.handover, s.broken = without(s.handover, gone), without(s.broken, gone)
	return s.done(Todo{})
}

// Owns says that the transport lets the member run these tasks and no others, whatever it was told: because nobody could read what
// that was, or because the transport has taken some. What does not run any more has been stopped in good order, and is complete.
// Copies stay as they are. One that has no place owns nothing.
func (s *Session) Owns(now time.Time, active []assignor.TaskID) Todo {
	s.advance(now)
	if s.phase == out {
		active = nil
	}
	return s.done(s.own(active))
}

// own makes these what the member runs.
func (s *Session) own(active []assignor.TaskID) Todo {
	s.age()
	before, active := s.me, union(active, nil)
	had := union(copies(before), union(before.Active, before.Revoked))
	learners := without(tasksOf(before.Learners), active)
	s.me = before.Next(assignor.MemberAssignment{
		Generation: before.Generation, Active: active, Learners: learners, Standbys: without(without(had, active), learners),
	}, assignor.TwoRounds)
	s.me.Memory = before.Memory
	s.handover = without(s.handover, without(s.handover, active))
	s.tidy(had)
	return Todo{Stop: without(before.Active, s.me.Active), Start: without(s.me.Active, before.Active)}
}

// Follow says that something else than an answer of this package has decided what the member runs from now on: another balancer that
// the group fell back to. Copies stay as they are, and the next report says that no answer is acted on.
func (s *Session) Follow(now time.Time, active []assignor.TaskID) Todo {
	s.advance(now)
	todo := s.own(active)
	s.me.Generation, s.me.Memory, s.last, s.lost = 0, nil, 0, false
	s.handover, s.kept, s.revoking, s.told = nil, nil, nil, false
	s.phase, s.decided, s.leads, s.due = settled, nil, false, [numReasons]time.Duration{}
	s.watch()
	return s.done(todo)
}

// Has reports whether the member runs a task, and whether it has a copy of it, which may be the one that it restores from.
func (s *Session) Has(task assignor.TaskID) (runs, copied bool) {
	return has(s.me.Active, task), find(s.me.Learners, task) != nil || find(s.me.Standbys, task) != nil
}

// Settled reports whether the answer of the last round has come, and no join has been made since.
func (s *Session) Settled() bool { return s.phase == settled }

// Leave says that the member is to leave the group when others have all that it has. It runs on until then; Todo.Drained says when.
// One that is in no group has nothing to wait for.
func (s *Session) Leave(now time.Time) Todo {
	s.advance(now)
	if !s.me.Leaving {
		s.me.Leaving, s.leftAt, s.left = true, s.clock, now
	}
	if s.phase == out {
		s.set(drained, 0)
	}
	s.look()
	return s.done(Todo{})
}

// Stay takes Leave back. After Todo.Drained it is too late where the transport has left already.
func (s *Session) Stay(now time.Time) Todo {
	s.advance(now)
	s.me.Leaving, s.due[drained] = false, 0
	s.look()
	return s.done(Todo{})
}

// remember sets the lag of the copy that an active task restores from, or that is left of one.
func (s *Session) remember(task assignor.TaskID, lag int64) {
	i, has := slices.BinarySearchFunc(s.me.Standbys, task, func(c assignor.Replica, t assignor.TaskID) int { return c.Task.Compare(t) })
	if !has {
		s.me.Standbys = slices.Insert(s.me.Standbys, i, assignor.Replica{Task: task})
	}
	s.me.Standbys[i].Lag = lag
}

// forget ends a restoration.
func (s *Session) forget(task assignor.TaskID) {
	s.me.Standbys = slices.DeleteFunc(s.me.Standbys, func(c assignor.Replica) bool { return c.Task == task })
	s.broken = without(s.broken, []assignor.TaskID{task})
	s.look()
}

func (s *Session) caughtUp(lag int64) bool { return lag >= 0 && lag <= s.config.Assignor.AcceptableLag }

// look finds what the leader does not know from the last report, and waits for. During a join it does nothing: what the join has not
// said is looked for when its answer has come.
func (s *Session) look() {
	if s.phase != settled {
		return
	}
	s.when(told, s.me.Leaving != s.sent.Leaving, 0)
	s.when(broken, len(s.broken) > 0, s.config.Debounce)
	s.lookAtLearners()
	left := len(s.me.Active) + len(s.me.Revoked) + len(s.revoking) + len(s.me.Learners) + len(s.kept)
	s.when(drained, s.me.Leaving && s.told && left == 0, s.grace())
}

// grace is how long the others have to hear of a round: Debounce, and where that is none, its default.
func (s *Session) grace() time.Duration { return cmp.Or(s.config.Debounce, DefaultDebounce) }

// when makes a reason due in d where it holds and was not due before, and never where it does not hold.
func (s *Session) when(r reason, holds bool, d time.Duration) {
	if !holds {
		s.due[r] = 0
		return
	}
	s.set(r, d)
}
