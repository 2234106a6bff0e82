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

// lagOf returns a reported lag, all unknown ones as one.
func lagOf(reported int64) uint64 {
	if reported < 0 {
		return unknownLag
	}
	return uint64(reported)
}

// caughtUp reports whether a copy is at most AcceptableLag behind.
func (c *copies) caughtUp(k int32) bool { return c.replicas[k].lag <= uint64(c.config.AcceptableLag) }

// rank is the lag of a copy for comparisons in which all that have caught up are equal: a few records more or less are chance,
// and the next round would decide otherwise.
func (c *copies) rank(k int32) uint64 {
	if c.caughtUp(k) {
		return 0
	}
	return c.replicas[k].lag
}

// copies is who has state of what beside those that run it.
type copies struct {
	claims
	copySpace          *copySpace
	cells              []cell // the holders of each task, width cells each; nil where nobody reports a copy
	width              int
	copyStart, copyEnd []int32       // the copies of a task are replicas[copyStart:copyEnd]; nil until somebody asks for one
	replicas           []replica     // by task, then member
	restoring          []restoration // by task: what its owner reports of its own copy; nil where none does
	anyLearners        bool          // some member reports a learner
	ended              []endedCopy
}

// copySpace is the arrays that copies work in.
type copySpace struct {
	cells      arena[cell]
	replicas   arena[replica]
	restorings arena[restoration]
}

// begin makes the arrays ready for a round.
func (s *copySpace) begin() {
	s.cells.begin()
	s.replicas.begin()
	s.restorings.begin()
}

// How members report copies.
const (
	asStandby = false
	asLearner = true
)

// maxWhole is the most standbys a task for which readCopies notes who has them.
const maxWhole = 3

// holders says who has copies of one task, in a cell for each standby that it wants:
//
//	S1 S2 -    these two have one each, and nobody learns
//	-  -  -    nobody has one
//	4 copies   one learns, or they are more than the task wants: only how many there are
//
// That is all that most tasks of most rounds need; whose copies they are and how far behind, copiesOf knows.
type holders []cell

// cell is a member, counted from 1, or 0 for nobody. A first cell of -n stands for n copies, and then the others mean nothing.
type cell int32

// cellOf returns the cell of a member.
func cellOf(m int32) cell { return cell(m + 1) }

// member returns the member of a cell, and a negative number where there is none.
func (c cell) member() int32 { return int32(c) - 1 }

// named reports whether the task has copies and the cells say who has them.
func (h holders) named() bool { return h[0] > 0 }

// count returns how many copies there are. Where the cells do not say who has them, a member that reports the task twice counts twice.
func (h holders) count() (n int32) {
	if h[0] < 0 {
		return int32(-h[0])
	}
	for _, c := range h {
		if c > 0 {
			n++
		}
	}
	return n
}

// add notes a copy of member m, who comes after all that have been added.
func (h holders) add(m int32, learns bool) {
	n := 0
	for n < len(h) && h[n] > 0 {
		n++
	}
	switch {
	case h[0] < 0:
		h[0]--
	case n > 0 && h[n-1] == cellOf(m):
	case n < len(h) && !learns:
		h[n] = cellOf(m)
	default:
		h[0] = cell(-1 - n)
	}
}

// forget leaves only how many copies there are.
func (h holders) forget() { h[0] = cell(-h.count()) }

// holdersOf returns who has copies of a task. Somebody must have reported a copy of some task.
func (c *copies) holdersOf(t int32) holders { return c.cells[int(t)*c.width:][:c.width] }

// anyCopies reports whether somebody has reported a copy of some task.
func (c *copies) anyCopies() bool { return c.cells != nil }

// hasCopies reports whether somebody has a copy of the task.
func (c *copies) hasCopies(t int32) bool { return c.cells != nil && c.cells[int(t)*c.width] != 0 }

// mayBeLearned reports whether some copy of the task may be a learner: where holders can say whose copies they are, none is. It
// spares a look at each copy of tasks that have but standbys, which are most.
func (c *copies) mayBeLearned(t int32) bool { return c.anyLearners && c.cells[int(t)*c.width] < 0 }

// readCopies notes who has copies of every task, as far as holders do: that is all that most tasks of most rounds need (see
// findWhole), and takes a third of the time of indexCopies, which waits until somebody asks for a single copy (1.0 and 3.3 floors
// of BenchmarkAssign, 100 000 tasks on 1 000 members with a standby each). The copy of a task that the member itself runs is no
// copy: it is being restored there if it has not caught up.
func readCopies(before claims, s *copySpace) copies {
	c := copies{claims: before, copySpace: s}
	reported := false
	for m := range c.members {
		in := c.members[m].in
		c.anyLearners = c.anyLearners || len(in.Learners) > 0
		reported = reported || len(in.Learners)+len(in.Standbys) > 0
	}
	if !reported {
		return c
	}
	c.width = 1
	if c.config.Standbys <= maxWhole {
		c.width = max(1, c.config.Standbys)
	}
	c.cells = s.cells.zeros(int(c.topology.size()) * c.width)
	for m := range c.members {
		c.noteCopies(c.members[m].in.Learners, int32(m), asLearner)
		c.noteCopies(c.members[m].in.Standbys, int32(m), asStandby)
	}
	return c
}

// noteCopies notes the copies that a member reports in one of its lists. It only counts them and says whose they are, as far as
// holders can.
func (c *copies) noteCopies(replicas []Replica, m int32, learns bool) {
	owner, cells, width, conflicts := c.owner, c.cells, c.width, len(c.revocations) > 0
	tasks := c.topology.cursor()
	tasks.stateful = true
	for i := range replicas {
		t := tasks.number(replicas[i].Task)
		if t == none {
			c.noteEnded(replicas[i].Task, m, learns)
			continue
		}
		if (owner[t] == m || conflicts) && c.runs(t, m) {
			c.noteRestoring(t, m, lagOf(replicas[i].Lag))
			continue
		}
		if first := &cells[int(t)*width]; *first == 0 && !learns {
			*first = cellOf(m)
		} else {
			c.holdersOf(t).add(m, learns)
		}
	}
}

