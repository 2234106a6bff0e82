package assignor

import "slices"

// plannedAt returns the instance that has the task once every learner has taken over (R4).
func (p *plan) plannedAt(t int32) int32 {
	if p.learnerAt(t) != none {
		return p.learnerAt(t)
	}
	return p.at(t)
}

// waits reports whether the task runs nowhere in this round. While it does, every copy of it stays what it is (R2).
func (p *plan) waits(t int32) bool {
	return p.status[t] != placed || p.mustStop(t)
}

// mustStop reports whether the owner of a task has to stop it so that it can start on another instance or member.
func (p *plan) mustStop(t int32) bool {
	o := p.owner[t]
	return o != none && o != p.dest[t] && p.running(t)
}

// note records a decision.
func (p *plan) note(kind MoveKind, why Reason, t, from, to int32) {
	p.moves = append(p.moves, Move{p.topology.id(t), p.nameOf(from), p.nameOf(to), kind, why})
}

// settleLearner finds the learner in place of a task that runs, if it has one that may stay (R3): one on an instance that stays
// and does not run the task. Of several the one with the smallest lag stays.
func (p *plan) settleLearner(t int32) {
	if p.allLeave || p.waits(t) {
		return
	}
	c := p.bestCopy(t, func(c int32) bool {
		i := p.holderInstance(c)
		return p.replicas[c].learns && i != p.at(t) && p.instances[i].speaks && !p.instances[i].leaving
	}, p.lessLag)
	if c != none {
		p.setLearner(t, p.holderInstance(c), c)
	}
}

// waitingLearner returns the copy that goes on learning a task that runs nowhere in this round, or none.
func (p *plan) waitingLearner(t int32) int32 {
	if p.status[t] == placed && p.whyOf(t) != ReasonLearnerCaughtUp {
		return none
	}
	return p.bestCopy(t, func(k int32) bool { return p.replicas[k].learns && p.members[p.replicas[k].member].speaks }, p.lessLag)
}

// eachWaiting calls f for every copy but learner of a task that runs nowhere in this round, and says whether it stays, as a
// standby. used is scratch space, which it returns.
func (c *copies) eachWaiting(t, learner int32, used []int32, f func(k int32, stays bool)) []int32 {
	if learner != none {
		used = append(used, c.holderInstance(learner))
	}
	for k, end := c.copiesOf(t); k < end; k++ {
		if k == learner {
			continue
		}
		i := c.holderInstance(k)
		stays := !slices.Contains(used, i) && (learner == none || !c.replicas[k].learns)
		if stays {
			used = append(used, i)
		}
		f(k, stays)
	}
	return used
}

// What is decided of each task is kept in arrays by task, of which only dest and status exist in every round: the others are made
// when the first task needs them, because in most rounds none does.

// status is what the round has decided of a task so far.
type status uint8

const (
	placed   status = iota // dest runs it, at once or as soon as its owner has stopped
	unplaced               // an orphan, or not looked at yet
	fenced                 // several may run it: nobody does until all but its owner have stopped
	awaited                // waits for its instance to come back
	shed                   // its owner stops it, so that the next round can place it on the instance that the counts call for
)

// plan is what is decided of each task so far: what R1 to R5 change, and all that they change.
type plan struct {
	copies
	planSpace *planSpace
	status    []status // by task, foreign ones included
	dest      []int32  // by task of the topology: the member that runs it from now on, or onInstance; see at and by
	why       []Reason // by task: why dest is not where it was; nil where none is anywhere else
	learning  []int32  // by task: its learner, counted from 1 in learners, 0 for none; nil where nobody learns anything
	learners  []learner
	learned   []int32 // the tasks that have or had a learner in this round's plan
	moved     []int32 // the tasks that have a why
	undecided bool    // some task's member is not decided
	awaiting  bool    // some task is awaited: nothing is levelled (R7)
	moves     []Move
}

// planSpace is the arrays that a plan works in.
type planSpace struct {
	statuses arena[status]
	reasons  arena[Reason]
}

func (s *planSpace) begin() {
	s.statuses.begin()
	s.reasons.begin()
}

// newPlan returns the plan in which nothing is decided but what R0 has.
func newPlan(c copies, s *planSpace) plan {
	p := plan{copies: c, planSpace: s}
	p.status = s.statuses.zeros(p.topology.all())
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

// setPlace decides that instance i runs the task; m is the member of it that should, none where any may.
func (p *plan) setPlace(t, i, m int32) {
	p.status[t] = placed
	if m == none && p.owner[t] == none && len(p.instances[i].members) == 1 {
		m = p.instances[i].members[0]
	}
	p.dest[t] = m
	if m == none {
		p.dest[t] = onInstance(i)
		p.undecided = true
	}
}

// onInstance is the dest of a task that is to run on instance i, whichever member of it.
func onInstance(i int32) int32 { return -2 - i }

// at returns the instance that runs the task from now on, or once its owner has stopped it; none where that is not decided.
func (p *plan) at(t int32) int32 {
	switch m := p.dest[t]; {
	case m >= 0:
		return p.instanceBy[m]
	case m == none:
		return none
	default:
		return -2 - m
	}
}

// by returns the member of it, none where any may.
func (p *plan) by(t int32) int32 { return max(p.dest[t], none) }

// learner is who learns a task: an instance, and the copy that it learns from; none where it is nobody any more.
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

// setLearner makes instance i learn the task, from copy c if that is not none. An i of none ends the learner.
func (p *plan) setLearner(t, i, c int32) {
	if p.learning == nil {
		p.learning = p.int32s.zeros(int(p.topology.size()))
	}
	if i != none {
		p.learned = append(p.learned, t)
	}
	if p.learning[t] == 0 {
		p.learners = append(p.learners, learner{})
		p.learning[t] = int32(len(p.learners))
	}
	p.learners[p.learning[t]-1] = learner{i, c}
}

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
		p.why = p.planSpace.reasons.zeros(int(p.topology.size()))
	}
	p.why[t] = why
	p.moved = append(p.moved, t)
}
