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
func (g *group) countOrphans(k *kind, orphans []int32) []int64 {
	n := make([]int64, len(k.weights))
	if len(n) == 1 {
		n[0] = int64(len(orphans))
		return n
	}
	for _, t := range orphans {
		n[g.classOf(k, t)]++
	}
	return n
}

// dealOrphans places the orphans so that the instances, which have what have says, come up to target.
func (r *round) dealOrphans(k *kind, orphans []int32, have, target counts) {
	byClass := [][]int32{orphans}
	if len(k.weights) > 1 {
		byClass = make([][]int32, len(k.weights))
		for _, t := range orphans {
			byClass[r.classOf(k, t)] = append(byClass[r.classOf(k, t)], t)
		}
	}
	room := r.int64s.take(len(r.instances))
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
func (p *plan) placeOrphan(t, i int32) {
	p.setPlace(t, i, none)
	if p.memory.prev != nil || p.owner[t] != none || p.hasCopies(t) {
		p.setWhy(t, p.whyMoved(t, ReasonOrphan))
	}
}
