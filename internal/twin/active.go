package twin

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// remembers reports whether the memory knows the instance: as one that took part, or as one that is awaited.
func (n *round) remembers(host string) bool {
	for _, ma := range n.memory.Members {
		if cmp.Or(ma.Instance, ma.Member) == host {
			return true
		}
	}
	return slices.ContainsFunc(n.memory.Departed, func(d assignor.Departure) bool { return d.Instance == host })
}

// lastRan returns who ran a task in the last round; member is "" where it waited for the instance.
func (n *round) lastRan(t taskID) (member, host string, known bool) {
	if n.memory == nil {
		return "", "", false
	}
	for _, ma := range n.memory.Members {
		if slices.Contains(ma.Active, t) {
			return ma.Member, cmp.Or(ma.Instance, ma.Member), true
		}
	}
	for _, d := range n.memory.Departed {
		if slices.Contains(d.Tasks, t) {
			return "", d.Instance, true
		}
	}
	return "", "", false
}

// lastRevoked returns who was ordered to stop a task in the last round, by id.
func (n *round) lastRevoked(t taskID) []assignor.MemberAssignment {
	if n.memory == nil {
		return nil
	}
	var stopped []assignor.MemberAssignment
	for _, ma := range n.memory.Members {
		for range slices.DeleteFunc(slices.Clone(ma.Revoke), func(r taskID) bool { return r != t }) {
			stopped = append(stopped, ma)
		}
	}
	return stopped
}

// absence returns for how long an instance that the memory knows has been away, and whether it was leaving. One that took part in the last
// round has been away for no time at all; then it counts by SincePrevious, once a round (R7.4). It was leaving if all its members were,
// and nobody waits for it (R7.4).
func (n *round) absence(host string) (absent time.Duration, left bool) {
	took, left := false, true
	for _, ma := range n.memory.Members {
		if cmp.Or(ma.Instance, ma.Member) == host {
			took, left = true, left && ma.Leaving
		}
	}
	for _, d := range n.memory.Departed {
		if d.Instance != host {
			continue
		}
		if !took && left {
			absent = max(0, d.Absent) + n.config.SincePrevious
			if absent < 0 { // longer than can be said
				absent = math.MaxInt64
			}
		}
		left = false
	}
	return absent, left
}

// present reports whether a member of an instance is there.
func (n *round) present(host string) bool { return n.crews[host] != nil }

// leavingFor is for how long an instance has been leaving: as long as the longest of its members.
func (n *round) leavingFor(host string) time.Duration {
	longest := time.Duration(0)
	for _, m := range n.crews[host] {
		longest = max(longest, n.members[m].LeavingFor)
	}
	return longest
}

// placeActives decides who runs each task (R1.1 to R1.4) and which ones wait (R7). First come the tasks that are where they are
// or go where they are learned, so that the planned loads are known when the others look for the lightest.
//
//	first, by id    fenced: nobody may start it (R0.3)
//	                takeOver (R1.1), keepOwner (R1.2), giveBack (R1.2, R7.5)
//	then, by id     runHotCopy (R1.3), await (R7.4), giveBackCold (R8.2), runBestCopy (R1.4)
//	else            an orphan (R1.5)
func (n *round) placeActives() {
	var rest []taskID
	for _, t := range n.tasks {
		if !n.fenced[t] && !n.takeOver(t) && !n.keepOwner(t) && !n.giveBack(t) {
			rest = append(rest, t)
		}
	}
	for _, t := range rest {
		if !n.runHotCopy(t) && !n.await(t) && !n.giveBackCold(t) && !n.runBestCopy(t) {
			n.orphan[t] = true
		}
	}
}

// place lets an instance run a task. The member may be left open, for R8. What it does not change is who has it now: where that is
// somebody else the task is told to stop there first (mustStop), and runs nowhere in this round.
func (n *round) place(t taskID, host, member string, why assignor.Reason) {
	n.at[t], n.why[t] = host, why
	if member != "" {
		n.by[t] = member
	}
	n.settleLearner(t)
}

func (n *round) placed(t taskID) bool { return n.at[t] != "" && !n.shed[t] }

// runs reports whether the owner of a task has not stopped it.
func (n *round) runs(t taskID) bool { return n.owner[t] != "" && n.claims[t][n.owner[t]] }

// waits reports whether a task runs nowhere in this round.
func (n *round) waits(t taskID) bool { return !n.placed(t) || n.mustStop(t) }

// mustStop is R2.1: somebody runs the task who is not the one that is to run it.
func (n *round) mustStop(t taskID) bool { return n.runs(t) && n.owner[t] != n.by[t] }

