package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// weighing is the rule of R4.6 for tasks of several weights. There a target in load units need not be reachable, so it decides
// move by move: each only if it shrinks the summed distance of all instances from their ranges, which therefore ends.
//
//	S1 weighs 5 5 2 (12), S2 weighs 2 (2)    fourteen in all, a range of 7 to 7: distances 5 and 5
//	a task of 5 moves                        S1 weighs 5 2 (7), S2 weighs 2 5 (7): distances 0 and 0
//
// To find the best plan is bin packing; what a leader needs is one that every leader finds, and that the next round leaves
// alone.
type weighing struct {
	*plan
	kind     *kind
	demand   demand
	lo, hi   []int64
	load     []int64 // base included
	count    counts  // what each instance is planned to have so far
	incoming []int64 // by class, what has yet to be given out
}

// newWeighing returns the state in which every instance has what it has, and what is incoming has yet to be given out. A
// leaving one has nothing: its caller has made what it had incoming.
func (p *plan) newWeighing(k *kind, d demand, total int64) *weighing {
	n := len(p.instances)
	w := &weighing{plan: p, kind: k, demand: d, lo: make([]int64, n), hi: make([]int64, n), load: make([]int64, n), count: d.have.clone(), incoming: slices.Clone(d.incoming)}
	for i := range p.instances {
		if !p.instances[i].stays {
			w.clear(i)
			continue
		}
		w.lo[i], w.hi[i] = level.Range(total, p.instances[i].capacity, p.staying, p.config.ImbalancePercent)
		w.load[i] = d.have.load(k, i)
		if d.base != nil {
			w.load[i] += d.base[i]
		}
	}
	return w
}

// clear takes a leaving instance out of the counts.
func (w *weighing) clear(i int) {
	for class := range w.kind.weights {
		w.count.of(int32(class))[i] = 0
	}
}

// distance returns how far a load of instance i is from its range.
func (w *weighing) distance(i int32, load int64) int64 {
	return max(0, w.lo[i]-load, load-w.hi[i])
}

// gain returns by how much the summed distance shrinks if a task of weight x goes from one instance to another.
func (w *weighing) gain(from, to int32, x int64) int64 {
	return w.distance(from, w.load[from]) - w.distance(from, w.load[from]-x) + w.distance(to, w.load[to]) - w.distance(to, w.load[to]+x)
}

// add counts n tasks of a class more on instance i.
func (w *weighing) add(class, i int32, n int64) {
	w.count.of(class)[i] += n
	w.load[i] += n * w.kind.weights[class]
}

// fill returns what every instance has once incoming has been given out, the heaviest tasks first, each to the one that comes
// closest to its range by it, of equals to the one with the least load for its capacity: of those that receive and do not get
// further from their range, else of those that may take it anyway.
//
// The heaviest first, because light ones fill the gaps that they leave.
func (w *weighing) fill() counts {
	for class, x := range w.kind.weights {
		harm := func(i int32) int64 { return w.distance(i, w.load[i]+x) - w.distance(i, w.load[i]) }
		h := level.Ranking{Less: func(a, b int32) bool {
			ha, hb := harm(a), harm(b)
			if fa, fb := w.demand.receives(int(a)) && ha <= 0, w.demand.receives(int(b)) && hb <= 0; fa != fb {
				return fa
			}
			if ha != hb {
				return ha < hb
			}
			return w.lighter(a, b)
		}}
		for i := range w.instances {
			if w.instances[i].stays && (w.demand.overflows(i) || w.demand.receives(i)) {
				h.Items = append(h.Items, int32(i))
			}
		}
		h.Init()
		for n := w.incoming[class]; n > 0 && len(h.Items) > 0; n-- {
			w.add(int32(class), h.Items[0], 1)
			h.SettleTop(true)
		}
	}
	return w.count
}

// lighter orders instances by their load for their capacity.
func (w *weighing) lighter(a, b int32) bool {
	return cmp.Or(level.CompareRatios(w.load[a], w.instances[a].capacity, w.load[b], w.instances[b].capacity), cmp.Compare(a, b)) < 0
}

// level returns the counts after all moves that shrink the distances. Learners in place go first.
func (w *weighing) level() counts {
	if !w.kind.stateless {
		w.keepLearners()
	}
	w.fill()
	for w.sweep() {
	}
	return w.count
}

