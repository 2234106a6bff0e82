package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// placeOrphans is R1.5 for stateful tasks: nobody gives up anything, so what is placed counts as it is planned, and the orphans are what
// is incoming. Stateless ones wait for moveStateless, which knows what all instances will have.
func (n *round) placeOrphans() {
	s := &sharing{round: n, have: piles{}, incoming: map[int64]int64{}, receives: n.stays, overflows: n.stays}
	for _, t := range n.tasks {
		switch {
		case n.stateless(t):
		case n.placed(t):
			s.have[pile{n.planned(t), n.weight(t)}]++
		case n.orphan[t]:
			s.incoming[n.weight(t)]++
		}
	}
	if len(s.incoming) > 0 {
		n.dealOrphans(s, s.fill())
	}
}

// homeless reports whether a task is an orphan that has no place yet.
func (n *round) homeless(t taskID) bool { return n.orphan[t] && !n.placed(t) }

// dealOrphans places the orphans of one kind so that the instances come up to target.
func (n *round) dealOrphans(s *sharing, target piles) {
	for _, weight := range n.weights(s.stateless) {
		var pool []taskID
		for _, t := range n.tasks {
			if n.homeless(t) && n.stateless(t) == s.stateless && n.weight(t) == weight {
				pool = append(pool, t)
			}
		}
		room := map[string]int64{}
		for _, h := range n.hosts {
			room[h] = target[pile{h, weight}] - s.have[pile{h, weight}]
		}
		for t, h := range n.deal(pool, room, n.hosts) {
			n.place(t, h, "", n.whyMoved(t, assignor.ReasonOrphan))
		}
	}
}

// excess returns by how much an instance is planned to be above its share of a subtopology (R4.4), times the capacity of all that stay:
// tasks x capacity of all - tasks of the subtopology x its capacity, so that nothing is rounded. A leaving instance has no share.
func (n *round) excess(host string, sub int32) int64 {
	excess := int64(0)
	for _, t := range n.tasks {
		if t.Subtopology != sub {
			continue
		}
		if n.planned(t) == host {
			excess += n.staying()
		}
		if n.stays(host) {
			excess -= n.capacity(host)
		}
	}
	return excess
}

// deal says who gets which task of the pool (R4.5). The takers of the first group take turns, one task each, from the subtopology they are
// furthest below their share of, then those of the next group. Then the tasks of each subtopology go to those who took some of it,
// both in id order.
//
//	pool 0_0 0_1 1_0 1_1, A and B want two each, and have nothing
//	turns   A takes of 0, B of 0, A of 1, B of 1   of equals, the subtopology with the smaller id
//	dealt   A 0_0 1_0, B 0_1 1_1
func (n *round) deal(pool []taskID, room map[string]int64, groups ...[]string) map[taskID]string {
	type taken struct {
		host string
		sub  int32
	}
	took, left := map[taken]int64{}, map[int32]int64{}
	for _, t := range pool {
		left[t.Subtopology]++
	}
	for _, group := range groups {
		for gave := true; gave; {
			gave = false
			for _, h := range group {
				wanted, ok := firstOf(n.subs, func(sub assignor.Subtopology) bool { return left[sub.ID] > 0 }, func(a, b assignor.Subtopology) int {
					return cmp.Compare(n.excess(h, a.ID)+took[taken{h, a.ID}]*n.staying(), n.excess(h, b.ID)+took[taken{h, b.ID}]*n.staying())
				})
				if !ok || room[h] <= 0 {
					continue
				}
				took[taken{h, wanted.ID}]++
				left[wanted.ID]--
				room[h]--
				gave = true
			}
		}
	}
	dealt := map[taskID]string{}
	slices.SortFunc(pool, taskID.Compare)
	for _, t := range pool {
		for _, h := range n.hosts {
			if took[taken{h, t.Subtopology}] > 0 {
				took[taken{h, t.Subtopology}]--
				dealt[t] = h
				break
			}
		}
	}
	return dealt
}

// mayLearnMore reports whether the instance may get learners for the sake of balance (R5.5).
func (n *round) mayLearnMore(host string) bool {
	return n.canLearn(host) && (!n.config.NewInstancesOnly || n.newcomer(host))
}

