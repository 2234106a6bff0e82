package assignor

import (
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// placeActives decides who runs each stateful or stateless task that has an owner or a copy (R1.1 to R1.4), and which tasks
// wait for their instance (R7). What is left in r.orphans has neither (R1.5).
//
// It starts from "every task stays with its owner", which is how most tasks of most rounds end: those whose owner may keep them and
// of which nobody has a copy are passed over here, and by all later steps that look at single tasks.
func (r *round) placeActives() {
	r.dest = r.int32s.clone(r.owner[:r.topology.size()])
	keeps := r.bools.take(len(r.members))
	for m := range r.members {
		keeps[m] = !r.mustGo(r.members[m].instance, false)
	}
	if r.memory.prev == nil { // whoever nobody claims is an orphan, but for those of which there are copies
		r.orphans = r.int32s.take(int(r.topology.size()) - r.claimed)[:0]
	}
	status, restoring, unknown := r.status[:len(r.dest)], r.restoring != nil, r.memory.prev == nil && r.held == nil
	for t, o := range r.dest {
		if o == none && unknown { // nobody ever had it
			status[t] = unplaced
			r.orphans = append(r.orphans, int32(t))
			continue
		}
		if o == none || status[t] != placed || !keeps[o] || r.anyLearners && r.hasCopies(int32(t)) || restoring && r.isRestoring(int32(t)) {
			r.placeActive(int32(t))
		}
	}
	if len(r.orphans) == 0 || unknown {
		return
	}
	if r.held != nil {
		r.countPlanned()
	}
	r.orphans = slices.DeleteFunc(r.orphans, func(t int32) bool {
		return r.hasCopies(t) && r.runHotCopy(t) || r.awaitInstance(t) || r.hasCopies(t) && (r.returnCold(t) || r.runBestCopy(t))
	})
}

// placeActive goes through the rules for one task that are not about loads.
func (r *round) placeActive(t int32) {
	if r.status[t] == fenced {
		return
	}
	r.status[t] = unplaced
	if r.owner[t] == none && r.memory.prev == nil && !r.hasCopies(t) {
		r.orphans = append(r.orphans, t)
		return
	}
	if !r.takeOver(t) && !r.keepOwner(t) && !r.returnToInstance(t) {
		r.orphans = append(r.orphans, t)
	}
}

// place decides that instance i runs the task; m is the member of it that should, none where any may.
func (r *round) place(t, i, m int32, why Reason) {
	r.setPlace(t, i, m)
	r.setWhy(t, why)
	r.settleLearner(t)
	if r.load != nil && !r.stateless(t) {
		r.load[r.plannedAt(t)] += r.weight(t)
	}
}

// countPlanned adds up the stateful load of every instance once every learner has taken over (R4).
func (r *round) countPlanned() {
	r.load = r.int64s.zeros(len(r.instances))
	planned := r.planTasks(r.countTasks(&r.stateful))
	for i := range r.load {
		r.load[i] = planned.load(&r.stateful, i)
	}
}

// takeOver hands the task to a learner that has caught up (R1.1).
func (r *round) takeOver(t int32) bool {
	if !r.anyLearners || !r.hasCopies(t) {
		return false
	}
	ordered := r.handoverOrdered(t)
	c := r.bestCopy(t, func(c int32) bool {
		i := r.holderInstance(c)
		return r.replicas[c].learns && (r.caughtUp(c) || ordered && !r.unsure[r.replicas[c].member]) &&
			r.instances[i].stays && i != r.instanceOf(r.owner[t])
	}, r.lessLag)
	if c == none {
		return false
	}
	r.place(t, r.holderInstance(c), r.replicas[c].member, ReasonLearnerCaughtUp)
	return true
}

// handoverOrdered reports whether the last round told the owner to stop the task for its learner, whose lag may have grown a
// little since (R1.1). Where it gave another order, for a conflict or because the owner was still restoring the task, say, it
// left no learner (see keepAll); one that reports to be one all the same has not seen that answer.
func (c *claims) handoverOrdered(t int32) bool {
	revokes := c.lastRevokes(t)
	if len(revokes) != 1 || c.lastRun(t) != nobody {
		return false
	}
	o := c.owner[t]
	return o == none || o == c.memory.present[revokes[0].member]
}

// keepOwner leaves the task with the member that runs it, or that stopped it for this round (R1.2).
func (r *round) keepOwner(t int32) bool {
	o := r.owner[t]
	if o == none || r.mustGo(r.members[o].instance, r.stateless(t)) {
		return false
	}
	if r.isRestoring(t) && r.hotElsewhere(t) {
		return false
	}
	r.place(t, r.members[o].instance, o, ReasonNone)
	return true
}

func (c *copies) hotElsewhere(t int32) bool {
	return c.bestCopy(t, func(k int32) bool { return c.caughtUp(k) && c.staysAt(k) }, c.lessLag) != none
}

func (c *copies) staysAt(k int32) bool { return c.instances[c.holderInstance(k)].stays }

// returnToInstance gives a task that nobody claims back to the instance that had it: to one that the memory gave it to and
// that has a new member now, or is back after an absence, unless it leaves or another copy has the smaller lag (R1.2, R7); and
// to one that had to stop it and still has its state at hand, as it is when it changes between members (R8).
func (r *round) returnToInstance(t int32) bool {
	if r.owner[t] != none {
		return false
	}
	if h := r.lastHolder(t); h != nil {
		return h.present != none && r.stillBest(t, h.present) && r.placeBack(t, h.present)
	}
	i := r.stoppedOn(t)
	if i == none || !r.hotOn(t, i) {
		return false
	}
	r.place(t, i, none, ReasonSiblings)
	return true
}

// stoppedOn returns the instance that the last round told to stop the task, none where that was another one than one that stays.
func (h *history) stoppedOn(t int32) int32 {
	revokes := h.lastRevokes(t)
	if len(revokes) != 1 {
		return none
	}
	i := h.memory.holders[h.memory.holderOf[revokes[0].member]].present
	if i == none || !h.instances[i].stays {
		return none
	}
	return i
}

// returnCold gives a task of which no copy has caught up back to the instance that had to stop it: it was restoring it and goes
// on with that, under another member (R8), even if a copy elsewhere is a little ahead.
func (r *round) returnCold(t int32) bool {
	i := r.stoppedOn(t)
	if i == none || r.owner[t] != none || r.bestCopy(t, func(c int32) bool { return r.holderInstance(c) == i }, r.lessLag) == none {
		return false
	}
	r.place(t, i, none, ReasonSiblings)
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

func (c *copies) hotOn(t, i int32) bool {
	return c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i && c.caughtUp(k) }, c.lessLag) != none
}

