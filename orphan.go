package assignor

// placeOrphans gives the stateful tasks that have neither an owner nor a copy to the instances with room (R1.5). Nobody gives up
// a task for that.
func (r *round) placeOrphans() {
	orphans := r.takeOrphans(false)
	if len(orphans) == 0 {
		return
	}
	k := &r.stateful
	d := demand{have: r.planTasks(r.countTasks(k)), incoming: r.countOrphans(k, orphans), receives: r.stays, overflows: r.stays}
	r.dealOrphans(k, orphans, d.have, r.fillKind(k, d))
}

// takeOrphans returns the orphans of one kind.
func (r *round) takeOrphans(stateless bool) []int32 {
	if len(r.stateful.weights) == 0 || len(r.statelessKind.weights) == 0 { // there is one kind only
		if stateless == (len(r.stateful.weights) == 0) {
			return r.orphans
		}
		return nil
	}
	var taken []int32
	for _, t := range r.orphans {
		if r.stateless(t) == stateless {
			taken = append(taken, t)
		}
	}
	return taken
}

// countOrphans counts the orphans of a kind by class.
func (r *round) countOrphans(k *kind, orphans []int32) []int64 {
	n := make([]int64, len(k.weights))
	if len(n) == 1 {
		n[0] = int64(len(orphans))
		return n
	}
	for _, t := range orphans {
		n[r.classOf(k, t)]++
	}
	return n
}

func (r *round) stays(i int) bool { return r.instances[i].stays }

// dealOrphans places the orphans so that the instances, which have what have says, come up to target.
func (r *round) dealOrphans(k *kind, orphans []int32, have, target counts) {
	byClass := [][]int32{orphans}
	if len(k.weights) > 1 {
		byClass = make([][]int32, len(k.weights))
		for _, t := range orphans {
			byClass[r.classOf(k, t)] = append(byClass[r.classOf(k, t)], t)
		}
	}
	room := make([]int64, len(r.instances))
	for class, pool := range byClass {
		var takers []int32
		for i := range room {
			room[i] = target.of(int32(class))[i] - have.of(int32(class))[i]
			if r.instances[i].stays && room[i] > 0 {
				takers = append(takers, int32(i))
			}
		}
		r.deal(pool, room, [][]int32{takers}, r.placeOrphan)
	}
}

// placeOrphan lets instance i run an orphan. One that nobody is known to have run has no former place that a reason could be about.
func (r *round) placeOrphan(t, i int32) {
	r.setPlace(t, i, none)
	if r.memory.prev != nil || r.owner[t] != none || r.hasCopies(t) {
		r.setWhy(t, r.whyMoved(t, ReasonOrphan))
	}
}

// moveStateless places the stateless orphans and then levels the stateless tasks, which move by stop and start (R2): as if every
// instance had its stateful target already, so that they move once.
func (r *round) moveStateless() {
	k := &r.statelessKind
	if len(k.weights) == 0 {
		return
	}
	d := demand{base: make([]int64, len(r.instances)), receives: r.stays, overflows: r.stays}
	for i := range d.base {
		d.base[i] = r.target.load(&r.loads, i)
	}
	d.have, d.incoming = r.countTasks(k), make([]int64, len(k.weights))
	if orphans := r.takeOrphans(true); len(orphans) > 0 {
		d.incoming = r.countOrphans(k, orphans)
		r.dealOrphans(k, orphans, d.have, r.fillKind(k, d))
		d.have, d.incoming = r.countTasks(k), make([]int64, len(k.weights))
	}
	if r.allLeave {
		return
	}
	target := d.have
	if !r.awaiting {
		d.receives, d.overflows = r.statelessReceivers, r.staysNow
		target = r.levelKind(k, d)
	}
	r.shedStateless(d.have, target)
}

func (r *round) staysNow(i int) bool { return !r.instances[i].leaving }

func (r *round) statelessReceivers(i int) bool {
	return r.staysNow(i) && (!r.config.NewInstancesOnly || r.instances[i].newcomer)
}

// shedStateless makes the instances above their target, and those that leave, stop stateless tasks. The next round places them.
func (r *round) shedStateless(have, target counts) {
	gives := make([]bool, len(r.instances))
	for class := range r.statelessKind.weights {
		for i, n := range have.of(int32(class)) {
			gives[i] = gives[i] || n > target.of(int32(class))[i] || n > 0 && r.instances[i].leaving
		}
	}
	tasks := r.tasksOf(&r.statelessKind, have, gives, func(t int32) bool { return r.owner[t] != none && r.running(t) && !r.waits(t) })
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
