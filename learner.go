package assignor

import (
	"cmp"
	"math"
	"slices"
)

// levelled is the round in which every instance has its target, and only learners that these need are left.
type levelled struct {
	placed
	tally         // of the stateful tasks
	target counts // the stateful tasks that each instance should have
}

// levelLearners computes how many stateful tasks each instance should have, and ends the learners that this no longer needs
// (R3.2, R4.2).
//
// The targets start from what the instances run, not from what they would have once every learner had taken over: so the plan
// costs the fewest moves, and an instance that was told to leave and then to stay gets nothing taken away. Of the plans that
// cost the same, the one that needs the learners in place is taken.
func levelLearners(p placed) levelled {
	k := &p.stateful
	now := p.count(k)
	l := levelled{p, now, now.have}
	switch {
	case p.allLeave || len(k.weights) == 0:
	case p.awaiting:
		l.target = p.drainTargets(now.planned)
	default:
		l.target = p.levelKind(k, demand{
			have: now.have, prefer: now.planned, incoming: make([]int64, len(k.weights)), receives: p.newReceivers, overflows: p.speakers,
		})
		l.dropLearners()
	}
	return l
}

// drainTargets returns the targets of a round in which somebody is awaited: nothing is levelled, only the drains go on (R7.6).
// What the leaving instances are planned to have goes to those with room, and nobody else gives up anything.
//
// It starts from what is planned, unlike levelLearners: a learner in place is as good as an owner where nobody is to give up
// anything.
func (p *plan) drainTargets(planned counts) counts {
	k := &p.stateful
	have, incoming := planned.clone(), make([]int64, len(k.weights))
	for class := range incoming {
		on := have.of(int32(class))
		for i := range p.instances {
			if p.instances[i].leaving {
				incoming[class], on[i] = incoming[class]+on[i], 0
			}
		}
	}
	return p.fillKind(k, demand{have: have, incoming: incoming, receives: p.newReceivers, overflows: p.speakers})
}

// newReceivers reports whether instance i may get a learner for the sake of balance. With NewInstancesOnly only newcomers may;
// what a leaving instance sheds goes to the others too, as they overflow.
func (h *history) newReceivers(i int) bool {
	return h.speakers(i) && (!h.config.NewInstancesOnly || h.newcomer[i])
}

// dropLearners ends learners that have not caught up, the largest lag first, while their owner stays and has to give up fewer
// tasks than others learn from it, or their holder has to take over fewer than it learns (R3.2). So nobody gives up some tasks and
// learns others, which would take more moves than there need be.
//
//	S1 runs 5, S2 learns two of them    target 4 and 1: the one that lags more goes, the other stays
func (l *levelled) dropLearners() {
	p, k := l.plan, &l.stateful
	if len(p.learned) == 0 {
		return
	}
	given, taken := p.newCounts(k), p.newCounts(k)
	learned := p.learnersByLag()
	for _, t := range learned {
		class := p.classOf(k, t)
		given.of(class)[p.at(t)]++
		taken.of(class)[p.learnerAt(t)]++
	}
	for _, t := range learned {
		class := p.classOf(k, t)
		from, to := p.at(t), p.learnerAt(t)
		surplus := l.have.of(class)[from] - l.target.of(class)[from]
		room := l.target.of(class)[to] - l.have.of(class)[to]
		if (p.instances[from].leaving || given.of(class)[from] <= max(0, surplus)) && taken.of(class)[to] <= max(0, room) {
			continue
		}
		given.of(class)[from]--
		taken.of(class)[to]--
		l.planned.of(class)[from]++
		l.planned.of(class)[to]--
		p.endLearner(t)
		l.spread.move(p.topology.subOf(t), to, from)
	}
}

// learnersByLag returns the tasks with a learner in place, the largest lag first.
func (p *plan) learnersByLag() []int32 {
	learned := slices.Clone(p.learned)
	slices.SortFunc(learned, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.replicas[p.learnerCopy(b)].lag, p.replicas[p.learnerCopy(a)].lag), cmp.Compare(a, b))
	})
	return learned
}

