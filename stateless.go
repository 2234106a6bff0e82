package assignor

import "math"

// moveStateless levels the stateless tasks, which move by stop and start (R2): as if every instance had its stateful target
// already, so that they move once. Those that somebody had to stop in the last round count as if they were still there, so that
// the plan that moved them is found again; where it was only for a sibling (R8), their instance takes them back.
func (r *round) moveStateless() {
	k := &r.statelessKind
	if len(k.weights) == 0 {
		return
	}
	d := demand{base: r.int64s.take(len(r.instances)), receives: r.stays, overflows: r.stays}
	for i := range d.base {
		d.base[i] = r.target.load(&r.loads, i)
	}
	orphans := r.takeOrphans(true)
	if len(orphans) > 0 && (r.awaiting || r.allLeave || r.config.NewInstancesOnly) {
		r.placeStatelessOrphans(k, orphans, d)
		orphans = nil
	}
	if r.allLeave {
		return
	}
	have := r.countTasks(k)
	target := have
	if !r.awaiting {
		d.have, d.incoming = have.clone(), make([]int64, len(k.weights))
		for _, t := range orphans {
			if i := r.stoppedOn(t); i != none {
				d.have.of(r.classOf(k, t))[i]++
			} else {
				d.incoming[r.classOf(k, t)]++
			}
		}
		d.receives, d.overflows = r.statelessReceivers, r.staysNow
		target = r.levelKind(k, d)
		others := r.takeBack(k, orphans, have, func(class, i int32) bool { return have.of(class)[i] < target.of(class)[i] })
		r.dealOrphans(k, others, have, target)
	}
	r.shedStateless(have, target)
}

// placeStatelessOrphans places stateless tasks where nobody gives up any for them: what had to stop goes back, the rest goes where
// there is room. But with NewInstancesOnly, what had to stop for a newcomer does not go back: it is no newcomer any more, but it
// is known by that it has nothing to run.
func (r *round) placeStatelessOrphans(k *kind, orphans []int32, d demand) {
	d.have = r.countTasks(k)
	if r.awaiting || r.allLeave || !r.somebodyIdle() {
		orphans = r.takeBack(k, orphans, d.have, func(_, _ int32) bool { return true })
	}
	d.incoming = r.countOrphans(k, orphans)
	r.dealOrphans(k, orphans, d.have, r.fillKind(k, d))
}

// somebodyIdle reports whether an instance that stays took part in the last round and was given nothing to run.
func (r *history) somebodyIdle() bool {
	if r.memory.prev == nil {
		return false
	}
	busy := r.bools.zeros(len(r.instances))
	for i := range r.memory.prev.Members {
		if h := r.memory.holders[r.memory.holderOf[i]].present; h != none && len(r.memory.prev.Members[i].Active) > 0 {
			busy[h] = true
		}
	}
	for i := range r.instances {
		if in := &r.instances[i]; in.stays && !r.newcomer[i] && !busy[i] {
			return true
		}
	}
	return false
}

// takeBack gives stateless tasks back to the instances that had to stop them, as far as those have room, and returns the others.
// It counts what it gives back in have.
func (r *round) takeBack(k *kind, orphans []int32, have counts, room func(class, i int32) bool) (others []int32) {
	for _, t := range orphans {
		class := r.classOf(k, t)
		i := r.stoppedOn(t)
		if i == none || !room(class, i) {
			others = append(others, t)
			continue
		}
		have.of(class)[i]++
		r.spread.add(r.topology.subOf(t), i, 1)
		r.setPlace(t, i, none)
		r.setWhy(t, ReasonSiblings)
	}
	return others
}

func (h *history) statelessReceivers(i int) bool {
	return h.staysNow(i) && (!h.config.NewInstancesOnly || h.newcomer[i])
}

// shedStateless makes the instances above their target, and those that leave, stop stateless tasks. The next round places them.
func (r *round) shedStateless(have, target counts) {
	most := r.int32s.zeros(len(r.instances))
	for class := range r.statelessKind.weights {
		for i, n := range have.of(int32(class)) {
			if n > target.of(int32(class))[i] || n > 0 && r.instances[i].leaving {
				most[i] = math.MaxInt32
			}
		}
	}
	tasks := r.tasksOf(&r.statelessKind, have, most, func(t int32) bool { return r.owner[t] != none && r.running(t) && !r.waits(t) })
	for i := range r.instances {
		if len(tasks[i]) > 0 {
			r.shedStatelessFrom(int32(i), tasks[i], have, target)
		}
	}
}

func (r *round) shedStatelessFrom(i int32, tasks []int32, have, target counts) {
	p := r.newPicker(i, tasks)
	for class := range r.statelessKind.weights {
		surplus := have.of(int32(class))[i] - target.of(int32(class))[i]
		why := ReasonBalance
		if r.instances[i].leaving {
			surplus, why = int64(len(tasks)), ReasonLeaving
		}
		for ; surplus > 0; surplus-- {
			t := p.next(int32(class), anyTask)
			if t == none {
				break
			}
			r.status[t] = shed
			r.setWhy(t, why)
		}
	}
}