// indexCopies collects the copies of every task, in member order, one a member: where a member reports a task twice the
// smallest lag and the longest time count, and a learner stays one.
//
//	task        T1       T2    T3
//	copyStart   0        2     2      3
//	replicas    S1 S4          S2          T1 has two copies, T2 none, T3 one
//
// Room is made by the counts of holders, which may be too great where a member reports a task twice; so copyEnd says where the
// copies of a task really end.
func (c *copies) indexCopies() {
	n := c.topology.size()
	c.copyStart = c.int32s.take(int(n) + 1)
	c.copyStart[0] = 0
	for t := range n {
		c.copyStart[t+1] = c.copyStart[t] + c.holdersOf(t).count()
	}
	c.copyEnd = c.int32s.clone(c.copyStart[:n])
	c.replicas = c.copySpace.replicas.take(int(c.copyStart[n]))
	for m := range c.members {
		c.addCopies(c.members[m].in.Learners, int32(m), asLearner)
		c.addCopies(c.members[m].in.Standbys, int32(m), asStandby)
	}
}

// copiesOf returns the range of the copies of a task, as indexes into replicas. The first call of a round builds the index.
func (c *copies) copiesOf(t int32) (first, end int32) {
	if !c.hasCopies(t) {
		return 0, 0
	}
	if c.copyStart == nil {
		c.indexCopies()
	}
	return c.copyStart[t], c.copyEnd[t]
}

// taskOf returns the task of a copy. It costs O(log tasks).
func (c *copies) taskOf(k int32) int32 {
	t, _ := slices.BinarySearch(c.copyStart, k+1)
	return int32(t) - 1
}

// addCopies adds what a member reports in one of its lists to the index.
func (c *copies) addCopies(replicas []Replica, m int32, learns bool) {
	tasks := c.topology.cursor()
	tasks.stateful = true
	for i := range replicas {
		if t := tasks.number(replicas[i].Task); t != none && !c.runs(t, m) {
			c.addCopy(t, &replicas[i], m, learns)
		}
	}
}

// addCopy adds one reported copy, or merges it with that of the same member, which came just before.
func (c *copies) addCopy(t int32, reported *Replica, m int32, learns bool) {
	one := replica{lag: lagOf(reported.Lag), member: m, learns: learns, expired: learns && c.config.timedOut(*reported)}
	if last := c.copyEnd[t] - 1; last >= c.copyStart[t] && c.replicas[last].member == m {
		c.replicas[last].lag = min(c.replicas[last].lag, one.lag)
		c.replicas[last].expired = c.replicas[last].expired || one.expired
		return
	}
	c.replicas[c.copyEnd[t]] = one
	c.copyEnd[t]++
}

// runs reports whether the member runs the task, as its owner or as one that must stop it for a conflict.
func (c *claims) runs(t, m int32) bool {
	if c.owner[t] == m {
		return c.running(t)
	}
	return slices.ContainsFunc(c.revocationsOf(t), func(x claim) bool { return x.member == m })
}

// restoration says what the owner of a task reports of its own copy.
type restoration uint8

const (
	unmentioned restoration = iota
	restoring               // it has not caught up
	restored
)

// noteRestoring remembers whether the owner of a task is still restoring it. Where it reports the task twice the smallest lag counts.
func (c *copies) noteRestoring(t, m int32, lag uint64) {
	if c.owner[t] != m {
		return
	}
	if c.restoring == nil {
		c.restoring = c.copySpace.restorings.zeros(int(c.topology.size()))
	}
	if lag <= uint64(c.config.AcceptableLag) {
		c.restoring[t] = restored
	} else if c.restoring[t] != restored {
		c.restoring[t] = restoring
	}
}

// isRestoring reports whether the owner of a task says that it has not caught up with it. It runs nowhere yet then, whatever
// Active says.
func (c *copies) isRestoring(t int32) bool { return c.restoring != nil && c.restoring[t] == restoring }

// endedCopy is a reported copy of a task that has ended, or that never had state.
type endedCopy struct {
	task   TaskID
	member int32
	learns bool
}

// noteEnded notes that a member drops a copy of a task that has ended, or that never had state. That a stateless task it had to
// stop leaves nothing behind is no decision.
func (c *copies) noteEnded(id TaskID, m int32, learns bool) {
	if t := c.topology.number(id); !learns && t != none && t < c.topology.size() {
		return
	}
	c.ended = append(c.ended, endedCopy{id, m, learns})
}

// bestCopy returns the copy of t that comes first by less among those that ok admits, or none. It costs O(copies of t).
func (c *copies) bestCopy(t int32, ok func(k int32) bool, less func(a, b int32) bool) int32 {
	best := none
	for k, end := c.copiesOf(t); k < end; k++ {
		if ok(k) && (best == none || less(k, best)) {
			best = k
		}
	}
	return best
}

// holderInstance returns the instance that holds a copy.
func (c *copies) holderInstance(k int32) int32 { return c.members[c.replicas[k].member].instance }

// lessLag orders copies by lag, then by their holder's id: the copies of a task are in member order, so the smaller index is
// the smaller id.
func (c *copies) lessLag(a, b int32) bool {
	if c.replicas[a].lag != c.replicas[b].lag {
		return c.replicas[a].lag < c.replicas[b].lag
	}
	return a < b
}
