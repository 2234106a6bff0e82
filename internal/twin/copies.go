package twin

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// copyLists decides which member of its instance holds each learner and standby (R8.4).
//
//	B is to keep a standby of 0_0                    member
//	b1 reports a copy of it                          b1, whatever b1 has beside that
//	b1 reports one, but leaves, and b2 stays         b2, and b1 stops (R8.3)
//	nobody on B has any                              the one with the least of everything for its capacity
type copyLists struct {
	*round
	lists map[string]*assignor.MemberAssignment
	fresh []freshCopy
}

// freshCopy is a copy that an instance is to hold and of which no member has state, or only one that may not hold it.
type freshCopy struct {
	task   taskID
	host   string
	learns bool
	from   string // the member that has the state
}

// listCopies is R8.4 for every task: copies that stay do so with their member, and then new ones go to whoever has least, when all that
// stays is known.
func (n *round) listCopies(lists map[string]*assignor.MemberAssignment) {
	c := &copyLists{round: n, lists: lists}
	for _, t := range n.tasks {
		switch {
		case n.stateless(t):
		case n.waits(t):
			c.keepAll(t)
		default:
			c.keepPlanned(t)
		}
	}
	for _, f := range c.fresh { // when it is known what everybody keeps
		c.start(f)
	}
}

// hold lists a copy with a member.
func (c *copyLists) hold(t taskID, member string, learns bool) {
	if learns {
		c.lists[member].Learners = append(c.lists[member].Learners, t)
	} else {
		c.lists[member].Standbys = append(c.lists[member].Standbys, t)
	}
}

// keepAll leaves the copies of a task that runs nowhere what they are (R2.4): one learner, and one standby on each other instance.
func (c *copyLists) keepAll(t taskID) {
	learner, learned := c.waitingLearner(t)
	if learned {
		c.hold(t, learner.member, true)
	}
	standbys := c.waitingStandbys(t)
	for _, k := range c.copies[t] {
		switch {
		case learned && k.member == learner.member:
		case slices.Contains(standbys, k.member):
			c.keepStandby(t, k.member, assignor.ReasonUnneeded)
		default:
			c.noteDropped(t, k)
		}
	}
}

// keepStandby lists a copy that the member has, and records it where that ran the task or learned it until now.
func (c *copyLists) keepStandby(t taskID, member string, why assignor.Reason) {
	c.hold(t, member, false)
	switch {
	case member == c.owner[t]:
		c.move(assignor.MoveStandby, assignor.ReasonPreviousOwner, t, "", member)
	case c.learned(t, member):
		c.move(assignor.MoveStopLearn, why, t, member, "")
		c.move(assignor.MoveStandby, assignor.ReasonTooFewStandbys, t, "", member)
	}
}

// learned reports whether a member reports that it learns a task.
func (n *round) learned(t taskID, member string) bool {
	return slices.ContainsFunc(n.copies[t], func(k replica) bool { return k.member == member && k.learns })
}

// keepPlanned lists the copies of a task that runs: the learner, the standbys, and those that stay until these have caught up.
func (c *copyLists) keepPlanned(t taskID) {
	var used []string // the members whose copies are kept or passed on
	if h := c.learner[t]; h != "" {
		used = append(used, c.keepOrStart(t, h, true))
	}
	for _, h := range c.kept[t] {
		used = append(used, c.keepOrStart(t, h, false))
	}
	if w, ok := c.waiting[t]; ok && !slices.Contains(c.kept[t], c.host(w.member)) {
		used = append(used, c.keepOrStart(t, c.host(w.member), false))
	}
	for _, m := range c.extras(t) {
		c.keepStandby(t, m, c.whyNoLearner(t))
		used = append(used, m)
	}
	for _, k := range c.copies[t] {
		if !slices.Contains(used, k.member) {
			c.noteDropped(t, k)
		}
	}
}

// keepOrStart lists a copy with the member of the instance that has its state, which it returns.
func (c *copyLists) keepOrStart(t taskID, host string, learns bool) (member string) {
	m := c.holderOn(t, host, learns)
	switch {
	case m == "" || !c.mayHold(m, learns):
		c.fresh = append(c.fresh, freshCopy{t, host, learns, m})
	case !learns:
		c.keepStandby(t, m, c.whyNoLearner(t))
	default:
		c.hold(t, m, true)
		if !c.learned(t, m) {
			c.noteStart(t, m, true)
		}
	}
	return m
}

// holderOn returns the member of an instance that has state of a task: the one that learns it if it goes on learning, else the one
// with the smallest lag, rather one that may hold it, else the one that ran the task until now.
func (c *copyLists) holderOn(t taskID, host string, learns bool) string {
	if from := c.from[t]; learns && from.learns && c.mayHold(from.member, true) {
		return from.member
	}
	k, ok := c.best(t, func(k replica) bool { return c.host(k.member) == host }, func(a, b replica) int {
		return cmp.Or(trueFirst(c.mayHold(a.member, learns), c.mayHold(b.member, learns)), cmp.Compare(a.lag, b.lag))
	})
	switch {
	case ok:
		return k.member
	case c.host(c.owner[t]) == host:
		return c.owner[t]
	default:
		return ""
	}
}

