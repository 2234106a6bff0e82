package assignor

import (
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// owned is the round in which every task that somebody ran, or has state of, has a place or waits for its instance. The orphans have
// neither (R1.5), in id order.
type owned struct {
	*plan
	orphans []int32
}

// actives is the state of placeActives. What it decides goes into the plan; the rest ends with the step.
type actives struct {
	*plan
	orphans []int32
	load    []int64 // by instance, its stateful load once every learner has taken over; nil until the tasks with an owner are placed
}

// placeActives decides who runs each stateful or stateless task that has an owner or a copy (R1.1 to R1.4), and which tasks
// wait for their instance (R7.4).
//
//	T1 owner S1, nobody has a copy of it       stays: this is how most tasks of most rounds end
//	T2 owner S1, S2 has a learner, caught up   R1.1: S2 runs it
//	T3 nobody claims it, S2 has a standby      placed once those with an owner are: R1.3 wants the lightest
//	T4 nobody claims it, nobody has a copy     an orphan
//
// The first are passed over here, and by all later steps that look at single tasks.
func placeActives(c copies, s *planSpace) owned {
	a := actives{plan: newPlan(c, s)}
	keeps := a.bools.take(len(a.members))
	for m := range a.members {
		keeps[m] = !a.mustGo(a.members[m].instance, false)
	}
	if a.memory.prev == nil { // whoever nobody claims is an orphan, but for those of which there are copies
		a.orphans = a.int32s.take(int(a.topology.size()) - a.claimed)[:0]
	}
	p, dest, status, unknown := a.plan, a.dest, a.status, a.memory.prev == nil && !a.anyCopies()
	stops := a.stopped != nil && len(a.statelessKind.weights) > 0
	quiet := len(a.fenced) == 0 && !a.anyLearners && a.restoring == nil && !stops
	for t, o := range a.owner[:len(dest)] {
		dest[t] = onMember(o)
		switch {
		case o == none && unknown: // nobody ever had it
			a.orphans = append(a.orphans, int32(t))
		case o != none && keeps[o] && (quiet || p.unquestioned(int32(t)) && !(stops && a.stoppedToLeave(int32(t)))): // R1.2
			status[t] = decided
		default:
			a.placeActive(int32(t))
		}
	}
	if len(a.orphans) > 0 && !unknown {
		a.placeUnowned()
	}
	return owned{a.plan, a.orphans}
}

// unquestioned reports whether nothing speaks against the owner of a task but what may be said of its instance: no other member that
// runs it, no learner, no copy that could be better than what it restores.
func (p *plan) unquestioned(t int32) bool {
	return p.status[t] == undecided && !p.mayBeLearned(t) && !p.isRestoring(t)
}

// placeActive goes through the rules for one task that are not about loads.
func (a *actives) placeActive(t int32) {
	switch {
	case a.status[t] == fenced:
	case a.owner[t] == none && a.memory.prev == nil && !a.hasCopies(t):
		a.orphans = append(a.orphans, t)
	case a.takeOver(t): // R1.1
	case a.keepOwner(t): // R1.2
	case a.returnToInstance(t): // R1.2, R7.5
	default:
		a.orphans = append(a.orphans, t)
	}
}

// placeUnowned places the tasks that have no owner who keeps them but a copy, and leaves the orphans.
func (a *actives) placeUnowned() {
	if a.anyCopies() {
		a.countLoads()
	}
	a.orphans = slices.DeleteFunc(a.orphans, func(t int32) bool {
		copied := a.hasCopies(t)
		switch {
		case copied && a.runHotCopy(t): // R1.3: hot beats cold, and beats waiting
		case a.awaitInstance(t): // R7.4: waiting beats a replay
		case copied && a.returnCold(t): // R8.2: it was only to change members, and goes on where it is
		case copied && a.runBestCopy(t): // R1.4: the shortest replay
		default:
			return false // R1.5
		}
		return true
	})
}

// countLoads adds up the stateful load of every instance once every learner has taken over (R4.2).
func (a *actives) countLoads() {
	a.load = a.int64s.zeros(len(a.instances))
	planned := a.count(&a.stateful).planned
	for i := range a.load {
		a.load[i] = planned.load(&a.stateful, i)
	}
}

// place decides that instance i runs the task; m is the member of it that should, none where any may. It is the one way in
// which this step decides, so that learners and loads are never forgotten.
func (a *actives) place(t, i, m int32, why Reason) {
	a.setPlace(t, i, m)
	a.setWhy(t, why)
	a.settleLearner(t)
	if a.load != nil && !a.stateless(t) {
		a.load[a.plannedAt(t)] += a.weight(t)
	}
}

// settleLearner finds the learner in place of a task that runs, if it has one that may stay (R3.3): one on an instance that stays
// and does not run the task. Of several the one with the smallest lag stays.
func (p *plan) settleLearner(t int32) {
	if p.allLeave || p.paused(t) {
		return
	}
	k := p.bestCopy(t, func(k int32) bool {
		i := p.holderInstance(k)
		return p.replicas[k].learns && i != p.at(t) && p.speakers(int(i))
	}, p.lessLag)
	if k != none {
		p.setLearner(t, p.holderInstance(k), k)
	}
}

// takeOver hands the task to a learner that has caught up (R1.1): of several to the one with the smallest lag. This comes
// before the owner is asked: the owner has been running on only until its successor is ready.
//
//	T1 owner S1, learner S2 lag 0         S2 runs it, at once if S1 has stopped it, else in the next round (R2.1)
//	T1 owner S1, learner S2 lag 90 000    S1 keeps it
//	T1 stopped for S2, lag now 30 000     S2 runs it all the same: see handoverOrdered
func (a *actives) takeOver(t int32) bool {
	if !a.mayBeLearned(t) {
		return false
	}
	ordered := a.handoverOrdered(t)
	k := a.bestCopy(t, func(k int32) bool {
		i := a.holderInstance(k)
		return a.replicas[k].learns && (a.caughtUp(k) || ordered && !a.unsure[a.replicas[k].member]) &&
			a.instances[i].stays && i != a.instanceOf(a.owner[t])
	}, a.lessLag)
	if k == none {
		return false
	}
	a.place(t, a.holderInstance(k), a.replicas[k].member, ReasonLearnerCaughtUp)
	return true
}

// handoverOrdered reports whether the last round told the owner to stop the task for its learner, whose lag may have grown a
// little since (R1.1): to send the task back because of that would let a busy task bounce for ever.
//
// Where the last round gave another order, for a conflict or because the owner was still restoring the task, say, it left no
// learner (see keepAll); one that reports to be one all the same has not seen that answer.
func (c *claims) handoverOrdered(t int32) bool {
	revokes := c.lastRevokes(t)
	if len(revokes) != 1 || c.lastRun(t) != nobody {
		return false
	}
	o := c.owner[t]
	return o == none || o == c.memory.present[revokes[0].member]
}

// keepOwner leaves the task with the member that runs it, or that stopped it for this round (R1.2). It does not where the
// instance has no time left, nor where the owner is still restoring while a copy that has caught up could run.
func (a *actives) keepOwner(t int32) bool {
	o := a.owner[t]
	if o == none || a.mustGo(a.members[o].instance, a.stateless(t)) || a.stoppedToLeave(t) {
		return false
	}
	if a.isRestoring(t) && a.hotElsewhere(t) {
		return false
	}
	a.place(t, a.members[o].instance, o, ReasonNone)
	return true
}

// stoppedToLeave reports whether a stateless task has stopped on an instance that leaves: it is given up at once there, and has no
// reason to start again (T11).
func (c *copies) stoppedToLeave(t int32) bool {
	return c.stateless(t) && !c.running(t) && !c.instances[c.members[c.owner[t]].instance].stays
}

// hotElsewhere reports whether a copy that has caught up is on an instance that stays.
func (c *copies) hotElsewhere(t int32) bool {
	return c.bestCopy(t, func(k int32) bool { return c.caughtUp(k) && c.staysAt(k) }, c.lessLag) != none
}

// staysAt reports whether the holder of copy k may be given the task.
func (c *copies) staysAt(k int32) bool { return c.instances[c.holderInstance(k)].stays }

// returnToInstance gives a task that nobody claims back to the instance that had it: to one that the memory gave it to and
// that has a new member now, or is back after an absence, unless it leaves or another copy has the smaller lag (R1.2, R7.5); and
// to one that had to stop it and still has its state at hand, as it is when it changes between members (R8.2).
func (a *actives) returnToInstance(t int32) bool {
	if a.owner[t] != none {
		return false
	}
	if h := a.lastInstance(t); h != nil {
		return h.present != none && a.stillBest(t, h.present) && a.placeBack(t, h.present)
	}
	i := a.stoppedOn(t)
	if i == none || !a.hotOn(t, i) {
		return false
	}
	a.place(t, i, none, ReasonSiblings)
	return true
}

// stillBest reports whether instance i stays and no copy elsewhere has a smaller lag than its own.
func (c *copies) stillBest(t, i int32) bool {
	if !c.instances[i].stays {
		return false
	}
	own := uint64(unknownLag)
	for k, end := c.copiesOf(t); k < end; k++ {
		if c.holderInstance(k) == i {
			own = min(own, c.rank(k))
		}
	}
	return c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) != i && c.rank(k) < own }, c.lessLag) == none
}