// takeOver is R1.1. A learner for which the owner was told to stop takes over even where its lag has grown since, unless it may have
// missed that answer itself.
func (n *round) takeOver(t taskID) bool {
	ordered := n.handoverOrdered(t)
	c, ok := n.best(t, func(c replica) bool {
		return c.learns && (n.caughtUp(c) || ordered && !n.unsure(c.member)) &&
			n.stays(n.host(c.member)) && n.host(c.member) != n.host(n.owner[t])
	}, lessLag)
	if ok {
		n.place(t, n.host(c.member), c.member, assignor.ReasonLearnerCaughtUp)
	}
	return ok
}

// handoverOrdered reports whether the last round told the owner to stop for a learner: orders for another reason leave none. One member was
// told to, nobody ran it, and whoever claims it now is that member.
func (n *round) handoverOrdered(t taskID) bool {
	stopped := n.lastRevoked(t)
	_, _, ran := n.lastRan(t)
	return !ran && len(stopped) == 1 && (n.owner[t] == "" || n.owner[t] == stopped[0].Member)
}

// keepOwner is R1.2 for a task that somebody claims. There are four reasons not to: its drain deadline has passed; it has no state and has
// stopped, on an instance that leaves; it leaves and nobody that stays could learn it; it is being restored, and a caught-up copy stays
// elsewhere.
func (n *round) keepOwner(t taskID) bool {
	o := n.owner[t]
	if o == "" || n.overdue(n.host(o)) {
		return false
	}
	if n.stateless(t) && !n.runs(t) && !n.stays(n.host(o)) { // R7.1: it has stopped, and need not start there again
		return false
	}
	if !n.stateless(t) && n.leaves(n.host(o)) && !n.allLeave() && !n.somebodyCanLearn() { // R5.6: drains move by R2
		return false
	}
	if _, hot := n.best(t, n.hotAndStays, lessLag); hot && n.restoring[t] {
		return false
	}
	n.place(t, n.host(o), o, assignor.ReasonNone)
	return true
}

// hotAndStays is what R1.3 asks of a copy.
func (n *round) hotAndStays(c replica) bool { return n.caughtUp(c) && n.stays(n.host(c.member)) }

// giveBack is R1.2 for a task that nobody claims and whose instance is there (R7); and for one that a member had to stop so that a
// sibling can start it (R8). Of an instance that is back it may be any member: the one with the nearest copy, else the one that ran it if
// it is on that instance still, else R8 decides.
func (n *round) giveBack(t taskID) bool {
	if n.owner[t] != "" {
		return false
	}
	if member, host, known := n.lastRan(t); known {
		if !n.present(host) || !n.stays(host) || n.betterElsewhere(t, host) {
			return false
		}
		if c, ok := n.best(t, func(c replica) bool { return n.host(c.member) == host }, lessLag); ok {
			member = c.member
		}
		if n.host(member) != host { // gone, or on another instance now
			member = ""
		}
		n.place(t, host, member, assignor.ReasonInstanceBack)
		return true
	}
	host, stopped := n.stoppedOn(t)
	_, hot := n.best(t, func(c replica) bool { return n.host(c.member) == host && n.caughtUp(c) }, lessLag)
	if !stopped || !hot {
		return false
	}
	n.place(t, host, "", assignor.ReasonSiblings)
	return true
}

// stoppedOn returns the staying instance that the last round ordered to stop a task, if it was one.
func (n *round) stoppedOn(t taskID) (host string, ok bool) {
	stopped := n.lastRevoked(t)
	if len(stopped) != 1 {
		return "", false
	}
	host = cmp.Or(stopped[0].Instance, stopped[0].Member)
	return host, n.present(host) && n.stays(host)
}

// giveBackCold is giveBack for a task that was still being restored when a member had to stop it for a sibling.
func (n *round) giveBackCold(t taskID) bool {
	host, stopped := n.stoppedOn(t)
	_, has := n.best(t, func(c replica) bool { return n.host(c.member) == host }, lessLag)
	if !stopped || !has || n.owner[t] != "" {
		return false
	}
	n.place(t, host, "", assignor.ReasonSiblings)
	return true
}

// betterElsewhere reports whether a copy elsewhere has the smaller lag. All that have caught up are equal.
func (n *round) betterElsewhere(t taskID, host string) bool {
	own := n.lagAt(t, func(c replica) bool { return n.host(c.member) == host })
	return n.lagAt(t, func(c replica) bool { return n.host(c.member) != host }) < own
}

// lagAt returns the smallest lag of the copies that admit accepts, where all that have caught up have 0.
func (n *round) lagAt(t taskID, admit func(c replica) bool) uint64 {
	c, ok := n.best(t, admit, lessLag)
	switch {
	case !ok:
		return lagOf(assignor.UnknownLag)
	case n.caughtUp(c):
		return 0
	default:
		return c.lag
	}
}