// plan counts the stateful tasks that an instance will have.
func (n *round) plan(host string, weight int64) int64 {
	sum := int64(0)
	for _, t := range n.tasks {
		if n.planned(t) == host && !n.stateless(t) && n.weight(t) == weight {
			sum++
		}
	}
	return sum
}

// levelLearners computes the targets of the stateful tasks (R4.2), and ends the learners that this no longer needs (R3.2). What leaving
// instances run is incoming. While somebody is awaited nobody gives up anything, and what leaves is the only thing that is incoming.
func (n *round) levelLearners() {
	s := &sharing{round: n, have: piles{}, prefer: piles{}, incoming: map[int64]int64{}, receives: n.mayLearnMore, overflows: n.canLearn}
	for _, t := range n.tasks {
		if n.stateless(t) || !n.placed(t) {
			continue
		}
		s.prefer[pile{n.planned(t), n.weight(t)}]++
		switch {
		case n.stays(n.at[t]):
			s.have[pile{n.at[t], n.weight(t)}]++
		case n.learner[t] == "" || !n.awaiting():
			s.incoming[n.weight(t)]++
		}
	}
	switch {
	case n.allLeave() || len(n.weights(false)) == 0:
		n.target = s.have
	case n.awaiting():
		s.have = s.prefer
		n.target = s.fill()
	default:
		n.target = s.level()
		n.dropLearners(s.have)
	}
}

// dropLearners is R3.2: what has not caught up goes, the largest lag first, if the plan does not need it. given and taken count the
// learners that are left, so each one that goes may be what lets the next one stay.
func (n *round) dropLearners(have piles) {
	learned := slices.DeleteFunc(slices.Clone(n.tasks), func(t taskID) bool { return n.learner[t] == "" })
	slices.SortStableFunc(learned, func(a, b taskID) int { return cmp.Compare(n.from[b].lag, n.from[a].lag) })
	for _, t := range learned {
		w := n.weight(t)
		from, to := pile{n.at[t], w}, pile{n.learner[t], w}
		var given, taken int64
		for _, other := range learned {
			if n.learner[other] == "" || n.weight(other) != w {
				continue
			}
			if n.at[other] == n.at[t] {
				given++
			}
			if n.learner[other] == n.learner[t] {
				taken++
			}
		}
		backHome := !n.leaves(n.at[t]) && given > max(0, have[from]-n.target[from])
		tooMany := taken > max(0, n.target[to]-have[to])
		if backHome || tooMany {
			delete(n.learner, t)
			delete(n.from, t)
		}
	}
}

// startLearners is R5: who gives up tasks in the order of R5.1, which ones in that of R5.2. What nobody has a copy of is pooled and dealt
// out at the end, when everybody has said what it gives up. That is the plan, and R5.4 says how much of it begins.
func (n *round) startLearners() {
	if n.allLeave() {
		return
	}
	slots := math.MaxInt
	if n.config.MaxLearners > 0 {
		slots = max(0, n.config.MaxLearners-n.learnersAtWork())
	}
	givers := slices.Clone(n.hosts)
	slices.SortStableFunc(givers, func(a, b string) int {
		if d := trueFirst(n.leaves(a), n.leaves(b)); d != 0 || !n.leaves(a) || n.config.ScaleDownTimeout == 0 {
			return d
		}
		return cmp.Compare(n.leavingFor(b), n.leavingFor(a))
	})
	var picked []taskID // those that need a slot, in the order in which they were
	for _, h := range givers {
		surplus := map[int64]int64{}
		for _, w := range n.weights(false) {
			surplus[w] = math.MaxInt64
			if !n.leaves(h) {
				surplus[w] = n.plan(h, w) - n.target[pile{h, w}]
			}
		}
		picked = append(picked, n.promoteCopies(h, surplus)...)
		for _, w := range n.weights(false) {
			for ; surplus[w] > 0; surplus[w]-- {
				t, ok := n.pick(h, func(t taskID) bool { return n.mayShed(t, h) && n.weight(t) == w })
				if !ok {
					break
				}
				n.pooled[t] = true
				picked = append(picked, t)
			}
		}
	}
	for _, w := range n.weights(false) {
		n.dealLearners(w)
	}
	picked = slices.DeleteFunc(picked, func(t taskID) bool { return n.learner[t] == "" })
	if len(picked) > slots {
		n.dealSlots(givers, picked, slots)
	}
}

