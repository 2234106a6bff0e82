package assignor

import (
	"math"
	"slices"
)

// replica is a copy of a stateful task of the topology that its holder does not run.
type replica struct {
	lag     uint64 // records still to replay, unknownLag where nobody knows
	member  int32
	learns  bool // reported as a learner
	expired bool // a learner that has been at it for longer than LearnerTimeout
}

// unknownLag is greater than every known lag, so that unknown ones come last.
const unknownLag = math.MaxUint64

func lagOf(reported int64) uint64 {
	if reported < 0 {
		return unknownLag
	}
	return uint64(reported)
}

func (r *round) caughtUp(c int32) bool { return r.copies[c].lag <= uint64(r.config.AcceptableLag) }

// rank is the lag of a copy for comparisons in which all that have caught up are equal.
func (r *round) rank(c int32) uint64 {
	if r.caughtUp(c) {
		return 0
	}
	return r.copies[c].lag
}

// How members report copies.
const (
	asStandby = false
	asLearner = true
)

// maxWhole is the most standbys a task for which readCopies notes who has them.
const maxWhole = 3

// readCopies notes who has copies of every task, as far as heldBy says: that is all that most tasks of most rounds need (see
// findWhole), and takes a third of the time of indexCopies, which waits until somebody asks for a single copy (1.0 and 3.3 floors
// of BenchmarkAssign, 100 000 tasks on 1 000 members with a standby each). The copy of a task that the member itself runs is no
// copy: it is being restored there if it has not caught up.
func (r *round) readCopies() {
	reported := false
	for m := range r.members {
		in := r.members[m].in
		r.anyLearners = r.anyLearners || len(in.Learners) > 0
		reported = reported || len(in.Learners)+len(in.Standbys) > 0
	}
	if !reported {
		return
	}
	r.heldWidth = 1
	if r.config.Standbys <= maxWhole {
		r.heldWidth = max(1, r.config.Standbys)
	}
	r.held = r.int32s.zeros(int(r.topology.size()) * r.heldWidth)
	for m := range r.members {
		r.noteCopies(r.members[m].in.Learners, int32(m), asLearner)
		r.noteCopies(r.members[m].in.Standbys, int32(m), asStandby)
	}
}

func (r *round) noteCopies(replicas []Replica, m int32, learns bool) {
	owner, all, width, conflicts := r.owner, r.held, r.heldWidth, len(r.revocations) > 0
	tasks := r.topology.cursor()
	tasks.stateful = true
	for i := range replicas {
		t := tasks.number(replicas[i].Task)
		if t == none {
			r.noteEnded(replicas[i].Task, m, learns)
			continue
		}
		if (owner[t] == m || conflicts) && r.runs(t, m) {
			r.noteRestoring(t, m, lagOf(replicas[i].Lag))
			continue
		}
		if held := &all[int(t)*width]; *held == 0 && !learns {
			*held = m + 1
		} else {
			r.noteCopy(r.heldBy(t), m, learns)
		}
	}
}

// noteCopy adds the copy of member m to what heldBy says. Where that is only how many there are, a member that reports the task
// twice counts twice.
func (r *round) noteCopy(held []int32, m int32, learns bool) {
	n := 0
	for n < len(held) && held[n] > 0 {
		n++
	}
	switch {
	case held[0] < 0:
		held[0]--
	case n > 0 && held[n-1] == m+1:
	case n < len(held) && !learns:
		held[n] = m + 1
	default:
		held[0] = int32(-1 - n)
	}
}

// heldBy returns who has copies of the task: members, counted from 1, and zeros. Where one of the copies is a learner, or there are
// more copies than the task wants, or from findWhole on the task is not whole, it returns minus their number instead, and what
// follows means nothing.
func (r *round) heldBy(t int32) []int32 { return r.held[int(t)*r.heldWidth:][:r.heldWidth] }

func (r *round) hasCopies(t int32) bool { return r.held != nil && r.held[int(t)*r.heldWidth] != 0 }

// indexCopies collects the copies of every task, in member order, one a member: where a member reports a task twice the smallest
// lag and the longest time count, and a learner stays one.
func (r *round) indexCopies() {
	n := r.topology.size()
	r.copyStart = r.int32s.take(int(n) + 1)
	r.copyStart[0] = 0
	for t := range n {
		r.copyStart[t+1] = r.copyStart[t] + numCopies(r.heldBy(t))
	}
	r.copyEnd = r.int32s.clone(r.copyStart[:n])
	r.copies = r.replicas.take(int(r.copyStart[n]))
	for m := range r.members {
		r.addCopies(r.members[m].in.Learners, int32(m), asLearner)
		r.addCopies(r.members[m].in.Standbys, int32(m), asStandby)
	}
}

