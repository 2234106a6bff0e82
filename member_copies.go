package assignor

import (
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// held is the round in which every list is complete.
type held struct {
	*standbys
	*lists
}

// chooseHolders decides which member of its instance holds each learner and standby (R8.4) and lists them: a copy stays with its
// member, a new one goes to the member with the least of everything.
//
//	S2 is to learn T1; its members are a (standby of T1, 9 tasks) and b (2 tasks)    a: it has the state
//	S2 is to learn T1; neither has any                                              b
func chooseHolders(r revoked) held {
	if len(r.copied) > 0 {
		newCopyLister(r).list()
	}
	return held(r)
}

// newCopyLister returns the state in which every member has what it runs and what it keeps of whole tasks.
func newCopyLister(r revoked) *copyLister {
	c := &copyLister{standbys: r.standbys, lists: r.lists, everything: r.int64s.zeros(len(r.members))}
	for m, n := range c.active {
		c.everything[m] = int64(n)
	}
	for m, n := range c.wholes {
		c.everything[m] += int64(n)
	}
	c.entries[standbyList] = c.lists.space.entries.take(max(0, int(c.total)-sum(c.wholes)))[:0]
	c.fresh = c.lists.space.newCopies.take(c.added + len(c.learned))[:0]
	return c
}

// list lists all copies: first those that stay with a member, so that everything is known when the new ones are given out.
func (c *copyLister) list() {
	c.listHeld()
	c.moves = slices.Grow(c.moves, len(c.fresh)+len(c.moved)) // noteActives follows
	for _, n := range c.fresh {
		c.start(n)
	}
}

// listHeld lists the copies that stay where they are, in task order, but those of whole tasks, which need no list.
func (c *copyLister) listHeld() {
	for _, t := range c.copied {
		if c.paused(t) {
			c.keepAll(t)
		} else {
			c.keepHeld(t)
		}
	}
}

// copyLister is the state of chooseHolders.
//
// Entries of the lists are made in task order, those of new copies too, whose member is filled in at last: so that no list has
// to be sorted.
type copyLister struct {
	*standbys
	*lists
	everything []int64 // by member: tasks and copies of all sorts
	fresh      []newCopy
	used       []int32 // scratch: where copies of a task are kept
}

// hold lists a copy with a member and counts it.
func (c *copyLister) hold(which list, t, m int32) {
	c.add(which, t, m)
	c.everything[m]++
}

// keepAll leaves every copy of a task that runs nowhere in this round what it is (R2.4): one learner, and one standby on every
// other instance that has a copy.
//
//	T1 S1 stops it for its learner S2, S3 standby      S2 learns on, S3 keeps its standby
//	T1 S1 stops it, as it restores it and S3 is hot     S2, which learned it, has a standby now
//
// In the second case, where one member alone has to stop and not because somebody has learned the task, the learner becomes a
// standby: so the next round knows by the learner what the order was for (R1.1). Nothing is lost by it, a standby becomes a
// learner at once.
func (c *copyLister) keepAll(t int32) {
	learner := c.pausedLearner(t)
	if learner != none {
		c.hold(learnerList, t, c.replicas[learner].member)
	}
	c.used = c.eachPaused(t, learner, c.used[:0], func(k int32, stays bool) {
		if stays {
			c.keepStandby(t, c.replicas[k].member, ReasonUnneeded)
		} else {
			c.noteDropped(t, k)
		}
	})
}

// keepStandby lists a copy that the member has, and records it where it was no standby until now: what the member ran, or what
// it learned. why says why it no longer learns.
func (c *copyLister) keepStandby(t, m int32, why Reason) {
	c.hold(standbyList, t, m)
	if m == c.owner[t] {
		c.note(MoveStandby, ReasonPreviousOwner, t, none, m)
		return
	}
	if c.wasLearner(t, m) {
		c.note(MoveStopLearn, why, t, m, none)
		c.note(MoveStandby, ReasonTooFewStandbys, t, none, m)
	}
}

// wasLearner reports whether the member reports that it learns the task.
func (c *copyLister) wasLearner(t, m int32) bool {
	return c.bestCopy(t, func(k int32) bool { return c.replicas[k].member == m && c.replicas[k].learns }, c.lessLag) != none
}

// keepHeld lists the copies of a task that runs, as planned: the learner, the standbys, one that waits to be the learner (T3), those
// that stay until they are replaced. What members report beside that is dropped. A copy that a member of the right instance has stays with it; the
// others are to be started.
func (c *copyLister) keepHeld(t int32) {
	c.used = c.used[:0]
	if at := c.learnerAt(t); at != none {
		c.keepOrStart(t, at, learnerList)
	}
	for _, i := range c.of(t) {
		c.keepOrStart(t, i, standbyList)
	}
	if k := c.waitingCopy(t); k != none && !slices.Contains(c.of(t), c.holderInstance(k)) {
		c.keepOrStart(t, c.holderInstance(k), standbyList)
	}
	c.extras(t, func(m int32) {
		c.keepStandby(t, m, c.whyNoLearner(t))
		c.used = append(c.used, m)
		c.extra++
	})
	for k, end := c.copiesOf(t); k < end; k++ {
		if !slices.Contains(c.used, c.replicas[k].member) {
			c.noteDropped(t, k)
		}
	}
}

// keepOrStart lists a copy with the member of the instance that has it already, or leaves its entry for start to fill in.
func (c *copyLister) keepOrStart(t, i int32, which list) {
	m := c.holderOn(t, i, which)
	if m != none {
		c.used = append(c.used, m)
	}
	if m == none || !c.mayHold(m, which) {
		c.fresh = append(c.fresh, newCopy{t, i, which, len(c.entries[which]), m})
		c.add(which, t, none)
		return
	}
	if which == standbyList {
		c.keepStandby(t, m, c.whyNoLearner(t))
		return
	}
	c.hold(which, t, m)
	if !c.wasLearner(t, m) {
		c.noteStart(t, m, which)
	}
}

// holderOn returns the member of instance i that has state of the task: the learner in place, its best copy that may stay, its
// best copy that must be passed on, or what it ran until now; none where it has none. In this order, since a change of member
// costs the replay that the copy has behind it.
func (c *copyLister) holderOn(t, i int32, which list) int32 {
	if k := c.learnerCopy(t); which == learnerList && k != none && c.replicas[k].learns && c.mayHold(c.replicas[k].member, which) {
		return c.replicas[k].member
	}
	k := c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i && c.mayHold(c.replicas[k].member, which) }, c.lessLag)
	if k == none {
		k = c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i }, c.lessLag)
	}
	if k != none {
		return c.replicas[k].member
	}
	if o := c.owner[t]; o != none && c.members[o].instance == i {
		return o
	}
	return none
}