// hotOn reports whether a copy on instance i has caught up.
func (c *copies) hotOn(t, i int32) bool {
	return c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i && c.caughtUp(k) }, c.lessLag) != none
}

// placeBack gives the task to its old instance: to the member with the best copy, else to the one that had it if that is still
// on this instance, else to any. It returns true.
func (a *actives) placeBack(t, i int32) bool {
	m := none
	if k := a.bestCopy(t, func(k int32) bool { return a.holderInstance(k) == i }, a.lessLag); k != none {
		m = a.replicas[k].member
	} else if who := a.lastRun(t); who >= 0 {
		if had := a.memory.present[who]; a.instanceOf(had) == i {
			m = had
		}
	}
	a.place(t, i, m, ReasonInstanceBack)
	return true
}

// returnCold gives a task of which no copy has caught up back to the instance that had to stop it: it was restoring it and goes
// on with that, under another member (R8.2), even if a copy elsewhere is a little ahead.
func (a *actives) returnCold(t int32) bool {
	i := a.stoppedOn(t)
	if i == none || a.owner[t] != none || a.bestCopy(t, func(k int32) bool { return a.holderInstance(k) == i }, a.lessLag) == none {
		return false
	}
	a.place(t, i, none, ReasonSiblings)
	return true
}

// runHotCopy runs a task without owner from a copy that has caught up: on the staying instance with the lightest planned load,
// else on a leaving one before its deadline, where it runs until it is learned elsewhere (R1.3).
//
//	copies S2 lag 0, S3 lag 0, planned loads 5 and 3    S3 runs it: both could at once, and S3 has more room
//	copies S2 (leaving) lag 0, S3 lag 90 000            S2 runs it, and S3 will learn it (hot beats cold)
func (a *actives) runHotCopy(t int32) bool {
	hot := a.bestCopy(t, func(k int32) bool { return a.caughtUp(k) && a.staysAt(k) }, func(k, other int32) bool {
		if d := a.compareLoad(a.holderInstance(k), a.holderInstance(other)); d != 0 {
			return d < 0
		}
		return a.lessLag(k, other)
	})
	why := ReasonCopyCaughtUp
	if hot == none && a.somebodySpeaks {
		why = ReasonHotOnLeaving
		hot = a.bestCopy(t, func(k int32) bool {
			return a.caughtUp(k) && !a.instances[a.holderInstance(k)].overdue
		}, a.lessLag)
	}
	if hot == none {
		return false
	}
	a.place(t, a.holderInstance(hot), a.replicas[hot].member, a.whyMoved(t, why))
	return true
}

