package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// dealer deals tasks out to instances so that every subtopology stays spread over them (R4.4, R4.5): an instance's share of a
// subtopology is its tasks x capacity / capacity of all that stay.
//
// Six tasks of 0 and two of 1 go to A and B, which have nothing and room for four each. They take turns, each from the subtopology
// that it is furthest below its share of, and then the tasks of each go in id order to the receivers in id order:
//
//	turns   A:0  B:0  A:0  B:0  A:0  B:0  A:1  B:1
//	A       0_0 0_1 0_2 1_0
//	B       0_3 0_4 0_5 1_1
//
// In id order because the next leader must deal alike; by turns, and not one instance after the other, because the last one would
// get what nobody else wanted; in stretches at last because ranges are what is short on the wire.
type dealer struct {
	*plan
	spread spread // as far as anybody has needed it
}

// needSpread counts the spread, when that is first needed.
func (d *dealer) needSpread() {
	if d.spread.subs == 0 {
		d.spread = d.countSpread()
	}
}

// excess returns by how much instance i is above its share of a subtopology, times the capacity of all that stay (R4.4). What
// leaves has no share.
func (d *dealer) excess(i, sub int32) int64 {
	if d.spread.cells == nil {
		return 0
	}
	share := int64(0)
	if d.instances[i].stays {
		share = int64(d.topology.subs[sub].Partitions) * d.instances[i].capacity
	}
	return int64(d.spread.cells[int(i)*d.spread.subs+int(sub)])*d.staying - share
}

// segment is the part of a pool that belongs to one subtopology. left is how many of its tasks nobody has been given.
type segment struct {
	sub   int32
	tasks []int32
	left  int
}

// deal gives every task of pool to an instance with room, as far as room goes; it may sort the pool. The instances of the first
// group take turns in id order, one task each, from the subtopology they are furthest below their share of, then those of the
// next group. Last, within each subtopology, the tasks go in id order to the receivers in id order, in contiguous stretches
// (R4.5).
//
// Who takes how many of what is decided first (takeTurns), and which ones at the end, when give is called: so the order of the
// turns does not scatter a subtopology over the wire.
func (d *dealer) deal(pool []int32, room []int64, groups [][]int32, give func(t, i int32)) {
	if len(pool) == 0 {
		return
	}
	d.needSpread()
	if !slices.IsSorted(pool) {
		slices.Sort(pool)
	}
	segments := d.segments(pool)
	takers := slices.Concat(groups...)
	if len(segments)*len(takers) > maxSpread || d.spread.cells == nil {
		d.dealInOrder(pool, room, groups, give)
		return
	}
	takes := d.int32s.zeros(len(segments) * len(takers)) // by taker, then segment
	first := 0
	for _, group := range groups {
		d.takeTurns(segments, room, group, takes[first*len(segments):][:len(group)*len(segments)])
		first += len(group)
	}
	giveStretches(segments, takers, takes, give)
}

// segments cuts a pool, which is sorted, at the borders of subtopologies.
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

// takeTurns counts in takes how many tasks of each segment each taker gets. It ends when nobody has room or the pool is empty. A heap
// a taker makes each turn cost O(log segments); where nobody has room for two, there is one turn, and a look at all costs less.
func (d *dealer) takeTurns(segments []segment, room []int64, takers []int32, takes []int32) {
	d.takeFullTurns(segments, room, takers, takes)
	n := len(segments)
	all, excess, items := make([]wishes, len(takers)), make([]int64, n*len(takers)), make([]int32, n*len(takers))
	for k, i := range takers {
		if room[i] > 1 {
			all[k].use(excess[k*n:][:n], items[k*n:][:n])
			all[k].set(d, segments, i)
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
				s = all[k].next(segments, d.staying)
			} else {
				s = d.onlyWish(segments, i)
			}
			if s == none {
				return // the pool is empty
			}
			d.hand(&segments[s], i, 1)
			takes[k*n+int(s)]++
			room[i]--
			gave = true
		}
	}
}