// mayHold reports whether a member may hold a copy: one that leaves an instance that stays may not, and a learner needs the version.
func (c *copyLists) mayHold(member string, learns bool) bool {
	return (!c.members[member].Leaving || c.leaves(c.host(member))) && (!learns || c.speaks(member))
}

// start gives a new copy to the member of the instance with the least of everything.
func (c *copyLists) start(f freshCopy) {
	everything := func(member string) int64 {
		ma := c.lists[member]
		return int64(len(ma.Active) + len(ma.Learners) + len(ma.Standbys))
	}
	m, _ := firstOf(c.crews[f.host], func(m string) bool { return c.mayHold(m, f.learns) }, func(a, b string) int {
		return cmp.Compare(everything(a)*int64(c.members[b].Capacity), everything(b)*int64(c.members[a].Capacity))
	})
	c.hold(f.task, m, f.learns)
	switch {
	case f.from == "":
		c.noteStart(f.task, m, f.learns)
	case f.learns:
		c.notePassedOn(f, m)
	default:
		c.move(assignor.MoveStandby, assignor.ReasonMemberLeaving, f.task, f.from, m)
		if c.learned(f.task, f.from) {
			c.move(assignor.MoveStopLearn, assignor.ReasonMemberLeaving, f.task, f.from, "")
		}
	}
}

// notePassedOn records that a member starts to learn a task whose state another member of the instance has, one that leaves or is
// of a version that does not learn.
func (c *copyLists) notePassedOn(f freshCopy, to string) {
	kind, start, stop := assignor.MoveStopStandby, c.whyLearn(f.task), assignor.ReasonTooManyStandbys
	if c.members[f.from].Leaving {
		stop = assignor.ReasonMemberLeaving
	}
	if c.learned(f.task, f.from) {
		kind = assignor.MoveStopLearn
		if c.members[f.from].Leaving {
			start = assignor.ReasonMemberLeaving
		}
	}
	c.move(assignor.MoveLearn, start, f.task, c.by[f.task], to)
	if slices.ContainsFunc(c.copies[f.task], func(k replica) bool { return k.member == f.from }) {
		c.move(kind, stop, f.task, f.from, "")
	}
}

// extras is R6.7: it returns the members whose caught-up copies are to go but stay for now, until as many others have caught up as the task can
// have: the previous owner first, those on leaving instances last, and none past its deadline.
//
//	one standby wanted; B is to keep it and lags, C has caught up and is to go    C stays as well
//	one round later B has caught up                                               C goes
func (n *round) extras(t taskID) []string {
	hot, used := 0, slices.Clone(n.kept[t])
	if c, ok := n.waiting[t]; ok {
		used = append(used, n.host(c.member))
	}
	for _, h := range n.kept[t] {
		if n.standbyLag(t, h) == 0 {
			hot++
		}
	}
	var caughtUp, extras []string
	if _, ok := n.handedOver(t); ok {
		caughtUp = append(caughtUp, n.owner[t])
	}
	for _, c := range n.copies[t] {
		if n.caughtUp(c) {
			caughtUp = append(caughtUp, c.member)
		}
	}
	slices.SortStableFunc(caughtUp, func(a, b string) int { return -trueFirst(n.leaves(n.host(a)), n.leaves(n.host(b))) })
	for _, m := range caughtUp {
		h := n.host(m)
		if hot < n.wanted(t) && !n.overdue(h) && h != n.at[t] && h != n.learner[t] && !slices.Contains(used, h) {
			used, extras = append(used, h), append(extras, m)
			hot++
		}
	}
	return extras
}

// noteStart records a new learner or standby.
func (n *round) noteStart(t taskID, member string, learns bool) {
	switch {
	case learns:
		n.move(assignor.MoveLearn, n.whyLearn(t), t, n.by[t], member)
	case n.shifted[t]:
		n.move(assignor.MoveStandby, assignor.ReasonStandbyBalance, t, "", member)
	default:
		n.move(assignor.MoveStandby, assignor.ReasonTooFewStandbys, t, "", member)
	}
}

// whyLearn says why a task is learned: its instance leaves, or has too much.
func (n *round) whyLearn(t taskID) assignor.Reason {
	if n.leaves(n.at[t]) {
		return assignor.ReasonLeaving
	}
	return assignor.ReasonBalance
}

// whyNoLearner says why a learner goes: there is another, or the plan needs none.
func (n *round) whyNoLearner(t taskID) assignor.Reason {
	if n.from[t].learns || n.waits(t) {
		return assignor.ReasonBetterLearner
	}
	return assignor.ReasonUnneeded
}

// noteDropped records that a member no longer has a copy, unless it runs the task now: that is told by the move of the task.
func (n *round) noteDropped(t taskID, c replica) {
	h := n.host(c.member)
	kind, why := assignor.MoveStopStandby, assignor.ReasonTooManyStandbys
	if c.learns {
		kind, why = assignor.MoveStopLearn, n.whyNoLearner(t)
	}
	switch {
	case !n.waits(t) && c.member == n.by[t]:
		return
	case n.leaves(h) && !n.allLeave():
		why = assignor.ReasonHolderLeaving
	case n.placed(t) && h == n.at[t]:
		why = assignor.ReasonHolderOwns
	}
	n.move(kind, why, t, c.member, "")
}
