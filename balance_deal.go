package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// segment is the part of a pool that belongs to one subtopology.
type segment struct {
	sub   int32
	tasks []int32
	left  int
}

// deal gives every task of pool (ascending) to an instance with room, as far as room goes. The instances of the first group
// take turns in id order, one task each, from the subtopology they are furthest below their share of, then those of the next
// group. Last, within each subtopology, the tasks go in id order to the receivers in id order, in contiguous stretches (R4).
func (r *round) deal(pool []int32, room []int64, groups [][]int32, give func(t, i int32)) {
	if len(pool) == 0 {
		return
	}
	r.countSpread()
	if !slices.IsSorted(pool) {
		slices.Sort(pool)
	}
	segments := r.segments(pool)
	takers := slices.Concat(groups...)
	if len(segments)*len(takers) > maxSpread || r.spread.cells == nil {
		r.dealInOrder(pool, room, groups, give)
		return
	}
	takes := r.int32s.zeros(len(segments) * len(takers)) // by taker, then segment
	first := 0
	for _, group := range groups {
		r.takeTurns(segments, room, group, takes[first*len(segments):][:len(group)*len(segments)])
		first += len(group)
	}
	handOver(segments, takers, takes, give)
}

// segments cuts a pool at the borders of subtopologies.
func (g *group) segments(pool []int32) []segment {
	var segments []segment
	for len(pool) > 0 {
		sub := g.topology.subOf(pool[0])
		end := g.topology.start[sub+1]
		n := 1
		for n < len(pool) && pool[n] < end {
			n++
		}
		segments = append(segments, segment{sub, pool[:n], n})
		pool = pool[n:]
	}
	return segments
}

// takeTurns counts in takes how many tasks of each segment each taker gets.
func (r *round) takeTurns(segments []segment, room []int64, takers []int32, takes []int32) {
	r.takeFullTurns(segments, room, takers, takes)
	n := len(segments)
	all, excess, items := make([]wishes, len(takers)), make([]int64, n*len(takers)), make([]int32, n*len(takers))
	for k, i := range takers {
		if room[i] > 1 {
			all[k].use(excess[k*n:][:n], items[k*n:][:n])
			all[k].set(r, segments, i)
		}
	}
	for gave := true; gave; {
		gave = false
		for k, i := range takers {
			if room[i] <= 0 {
				continue
			}
			var s int32
			if all[k].Less != nil {
				s = all[k].next(segments, r.staying)
			} else {
				s = r.onlyWish(segments, i)
			}
			if s == none {
				return // the pool is empty
			}
			r.take(&segments[s], i, 1)
			takes[k*n+int(s)]++
			room[i]--
			gave = true
		}
	}
}

func (r *round) take(s *segment, i, n int32) {
	s.left -= int(n)
	r.spread.add(s.sub, i, n)
}

// alike is a run of takers that have the same room and wish for the same, and what each of them takes, turn by turn, as long as
// every segment has tasks left.
type alike struct {
	takers []int32
	turns  []int32 // segments
}

// takeFullTurns takes the turns in which no segment runs out all at once: until then the takers do not get in each other's way.
// A cold start is nothing but such turns, of takers that are all alike: there it is what makes dealing out cheap.
func (r *round) takeFullTurns(segments []segment, room []int64, takers []int32, takes []int32) {
	runs := r.runsOfAlike(segments, room, takers)
	demand := make([]int, len(segments))
	turns := 0
	for ; demandTurn(segments, runs, turns, demand); turns++ {
	}
	k, n := 0, make([]int32, len(segments))
	for _, run := range runs {
		clear(n)
		for _, s := range run.turns[:min(turns, len(run.turns))] {
			n[s]++
		}
		for _, i := range run.takers {
			for s := range n {
				r.take(&segments[s], i, n[s])
				takes[k*len(segments)+s] += n[s]
				room[i] -= int64(n[s])
			}
			k++
		}
	}
}

