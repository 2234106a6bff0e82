package assignor

// placeOrphans gives the stateful tasks that have neither an owner nor a copy to the instances with room (R1.5). Nobody gives up
// a task for that.
func (r *round) placeOrphans() {
	r.countSpread()
	stateful := r.takeOrphans(false)
	if len(stateful) == 0 {
		return
	}
	have, incoming := r.newCounts(&r.stateful), make([]int64, len(r.stateful.weights))
	r.eachPlaced(false, func(t int32) { have.of(r.classOf(&r.stateful, t))[r.plannedAt(t)]++ })
	for _, t := range stateful {
		incoming[r.classOf(&r.stateful, t)]++
	}
	target := r.fillKind(&r.stateful, demand{have: have, incoming: incoming, receives: r.stays, overflows: r.stays})
	r.dealOrphans(&r.stateful, stateful, have, target)
}

func (r *round) stays(i int) bool { return r.instances[i].stays }

// eachPlaced calls f for every placed task of one kind, in id order.
func (r *round) eachPlaced(stateless bool, f func(t int32)) {
	for t := range r.topology.size() {
		if r.status[t] == placed && r.stateless(t) == stateless {
			f(t)
		}
	}
}

// countSpread counts where every task is planned to be.
func (r *round) countSpread() {
	r.spread = r.newSpread()
	for t := range r.topology.size() {
		if r.status[t] == placed {
			r.spread.add(r.topology.subOf[t], r.plannedAt(t), 1)
		}
	}
}

// takeOrphans returns the orphans of one kind.
func (r *round) takeOrphans(stateless bool) []int32 {
	var taken []int32
	for _, t := range r.orphans {
		if r.stateless(t) == stateless {
			taken = append(taken, t)
		}
	}
	return taken
}

// dealOrphans places the orphans so that the instances, which have what have says, come up to target.
func (r *round) dealOrphans(k *kind, orphans []int32, have, target counts) {
	byClass := make([][]int32, len(k.weights))
	for _, t := range orphans {
		byClass[r.classOf(k, t)] = append(byClass[r.classOf(k, t)], t)
	}
	room := make([]int64, len(r.instances))
	for class, pool := range byClass {
		var takers []int32
		for i := range room {
			room[i] = target.of(int32(class))[i] - have.of(int32(class))[i]
			if room[i] > 0 {
				takers = append(takers, int32(i))
			}
		}
		r.deal(pool, room, [][]int32{takers}, func(t, i int32) { r.place(t, i, none, r.whyMoved(t, ReasonOrphan)) })
	}
}

// moveStateless places the stateless orphans and then levels the stateless tasks, which move by stop and start (R2): as if every
// instance had its stateful target already, so that they move once.
func (r *round) moveStateless() {
	k := &r.statelessKind
	if len(k.weights) == 0 {
		return
	}
	base := make([]int64, len(r.instances))
	for i := range base {
		base[i] = r.target.load(&r.loads, i)
	}
	have, incoming := r.newCounts(k), make([]int64, len(k.weights))
	r.eachPlaced(true, func(t int32) {
		if i := r.dest[t]; r.instances[i].stays {
			have.of(r.classOf(k, t))[i]++
		} else {
			incoming[r.classOf(k, t)]++
		}
	})
	if orphans := r.takeOrphans(true); len(orphans) > 0 {
		have = r.placeStatelessOrphans(orphans, have, base)
	}
	if r.allLeave {
		return
	}
	target := have
	if !r.awaiting {
		target = r.levelKind(k, demand{base, have, have, incoming, r.statelessReceivers, r.staysNow})
	}
	r.shedStateless(have, target)
}

// placeStatelessOrphans returns what the instances that stay have afterwards.
func (r *round) placeStatelessOrphans(orphans []int32, have counts, base []int64) counts {
	k := &r.statelessKind
	incoming := make([]int64, len(k.weights))
	for _, t := range orphans {
		incoming[r.classOf(k, t)]++
	}
	target := r.fillKind(k, demand{base: base, have: have, incoming: incoming, receives: r.stays, overflows: r.stays})
	r.dealOrphans(k, orphans, have, target)
	return target
}

func (r *round) staysNow(i int) bool { return !r.instances[i].leaving }

func (r *round) statelessReceivers(i int) bool {
	return r.staysNow(i) && (!r.config.NewInstancesOnly || r.instances[i].newcomer)
}

// shedStateless makes the instances above their target, and those that leave, stop stateless tasks. The next round places them.
func (r *round) shedStateless(have, target counts) {
	tasks := r.tasksByInstance(func(t int32) bool { return r.stateless(t) && r.owner[t] != none && r.running[t] && !r.waits(t) })
	for i := range r.instances {
		p := r.newPicker(int32(i), tasks[i])
		for class := range r.statelessKind.weights {
			surplus := have.of(int32(class))[i] - target.of(int32(class))[i]
			why := ReasonBalance
			if r.instances[i].leaving {
				surplus, why = int64(len(tasks[i])), ReasonLeaving
			}
			for ; surplus > 0; surplus-- {
				t := p.next(int32(class), anyTask)
				if t == none {
					break
				}
				r.status[t], r.why[t] = shed, why
			}
		}
	}
}
