package churn

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// checkSettled holds a fixed point against L1 and R4, R6, R7 and R8. Of a group in which all leave nothing is asked: there nothing moves
// (R1.6). Ranges are for equal weights, and where somebody that stays cannot learn, what it lacks goes to nobody.
func (w *World) checkSettled(a *assignor.Assignment) {
	parties := w.partiesOf(a)
	if !slices.ContainsFunc(parties, func(p *party) bool { return !p.leaving }) {
		return // nothing moves
	}
	unit, unitAll := w.unit()
	if n := w.statefulMoves(w.placesOf(a)); unit && !w.config.NewInstancesOnly && n > 0 {
		w.failf("L1: settled, but %d stateful tasks should move", n)
	}
	if n := w.statelessMoves(a); unitAll && !w.config.NewInstancesOnly && n > 0 {
		w.failf("L1: settled, but %d stateless tasks should move", n)
	}
	if everybodySpeaks := !slices.ContainsFunc(parties, func(p *party) bool { return !p.leaving && !p.speaks }); unit && everybodySpeaks && !w.config.NewInstancesOnly {
		w.checkRanges(parties)
	}
	w.checkDrained(a)
	w.checkSiblings(parties, a)
	w.checkStandbys(parties, a)
	w.checkLevel(a)
}

// checkRanges checks that every instance that stays is within its range of the stateful tasks.
func (w *World) checkRanges(parties []*party) {
	total, sum := int64(0), int64(0)
	for _, p := range parties {
		total += p.stateful
		if p.stays {
			sum += p.capacity
		}
	}
	for _, p := range parties {
		if lo, hi := share(total, p.capacity, sum, int64(w.config.ImbalancePercent)); p.stays && (p.stateful < lo || p.stateful > hi) {
			w.failf("L1: settled, and %s has %d stateful tasks, want %d to %d", p.name, p.stateful, lo, hi)
		}
	}
}

// checkDrained checks that members that leave have nothing left (R7.3, R8.3), but for tasks that the topology does not have, which stay
// with who runs them (R0.5).
func (w *World) checkDrained(a *assignor.Assignment) {
	for i := range a.Members {
		ma := &a.Members[i]
		if ma.Leaving && len(ma.Learners)+len(ma.Standbys) > 0 || ma.Leaving && slices.ContainsFunc(ma.Active, w.has) {
			w.failf("R7: settled, and %s has not drained", ma.Member)
		}
	}
}

// checkSiblings checks that the members of one instance are at most one apart, for their capacity (R8.1): stateful and stateless tasks
// together, and no tolerance, since no state moves between siblings.
func (w *World) checkSiblings(parties []*party, a *assignor.Assignment) {
	for _, p := range parties {
		sum := int64(0)
		for _, k := range p.members {
			sum += max(1, int64(k.report.Capacity))
		}
		for _, k := range p.members {
			ma, _ := a.For(k.report.ID)
			n := int64(len(ma.Active))
			for _, task := range ma.Active {
				if !w.has(task) {
					n--
				}
			}
			lo, hi := share(p.stateful+p.others, max(1, int64(k.report.Capacity)), sum, 0)
			if n < lo || n > hi {
				w.failf("R8: settled, and %s has %d of the %d tasks of %s, want %d to %d", ma.Member, n, p.stateful+p.others, p.name, lo, hi)
			}
		}
	}
}

// checkStandbys checks that every task has as many standbys as it can have (R6.1): one on each instance that stays beside its own, and
// what is missing is counted.
func (w *World) checkStandbys(parties []*party, a *assignor.Assignment) {
	staying := 0
	for _, p := range parties {
		if p.stays {
			staying++
		}
	}
	count := map[assignor.TaskID]int{}
	for i := range a.Members {
		for _, task := range a.Members[i].Standbys {
			count[task]++
		}
	}
	missing := 0
	for _, task := range w.tasks() {
		if w.stateless(task) {
			continue
		}
		want := min(w.config.Standbys, staying-1)
		missing += w.config.Standbys - want
		if count[task] != want {
			w.failf("R6: settled, and %v has %d standbys, want %d", task, count[task], want)
		}
	}
	if a.MissingStandbys != missing {
		w.failf("R6: MissingStandbys is %d, want %d", a.MissingStandbys, missing)
	}
}