// dealSlots lets so many of the learners begin that have been picked (T2). They are all taken back, but for who takes how many of which
// subtopology; then one begins after the other. A copy that waits for its turn stays (T3).
//
//	giver      the first leaving one that has anything left, else who is the furthest above its target by now
//	receiver   of those that take what the giver has: the fewest learners at work, then one with a copy of it, then newcomers
//	task       of those that this one takes from that one: a copy's, then the first that was picked
func (n *round) dealSlots(givers []string, picked []taskID, slots int) {
	type wish struct {
		host string
		sub  int32
	}
	wishes, copies := map[wish]int{}, map[taskID]replica{}
	for _, t := range picked {
		if c, ok := n.from[t]; ok {
			copies[t] = c
		} else {
			wishes[wish{n.learner[t], t.Subtopology}]++
		}
		delete(n.learner, t)
		delete(n.from, t)
	}
	takes := func(t taskID, host string) bool {
		if c, ok := copies[t]; ok {
			return n.host(c.member) == host
		}
		return wishes[wish{host, t.Subtopology}] > 0
	}
	hasCopy := func(t taskID) bool { _, ok := copies[t]; return ok }
	for ; slots > 0; slots-- {
		giver, _ := firstOf(givers, func(h string) bool {
			return slices.ContainsFunc(picked, func(t taskID) bool { return n.at[t] == h })
		}, func(a, b string) int {
			if n.leaves(a) || n.leaves(b) {
				return 0 // givers are in that order
			}
			return cmp.Compare(n.above(b), n.above(a))
		})
		from := func(to string, admit func(t taskID) bool) (taskID, bool) {
			return firstOf(picked, func(t taskID) bool { return n.at[t] == giver && takes(t, to) && admit(t) }, func(taskID, taskID) int { return 0 })
		}
		has := func(to string) bool { _, ok := from(to, hasCopy); return ok }
		position := func(to string) int { // of its copy, among those with one
			t, _ := from(to, hasCopy)
			return slices.Index(picked, t)
		}
		to, _ := firstOf(n.hosts, func(h string) bool { _, ok := from(h, func(taskID) bool { return true }); return ok }, func(a, b string) int {
			if has(a) && has(b) {
				return cmp.Or(cmp.Compare(n.busy(a), n.busy(b)), cmp.Compare(position(a), position(b)))
			}
			return cmp.Or(cmp.Compare(n.busy(a), n.busy(b)), trueFirst(has(a), has(b)), trueFirst(n.newcomer(a), n.newcomer(b)))
		})
		t, ok := from(to, hasCopy)
		if !ok {
			t, _ = from(to, func(taskID) bool { return true })
			wishes[wish{to, t.Subtopology}]--
		} else {
			n.from[t] = copies[t]
		}
		n.learner[t] = to
		picked = slices.DeleteFunc(picked, func(other taskID) bool { return other == t })
	}
	for _, t := range picked {
		if c, ok := copies[t]; ok {
			n.waiting[t] = c
		}
	}
}

// above returns by how much an instance is planned to be above its target, by weight.
func (n *round) above(host string) int64 {
	sum := int64(0)
	for _, w := range n.weights(false) {
		sum += w * max(0, n.plan(host, w)-n.target[pile{host, w}])
	}
	return sum
}

// busy counts the learners at work on an instance, those that take too long among them.
func (n *round) busy(host string) int {
	sum := 0
	for _, t := range n.tasks {
		c, learns := n.learnerOf(t)
		if n.learner[t] == host && !learns || learns && n.host(c.member) == host && !n.caughtUp(c) {
			sum++
		}
	}
	return sum
}

// learnerOf returns the copy that learns a task already, also where that runs nowhere in this round.
func (n *round) learnerOf(t taskID) (c replica, learns bool) {
	if n.waits(t) && !n.stateless(t) {
		return n.waitingLearner(t)
	}
	c, learns = n.from[t]
	return c, learns
}

