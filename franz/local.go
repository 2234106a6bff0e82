package franz

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// local is what a member knows of itself: what it was last assigned, and what state is on its disk. The lock of its Balancer
// guards it.
type local struct {
	config   *Config
	topology *topology

	assigned map[string][]int32        // what the last session gave, as kgo sees it
	active   []assignor.TaskID         // the tasks of assigned
	last     assignor.MemberAssignment // the last assignment that could be read
	lost     bool                      // it lost its place since: it runs nothing, and acts on no answer
	held     map[assignor.TaskID]held
	echo     *assignor.Assignment // the memory that came with last, nil but for a keeper
	leaving  time.Time            // when it was told to leave, else zero
}

// held is a copy of a task's state on the disk: a learner, a standby, what was left, or what an active task restores from.
// An active task without one runs.
type held struct {
	lag    int64
	since  time.Time // when it began to learn; zero where it is no learner
	broken bool      // the active task lost its state
	nearer time.Time // when the lag was last said to be smaller than before
}

func newLocal(config *Config, t *topology) *local {
	l := &local{config: config, topology: t, held: map[assignor.TaskID]held{}}
	if config.Local != nil {
		for _, r := range config.Local() {
			if !t.has(r.Task) {
				continue // left by an earlier Topology: nobody would ever ask for it
			}
			l.held[r.Task] = held{lag: max(assignor.UnknownLag, r.Lag)}
		}
	}
	return l
}

func (l *local) caughtUp(lag int64) bool { return lag >= 0 && lag <= l.config.Assignor.AcceptableLag }

// adopt takes over what a session gave: these partitions, and, where it could be read, this assignment with this memory.
func (l *local) adopt(assigned map[string][]int32, ma *assignor.MemberAssignment, memory *assignor.Assignment, now time.Time) {
	before := l.active
	l.assigned, l.active = clonePartitions(assigned), l.topology.tasks(assigned)
	l.echo = memory // a keeper that is told nothing drops what it kept: its leader may have had no room
	if ma != nil {
		l.last, l.lost = *ma, false
	}
	l.held = l.keepCopies(before, ma == nil, now)
}

// keepCopies returns the copies that stay on the disk once the member runs l.active and keeps what l.last lists; what it ran
// before is left there too, because the leader may yet want it.
func (l *local) keepCopies(before []assignor.TaskID, keepAll bool, now time.Time) map[assignor.TaskID]held {
	kept := map[assignor.TaskID]held{}
	keep := func(task assignor.TaskID, otherwise int64, since time.Time) {
		if !l.topology.has(task) {
			return // the leader's Topology is another
		}
		h, had := l.held[task]
		if !had {
			h.lag = otherwise
		}
		if h.since.IsZero() || since.IsZero() {
			h.since = since
		}
		kept[task] = h
	}
	if keepAll {
		for task, h := range l.held {
			keep(task, h.lag, h.since)
		}
	}
	for _, task := range before {
		if !l.topology.stateless(task) {
			keep(task, 0, time.Time{})
		}
	}
	for _, task := range l.last.Standbys {
		keep(task, l.lagOf(before, task), time.Time{})
	}
	for _, task := range l.last.Learners {
		keep(task, l.lagOf(before, task), now)
	}
	for _, task := range l.active {
		delete(kept, task)
		h, had := l.held[task]
		switch {
		case had && !l.caughtUp(h.lag): // it restores from there
			kept[task] = held{lag: h.lag, broken: h.broken}
		case !had && l.config.Local != nil && !l.topology.stateless(task) && l.lagOf(before, task) != 0: // from nothing
			kept[task] = held{lag: assignor.UnknownLag}
		}
	}
	return kept
}

// lagOf returns the lag of a copy that the member did not report: none where it ran the task until now.
func (l *local) lagOf(before []assignor.TaskID, task assignor.TaskID) int64 {
	if _, ran := slices.BinarySearchFunc(before, task, assignor.TaskID.Compare); ran {
		return 0
	}
	return assignor.UnknownLag
}

// lose turns what the member ran into copies on its disk.
func (l *local) lose() {
	for _, task := range l.active {
		if _, restores := l.held[task]; !restores && !l.topology.stateless(task) {
			l.held[task] = held{}
		}
	}
	l.assigned, l.active, l.lost = nil, nil, true
}

// release drops partitions. What is no longer run is left on the disk, and complete.
func (l *local) release(partitions map[string][]int32) {
	for topic, ps := range partitions {
		left, assigned := l.assigned[topic]
		if !assigned {
			continue // before the first session, or after the place was lost
		}
		l.assigned[topic] = slices.DeleteFunc(left, func(p int32) bool { return slices.Contains(ps, p) })
	}
	before := l.active
	l.active = l.topology.tasks(l.assigned)
	for _, task := range before {
		if _, restores := l.held[task]; !restores && !l.runs(task) && !l.topology.stateless(task) {
			l.held[task] = held{}
		}
	}
}