// demandTurn adds what the takers want in one turn to demand, and reports whether anybody wants anything and there is enough.
func demandTurn(segments []segment, runs []alike, turn int, demand []int) bool {
	wanted := false
	for _, run := range runs {
		if turn < len(run.turns) {
			wanted = true
			demand[run.turns[turn]] += len(run.takers)
		}
	}
	for s := range segments {
		if demand[s] > segments[s].left {
			return false
		}
	}
	return wanted
}

func (r *round) runsOfAlike(segments []segment, room []int64, takers []int32) []alike {
	var runs []alike
	w := &wishes{}
	w.use(make([]int64, len(segments)), make([]int32, len(segments)))
	pooled := int64(0)
	for _, s := range segments {
		pooled += int64(s.left)
	}
	for k, i := range takers {
		if k > 0 && room[i] == room[takers[k-1]] && r.wishAlike(segments, i, takers[k-1]) {
			last := &runs[len(runs)-1]
			last.takers = takers[k-len(last.takers) : k+1]
			continue
		}
		most := min(room[i], pooled/int64(len(takers))+1) // in more turns the pool runs out
		w.set(r, segments, i)
		runs = append(runs, alike{takers[k : k+1], w.first(most, r.staying)})
	}
	return runs
}

func (r *round) wishAlike(segments []segment, a, b int32) bool {
	for s := range segments {
		if r.excess(a, segments[s].sub) != r.excess(b, segments[s].sub) {
			return false
		}
	}
	return r.instances[a].capacity == r.instances[b].capacity
}

// wishes ranks the segments by how far an instance is below its share of their subtopology.
type wishes struct {
	excess []int64 // by segment, how far it is above its share
	level.Ranking
}

// use lets w keep its numbers in excess and items.
func (w *wishes) use(excess []int64, items []int32) {
	w.excess, w.Items = excess, items
	w.Less = func(a, b int32) bool { return w.excess[a] < w.excess[b] || w.excess[a] == w.excess[b] && a < b }
}

func (w *wishes) set(r *round, segments []segment, i int32) {
	for s := range segments {
		w.excess[s] = r.excess(i, segments[s].sub)
		w.Items[s] = int32(s)
	}
	w.Init()
}

// first returns the segments of the first n turns, if none runs out. A task more in a subtopology is worth as much as the capacity of
// all.
func (w *wishes) first(n, capacity int64) []int32 {
	turns := make([]int32, n)
	for k := range turns {
		turns[k] = w.take(capacity)
	}
	return turns
}

// next returns the first segment that has tasks left, of which one is taken; none where none has.
func (w *wishes) next(segments []segment, capacity int64) int32 {
	for len(w.Items) > 0 {
		if segments[w.Items[0]].left > 0 {
			return w.take(capacity)
		}
		w.SettleTop(false)
	}
	return none
}

func (w *wishes) take(capacity int64) int32 {
	s := w.Items[0]
	w.excess[s] += capacity
	w.SettleTop(true)
	return s
}

// onlyWish returns what next does for an instance that takes one task.
func (r *round) onlyWish(segments []segment, i int32) int32 {
	best, least := none, int64(0)
	for s := range segments {
		if segments[s].left == 0 {
			continue
		}
		if excess := r.excess(i, segments[s].sub); best == none || excess < least {
			best, least = int32(s), excess
		}
	}
	return best
}

// handOver gives the tasks of each segment in id order to the takers in id order.
func handOver(segments []segment, takers []int32, takes []int32, give func(t, i int32)) {
	order := make([]int, len(takers))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(takers[a], takers[b]) })
	for s := range segments {
		tasks := segments[s].tasks
		for _, k := range order {
			for n := takes[k*len(segments)+s]; n > 0; n-- {
				give(tasks[0], takers[k])
				tasks = tasks[1:]
			}
		}
	}
}

// dealInOrder is deal for more takers and subtopologies than a table is kept of: the takers take turns, one task each.
func (g *group) dealInOrder(pool []int32, room []int64, groups [][]int32, give func(t, i int32)) {
	for _, group := range groups {
		for gave := true; gave && len(pool) > 0; {
			gave = false
			for _, i := range group {
				if len(pool) == 0 || room[i] <= 0 {
					continue
				}
				give(pool[0], i)
				pool, gave = pool[1:], true
				room[i]--
			}
		}
	}
}