// taught is the round in which every stateful task that is to change instance has a learner, in the plan at least: how many of them
// may begin is the next step's. What stateless tasks are placed by is with it: their orphans, the targets that every instance is taken
// to have reached, and the counts by which an instance picks what it gives up.
type taught struct {
	*plan
	spread      spread
	memberTasks []int32 // by member: the tasks it has that nobody learns; nil as long as nobody has picked any
	target      counts
	planned     counts // what each instance has with its learners, but for those of starts that begin with nothing
	orphans     []int32
	budget
}

// budget is what MaxLearners has to say, where it is set.
type budget struct {
	starts []start // the new learners that need a slot, giver by giver, in the order of R5.2
	free   int     // slots that no learner in place holds
	busy   []int32 // by instance: its learners in place that are at work
}

// start is a new learner that needs a slot, since it has yet to catch up.
type start struct {
	task int32
	from int32 // the copy that becomes the learner, none where it begins with nothing
	to   int32 // the instance that learns
	busy int32 // where it is from a copy: the learners at work there, when that was last looked at
}

// startLearners gives every task that is to change instance a learner (R5.1 to R5.5). Its owner runs it until that has caught up, so
// nothing stops here.
//
//	S1 5 tasks, target 4    S1 gives up one
//	S2 leaves, 3 tasks      S2 gives up all of them, and comes first
//	S3 room for 2           takes T7, of which it has a standby, and one that is dealt to it
//	S4 room for 2           takes two that are dealt to it
//
// First the givers say which tasks, and copies at receivers become learners (shedFrom); then the rest is dealt out, class by
// class, with every giver's tasks in one pool: so that subtopologies are spread over all receivers.
func startLearners(l levelled) taught {
	t := taught{plan: l.plan, spread: l.spread, target: l.target, planned: l.planned, orphans: l.orphans}
	givers := l.givers()
	if l.allLeave || len(givers) == 0 {
		return t
	}
	h := newHandout(&l, givers)
	for _, i := range givers {
		h.shedFrom(i, h.surplus(i))
	}
	for class := range l.stateful.weights {
		h.dealOut(int32(class))
	}
	t.spread, t.memberTasks, t.budget = h.spread, h.picker.memberTasks, h.budget
	return t
}

// givers returns the instances that give up stateful tasks: those that leave, the nearest deadline first, then those above
// their target, in id order.
func (l *levelled) givers() []int32 {
	var givers []int32
	for i := range l.instances {
		if l.instances[i].leaving {
			givers = append(givers, int32(i))
		}
	}
	if l.config.ScaleDownTimeout > 0 {
		slices.SortStableFunc(givers, func(a, b int32) int {
			return cmp.Compare(l.instances[b].leavingFor, l.instances[a].leavingFor)
		})
	}
	for i := range l.instances {
		if !l.instances[i].leaving && l.aboveTarget(int32(i)) {
			givers = append(givers, int32(i))
		}
	}
	return givers
}

// aboveTarget reports whether instance i is planned to have more tasks of some class than it should.
func (l *levelled) aboveTarget(i int32) bool {
	for class := range l.stateful.weights {
		if l.planned.of(int32(class))[i] > l.target.of(int32(class))[i] {
			return true
		}
	}
	return false
}

// handout is the state of startLearners: what each instance may still take, and the tasks that go to whoever has room.
type handout struct {
	dealer
	picker  picker
	target  counts // what each instance should have
	planned counts // what it has as if the learners had taken over, without those that are only pooled
	room    counts // how many learners it may still take
	limited bool   // MaxLearners is set
	budget  budget
	tasks   [][]int32 // by instance, the tasks that can get a learner, ascending
	pooled  [][]int32 // by class, the tasks without a copy at a receiver
	giveUp  []int64   // scratch: by class
	ready   []int32   // scratch: copies that receivers hold
	equal   []int32   // scratch: the tasks of those with the same lag
}