// learnersAtWork counts what MaxLearners caps (R5.4): the learners in place that have not caught up, unless they take too long. Those of
// tasks that run nowhere in this round go on learning too.
func (n *round) learnersAtWork() int {
	sum := 0
	for _, t := range n.tasks {
		if c, learns := n.learnerOf(t); learns && !n.caughtUp(c) && !c.expired {
			sum++
		}
	}
	return sum
}

// mayShed reports whether a task that the instance runs can get a learner.
func (n *round) mayShed(t taskID, host string) bool {
	return n.at[t] == host && !n.stateless(t) && !n.waits(t) && n.learner[t] == "" && !n.pooled[t]
}

// room is how many more tasks of a weight an instance takes: up to its target, once all learners have taken over.
func (n *round) room(host string, weight int64) int64 {
	if !n.canLearn(host) {
		return 0
	}
	return n.target[pile{host, weight}] - n.plan(host, weight)
}

// promoteCopies makes learners of copies that receivers with room hold, the smallest lag first (R5.2), and returns the tasks whose learners
// need a slot. One that has caught up needs none: it has nothing to replay.
func (n *round) promoteCopies(host string, surplus map[int64]int64) (promoted []taskID) {
	type held struct {
		task taskID
		copy replica
	}
	for {
		var all []held
		for _, t := range n.tasks {
			for _, c := range n.copies[t] {
				all = append(all, held{t, c})
			}
		}
		first, ok := firstOf(all, func(a held) bool {
			w, to := n.weight(a.task), n.host(a.copy.member)
			return n.mayShed(a.task, host) && surplus[w] > 0 && to != host && n.room(to, w) > 0
		}, func(a, b held) int {
			return cmp.Or(cmp.Compare(a.copy.lag, b.copy.lag), cmp.Compare(n.weight(b.task), n.weight(a.task)), n.comparePicks(host, a.task, b.task))
		})
		if !ok {
			return promoted
		}
		n.learner[first.task], n.from[first.task] = n.host(first.copy.member), first.copy
		surplus[n.weight(first.task)]--
		if !n.caughtUp(first.copy) {
			promoted = append(promoted, first.task)
		}
	}
}

// memberOf returns the member that has a task, as far as that is decided before R8.
func (n *round) memberOf(t taskID) string {
	if n.by[t] != "" {
		return n.by[t]
	}
	return n.crews[n.at[t]][0]
}

// has counts the tasks of a member that nobody learns.
func (n *round) has(member string) int64 {
	sum := int64(0)
	for _, t := range n.tasks {
		if n.placed(t) && !n.pooled[t] && n.learner[t] == "" && n.by[t] == member {
			sum++
		}
	}
	return sum
}

// pick returns what an instance gives up next.
func (n *round) pick(host string, admit func(t taskID) bool) (taskID, bool) {
	return firstOf(n.tasks, admit, func(a, b taskID) int { return n.comparePicks(host, a, b) })
}

// comparePicks puts first the tasks of the fullest member, of those the ones of the subtopology that the instance is furthest above its
// share of, of those the cheapest to restore.
func (n *round) comparePicks(host string, a, b taskID) int {
	ma, mb := n.memberOf(a), n.memberOf(b)
	return cmp.Or(
		cmp.Compare(n.has(mb)*int64(n.members[ma].Capacity), n.has(ma)*int64(n.members[mb].Capacity)), cmp.Compare(ma, mb),
		cmp.Compare(n.excess(host, b.Subtopology), n.excess(host, a.Subtopology)), cmp.Compare(a.Subtopology, b.Subtopology),
		cmp.Compare(n.cost(a), n.cost(b)))
}

// dealLearners lets those with room learn what was given up: newcomers first (R5.3). What nobody has room for is given up by nobody.
func (n *round) dealLearners(weight int64) {
	var pool []taskID
	for _, t := range n.tasks {
		if n.pooled[t] && n.weight(t) == weight {
			pool = append(pool, t)
		}
	}
	room := map[string]int64{}
	var newcomers, others []string
	for _, h := range n.hosts {
		room[h] = n.room(h, weight)
		if n.newcomer(h) {
			newcomers = append(newcomers, h)
		} else {
			others = append(others, h)
		}
	}
	for t, h := range n.deal(pool, room, newcomers, others) {
		n.learner[t] = h
	}
	for _, t := range pool {
		delete(n.pooled, t)
	}
}
