package sim

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// draft is an answer of one of the baselines in the making, by member numbers.
type draft struct {
	*plan
	run    []int // by task, who runs it; none where its owner has to stop it first
	revoke []int
	learn  []int
}

func (p *plan) newDraft() *draft {
	d := &draft{plan: p, run: make([]int, len(p.tasks)), revoke: make([]int, len(p.tasks)), learn: make([]int, len(p.tasks))}
	for t := range p.tasks {
		d.run[t], d.revoke[t], d.learn[t] = none, none, none
	}
	return d
}

// moveTo gives a task to a member, after its owner has stopped it; until then the member keeps what it has of it.
func (d *draft) moveTo(t, to int) {
	if from := d.owner[t]; from != none && from != to && d.runs[t] {
		d.revoke[t] = from
		if d.lag[t][to] >= 0 {
			d.learn[t] = to
		}
		return
	}
	d.run[t] = to
}

// answer writes the draft down, with the standbys.
func (d *draft) answer() *assignor.Assignment {
	a := &assignor.Assignment{Generation: d.config.Generation, Members: make([]assignor.MemberAssignment, len(d.members))}
	for m := range d.members {
		a.Members[m] = assignor.MemberAssignment{Member: d.members[m].ID, Instance: d.members[m].Instance, Generation: d.config.Generation}
	}
	standbys := make([]int, len(d.members))
	for t := range d.tasks {
		id := d.tasks[t].id
		add := func(m int, list func(*assignor.MemberAssignment) *[]assignor.TaskID) {
			if m != none {
				to := list(&a.Members[m])
				*to = append(*to, id)
			}
		}
		add(d.run[t], func(ma *assignor.MemberAssignment) *[]assignor.TaskID { return &ma.Active })
		add(d.revoke[t], func(ma *assignor.MemberAssignment) *[]assignor.TaskID { return &ma.Revoke })
		add(d.learn[t], func(ma *assignor.MemberAssignment) *[]assignor.TaskID { return &ma.Learners })
		for _, m := range d.standbysOf(t, standbys) {
			add(m, func(ma *assignor.MemberAssignment) *[]assignor.TaskID { return &ma.Standbys })
		}
		a.FollowUp = a.FollowUp || d.revoke[t] != none
	}
	for m := range a.Members {
		ma := &a.Members[m]
		ma.FollowUp = a.FollowUp
		for _, list := range [][]assignor.TaskID{ma.Active, ma.Revoke, ma.Learners, ma.Standbys} {
			slices.SortFunc(list, assignor.TaskID.Compare)
		}
	}
	return a
}

// standbysOf keeps the copies of a task that are least behind, and adds some where the fewest are, if it can on members whose tags
// differ from those of its other copies; load counts them.
func (d *draft) standbysOf(t int, load []int) []int {
	if !d.tasks[t].stateful {
		return nil
	}
	var chosen []int
	may := func(m int) bool {
		return m != d.run[t] && m != d.revoke[t] && m != d.learn[t] && m != d.dest[t] && !slices.Contains(chosen, m)
	}
	for len(chosen) < d.config.Standbys {
		m := d.bestCopy(t, may)
		if owner := d.owner[t]; m == none && owner != none && may(owner) {
			m = owner
		}
		if m == none {
			m = d.anyLightest(t, load, func(m int) bool { return may(m) && d.spreads(m, append(chosen, d.dest[t])) })
		}
		if m == none {
			m = d.anyLightest(t, load, may)
		}
		if m == none {
			break
		}
		chosen = append(chosen, m)
		load[m]++
	}
	return chosen
}

// spreads reports whether a member differs from the others in every tag that copies should differ in.
func (d *draft) spreads(m int, others []int) bool {
	for _, tag := range d.config.SpreadTags {
		for _, o := range others {
			if d.members[m].Tags[tag] == d.members[o].Tags[tag] {
				return false
			}
		}
	}
	return true
}

// anyLightest returns the member with the fewest standbys for its capacity; which of several depends on the task, so that the standbys
// of one member's tasks do not all come to the same few.
func (d *draft) anyLightest(t int, load []int, may func(m int) bool) int {
	best := none
	for k := range d.members {
		m := (k + t*7 + t/len(d.members)) % len(d.members)
		if may(m) && (best == none || load[m]*d.capacity(best) < load[best]*d.capacity(m)) {
			best = m
		}
	}
	return best
}