// progress records how far a copy is, and reports whether the member has it: an active task that is caught up needs none.
func (l *local) progress(task assignor.TaskID, lag int64) bool {
	h, has := l.held[task]
	if lag >= 0 && (h.lag < 0 || lag < h.lag) {
		h.nearer = time.Now()
	}
	h.lag = max(assignor.UnknownLag, lag)
	runs := l.runs(task)
	switch {
	case runs && l.caughtUp(h.lag):
		delete(l.held, task)
	case runs || has:
		l.held[task] = h
	}
	return runs || has
}

// fail records that an active task restores because its state is gone, and reports whether the member runs it.
func (l *local) fail(task assignor.TaskID, lag int64) bool {
	runs := l.runs(task) && !l.topology.stateless(task)
	if runs {
		l.held[task] = held{lag: max(assignor.UnknownLag, lag), broken: true}
	}
	return runs
}

func (l *local) runs(task assignor.TaskID) bool {
	_, runs := slices.BinarySearchFunc(l.active, task, assignor.TaskID.Compare)
	return runs
}

// report returns what the member reports of itself when it owns these partitions.
func (l *local) report(owned map[string][]int32, now time.Time) assignor.Member {
	m := assignor.Member{
		Instance: l.config.Instance,
		Capacity: l.config.Capacity,
		Version:  assignor.CurrentVersion,
		Tags:     l.config.Tags,
		Active:   l.topology.tasks(owned),
		Learners: l.learners(now),
		Memory:   l.echo,
	}
	if !l.lost {
		m.Generation = l.last.Generation
	}
	if !l.leaving.IsZero() {
		m.Leaving, m.LeavingFor = true, now.Sub(l.leaving)
	}
	for task, h := range l.held {
		if h.since.IsZero() {
			m.Standbys = append(m.Standbys, assignor.Replica{Task: task, Lag: h.lag})
		}
	}
	slices.SortFunc(m.Standbys, func(a, b assignor.Replica) int { return a.Task.Compare(b.Task) })
	return m
}

// learners returns the copies that the member replays in order to take their tasks over.
func (l *local) learners(now time.Time) []assignor.Replica {
	var learners []assignor.Replica
	for task, h := range l.held {
		if !h.since.IsZero() {
			learners = append(learners, assignor.Replica{Task: task, Lag: h.lag, For: now.Sub(h.since)})
		}
	}
	slices.SortFunc(learners, func(a, b assignor.Replica) int { return a.Task.Compare(b.Task) })
	return learners
}

// news says what the leader does not know from the last report, and waits for.
type news struct {
	leaving bool          // told to leave, or to stay
	ready   bool          // learners have caught up, as many as RejoinMode asks for
	broken  bool          // an active task has lost its state
	standby bool          // it leaves, and all it has are copies that others may have replaced by now
	recheck time.Duration // when a learner that holds others up will have timed out; 0: none does
}

// newsSince compares the member with its last report.
func (l *local) newsSince(sent assignor.Member, now time.Time) news {
	n := news{leaving: sent.Leaving != !l.leaving.IsZero()}
	n.standby = !l.lost && l.last.Leaving && !l.leaving.IsZero() && len(l.last.Standbys) > 0 &&
		len(l.active)+len(l.last.Revoke)+len(l.last.Learners) == 0
	learners := l.learners(now)
	fresh := false
	for _, r := range learners {
		if timeout := l.config.Assignor.LearnerTimeout; timeout > r.For && !l.caughtUp(r.Lag) {
			n.recheck = soonest(n.recheck, timeout-r.For+time.Millisecond)
		}
		fresh = fresh || l.caughtUp(r.Lag) && !slices.ContainsFunc(sent.Learners, func(s assignor.Replica) bool {
			return s.Task == r.Task && l.caughtUp(s.Lag)
		})
	}
	n.ready = fresh && l.config.RejoinMode.ShouldRejoin(learners, l.config.Assignor)
	if !fresh || n.ready {
		n.recheck = 0
	}
	for _, task := range l.active {
		n.broken = n.broken || l.held[task].broken && !slices.ContainsFunc(sent.Standbys, func(s assignor.Replica) bool {
			return s.Task == task && !l.caughtUp(s.Lag)
		})
	}
	return n
}

func soonest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// idle reports whether the last assignment was given to a member that leaves, and leaves it nothing to do.
func (l *local) idle() bool {
	ma := &l.last
	return ma.Leaving && !l.lost && len(l.active)+len(ma.Active)+len(ma.Revoke)+len(ma.Learners)+len(ma.Standbys) == 0
}