// compareLoad orders instances by their planned load for their capacity.
func (a *actives) compareLoad(i, other int32) int {
	return level.CompareRatios(a.load[i], a.instances[i].capacity, a.load[other], a.instances[other].capacity)
}

// awaitInstance lets a task that nobody claims wait for an instance that vanished without leaving (R7.4).
func (a *actives) awaitInstance(t int32) bool {
	if a.owner[t] != none || !a.worthAwaiting(a.lastInstance(t)) {
		return false
	}
	a.status[t] = awaited
	a.awaiting = true
	if who := a.lastRun(t); who >= 0 {
		a.moves = append(a.moves, Move{a.topology.id(t), a.memory.prev.Members[who].Member, "", MoveAwait, ReasonAwaited})
	}
	return true
}

// runBestCopy runs a task without owner from the copy with the least to replay (R1.4), unknown lags last. Of two equal ones a
// learner comes first: a plan had meant the task to be there.
func (a *actives) runBestCopy(t int32) bool {
	best := a.bestCopy(t, a.staysAt, func(k, other int32) bool {
		if a.replicas[k].lag == a.replicas[other].lag && a.replicas[k].learns != a.replicas[other].learns {
			return a.replicas[k].learns
		}
		return a.lessLag(k, other)
	})
	if best == none {
		return false
	}
	a.place(t, a.holderInstance(best), a.replicas[best].member, a.whyMoved(t, ReasonBestCopy))
	return true
}

// whyMoved returns why a task is not where its owner runs it, or how where it has none: the owner's reason comes first, since
// it is what somebody who reads the moves wants to know.
func (c *copies) whyMoved(t int32, how Reason) Reason {
	o := c.owner[t]
	if o == none {
		return how
	}
	switch in := &c.instances[c.members[o].instance]; {
	case in.overdue:
		return ReasonDeadline
	case c.isRestoring(t):
		return ReasonRestoring
	case in.leaving && c.stateless(t):
		return ReasonLeaving
	case in.leaving:
		return ReasonNoLearners
	default:
		return how
	}
}
