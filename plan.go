package assignor

import "slices"

// plan is what is decided of each task so far: all that a step changes, and what the answer is read off.
//
// It has arrays by task, of which only status and dest exist in every round. The others are made when the first task needs them,
// because in most rounds none does.
type plan struct {
	copies
	space     *planSpace
	status    []status // by task, foreign ones included
	dest      []place  // by task of the topology: where it runs from now on, or once its owner has stopped it; its owner until decided
	why       []Reason // by task: why dest is not where it was; nil where none is anywhere else
	learning  []int32  // by task: its learner, counted from 1 in learners, 0 for none; nil where nobody learns anything
	learners  []learner
	learned   []int32 // the tasks that have or had a learner in this plan, in the order in which they got it
	moved     []int32 // the tasks that have a why, some twice
	waiting   []int32 // copies that will be learners and wait for a slot (T3), ascending
	anyMember bool    // some task is to run on an instance, whichever member of it
	awaiting  bool    // some task is awaited: nothing is levelled (R7.6)
	moves     []Move  // what has no other trace in the plan: who stops, waits or drops a copy, and why
}

// status is what has been decided of a task.
type status uint8

const (
	undecided status = iota // an orphan, or not looked at yet
	decided                 // dest runs it, at once or as soon as its owner has stopped
	fenced                  // several may run it: nobody does until all but its owner have stopped (R0.3)
	awaited                 // waits for its instance to come back (R7.4)
	shed                    // its owner stops it, so that the next round can place it where the counts call for it (R4)
)

// place is where a task is to run: on a member, or on an instance, whichever member of it (R8 says which).
type place int32

// onMember is the place of a task that runs on member m.
func onMember(m int32) place { return place(m) }

// onInstance is the place of a task that is to run on instance i.
func onInstance(i int32) place { return place(-2 - i) }

// member returns the member, and false where any may, or nobody.
func (d place) member() (m int32, ok bool) { return int32(d), d >= 0 }

// instance returns the instance of a place that is no member's, none where it is nobody's.
func (d place) instance() int32 { return -2 - int32(d) }

// planSpace is the arrays that a plan works in.
type planSpace struct {
	statuses arena[status]
	places   arena[place]
	reasons  arena[Reason]
}

// begin makes the arrays ready for a round.
func (s *planSpace) begin() {
	s.statuses.begin()
	s.places.begin()
	s.reasons.begin()
}

// newPlan returns the plan in which nothing is decided but what R0 has: who must stop, and which copies are of no task.
func newPlan(c copies, s *planSpace) *plan {
	p := &plan{copies: c, space: s}
	p.status = s.statuses.zeros(p.topology.all())
	p.dest = s.places.take(int(p.topology.size()))
	for _, t := range p.fenced {
		p.status[t] = fenced
	}
	for _, x := range p.revocations {
		p.note(MoveRevoke, ReasonConflict, x.task, x.member, none)
	}
	for _, e := range p.ended {
		kind := MoveStopStandby
		if e.learns {
			kind = MoveStopLearn
		}
		p.moves = append(p.moves, Move{Task: e.task, From: p.nameOf(e.member), Kind: kind, Reason: ReasonEnded})
	}
	return p
}

// setPlace decides that instance i runs the task; m is the member of it that should, none where any may. A task that nobody
// ran, on an instance with one member, needs no R8 to say which.
func (p *plan) setPlace(t, i, m int32) {
	p.status[t] = decided
	if m == none && p.owner[t] == none && len(p.instances[i].members) == 1 {
		m = p.instances[i].members[0]
	}
	if m != none {
		p.dest[t] = onMember(m)
		return
	}
	p.dest[t] = onInstance(i)
	p.anyMember = true
}

// at returns the instance that runs the task from now on, or once its owner has stopped it; none where that is not decided.
func (p *plan) at(t int32) int32 {
	if m, ok := p.dest[t].member(); ok {
		return p.instanceBy[m]
	}
	return p.dest[t].instance()
}

// by returns the member of it, none where any may.
func (p *plan) by(t int32) int32 { return max(int32(p.dest[t]), none) }

// paused reports whether the task runs nowhere in this round. While it does, every copy of it stays what it is (R2.4).
func (p *plan) paused(t int32) bool {
	return p.status[t] != decided || p.mustStop(t)
}

