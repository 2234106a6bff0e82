package assignor

import "slices"

// setDeadlines says when the next round must come: at once where somebody has something new to stop (R2.3), else at the nearest
// deadline of a drain or a departure (R7.7), when an order to stop is to be repeated, or when what only time can mend is looked at
// again (T5, T8).
//
// An order that the last round gave already is no reason to rejoin at once: a member that cannot be reached would keep all others
// rejoining as fast as they can. It is repeated after RevokeRetry: longer than a slow member takes to stop a task, and shorter than
// the time after which a broker throws out a member that is gone (45 s by default).
func setDeadlines(h held) due {
	d := due{standbys: h.standbys, lists: h.lists, departed: h.departures()}
	for _, e := range d.entries[revokeList] {
		if d.revokedBefore(e.task, e.member) {
			d.soonest(RevokeRetry)
		} else {
			d.followUp = true
		}
	}
	d.drainDeadlines()
	for _, departure := range d.departed {
		d.soonest(d.config.RejoinDelay - departure.Absent)
	}
	d.review()
	return d
}

// drainDeadlines makes the next round come when the time of the next draining instance is up, if it still has anything then.
func (d *due) drainDeadlines() {
	var busy []bool
	for i := range d.instances {
		left, ok := d.drainTime(int32(i))
		if !ok {
			continue
		}
		if busy == nil {
			busy = d.busyMembers()
		}
		if slices.ContainsFunc(d.instances[i].members, func(m int32) bool { return busy[m] }) {
			d.soonest(left)
		}
	}
}

// busyMembers returns, by member, whether any of its lists has something. One that has nothing left has drained (R7.3): no deadline is
// needed to make it go.
func (d *due) busyMembers() []bool {
	busy := d.bools.zeros(len(d.members))
	for m := range busy {
		busy[m] = d.active[m] > 0 || d.wholes != nil && d.wholes[m] > 0
	}
	for _, entries := range d.entries {
		for _, e := range entries {
			busy[e.member] = true
		}
	}
	return busy
}

// departures returns the vanished instances that tasks wait for, by name, and no others (R7.4): whoever has nothing that waits is
// forgotten, and is a newcomer when it comes back.
func (p *plan) departures() []Departure {
	if !p.awaiting {
		return nil
	}
	tasks := make([][]TaskID, len(p.memory.instances))
	for t := range p.topology.size() {
		if p.status[t] == awaited {
			h := p.memory.named(p.lastInstance(t).name, 0)
			tasks[h] = append(tasks[h], p.topology.id(t))
		}
	}
	var departed []Departure
	for h := range tasks {
		if len(tasks[h]) > 0 {
			departed = append(departed, Departure{p.memory.instances[h].name, p.memory.instances[h].absent, slices.Clip(tasks[h])})
		}
	}
	return slices.Clip(departed)
}
