package assignor

// placed is the round in which every stateful task has a place or waits. The orphans are the stateless ones, in id order.
type placed struct {
	*plan
	spread  spread // as far as it has been counted
	orphans []int32
}

// placeOrphans gives the stateful tasks that have neither an owner nor a copy to the instances with room (R1.5).
//
//	S1 has 4, S2 has 1, three orphans    S1 4, S2 4
//
// Nobody gives up a task for that: where it leaves the instances uneven, learners even them out (R4), and nothing stops
// meanwhile.
func placeOrphans(o owned) placed {
	stateful, stateless := o.split()
	d := dealer{plan: o.plan}
	if len(stateful) > 0 {
		k := &o.stateful
		planned := o.count(k).planned
		target := d.fillKind(k, demand{have: planned, incoming: o.countByClass(k, stateful), receives: o.stays, overflows: o.stays})
		d.dealOrphans(k, stateful, planned, target)
	}
	return placed{o.plan, d.spread, stateless}
}

// split returns the stateful and the stateless orphans.
func (o owned) split() (stateful, stateless []int32) {
	switch {
	case len(o.statelessKind.weights) == 0:
		return o.orphans, nil
	case len(o.stateful.weights) == 0:
		return nil, o.orphans
	}
	for _, t := range o.orphans {
		if o.stateless(t) {
			stateless = append(stateless, t)
		} else {
			stateful = append(stateful, t)
		}
	}
	return stateful, stateless
}

// countByClass counts tasks of a kind by class. Most topologies have one weight, and so one class.
func (g *group) countByClass(k *kind, tasks []int32) []int64 {
	n := make([]int64, len(k.weights))
	if len(n) == 1 {
		n[0] = int64(len(tasks))
		return n
	}
	for _, t := range tasks {
		n[g.classOf(k, t)]++
	}
	return n
}

// dealOrphans places the orphans so that the instances, which have what have says, come up to target. A class is dealt out by
// itself: within it tasks weigh the same, so any of them fills the room.
func (d *dealer) dealOrphans(k *kind, orphans []int32, have, target counts) {
	byClass := [][]int32{orphans}
	if len(k.weights) > 1 {
		byClass = make([][]int32, len(k.weights))
		for _, t := range orphans {
			byClass[d.classOf(k, t)] = append(byClass[d.classOf(k, t)], t)
		}
	}
	room := d.int64s.take(len(d.instances))
	for class, pool := range byClass {
		var takers []int32
		for i := range room {
			room[i] = target.of(int32(class))[i] - have.of(int32(class))[i]
			if d.instances[i].stays && room[i] > 0 {
				takers = append(takers, int32(i))
			}
		}
		d.deal(pool, room, [][]int32{takers}, d.placeOrphan)
	}
}

// placeOrphan lets instance i run an orphan. One that nobody is known to have run has no former place that a reason could be about.
func (p *plan) placeOrphan(t, i int32) {
	p.setPlace(t, i, none)
	if p.memory.prev != nil || p.owner[t] != none || p.hasCopies(t) {
		p.setWhy(t, p.whyMoved(t, ReasonOrphan))
	}
}