// keepLearners counts learners in place as having taken over, the smallest lag first, over and over until none qualifies: one
// that does not now may do so when another has. So the plan is found again that started them, as long as it still is a good
// one.
func (w *weighing) keepLearners() {
	learned := slices.Clone(w.learned)
	slices.SortFunc(learned, func(a, b int32) int {
		return cmp.Or(cmp.Compare(w.replicas[w.learnerCopy(a)].lag, w.replicas[w.learnerCopy(b)].lag), cmp.Compare(a, b))
	})
	for left := -1; left != len(learned); {
		left = len(learned)
		learned = slices.DeleteFunc(learned, w.keepLearner)
	}
}

// keepLearner moves a task to its learner where that shrinks the distances, or where its owner leaves and the holder does not
// pass its range by it. It reports whether it did.
func (w *weighing) keepLearner(t int32) bool {
	from, to, class := w.at(t), w.learnerAt(t), w.classOf(w.kind, t)
	x := w.kind.weights[class]
	if w.instances[from].leaving {
		if w.load[to]+x > w.hi[to] {
			return false
		}
		w.incoming[class]--
		w.add(class, to, 1)
		return true
	}
	if w.gain(from, to, x) <= 0 {
		return false
	}
	w.move(class, from, to)
	return true
}

// move counts one task of a class on another instance.
func (w *weighing) move(class, from, to int32) {
	w.add(class, from, -1)
	w.add(class, to, 1)
}

// sweep moves tasks one by one, each from the instance furthest above the lower end of its range to the one with the most room
// below the upper end of its own, as long as that shrinks the distances; an instance from which no task does is passed over. It
// reports whether any task moved.
//
// In one sweep an instance only gives or only takes. Without that a task could go from S1 to S2 and another from S2 to S3,
// where one move does.
func (w *weighing) sweep() bool {
	givers, takers := w.givers(), w.takers()
	gave, took := make([]bool, len(w.instances)), make([]bool, len(w.instances))
	moved := false
	for len(givers.Items) > 0 && len(takers.Items) > 0 {
		from, to := givers.Items[0], takers.Items[0]
		if gave[to] {
			takers.SettleTop(false)
			continue
		}
		class := none
		if !took[from] {
			class = w.bestClass(from, to)
		}
		if class == none {
			givers.SettleTop(false)
			continue
		}
		w.move(class, from, to)
		gave[from], took[to], moved = true, true, true
		givers.SettleTop(true)
		takers.SettleTop(true)
	}
	return moved
}

// givers ranks the instances by what they have above the lower end of their range, as it is when they are ranked: what they take
// meanwhile does not count, because then they do not give.
func (w *weighing) givers() level.Ranking {
	taken := slices.Clone(w.load)
	h := level.Ranking{Less: func(a, b int32) bool {
		above := func(i int32) int64 { return min(w.load[i], taken[i]) - w.lo[i] }
		return cmp.Or(cmp.Compare(above(b), above(a)), cmp.Compare(a, b)) < 0
	}}
	for i := range w.instances {
		if w.instances[i].stays {
			h.Items = append(h.Items, int32(i))
		}
	}
	h.Init()
	return h
}

// takers ranks the instances that receive by their room below the upper end of their range; what they give meanwhile does not
// count, because then they do not take.
func (w *weighing) takers() level.Ranking {
	given := slices.Clone(w.load)
	h := level.Ranking{Less: func(a, b int32) bool {
		room := func(i int32) int64 { return w.hi[i] - max(w.load[i], given[i]) }
		return cmp.Or(cmp.Compare(room(b), room(a)), cmp.Compare(a, b)) < 0
	}}
	for i := range w.instances {
		if w.instances[i].stays && w.demand.receives(i) {
			h.Items = append(h.Items, int32(i))
		}
	}
	h.Init()
	return h
}

// bestClass returns the class of a task of one instance whose move to another shrinks the distances most, the heaviest of
// equals, or none.
func (w *weighing) bestClass(from, to int32) int32 {
	best, most := none, int64(0)
	if from == to {
		return none
	}
	for class, x := range w.kind.weights {
		if w.count.of(int32(class))[from] == 0 {
			continue
		}
		if g := w.gain(from, to, x); g > most {
			best, most = int32(class), g
		}
	}
	return best
}
