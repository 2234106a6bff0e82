package assignor

// What is decided of each task is kept in arrays by task, of which only dest and status exist in every round: the others are made
// when the first task needs them, because in most rounds none does.

// setPlace decides that instance i runs the task; m is the member of it that should, none where any may.
func (r *round) setPlace(t, i, m int32) {
	r.status[t] = placed
	if m == none && r.owner[t] == none && len(r.instances[i].members) == 1 {
		m = r.instances[i].members[0]
	}
	r.dest[t] = m
	if m == none {
		r.dest[t] = onInstance(i)
		r.undecided = true
	}
}

// onInstance is the dest of a task that is to run on instance i, whichever member of it.
func onInstance(i int32) int32 { return -2 - i }

// at returns the instance that runs the task from now on, or once its owner has stopped it; none where that is not decided.
func (r *round) at(t int32) int32 {
	switch m := r.dest[t]; {
	case m >= 0:
		return r.instanceBy[m]
	case m == none:
		return none
	default:
		return -2 - m
	}
}

// by returns the member of it, none where any may.
func (r *round) by(t int32) int32 { return max(r.dest[t], none) }

// running reports whether the owner of a task has not stopped it.
func (r *round) running(t int32) bool { return r.stopped == nil || !r.stopped[t] }

func (r *round) setRunning(t int32, run bool) {
	if r.stopped == nil {
		if run {
			return
		}
		r.stopped = r.bools.zeros(r.topology.all())
	}
	r.stopped[t] = !run
}

// learner is who learns a task: an instance, and the copy that it learns from; none where it is nobody any more.
type learner struct{ at, from int32 }

// learnerOf returns the learner of a task.
func (r *round) learnerOf(t int32) learner {
	if r.learning == nil || r.learning[t] == 0 {
		return learner{none, none}
	}
	return r.learners[r.learning[t]-1]
}

// learnerAt returns the instance that learns the task, none where nobody does.
func (r *round) learnerAt(t int32) int32 { return r.learnerOf(t).at }

// learnerCopy returns the copy that the learner of the task starts from, none where it has none.
func (r *round) learnerCopy(t int32) int32 { return r.learnerOf(t).from }

// setLearner makes instance i learn the task, from copy c if that is not none. An i of none ends the learner.
func (r *round) setLearner(t, i, c int32) {
	if r.learning == nil {
		r.learning = r.int32s.zeros(int(r.topology.size()))
	}
	if i != none {
		r.learned = append(r.learned, t)
	}
	if r.learning[t] == 0 {
		r.learners = append(r.learners, learner{})
		r.learning[t] = int32(len(r.learners))
	}
	r.learners[r.learning[t]-1] = learner{i, c}
}

func (r *round) whyOf(t int32) Reason {
	if r.why == nil {
		return ReasonNone
	}
	return r.why[t]
}

// setWhy remembers why the task is not where it was.
func (r *round) setWhy(t int32, why Reason) {
	if why == ReasonNone {
		return
	}
	if r.why == nil {
		r.why = r.reasons.zeros(int(r.topology.size()))
	}
	r.why[t] = why
	r.moved = append(r.moved, t)
}

// countTasks counts the placed tasks of one kind by class and instance.
func (r *round) countTasks(k *kind) counts {
	n := r.newCounts(k)
	for s, class := range k.classOf {
		if class == none {
			continue
		}
		on, status := n.of(class), r.status[r.topology.start[s]:r.topology.start[s+1]]
		for p, m := range r.dest[r.topology.start[s]:r.topology.start[s+1]] {
			switch {
			case status[p] != placed:
			case m >= 0:
				on[r.instanceBy[m]]++
			default:
				on[r.at(r.topology.start[s]+int32(p))]++
			}
		}
	}
	return n
}

// planTasks returns the counts of the stateful tasks as if every learner had taken over (R4), have being what they are now.
func (r *round) planTasks(have counts) counts {
	plan := have.clone()
	for _, t := range r.learned {
		if at := r.learnerAt(t); at != none {
			on := plan.of(r.classOf(&r.stateful, t))
			on[r.at(t)]--
			on[at]++
		}
	}
	return plan
}
