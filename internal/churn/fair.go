package churn

import (
	"github.com/incremental-rebalance/assignor"
)

// What is fair, and how few moves reach it, by formulas and without the library's own code.

// party is one instance as R4 sees it.
type party struct {
	name             string
	capacity         int64
	members          []*worker // those that do not leave, or all where the instance leaves
	leaving          bool
	stays            bool // does not leave, or all do
	speaks           bool
	stateful, others int64 // how many tasks of the topology an answer gives to its members
	standbys         int64
}

// partiesOf returns the instances of the group with what an answer gives them.
func (w *World) partiesOf(a *assignor.Assignment) []*party {
	all := w.parties()
	byName := map[string]*party{}
	for _, p := range all {
		byName[p.name] = p
	}
	for i := range a.Members {
		p := byName[a.Members[i].Instance]
		for _, task := range a.Members[i].Active {
			switch {
			case !w.has(task):
			case w.stateless(task):
				p.others++
			default:
				p.stateful++
			}
		}
		p.standbys += int64(len(a.Members[i].Standbys))
	}
	return all
}

// parties returns the instances of the group.
func (w *World) parties() []*party {
	var all []*party
	allLeave := true
	for _, name := range w.instances() {
		p := &party{name: name, leaving: true}
		for _, k := range w.on(name) {
			p.capacity += max(1, int64(k.report.Capacity))
			if !k.report.Leaving {
				p.leaving = false
				p.speaks = p.speaks || k.report.Version == 0 || k.report.Version >= assignor.LearnerVersion
			}
		}
		for _, k := range w.on(name) {
			if p.leaving || !k.report.Leaving {
				p.members = append(p.members, k)
			}
		}
		allLeave = allLeave && p.leaving
		all = append(all, p)
	}
	for _, p := range all {
		p.stays = allLeave || !p.leaving
	}
	return all
}

// share is a fair range (R4.1): the expected load, give or take the tolerance, rounded outwards. Of 10 tasks on capacities 1, 1 and 2 it
// is 2 to 3 for the first two, and 5 to 5 for the last. Its products fit, since worlds are small.
func share(total, capacity, sum, percent int64) (lo, hi int64) {
	lo = total * capacity * (100 - percent) / (sum * 100)
	hi = (total*capacity*(100+percent) + sum*100 - 1) / (sum * 100)
	if total*capacity >= sum {
		lo = max(lo, 1)
	}
	return lo, hi
}

// levelled is a party while the fewest moves are counted.
type levelled struct {
	capacity, have, base int64
	receives             bool
}

// fewestMoves returns how many tasks instances that stay must give up at least, if incoming tasks have to go somewhere besides:
// what is above a range has to go, as far as others have room below theirs, and what is missing below a range has to come. An instance
// that does not receive has its range cut to what it has. With a range of 3 to 4 for each,
//
//	have       A 6  B 4  C 0   10 in all, nothing incoming
//	above      2               A's, beyond 4
//	below              3       C's, up to 3
//	moves      3               what C lacks: A's two, and one that A or B can spare
func fewestMoves(parties []levelled, incoming, percent int64) int64 {
	total, sum := incoming, int64(0)
	for _, p := range parties {
		total += p.have + p.base
		sum += p.capacity
	}
	var above, below, room, spare int64
	for _, p := range parties {
		lo, hi := share(total, p.capacity, sum, percent)
		lo, hi = max(0, lo-p.base), max(0, hi-p.base)
		if !p.receives {
			lo, hi = min(lo, p.have), min(hi, p.have)
		}
		above += max(0, p.have-hi)
		below += max(0, lo-p.have)
		spare += max(0, p.have-lo)
		if p.receives {
			room += max(0, hi-p.have)
		}
	}
	return max(0, min(below-incoming, spare), min(above, room-incoming))
}

// statefulMoves returns the fewest stateful tasks that must change instance where they are on those: the tasks of instances that
// leave, and what levels the others.
func (w *World) statefulMoves(where map[assignor.TaskID]string) (fewest int64) {
	have := map[string]int64{}
	for _, instance := range where {
		have[instance]++
	}
	var parties []levelled
	leaving, speaks, allLeave := int64(0), false, true
	for _, p := range w.parties() {
		allLeave = allLeave && p.leaving
		if p.leaving {
			leaving += have[p.name]
			continue
		}
		parties = append(parties, levelled{p.capacity, have[p.name], 0, p.speaks})
		speaks = speaks || p.speaks
	}
	switch {
	case allLeave:
		return 0
	case !speaks:
		return leaving
	}
	return leaving + fewestMoves(parties, leaving, int64(w.config.ImbalancePercent))
}

// statelessMoves returns the same of the stateless tasks, where instances have the stateful ones that they have: by R4.3 these are the
// base, which counts for the range and does not move.
func (w *World) statelessMoves(a *assignor.Assignment) (fewest int64) {
	var parties []levelled
	leaving := int64(0)
	for _, p := range w.partiesOf(a) {
		if p.leaving {
			leaving += p.others
			continue
		}
		parties = append(parties, levelled{p.capacity, p.others, p.stateful, true})
	}
	if len(parties) == 0 {
		return 0
	}
	return leaving + fewestMoves(parties, leaving, int64(w.config.ImbalancePercent))
}

// unit reports whether the loads of the stateful tasks, or of all tasks, are counts. Where they are not, to reach the ranges with the
// fewest moves is a packing problem (R4.6), and no formula here says how many that takes.
func (w *World) unit() (stateful, all bool) {
	weights, weightsOfState := map[int32]bool{}, map[int32]bool{}
	for _, s := range w.config.Topology {
		if s.Partitions > 0 {
			weights[max(1, s.Weight)] = true
			if !s.Stateless {
				weightsOfState[max(1, s.Weight)] = true
			}
		}
	}
	return len(weightsOfState) <= 1, len(weights) <= 1
}
