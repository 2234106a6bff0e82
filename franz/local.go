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
	held     map[assignor.TaskID]held  // written by put, drop and keep alone, which count
	counts   counts
	echo     *assignor.Assignment // the memory that came with last, nil but for a keeper
	leaving  time.Time            // when it was told to leave, else zero
}

// held is a copy of a task's state on the disk: a learner, a standby, what was left, or what an active task restores from.
// An active task without one runs.
type held struct {
	lag      int64
	since    time.Time // when it began to learn; zero where it is no learner
	broken   bool      // the active task lost its state
	suspect  bool      // the member ran the task when it lost its place, and nobody has said since how complete its state is
	nearer   time.Time // when the lag was last said to be smaller than before
	reported bool      // the last report had it as a learner that has caught up, or else as a copy that has not
}

// counts are numbers of copies, kept up by every change of one, so that a look at thousands of learners costs what a look at
// one costs: Progress looks each time that a lag changes.
type counts struct {
	hot    int               // learners that have caught up
	fresh  int               // those of them of which the last report did not say so
	broken int               // active tasks that lost their state, of which it did not say so either
	cold   map[time.Time]int // the other learners, by when they began: as many keys as there were sessions in which one did
}

// count adds a copy n times, which is 1 or -1.
func (l *local) count(h held, n int) {
	switch hot := l.caughtUp(h.lag); {
	case h.broken && !hot && !h.reported:
		l.counts.broken += n
	case h.since.IsZero():
	case hot:
		l.counts.hot += n
		if !h.reported {
			l.counts.fresh += n
		}
	default:
		if l.counts.cold[h.since] += n; l.counts.cold[h.since] == 0 {
			delete(l.counts.cold, h.since)
		}
	}
}

// put sets the copy of a task.
func (l *local) put(task assignor.TaskID, h held) {
	l.drop(task)
	l.held[task] = h
	l.count(h, 1)
}

// drop forgets the copy of a task, if there is one.
func (l *local) drop(task assignor.TaskID) {
	if h, has := l.held[task]; has {
		l.count(h, -1)
		delete(l.held, task)
	}
}

// keep makes these the copies.
func (l *local) keep(copies map[assignor.TaskID]held) {
	l.held, l.counts = copies, counts{cold: map[time.Time]int{}}
	for _, h := range copies {
		l.count(h, 1)
	}
}

func newLocal(config *Config, t *topology) *local {
	l := &local{config: config, topology: t}
	l.keep(map[assignor.TaskID]held{})
	if config.Local != nil {
		for _, r := range config.Local() {
			if !t.has(r.Task) {
				continue // left by an earlier Topology: nobody would ever ask for it
			}
			l.put(r.Task, held{lag: max(assignor.UnknownLag, r.Lag)})
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
		l.last = *ma
	} else if l.lost {
		l.last.Generation = 0 // what it was told before it lost its place counts no more, and it was told nothing since
	}
	l.lost = false
	l.keep(l.keepCopies(before, ma == nil, now))
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
			h.since, h.reported = since, false
		}
		h.broken = false // it runs the task no more
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
			kept[task] = held{lag: h.lag, broken: h.broken, suspect: h.suspect, reported: h.reported && h.since.IsZero()}
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

// lose turns what the member ran into copies on its disk of which nobody knows how complete they are. Others may have run the
// tasks since, and what this member wrote in the meantime is void: its state may hold it all the same.
func (l *local) lose() {
	for _, task := range l.active {
		if !l.topology.stateless(task) {
			l.put(task, held{lag: assignor.UnknownLag, suspect: true})
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
			l.put(task, held{})
		}
	}
}

// close ends what the member runs. Its copies stay as complete as they are: nobody else was given a task before it stopped.
func (l *local) close() { l.assigned, l.active = nil, nil }

// progress records how far a copy is, and reports whether the member has it (an active task that is caught up needs none), and
// whether that may make a round due. It costs the same however many copies there are.
func (l *local) progress(task assignor.TaskID, lag int64, now time.Time) (has, turned bool) {
	h, had := l.held[task]
	runs := l.runs(task)
	if !had && !runs {
		return false, false
	}
	if lag >= 0 && (h.lag < 0 || lag < h.lag) {
		h.nearer = now
	}
	turned = l.caughtUp(lag) != l.caughtUp(h.lag)
	h.lag, h.suspect = max(assignor.UnknownLag, lag), h.suspect && lag < 0
	if runs && l.caughtUp(lag) {
		l.drop(task)
	} else {
		l.put(task, h)
	}
	return true, turned
}

// fail records that an active task restores because its state is gone, and reports whether the member runs it.
func (l *local) fail(task assignor.TaskID, lag int64) bool {
	runs := l.runs(task) && !l.topology.stateless(task)
	switch h := l.held[task]; {
	case runs && l.caughtUp(lag): // restored already
		l.drop(task)
	case runs:
		l.put(task, held{lag: max(assignor.UnknownLag, lag), broken: true, suspect: h.suspect, reported: h.reported && h.since.IsZero()})
	}
	return runs
}

func (l *local) runs(task assignor.TaskID) bool {
	_, runs := slices.BinarySearchFunc(l.active, task, assignor.TaskID.Compare)
	return runs
}

// report returns what the member reports of itself when it owns these partitions. From then on what it says is told.
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
	l.tell()
	return m
}

// tell notes that the last report has everything that makes a round due.
func (l *local) tell() {
	for task, h := range l.held {
		h.reported = h.since.IsZero() != l.caughtUp(h.lag) // as a standby that has not caught up, or as a learner that has
		l.held[task] = h
	}
	l.counts.fresh, l.counts.broken = 0, 0
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

// newsSince compares the member with its last report. It costs what counts.cold has keys.
func (l *local) newsSince(sent assignor.Member, now time.Time) news {
	n := news{leaving: sent.Leaving != !l.leaving.IsZero(), broken: l.counts.broken > 0}
	n.standby = !l.lost && l.last.Leaving && !l.leaving.IsZero() && len(l.last.Standbys) > 0 &&
		len(l.active)+len(l.last.Revoke)+len(l.last.Learners) == 0
	if l.counts.fresh == 0 {
		return n
	}
	config := l.config.Assignor
	learners := []assignor.Replica{{Lag: 0}} // one that has caught up, and one of each age that has not
	for since := range l.counts.cold {
		r := assignor.Replica{Lag: assignor.UnknownLag, For: now.Sub(since)}
		learners = append(learners, r)
		if config.LearnerTimeout > r.For {
			n.recheck = soonest(n.recheck, config.LearnerTimeout-r.For+time.Millisecond)
		}
	}
	if n.ready = l.config.RejoinMode.ShouldRejoin(learners, config); n.ready {
		n.recheck = 0
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