func numCopies(held []int32) (n int32) {
	if held[0] < 0 {
		return -held[0]
	}
	for _, m := range held {
		if m > 0 {
			n++
		}
	}
	return n
}

// copiesOf returns the range of the copies of a task.
func (r *round) copiesOf(t int32) (first, end int32) {
	if !r.hasCopies(t) {
		return 0, 0
	}
	if r.copyStart == nil {
		r.indexCopies()
	}
	return r.copyStart[t], r.copyEnd[t]
}

// taskOf returns the task of a copy. It costs O(log tasks).
func (r *round) taskOf(c int32) int32 {
	t, _ := slices.BinarySearch(r.copyStart, c+1)
	return int32(t) - 1
}

func (r *round) stateless(t int32) bool { return r.topology.subs[r.topology.subOf(t)].Stateless }

func (r *round) addCopies(replicas []Replica, m int32, learns bool) {
	tasks := r.topology.cursor()
	tasks.stateful = true
	for i := range replicas {
		if t := tasks.number(replicas[i].Task); t != none && !r.runs(t, m) {
			r.addCopy(t, &replicas[i], m, learns)
		}
	}
}

func (r *round) addCopy(t int32, reported *Replica, m int32, learns bool) {
	c := replica{lag: lagOf(reported.Lag), member: m, learns: learns, expired: learns && r.config.timedOut(*reported)}
	if last := r.copyEnd[t] - 1; last >= r.copyStart[t] && r.copies[last].member == m {
		r.copies[last].lag = min(r.copies[last].lag, c.lag)
		r.copies[last].expired = r.copies[last].expired || c.expired
		return
	}
	r.copies[r.copyEnd[t]] = c
	r.copyEnd[t]++
}

// runs reports whether the member runs the task, as its owner or as one that must stop it for a conflict.
func (r *round) runs(t, m int32) bool {
	if r.owner[t] == m {
		return r.running(t)
	}
	return slices.ContainsFunc(r.revocationsOf(t), func(c claim) bool { return c.member == m })
}

// restoration says what the owner of a task reports of its own copy.
type restoration uint8

const (
	unmentioned restoration = iota
	restoring               // it has not caught up
	restored
)

// noteRestoring remembers whether the owner of a task is still restoring it. Where it reports the task twice the smallest lag counts.
func (r *round) noteRestoring(t, m int32, lag uint64) {
	if r.owner[t] != m {
		return
	}
	if r.restoring == nil {
		r.restoring = r.restorings.zeros(int(r.topology.size()))
	}
	if lag <= uint64(r.config.AcceptableLag) {
		r.restoring[t] = restored
	} else if r.restoring[t] != restored {
		r.restoring[t] = restoring
	}
}

func (r *round) isRestoring(t int32) bool { return r.restoring != nil && r.restoring[t] == restoring }

// noteEnded records that a member drops a copy of a task that has ended, or that never had state. That a stateless task it had to
// stop leaves nothing behind is no decision.
func (r *round) noteEnded(id TaskID, m int32, learns bool) {
	kind := MoveStopStandby
	if learns {
		kind = MoveStopLearn
	} else if t := r.topology.number(id); t != none && t < r.topology.size() {
		return
	}
	r.moves = append(r.moves, Move{Task: id, From: r.members[m].in.ID, Kind: kind, Reason: ReasonEnded})
}

// bestCopy returns the copy of t that comes first by less among those that ok admits, or none.
func (r *round) bestCopy(t int32, ok func(c int32) bool, less func(a, b int32) bool) int32 {
	best := none
	for c, end := r.copiesOf(t); c < end; c++ {
		if ok(c) && (best == none || less(c, best)) {
			best = c
		}
	}
	return best
}

// holderInstance returns the instance that holds a copy.
func (r *round) holderInstance(c int32) int32 { return r.members[r.copies[c].member].instance }

// lessLag orders copies by lag, then by their holder's id. (The copies of a task are in member order.)
func (r *round) lessLag(a, b int32) bool {
	if r.copies[a].lag != r.copies[b].lag {
		return r.copies[a].lag < r.copies[b].lag
	}
	return a < b
}