// placeBack gives the task to its old instance: to the member with the best copy, else to the one that had it if that is still on
// this instance.
func (r *round) placeBack(t, i int32) bool {
	m := none
	if c := r.bestCopy(t, func(c int32) bool { return r.holderInstance(c) == i }, r.lessLag); c != none {
		m = r.replicas[c].member
	} else if who := r.lastRun(t); who >= 0 {
		if had := r.memory.present[who]; r.instanceOf(had) == i {
			m = had
		}
	}
	r.place(t, i, m, ReasonInstanceBack)
	return true
}

// compareLoad orders instances by their planned load for their capacity.
func (r *round) compareLoad(a, b int32) int {
	return level.CompareRatios(r.load[a], r.instances[a].capacity, r.load[b], r.instances[b].capacity)
}

// runHotCopy runs a task without owner from a copy that has caught up: on the staying instance with the lightest planned load,
// else on a leaving one before its deadline, where it runs until it is learned elsewhere (R1.3).
func (r *round) runHotCopy(t int32) bool {
	hot := r.bestCopy(t, func(c int32) bool { return r.caughtUp(c) && r.staysAt(c) }, func(a, b int32) bool {
		if d := r.compareLoad(r.holderInstance(a), r.holderInstance(b)); d != 0 {
			return d < 0
		}
		return r.lessLag(a, b)
	})
	why := ReasonCopyCaughtUp
	if hot == none && r.somebodySpeaks {
		why = ReasonHotOnLeaving
		hot = r.bestCopy(t, func(c int32) bool {
			return r.caughtUp(c) && !r.instances[r.holderInstance(c)].overdue
		}, r.lessLag)
	}
	if hot == none {
		return false
	}
	r.place(t, r.holderInstance(hot), r.replicas[hot].member, r.whyMoved(t, why))
	return true
}

// whyMoved returns why a task is not where its owner runs it, or how where it has none.
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
	case in.leaving:
		return ReasonNoLearners
	default:
		return how
	}
}

// awaitInstance lets the task wait for an instance that vanished without leaving, until RejoinDelay has passed (R7).
func (p *plan) awaitInstance(t int32) bool {
	if p.owner[t] != none {
		return false
	}
	h := p.lastHolder(t)
	if h == nil || h.present != none || h.leaving || h.absent >= p.config.RejoinDelay {
		return false
	}
	p.status[t] = awaited
	p.awaiting = true
	if who := p.lastRun(t); who >= 0 {
		p.moves = append(p.moves, Move{p.topology.id(t), p.memory.prev.Members[who].Member, "", MoveAwait, ReasonAwaited})
	}
	return true
}

// runBestCopy runs a task without owner from the copy with the least to replay (R1.4).
func (r *round) runBestCopy(t int32) bool {
	c := r.bestCopy(t, r.staysAt, func(a, b int32) bool {
		if r.replicas[a].lag == r.replicas[b].lag && r.replicas[a].learns != r.replicas[b].learns {
			return r.replicas[a].learns
		}
		return r.lessLag(a, b)
	})
	if c == none {
		return false
	}
	r.place(t, r.holderInstance(c), r.replicas[c].member, r.whyMoved(t, ReasonBestCopy))
	return true
}