// mayHold reports whether a member may have a copy: a leaving member of an instance that stays passes it on, and a learner needs
// the protocol.
func (c *copyLister) mayHold(m int32, which list) bool {
	mb := &c.members[m]
	return (!mb.leaving || c.instances[mb.instance].leaving) && (which != learnerList || mb.speaks)
}

// start gives a new copy to the member of its instance with the least of everything for its capacity, of equals to the one with
// the smallest id. "Everything" because a replay and a standby use the same disk and the same network as a task.
func (c *copyLister) start(n newCopy) {
	best := none
	for _, m := range c.instances[n.instance].members {
		if c.mayHold(m, n.which) && (best == none || c.freer(m, best)) {
			best = m
		}
	}
	c.entries[n.which][n.at].member = best
	c.everything[best]++
	switch {
	case n.from == none:
		c.noteStart(n.task, best, n.which)
	case n.which == standbyList:
		c.note(MoveStandby, ReasonMemberLeaving, n.task, n.from, best)
		if c.wasLearner(n.task, n.from) {
			c.note(MoveStopLearn, ReasonMemberLeaving, n.task, n.from, none)
		}
	default:
		c.notePassedOn(n.task, n.from, best)
	}
}

// notePassedOn records that a member starts to learn a task whose copy its sibling has: one that leaves, or does not know
// learners.
func (c *copyLister) notePassedOn(t, from, to int32) {
	learned := c.wasLearner(t, from)
	start, stop, kind := ReasonMemberLeaving, ReasonMemberLeaving, MoveStopStandby
	if !learned || !c.members[from].leaving {
		start = c.whyLearn(t)
	}
	if !c.members[from].leaving {
		stop = ReasonTooManyStandbys
	}
	if learned {
		kind = MoveStopLearn
	}
	c.note(MoveLearn, start, t, c.by(t), to)
	if held := c.bestCopy(t, func(k int32) bool { return c.replicas[k].member == from }, c.lessLag); held != none {
		c.note(kind, stop, t, from, none)
	}
}

// freer reports whether member a has less of everything for its capacity than b.
func (c *copyLister) freer(a, b int32) bool {
	return level.CompareRatios(c.everything[a], c.members[a].capacity, c.everything[b], c.members[b].capacity) < 0
}

// noteStart records a new learner or standby.
func (c *copyLister) noteStart(t, m int32, which list) {
	if which == learnerList {
		c.note(MoveLearn, c.whyLearn(t), t, c.by(t), m)
		return
	}
	why := ReasonTooFewStandbys
	if c.shifted != nil && c.shifted[t] {
		why = ReasonStandbyBalance
	}
	c.note(MoveStandby, why, t, none, m)
}

// whyLearn returns why somebody learns the task: because its instance leaves, or for balance.
func (c *copyLister) whyLearn(t int32) Reason {
	if c.instances[c.at(t)].leaving {
		return ReasonLeaving
	}
	return ReasonBalance
}

// noteDropped records that a member no longer has a copy it reported, and why: its instance leaves, or runs the task itself, or
// the plan wants another. A copy that was promoted, to run the task, is no loss and no move of its own.
func (c *copyLister) noteDropped(t, k int32) {
	m := c.replicas[k].member
	i := c.members[m].instance
	kind, why := MoveStopStandby, ReasonTooManyStandbys
	if c.replicas[k].learns {
		kind, why = MoveStopLearn, c.whyNoLearner(t)
	}
	switch {
	case c.status[t] == decided && m == c.by(t) && !c.paused(t):
		return
	case c.instances[i].leaving && !c.allLeave:
		why = ReasonHolderLeaving
	case c.status[t] == decided && i == c.at(t):
		why = ReasonHolderOwns
	}
	c.note(kind, why, t, m, none)
}

// whyNoLearner returns why a learner goes: there is another, or the plan needs none.
func (c *copyLister) whyNoLearner(t int32) Reason {
	if k := c.learnerCopy(t); k != none && c.replicas[k].learns || c.paused(t) {
		return ReasonBetterLearner
	}
	return ReasonUnneeded
}
