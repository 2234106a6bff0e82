package assignor

import "math"

// evened is the round in which every task has its instance or waits.
type evened struct{ *plan }

// mover is the state of moveStateless. What it deals is the stateless tasks; the spread counts all, since a subtopology is of
// one kind.
type mover struct {
	dealer
	kind        *kind
	memberTasks []int32 // as in taught
}

// moveStateless levels the stateless tasks, which move by stop and start (R4.3, R5.7): as if every instance had its stateful target
// already, so that they move once. Those that somebody had to stop in the last round count as if they were still there, so that
// the plan that moved them is found again; where it was only for a sibling (R8.2), their instance takes them back.
//
//	S1 runs T1 T2 T3 T4, S2 joins    round 1: S1 stops T1 and T2 (a Revoke, and the status shed)
//	                                 round 2: S1 counts as having four still, so two go to S2: T1 and T2, which wait
func moveStateless(t begun) evened {
	if len(t.statelessKind.weights) > 0 {
		m := &mover{dealer: dealer{t.plan, t.spread}, kind: &t.statelessKind, memberTasks: t.memberTasks}
		m.move(t.orphans, t.statefulLoads())
	}
	return evened{t.plan}
}

// statefulLoads returns the load of every instance once it has its stateful target, in the units of the stateless tasks.
func (t *taught) statefulLoads() []int64 {
	loads := t.int64s.take(len(t.instances))
	for i := range loads {
		loads[i] = t.target.load(&t.loads, i)
	}
	return loads
}

// move places the orphans and makes instances stop what they have too much of. While somebody is awaited, or all leave, nobody stops
// anything for an orphan; nor with NewInstancesOnly, where only newcomers could take what is stopped.
func (m *mover) move(orphans []int32, base []int64) {
	d := demand{base: base, receives: m.stays, overflows: m.stays}
	if len(orphans) > 0 && (m.awaiting || m.allLeave || m.config.NewInstancesOnly) {
		m.placeOrphans(orphans, d)
		orphans = nil
	}
	if m.allLeave {
		return
	}
	have := m.countTasks(m.kind)
	target := have
	if !m.awaiting {
		target = m.targets(have, orphans, d)
		others := m.takeBack(orphans, have, func(class, i int32) bool { return have.of(class)[i] < target.of(class)[i] })
		m.dealOrphans(m.kind, others, have, target)
	}
	m.shed(have, target)
}

// targets returns how many tasks every instance should have, where those that had to stop some count as if they had them still.
func (m *mover) targets(have counts, orphans []int32, d demand) counts {
	d.have, d.incoming = have.clone(), make([]int64, len(m.kind.weights))
	for _, t := range orphans {
		if i := m.stoppedOn(t); i != none {
			d.have.of(m.classOf(m.kind, t))[i]++
		} else {
			d.incoming[m.classOf(m.kind, t)]++
		}
	}
	d.receives, d.overflows = m.statelessReceivers, m.staysNow
	return m.levelKind(m.kind, d)
}

// placeOrphans places stateless tasks where nobody gives up any for them: what had to stop goes back, the rest goes where there
// is room. But with NewInstancesOnly, what had to stop for a newcomer does not go back: it is no newcomer any more, but it is
// known by that it has nothing to run.
func (m *mover) placeOrphans(orphans []int32, d demand) {
	d.have = m.countTasks(m.kind)
	if m.awaiting || m.allLeave || !m.somebodyIdle() {
		orphans = m.takeBack(orphans, d.have, func(_, _ int32) bool { return true })
	}
	d.incoming = m.countByClass(m.kind, orphans)
	m.dealOrphans(m.kind, orphans, d.have, m.fillKind(m.kind, d))
}

// somebodyIdle reports whether an instance that stays took part in the last round and was given nothing to run. Without memory
// nobody is known to have been.
func (h *history) somebodyIdle() bool {
	if h.memory.prev == nil {
		return false
	}
	busy := h.bools.zeros(len(h.instances))
	for i := range h.memory.prev.Members {
		if at := h.memory.instances[h.memory.instanceOf[i]].present; at != none && len(h.memory.prev.Members[i].Active) > 0 {
			busy[at] = true
		}
	}
	for i := range h.instances {
		if in := &h.instances[i]; in.stays && !h.newcomer[i] && !busy[i] {
			return true
		}
	}
	return false
}

// takeBack gives stateless tasks back to the instances that had to stop them, as far as those have room, and returns the
// others. It counts what it gives back in have.
func (m *mover) takeBack(orphans []int32, have counts, room func(class, i int32) bool) (others []int32) {
	for _, t := range orphans {
		class := m.classOf(m.kind, t)
		i := m.stoppedOn(t)
		if i == none || !room(class, i) {
			others = append(others, t)
			continue
		}
		have.of(class)[i]++
		m.spread.add(m.topology.subOf(t), i, 1)
		m.setPlace(t, i, none)
		m.setWhy(t, ReasonSiblings)
	}
	return others
}

// statelessReceivers are the instances that may get a stateless task for the sake of balance.
func (h *history) statelessReceivers(i int) bool {
	return h.staysNow(i) && (!h.config.NewInstancesOnly || h.newcomer[i])
}

// shed makes the instances above their target, and those that leave, stop stateless tasks. The next round places them: it
// counts them as if they were still here, so it comes to the same targets and gives them to those that are below.
func (m *mover) shed(have, target counts) {
	most := m.int32s.zeros(len(m.instances))
	for class := range m.kind.weights {
		for i, n := range have.of(int32(class)) {
			if n > target.of(int32(class))[i] || n > 0 && m.instances[i].leaving {
				most[i] = math.MaxInt32
			}
		}
	}
	tasks := m.tasksOf(m.kind, have, most, func(t int32) bool { return m.owner[t] != none && m.running(t) && !m.paused(t) })
	p := &picker{dealer: &m.dealer, memberTasks: m.memberTasks}
	for i := range m.instances {
		if len(tasks[i]) == 0 {
			continue
		}
		if p.memberTasks == nil {
			p.memberTasks = m.countMembers()
		}
		m.shedFrom(p, int32(i), tasks[i], have, target)
	}
}

// shedFrom makes instance i stop what it has above its target, or all of it where it leaves, in the order in which a picker
// takes tasks.
func (m *mover) shedFrom(p *picker, i int32, tasks []int32, have, target counts) {
	p.start(i, tasks)
	for class := range m.kind.weights {
		surplus := have.of(int32(class))[i] - target.of(int32(class))[i]
		why := ReasonBalance
		if m.instances[i].leaving {
			surplus, why = int64(len(tasks)), ReasonLeaving
		}
		for ; surplus > 0; surplus-- {
			t := p.next(int32(class), anyTask)
			if t == none {
				break
			}
			m.status[t] = shed
			m.setWhy(t, why)
		}
	}
}