// mustStop reports whether the owner of a task has to stop it so that it can start on another instance or member (R2.1).
//
//	owner S1, running, dest S1    no
//	owner S1, running, dest S2    yes
//	owner S1, stopped, dest S2    no: it starts on S2 in this round
func (p *plan) mustStop(t int32) bool {
	o := p.owner[t]
	return o != none && onMember(o) != p.dest[t] && p.running(t)
}

// leavesInstance reports whether the task still runs on another instance than the one it is going to.
func (p *plan) leavesInstance(t int32) bool {
	o := p.owner[t]
	return o != none && p.running(t) && p.instanceBy[o] != p.at(t)
}

// learner is who learns a task: an instance, and the copy that it learns from, none where it starts with nothing. Where at is none
// nobody learns the task any more.
type learner struct{ at, from int32 }

// learnerOf returns the learner of a task.
func (p *plan) learnerOf(t int32) learner {
	if p.learning == nil || p.learning[t] == 0 {
		return learner{none, none}
	}
	return p.learners[p.learning[t]-1]
}

// learnerAt returns the instance that learns the task, none where nobody does.
func (p *plan) learnerAt(t int32) int32 { return p.learnerOf(t).at }

// learnerCopy returns the copy that the learner of the task starts from, none where it has none.
func (p *plan) learnerCopy(t int32) int32 { return p.learnerOf(t).from }

// setLearner makes instance i learn the task, from copy k if that is not none.
func (p *plan) setLearner(t, i, k int32) {
	if p.learning == nil {
		p.learning = p.int32s.zeros(int(p.topology.size()))
	}
	if p.learning[t] == 0 {
		p.learned = append(p.learned, t)
		p.learners = append(p.learners, learner{})
		p.learning[t] = int32(len(p.learners))
	}
	p.learners[p.learning[t]-1] = learner{i, k}
}

// endLearner makes nobody learn the task, which somebody does.
func (p *plan) endLearner(t int32) { p.learners[p.learning[t]-1] = learner{none, none} }

// waitingCopy returns the copy of the task that waits for a slot, none where none does (T3).
func (p *plan) waitingCopy(t int32) int32 {
	if len(p.waiting) == 0 {
		return none
	}
	first, end := p.copiesOf(t)
	if k, _ := slices.BinarySearch(p.waiting, first); k < len(p.waiting) && p.waiting[k] < end {
		return p.waiting[k]
	}
	return none
}

// plannedAt returns the instance that has the task once every learner has taken over (R4.2).
func (p *plan) plannedAt(t int32) int32 {
	if i := p.learnerAt(t); i != none {
		return i
	}
	return p.at(t)
}

// pausedLearner returns the copy that goes on learning a task that runs nowhere in this round, or none. Where a member alone
// has to stop the task, and not because its learner has caught up, nobody does: by that the next round knows what the order was
// for (handoverOrdered).
func (p *plan) pausedLearner(t int32) int32 {
	if p.status[t] == decided && p.whyOf(t) != ReasonLearnerCaughtUp {
		return none
	}
	return p.bestCopy(t, func(k int32) bool { return p.replicas[k].learns && p.members[p.replicas[k].member].speaks }, p.lessLag)
}

// eachPaused calls f for every copy but learner of a task that runs nowhere in this round, and says whether it stays, as a
// standby: the first on each instance does. used is scratch space, which it returns.
func (p *plan) eachPaused(t, learner int32, used []int32, f func(k int32, stays bool)) []int32 {
	if learner != none {
		used = append(used, p.holderInstance(learner))
	}
	for k, end := p.copiesOf(t); k < end; k++ {
		if k == learner {
			continue
		}
		i := p.holderInstance(k)
		stays := !slices.Contains(used, i) && (learner == none || !p.replicas[k].learns)
		if stays {
			used = append(used, i)
		}
		f(k, stays)
	}
	return used
}

// whyOf returns why the task is not where it was.
func (p *plan) whyOf(t int32) Reason {
	if p.why == nil {
		return ReasonNone
	}
	return p.why[t]
}

// setWhy remembers why the task is not where it was.
func (p *plan) setWhy(t int32, why Reason) {
	if why == ReasonNone {
		return
	}
	if p.why == nil {
		p.why = p.space.reasons.zeros(int(p.topology.size()))
	}
	p.why[t] = why
	p.moved = append(p.moved, t)
}

// note records a decision.
func (p *plan) note(kind MoveKind, why Reason, t, from, to int32) {
	p.moves = append(p.moves, Move{p.topology.id(t), p.nameOf(from), p.nameOf(to), kind, why})
}
