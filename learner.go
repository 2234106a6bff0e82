package assignor

import (
	"cmp"
	"math"
	"slices"
)

// levelLearners computes how many stateful tasks each instance should have, and ends the learners that this no longer needs
// (R3, R4).
//
// The targets start from what the instances run, not from what they would have once every learner had taken over: so the plan
// costs the fewest moves, and an instance that was told to leave and then to stay gets nothing taken away. Of the plans that
// cost the same, the one that needs the learners in place is taken.
func (r *round) levelLearners() {
	r.countMembers()
	k := &r.stateful
	have, incoming := r.countTasks(k), make([]int64, len(k.weights))
	r.have, r.planned, r.target = have, r.planTasks(have), have
	if r.allLeave || len(k.weights) == 0 {
		return
	}
	if !r.awaiting {
		r.target = r.levelKind(k, demand{
			have: have, prefer: r.planned, incoming: incoming, receives: r.newReceivers, overflows: r.speakers,
		})
		r.dropLearners(have)
		return
	}
	have = r.planned.clone() // nothing is levelled, only the drains go on
	for class := range incoming {
		on := have.of(int32(class))
		for i := range r.instances {
			if r.instances[i].leaving {
				incoming[class], on[i] = incoming[class]+on[i], 0
			}
		}
	}
	r.target = r.fillKind(k, demand{have: have, incoming: incoming, receives: r.newReceivers, overflows: r.speakers})
}

// countMembers counts the tasks that every member has and keeps. Those of which R8 decides who gets them do not count.
func (r *round) countMembers() {
	r.memberTasks = r.int32s.zeros(len(r.members))
	if len(r.instances) == len(r.members) {
		return
	}
	for t := range r.topology.size() {
		if r.status[t] == placed && r.learnerAt(t) == none {
			r.countMember(t, 1)
		}
	}
}

func (r *round) countMember(t, n int32) {
	if m := r.by(t); m != none {
		r.memberTasks[m] += n
	}
}

func (h *history) newReceivers(i int) bool {
	return h.speakers(i) && (!h.config.NewInstancesOnly || h.newcomer[i])
}