// runHotCopy is R1.3: on the lightest instance that stays; else on one that leaves, as long as it may, if somebody can learn the task
// from there.
func (n *round) runHotCopy(t taskID) bool {
	why := assignor.ReasonCopyCaughtUp
	c, ok := n.best(t, n.hotAndStays, func(a, b replica) int {
		return cmp.Or(n.comparePlanned(n.host(a.member), n.host(b.member)), cmp.Compare(a.lag, b.lag))
	})
	if !ok && n.somebodyCanLearn() {
		why = assignor.ReasonHotOnLeaving
		c, ok = n.best(t, func(c replica) bool { return n.caughtUp(c) && !n.overdue(n.host(c.member)) }, lessLag)
	}
	if ok {
		n.place(t, n.host(c.member), c.member, n.whyMoved(t, why))
	}
	return ok
}

// comparePlanned orders instances by their planned stateful load for their capacity.
func (n *round) comparePlanned(a, b string) int {
	return cmp.Compare(n.plannedLoad(a)*n.capacity(b), n.plannedLoad(b)*n.capacity(a))
}

// plannedLoad is the weight of the stateful tasks that an instance will have, as far as they are placed by now: so the order in which
// tasks are placed is part of R1.3.
func (n *round) plannedLoad(host string) int64 {
	sum := int64(0)
	for _, t := range n.tasks {
		if n.planned(t) == host && !n.stateless(t) {
			sum += n.weight(t)
		}
	}
	return sum
}

// planned returns the instance that will have a task once its learner has taken over, "" while nobody will. What is pooled is nobody's: its
// owner has given it up, and nobody has it yet.
func (n *round) planned(t taskID) string {
	switch {
	case !n.placed(t) || n.pooled[t]:
		return ""
	case n.learner[t] != "":
		return n.learner[t]
	default:
		return n.at[t]
	}
}

// await is R7.4: a task waits for its instance if that has vanished without leaving, and is not away for too long. Nothing that could
// take over at once has been found before (runHotCopy). The move is told once, in the round in which it vanished.
func (n *round) await(t taskID) bool {
	member, host, known := n.lastRan(t)
	if n.owner[t] != "" || !known || n.present(host) {
		return false
	}
	if absent, left := n.absence(host); left || absent >= n.config.RejoinDelay {
		return false
	}
	n.awaited[t] = host
	if member != "" {
		n.move(assignor.MoveAwait, assignor.ReasonAwaited, t, member, "")
	}
	return true
}

// awaiting reports whether anybody is awaited: then nothing is levelled (R7.6).
func (n *round) awaiting() bool { return len(n.awaited) > 0 }

// runBestCopy is R1.4. Here the lag comes first, since the task stands still for as long as it takes to replay.
func (n *round) runBestCopy(t taskID) bool {
	c, ok := n.best(t, func(c replica) bool { return n.stays(n.host(c.member)) }, func(a, b replica) int {
		return cmp.Or(cmp.Compare(a.lag, b.lag), trueFirst(a.learns, b.learns))
	})
	if ok {
		n.place(t, n.host(c.member), c.member, n.whyMoved(t, assignor.ReasonBestCopy))
	}
	return ok
}

// trueFirst orders two yeses and noes.
func trueFirst(a, b bool) int {
	number := map[bool]int{true: 0, false: 1}
	return number[a] - number[b]
}

// whyMoved says why a task is not with its owner; how, where it has none. A reason is that of the first rule that took it away.
func (n *round) whyMoved(t taskID, how assignor.Reason) assignor.Reason {
	host := n.host(n.owner[t])
	switch {
	case n.owner[t] == "":
		return how
	case n.overdue(host):
		return assignor.ReasonDeadline
	case n.restoring[t]:
		return assignor.ReasonRestoring
	case n.leaves(host) && n.stateless(t):
		return assignor.ReasonLeaving
	case n.leaves(host):
		return assignor.ReasonNoLearners
	default:
		return how
	}
}

// settleLearner is R3.3, which is R3 as far as it does not depend on the plan: a learner in place is on another instance, which does not
// leave, and of several it is the one with the smallest lag.
func (n *round) settleLearner(t taskID) {
	if n.allLeave() || n.waits(t) {
		return
	}
	c, ok := n.best(t, func(c replica) bool {
		return c.learns && n.host(c.member) != n.at[t] && n.canLearn(n.host(c.member))
	}, lessLag)
	if ok {
		n.learner[t], n.from[t] = n.host(c.member), c
	}
}