// newHandout returns the state in which nobody has given up anything. Room is what the targets leave, of the instances that may
// learn.
func newHandout(l *levelled, givers []int32) *handout {
	classes := len(l.stateful.weights)
	h := &handout{
		dealer: dealer{l.plan, l.spread}, target: l.target, planned: l.planned, room: l.newCounts(&l.stateful),
		limited: l.config.MaxLearners > 0, pooled: make([][]int32, classes), giveUp: make([]int64, classes),
	}
	h.picker = picker{dealer: &h.dealer, memberTasks: l.countMembers()}
	for i := range h.room.n {
		if l.speakers(i % len(l.instances)) {
			h.room.n[i] = max(0, h.target.n[i]-h.planned.n[i])
		}
	}
	if h.limited {
		h.budget = l.countAtWork()
	}
	most := h.int32s.zeros(len(h.instances))
	for _, i := range givers {
		most[i] = h.mostToShed(i)
	}
	h.tasks = h.tasksOf(&h.stateful, l.have, most, func(t int32) bool { return h.learnerAt(t) == none && !h.paused(t) })
	return h
}

// countAtWork counts the learners in place that are at work, and the slots that they leave: one that takes too long keeps its
// instance busy, but holds no slot. Those of tasks that run nowhere in this round go on learning too.
func (l *levelled) countAtWork() budget {
	b := budget{busy: l.int32s.zeros(len(l.instances)), free: l.config.MaxLearners}
	count := func(k int32) {
		if k == none || l.caughtUp(k) {
			return
		}
		b.busy[l.holderInstance(k)]++
		if !l.replicas[k].expired {
			b.free = max(0, b.free-1)
		}
	}
	for _, t := range l.learned {
		count(l.learnerCopy(t))
	}
	for t := int32(0); l.anyLearners && t < l.topology.size(); t++ {
		if l.hasCopies(t) && l.paused(t) {
			count(l.pausedLearner(t))
		}
	}
	return b
}

// surplus returns how many tasks of each class instance i gives up, in the scratch space: one that leaves gives up all.
func (h *handout) surplus(i int32) []int64 {
	for class := range h.giveUp {
		h.giveUp[class] = math.MaxInt64
		if !h.instances[i].leaving {
			h.giveUp[class] = h.planned.of(int32(class))[i] - h.target.of(int32(class))[i]
		}
	}
	return h.giveUp
}

// mostToShed returns how many tasks of a subtopology instance i can come to give up, if they are taken in id order.
func (h *handout) mostToShed(i int32) int32 {
	if h.anyCopies() || len(h.instances[i].members) > 1 {
		return math.MaxInt32 // those of which there are copies, or of the fullest member, come first
	}
	most := int64(0)
	for _, n := range h.surplus(i) {
		most = max(most, n)
	}
	return int32(min(most, math.MaxInt32))
}

// shedFrom gives learners to as many tasks of instance i as it gives up. Where a receiver with room has a copy of the task,
// that becomes the learner; the other tasks are pooled, and dealt out when every instance has given up what it does.
func (h *handout) shedFrom(i int32, surplus []int64) {
	if !slices.ContainsFunc(surplus, isPositive) || len(h.tasks[i]) == 0 {
		return
	}
	if h.anyCopies() {
		h.promoteCopies(i, surplus)
	}
	tasks := h.tasks[i]
	if h.learning != nil {
		tasks = slices.DeleteFunc(tasks, func(t int32) bool { return h.learnerAt(t) != none })
	}
	h.picker.start(i, tasks)
	for class := range surplus {
		for ; surplus[class] > 0; surplus[class]-- {
			t := h.picker.next(int32(class), anyTask)
			if t == none {
				break
			}
			h.pooled[class] = append(h.pooled[class], t)
			if h.limited {
				h.budget.starts = append(h.budget.starts, start{task: t, from: none})
			}
		}
	}
}

