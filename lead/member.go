package lead

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Progress says how many records a copy on the member's disk still has to replay: a learner's, a standby's, or that of an active
// task that restores before it runs. 0 is caught up, assignor.UnknownLag takes back what was said. Of a task of which it has
// no copy it does nothing. A copy near the end of a busy topic never reaches 0: Assignor.AcceptableLag says what is near enough.
// It costs O(log copies) but where a learner catches up, or falls behind again.
func (s *Session) Progress(now time.Time, task assignor.TaskID, lag int64) Todo {
	s.advance(now)
	lag = max(assignor.UnknownLag, lag)
	runs := has(s.me.Active, task)
	learner, standby := find(s.me.Learners, task), find(s.me.Standbys, task)
	switch {
	case learner != nil:
		news := s.caughtUp(learner.Lag) != s.caughtUp(lag)
		learner.Lag, s.heard[task] = lag, true
		if news {
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
	if has(s.me.Active, task) && !s.caughtUp(lag) {
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

// Follow says that something else than an answer of this package has decided what the member runs from now on: another balancer that
// the group fell back to. Copies stay as they are, and the next report says that no answer is acted on.
func (s *Session) Follow(now time.Time, active []assignor.TaskID) Todo {
	s.advance(now)
	before := s.me
	s.me = before.Next(assignor.MemberAssignment{
		Active: active, Learners: tasksOf(before.Learners), Standbys: union(tasksOf(before.Standbys), union(before.Active, before.Revoked)),
	}, assignor.TwoRounds)
	s.me.Standbys = slices.DeleteFunc(s.me.Standbys, func(c assignor.Replica) bool { return has(s.me.Active, c.Task) })
	s.me.Learners = slices.DeleteFunc(s.me.Learners, func(c assignor.Replica) bool { return has(s.me.Active, c.Task) })
	s.handover, s.revoking, s.broken, s.told = nil, nil, nil, false
	s.phase, s.decided, s.leads, s.due = settled, nil, false, [numReasons]time.Duration{}
	return s.done(Todo{Stop: without(before.Active, s.me.Active), Start: without(s.me.Active, before.Active)})
}

// Leave says that the member is to leave the group when others have all that it has. It runs on until then; Todo.Drained says when.
// One that is in no group has nothing to wait for.
func (s *Session) Leave(now time.Time) Todo {
	s.advance(now)
	if !s.me.Leaving {
		s.me.Leaving, s.leftAt = true, s.clock
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
	s.me.Leaving, s.due[drained], s.due[probe] = false, 0, 0
	s.look()
	return s.done(Todo{})
}

// remember sets the lag of the copy that an active task restores from.
func (s *Session) remember(task assignor.TaskID, lag int64) {
	if c := find(s.me.Standbys, task); c != nil {
		c.Lag = lag
		return
	}
	s.me.Standbys = append(s.me.Standbys, assignor.Replica{Task: task, Lag: lag})
	slices.SortFunc(s.me.Standbys, compareCopies)
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
	idle := s.me.Leaving && s.told && len(s.me.Active)+len(s.me.Revoked)+len(s.revoking)+len(s.me.Learners) == 0
	s.when(drained, idle && len(s.kept) == 0, s.config.Debounce)
	if !idle {
		s.probes = 0
	}
	s.when(probe, idle && len(s.kept) > 0, min(backoff(s.config.Debounce, s.probes), assignor.RevokeRetry))
}

// when makes a reason due in d where it holds and was not due before, and never where it does not hold.
func (s *Session) when(r reason, holds bool, d time.Duration) {
	if !holds {
		s.due[r] = 0
		return
	}
	s.set(r, d)
}

// lookAtLearners calls for a round where learners have caught up since the last report, as many as RejoinMode asks for. What stood in
// the report is no news: an answer that leaves such a learner what it is had its reasons, and asking again would go on for ever.
func (s *Session) lookAtLearners() {
	s.age()
	fresh := slices.ContainsFunc(s.me.Learners, func(c assignor.Replica) bool {
		last := find(s.sent.Learners, c.Task)
		return s.caughtUp(c.Lag) && (last == nil || !s.caughtUp(last.Lag))
	})
	now := fresh && s.config.RejoinMode.ShouldRejoin(s.me.Learners, s.config.Assignor)
	s.when(ready, now, s.config.Debounce)
	s.due[recheck] = 0
	if !fresh || now {
		return
	}
	timeout := s.config.Assignor.LearnerTimeout
	for _, c := range s.me.Learners {
		if timeout > c.For && !s.caughtUp(c.Lag) {
			at := s.in(timeout - c.For + time.Millisecond)
			if s.due[recheck] == 0 || at < s.due[recheck] {
				s.due[recheck] = at
			}
		}
	}
}