// dropLearners ends learners that have not caught up, the largest lag first, while their owner stays and has to give up fewer
// tasks than others learn from it, or their holder has to take over fewer than it learns (R3). So nobody gives up some tasks and
// learns others, which would take more moves than there need be.
func (r *round) dropLearners(have counts) {
	if len(r.learned) == 0 {
		return
	}
	given, taken := r.newCounts(&r.stateful), r.newCounts(&r.stateful)
	learned := r.learnersByLag()
	for _, t := range learned {
		class := r.classOf(&r.stateful, t)
		given.of(class)[r.at(t)]++
		taken.of(class)[r.learnerAt(t)]++
	}
	for _, t := range learned {
		class := r.classOf(&r.stateful, t)
		from, to := r.at(t), r.learnerAt(t)
		surplus := have.of(class)[from] - r.target.of(class)[from]
		room := r.target.of(class)[to] - have.of(class)[to]
		if (r.instances[from].leaving || given.of(class)[from] <= max(0, surplus)) && taken.of(class)[to] <= max(0, room) {
			continue
		}
		given.of(class)[from]--
		taken.of(class)[to]--
		r.planned.of(class)[from]++
		r.planned.of(class)[to]--
		r.setLearner(t, none, none)
		r.countMember(t, 1)
		r.spread.move(r.topology.subOf(t), to, from)
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

// startLearners gives every task that is to change instance a learner (R5): those of leaving instances first, the nearest
// deadline before the others, then those of instances above their target.
func (r *round) startLearners() {
	if r.allLeave {
		return
	}
	givers := r.givers()
	if len(givers) == 0 {
		return
	}
	h := r.newHandout(givers)
	for _, i := range givers {
		h.shedFrom(i, h.surplus(i))
	}
	for class := range r.stateful.weights {
		h.dealOut(int32(class))
	}
}

// givers returns the instances that give up stateful tasks: those that leave, the nearest deadline first, then those above their
// target.
func (r *round) givers() []int32 {
	var givers []int32
	for i := range r.instances {
		if r.instances[i].leaving {
			givers = append(givers, int32(i))
		}
	}
	if r.config.ScaleDownTimeout > 0 {
		slices.SortStableFunc(givers, func(a, b int32) int {
			return cmp.Compare(r.instances[b].leavingFor, r.instances[a].leavingFor)
		})
	}
	for i := range r.instances {
		if !r.instances[i].leaving && r.aboveTarget(int32(i)) {
			givers = append(givers, int32(i))
		}
	}
	return givers
}

func (r *round) aboveTarget(i int32) bool {
	for class := range r.stateful.weights {
		if r.planned.of(int32(class))[i] > r.target.of(int32(class))[i] {
			return true
		}
	}
	return false
}

// surplus returns how many tasks of each class instance i gives up, in the scratch space.
func (h *handout) surplus(i int32) []int64 {
	for class := range h.giveUp {
		h.giveUp[class] = math.MaxInt64
		if !h.instances[i].leaving {
			h.giveUp[class] = h.planned.of(int32(class))[i] - h.target.of(int32(class))[i]
		}
	}
	return h.giveUp
}

// handout is the state of startLearners: what each instance may still take, and the tasks that go to whoever has room.
type handout struct {
	*round
	room   counts
	slots  int       // learners that MaxLearners still admits
	tasks  [][]int32 // by instance, the tasks that can get a learner, ascending
	pooled [][]int32 // by class, the tasks without a copy at a receiver
	giveUp []int64   // scratch: by class
	ready  []int32   // scratch: copies that receivers hold
	equal  []int32   // scratch: the tasks of those with the same lag
}

func (r *round) newHandout(givers []int32) *handout {
	h := &handout{round: r, room: r.newCounts(&r.stateful), slots: math.MaxInt, pooled: make([][]int32, len(r.stateful.weights)), giveUp: make([]int64, len(r.stateful.weights))}
	for i, room := range h.room.n {
		if in := i % len(r.instances); r.speakers(in) {
			room = max(0, r.target.n[i]-r.planned.n[i])
		}
		h.room.n[i] = room
	}
	if r.config.MaxLearners > 0 {
		h.slots = max(0, r.config.MaxLearners-r.learnersAtWork())
	}
	most := r.int32s.zeros(len(r.instances))
	for _, i := range givers {
		most[i] = h.mostToShed(i)
	}
	h.tasks = r.tasksOf(&r.stateful, r.have, most, func(t int32) bool { return r.learnerAt(t) == none && !r.waits(t) })
	return h
}

// mostToShed returns how many tasks of a subtopology instance i can come to give up, if they are taken in id order.
func (h *handout) mostToShed(i int32) int32 {
	if h.held != nil || len(h.instances[i].members) > 1 {
		return math.MaxInt32 // those of which there are copies, or of the fullest member, come first
	}
	most := int64(0)
	for _, n := range h.surplus(i) {
		most = max(most, n)
	}
	return int32(min(most, math.MaxInt32))
}

// learnersAtWork counts the learners in place that MaxLearners counts: not those that have caught up or take too long. Those of
// tasks that run nowhere in this round go on learning too.
func (p *plan) learnersAtWork() int {
	n := 0
	for _, t := range p.learned {
		if c := p.learnerCopy(t); p.atWork(c) {
			n++
		}
	}
	if !p.anyLearners {
		return n
	}
	for t := range p.topology.size() {
		if p.hasCopies(t) && p.waits(t) && p.atWork(p.waitingLearner(t)) {
			n++
		}
	}
	return n
}

func (c *copies) atWork(k int32) bool {
	return k != none && !c.caughtUp(k) && !c.replicas[k].expired
}

// shedFrom gives learners to as many tasks of instance i as it gives up: those of which a receiver with room holds a copy get
// theirs there, the others are pooled.
func (h *handout) shedFrom(i int32, surplus []int64) {
	if !slices.ContainsFunc(surplus, isPositive) || len(h.tasks[i]) == 0 {
		return
	}
	if h.held != nil {
		h.promoteCopies(i, surplus)
	}
	tasks := h.tasks[i]
	if h.learning != nil {
		tasks = slices.DeleteFunc(tasks, func(t int32) bool { return h.learnerAt(t) != none })
	}
	p := h.newPicker(i, tasks)
	for class := range surplus {
		for ; surplus[class] > 0 && h.slots > 0; surplus[class]-- {
			t := p.next(int32(class), anyTask)
			if t == none {
				break
			}
			h.pooled[class] = append(h.pooled[class], t)
			h.slots--
		}
	}
}

// promoteCopies makes learners of copies that receivers with room hold, the smallest lag first. Those with the same lag come in
// the order in which a picker takes their tasks.
func (h *handout) promoteCopies(i int32, surplus []int64) {
	held := h.ready[:0]
	for _, t := range h.tasks[i] {
		for c, end := h.copiesOf(t); c < end; c++ {
			if h.canTake(t, c) {
				held = append(held, c)
			}
		}
	}
	h.ready = held
	slices.SortFunc(held, func(a, b int32) int { // copies are numbered by task, then member
		return cmp.Or(cmp.Compare(h.replicas[a].lag, h.replicas[b].lag), cmp.Compare(a, b))
	})
	for first, n := 0, 1; n <= len(held) && slices.ContainsFunc(surplus, isPositive); n++ {
		if n == len(held) || h.replicas[held[n]].lag != h.replicas[held[first]].lag {
			h.promoteEqual(i, held[first:n], surplus)
			first = n
		}
	}
}

func isPositive(n int64) bool { return n > 0 }

// promoteEqual is promoteCopies for copies with the same lag. One that has caught up needs no slot.
func (h *handout) promoteEqual(i int32, held []int32, surplus []int64) {
	free := h.caughtUp(held[0])
	copyOf := func(t int32) int32 { // the first of t that can be promoted
		k, _ := slices.BinarySearch(held, h.copyStart[t])
		for ; k < len(held) && h.taskOf(held[k]) == t; k++ {
			if h.canTake(t, held[k]) && (free || h.slots > 0) {
				return held[k]
			}
		}
		return none
	}
	tasks := h.equal[:0]
	for _, c := range held {
		if t := h.taskOf(c); h.learnerAt(t) == none && copyOf(t) != none && (len(tasks) == 0 || tasks[len(tasks)-1] != t) {
			tasks = append(tasks, t)
		}
	}
	h.equal = tasks
	p := h.newPicker(i, tasks)
	for class := range surplus {
		for ; surplus[class] > 0; surplus[class]-- {
			t := p.next(int32(class), func(t int32) bool { return copyOf(t) != none })
			if t == none {
				break
			}
			h.promote(t, copyOf(t))
			if !free {
				h.slots--
			}
		}
	}
}

// canTake reports whether the holder of copy c has room for its task.
func (h *handout) canTake(t, c int32) bool {
	i := h.holderInstance(c)
	return i != h.at(t) && h.room.of(h.classOf(&h.stateful, t))[i] > 0
}

// promote makes a learner of copy c of a task that a picker has taken from its instance.
func (h *handout) promote(t, c int32) {
	class, i := h.classOf(&h.stateful, t), h.holderInstance(c)
	h.room.of(class)[i]--
	h.planned.of(class)[i]++
	h.planned.of(class)[h.at(t)]--
	h.setLearner(t, i, c)
	h.spread.add(h.topology.subOf(t), i, 1)
}

// dealOut gives the pooled tasks of a class to the instances with room, newcomers first.
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
