package assignor

import "slices"

// listCopies decides which member of its instance holds each learner and standby (R8) and lists them: a copy stays with its
// member, a new one goes to the member with the least of everything.
func (r *round) listCopies(l *lists) {
	if len(r.copied) == 0 && r.standbys.whole == nil {
		return
	}
	c := &copyLister{round: r, lists: l, everything: make([]int64, len(r.members))}
	for m, n := range l.active {
		c.everything[m] = int64(n)
	}
	l.entries[standbyList] = make([]entry, 0, r.standbys.total)
	c.listHeld()
	for _, n := range c.fresh {
		c.start(n)
	}
	l.sort(learnerList)
	if len(c.fresh) > 0 {
		l.sort(standbyList)
	}
}

// listHeld lists the copies that stay where they are, in task order.
func (c *copyLister) listHeld() {
	whole := int32(0)
	for _, t := range c.copied {
		c.listWhole(whole, t)
		whole = t + 1
		if c.waits(t) {
			c.keepAll(t)
		} else {
			c.keepHeld(t)
		}
	}
	c.listWhole(whole, c.topology.size())
}

// listWhole lists the copies of the whole tasks from first up to end.
func (c *copyLister) listWhole(first, end int32) {
	if c.standbys.whole == nil {
		return
	}
	for t := first; t < end; t++ {
		if !c.standbys.whole[t] {
			continue
		}
		for k, end := c.copiesOf(t); k < end; k++ {
			c.hold(standbyList, t, c.copies[k].member)
		}
	}
}

// copyLister is the state of listCopies.
type copyLister struct {
	*round
	*lists
	everything []int64 // by member: tasks and copies of all sorts
	fresh      []newCopy
	used       []int32 // scratch
}

// newCopy is a copy that an instance is to hold and none of its members has, or one whose member leaves.
type newCopy struct {
	task, instance int32
	which          list
	from           int32 // the member of the instance that had it, or none
}

func (c *copyLister) hold(which list, t, m int32) {
	c.add(which, t, m)
	c.everything[m]++
}

// keepAll leaves every copy of a task that runs nowhere in this round what it is (R2): one learner, and one standby on every
// other instance that has a copy.
func (c *copyLister) keepAll(t int32) {
	used := c.used[:0]
	learner := c.bestCopy(t, func(k int32) bool { return c.copies[k].learns && c.members[c.copies[k].member].speaks }, c.lessLag)
	if learner != none {
		c.hold(learnerList, t, c.copies[learner].member)
		used = append(used, c.holderInstance(learner))
	}
	for k, end := c.copiesOf(t); k < end; k++ {
		if i := c.holderInstance(k); !c.copies[k].learns && !slices.Contains(used, i) {
			c.hold(standbyList, t, c.copies[k].member)
			used = append(used, i)
		} else if k != learner {
			c.noteDropped(t, k)
		}
	}
	c.used = used
}

// keepHeld lists the copies of a task that runs, as planned: those that a member has stay with it, the others are to be started.
func (c *copyLister) keepHeld(t int32) {
	used := c.used[:0]
	if at := c.learnerAt(t); at != none {
		c.keepOrStart(t, at, learnerList)
		used = append(used, at)
	}
	for _, i := range c.standbys.of(t) {
		c.keepOrStart(t, i, standbyList)
		used = append(used, i)
	}
	c.standbys.extras(t, func(m int32) {
		c.hold(standbyList, t, m)
		used = append(used, c.members[m].instance)
	})
	c.used = used
	for k, end := c.copiesOf(t); k < end; k++ {
		if !slices.Contains(used, c.holderInstance(k)) || c.learnerAt(t) != c.holderInstance(k) && c.copies[k].learns {
			c.noteDropped(t, k)
		}
	}
}

// keepOrStart lists a copy with the member of the instance that holds one already.
func (c *copyLister) keepOrStart(t, i int32, which list) {
	m := c.holderOn(t, i)
	if m == none || !c.mayHold(m, which) {
		c.fresh = append(c.fresh, newCopy{t, i, which, m})
		return
	}
	c.hold(which, t, m)
	if which == learnerList && (c.learnerCopy(t) == none || !c.copies[c.learnerCopy(t)].learns) {
		c.noteStart(t, m, which)
	} else if which == standbyList && m == c.owner[t] {
		c.note(MoveStandby, ReasonPreviousOwner, t, none, m)
	}
}

// holderOn returns the member of instance i that has state of the task: its best copy, or what it ran until now.
func (c *copyLister) holderOn(t, i int32) int32 {
	if k := c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i }, c.lessLag); k != none {
		return c.copies[k].member
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

// start gives a new copy to the member of its instance with the least of everything for its capacity.
func (c *copyLister) start(n newCopy) {
	best := none
	for _, m := range c.instances[n.instance].members {
		if c.mayHold(m, n.which) && (best == none || c.freer(m, best)) {
			best = m
		}
	}
	c.hold(n.which, n.task, best)
	if n.from == none {
		c.noteStart(n.task, best, n.which)
		return
	}
	kind := MoveStandby
	if n.which == learnerList {
		kind = MoveLearn
	}
	c.note(kind, ReasonMemberLeaving, n.task, n.from, best)
}

func (c *copyLister) freer(a, b int32) bool {
	return compareRatios(c.everything[a], c.members[a].capacity, c.everything[b], c.members[b].capacity) < 0
}

// noteStart records a new learner or standby.
func (c *copyLister) noteStart(t, m int32, which list) {
	if which == learnerList {
		why := ReasonBalance
		if c.instances[c.at(t)].leaving {
			why = ReasonLeaving
		}
		c.note(MoveLearn, why, t, c.by(t), m)
		return
	}
	why := ReasonTooFewStandbys
	if c.standbys.shifted != nil && c.standbys.shifted[t] {
		why = ReasonStandbyBalance
	}
	c.note(MoveStandby, why, t, none, m)
}

// noteDropped records that a member no longer has a copy it reported, unless the copy was promoted.
func (c *copyLister) noteDropped(t, k int32) {
	m := c.copies[k].member
	i := c.members[m].instance
	kind, why := MoveStopStandby, ReasonTooManyStandbys
	if c.copies[k].learns {
		kind, why = MoveStopLearn, ReasonUnneeded
	}
	switch {
	case c.status[t] == placed && m == c.by(t) && !c.waits(t):
		return
	case c.instances[i].leaving && !c.allLeave:
		why = ReasonHolderLeaving
	case c.status[t] == placed && i == c.at(t):
		why = ReasonHolderOwns
	case c.copies[k].learns && (c.learnerAt(t) != none || c.waits(t)):
		why = ReasonBetterLearner
	}
	c.note(kind, why, t, m, none)
}