// promoteCopies makes learners of copies that receivers with room hold, the smallest lag first: their replay is the shortest,
// and a standby that becomes the learner starts from what it has. Those with the same lag come in the order in which a picker
// takes their tasks.
func (h *handout) promoteCopies(i int32, surplus []int64) {
	ready := h.ready[:0]
	for _, t := range h.tasks[i] {
		for k, end := h.copiesOf(t); k < end; k++ {
			if h.hasRoom(t, k) {
				ready = append(ready, k)
			}
		}
	}
	h.ready = ready
	slices.SortFunc(ready, func(a, b int32) int { // copies are numbered by task, then member
		return cmp.Or(cmp.Compare(h.replicas[a].lag, h.replicas[b].lag), cmp.Compare(a, b))
	})
	for first, n := 0, 1; n <= len(ready) && slices.ContainsFunc(surplus, isPositive); n++ {
		if n == len(ready) || h.replicas[ready[n]].lag != h.replicas[ready[first]].lag {
			h.promoteEqual(i, ready[first:n], surplus)
			first = n
		}
	}
}

// isPositive reports whether a class has tasks left to give up.
func isPositive(n int64) bool { return n > 0 }

// promoteEqual is promoteCopies for copies with the same lag. One that has caught up needs no slot: it is a handover in the
// next round, and no work.
func (h *handout) promoteEqual(i int32, ready []int32, surplus []int64) {
	needsSlot := h.limited && !h.caughtUp(ready[0])
	copyOf := func(t int32) int32 { // the first of t that can be promoted
		k, _ := slices.BinarySearch(ready, h.copyStart[t])
		for ; k < len(ready) && h.taskOf(ready[k]) == t; k++ {
			if h.hasRoom(t, ready[k]) {
				return ready[k]
			}
		}
		return none
	}
	tasks := h.equal[:0]
	for _, k := range ready {
		if t := h.taskOf(k); h.learnerAt(t) == none && copyOf(t) != none && (len(tasks) == 0 || tasks[len(tasks)-1] != t) {
			tasks = append(tasks, t)
		}
	}
	h.equal = tasks
	h.picker.start(i, tasks)
	for class := range surplus {
		for ; surplus[class] > 0; surplus[class]-- {
			t := h.picker.next(int32(class), func(t int32) bool { return copyOf(t) != none })
			if t == none {
				break
			}
			k := copyOf(t)
			h.promote(t, k)
			if needsSlot {
				h.budget.starts = append(h.budget.starts, start{task: t, from: k})
			}
		}
	}
}

// hasRoom reports whether the holder of copy k may learn its task and has room for it.
func (h *handout) hasRoom(t, k int32) bool {
	i := h.holderInstance(k)
	return i != h.at(t) && h.room.of(h.classOf(&h.stateful, t))[i] > 0
}

// promote makes a learner of copy k of a task that a picker has taken from its instance.
func (h *handout) promote(t, k int32) {
	class, i := h.classOf(&h.stateful, t), h.holderInstance(k)
	h.room.of(class)[i]--
	h.planned.of(class)[i]++
	h.planned.of(class)[h.at(t)]--
	h.setLearner(t, i, k)
	h.spread.add(h.topology.subOf(t), i, 1)
}

// dealOut gives the pooled tasks of a class to the instances with room, newcomers first: they have nothing to lose by a replay,
// and everybody else has tasks to run.
func (h *handout) dealOut(class int32) {
	room := h.room.of(class)
	h.deal(h.pooled[class], room, h.newcomersFirst(room), func(t, i int32) { h.setLearner(t, i, none) })
}

// newcomersFirst returns the instances with room in two groups: newcomers, and the others.
func (h *history) newcomersFirst(room []int64) [][]int32 {
	groups := make([][]int32, 2)
	for i, n := range room {
		g := 1
		if h.newcomer[i] {
			g = 0
		}
		if n > 0 {
			groups[g] = append(groups[g], int32(i))
		}
	}
	return groups
}