// hand gives instance i so many tasks of a segment, without saying yet which.
func (d *dealer) hand(s *segment, i, n int32) {
	s.left -= int(n)
	d.spread.add(s.sub, i, n)
}

// alike is a run of takers that have the same room and wish for the same, and what each of them takes, turn by turn, as long as
// every segment has tasks left.
type alike struct {
	takers []int32
	turns  []int32 // segments
}

// takeFullTurns takes the turns in which no segment runs out all at once: until then the takers do not get in each other's way,
// so what each takes does not depend on the others. A cold start is nothing but such turns, of takers that are all alike: there
// it is what makes dealing out cheap.
//
//	6 tasks of 0 and 2 of 1 for A and B, alike    their first four turns are 0 0 0 1: all of them at once
func (d *dealer) takeFullTurns(segments []segment, room []int64, takers []int32, takes []int32) {
	runs := d.runsOfAlike(segments, room, takers)
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
				d.hand(&segments[s], i, n[s])
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

// runsOfAlike groups takers in a row that are alike. On a cold start all are, and there is one run.
func (d *dealer) runsOfAlike(segments []segment, room []int64, takers []int32) []alike {
	var runs []alike
	w := &wishes{}
	w.use(make([]int64, len(segments)), make([]int32, len(segments)))
	pooled := int64(0)
	for _, s := range segments {
		pooled += int64(s.left)
	}
	for k, i := range takers {
		if k > 0 && room[i] == room[takers[k-1]] && d.wishAlike(segments, i, takers[k-1]) {
			last := &runs[len(runs)-1]
			last.takers = takers[k-len(last.takers) : k+1]
			continue
		}
		most := min(room[i], pooled/int64(len(takers))+1) // in more turns the pool runs out
		w.set(d, segments, i)
		runs = append(runs, alike{takers[k : k+1], w.first(most, d.staying)})
	}
	return runs
}

// wishAlike reports whether two instances wish for the same segments in the same order.
func (d *dealer) wishAlike(segments []segment, a, b int32) bool {
	for s := range segments {
		if d.excess(a, segments[s].sub) != d.excess(b, segments[s].sub) {
			return false
		}
	}
	return d.instances[a].capacity == d.instances[b].capacity
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

// set makes w the wishes of instance i.
func (w *wishes) set(d *dealer, segments []segment, i int32) {
	for s := range segments {
		w.excess[s] = d.excess(i, segments[s].sub)
		w.Items[s] = int32(s)
	}
	w.Init()
}

// first returns the segments of the first n turns, if none runs out. A task more in a subtopology is worth as much as the capacity of
// all.
func (w *wishes) first(n, capacity int64) []int32 {
	turns := make([]int32, n)
	for k := range turns {
		turns[k] = w.pop(capacity)
	}
	return turns
}

// next returns the first segment that has tasks left, of which one is taken; none where none has.
func (w *wishes) next(segments []segment, capacity int64) int32 {
	for len(w.Items) > 0 {
		if segments[w.Items[0]].left > 0 {
			return w.pop(capacity)
		}
		w.SettleTop(false)
	}
	return none
}

// pop returns the first segment, of which one is taken: the excess of its subtopology grows by the capacity of all.
func (w *wishes) pop(capacity int64) int32 {
	s := w.Items[0]
	w.excess[s] += capacity
	w.SettleTop(true)
	return s
}

// onlyWish returns what next does for an instance that takes one task: a look at all segments is cheaper than to rank them.
func (d *dealer) onlyWish(segments []segment, i int32) int32 {
	best, least := none, int64(0)
	for s := range segments {
		if segments[s].left == 0 {
			continue
		}
		if excess := d.excess(i, segments[s].sub); best == none || excess < least {
			best, least = int32(s), excess
		}
	}
	return best
}

// giveStretches gives the tasks of each segment in id order to the takers in id order.
func giveStretches(segments []segment, takers []int32, takes []int32, give func(t, i int32)) {
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

// dealInOrder is deal for more takers and subtopologies than a table is kept of: the takers take turns, one task each, in id
// order. Counts come out the same, only subtopologies are not spread.
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
