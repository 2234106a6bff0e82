package assignor

import (
	"math"
	"math/bits"
	"slices"
)

// fairRange returns the least and the greatest load that counts as fair for one that has capacity of sum: its share of total,
// rounded outwards, give or take percent of it (R4). It never is below one task where the share is one or more.
func fairRange(total, capacity, sum int64, percent int) (lo, hi int64) {
	lo, _ = scaled(total, capacity, int64(100-percent), sum*100)
	hi, rest := scaled(total, capacity, int64(100+percent), sum*100)
	if rest > 0 {
		hi++
	}
	if share, _ := scaled(total, capacity, 1, sum); share >= 1 {
		lo = max(lo, 1)
	}
	return lo, hi
}

// scaled returns a x b x c / d and the remainder, exact for a x b x c below 2^127 and a quotient below 2^63.
func scaled(a, b, c, d int64) (quotient, rest int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	top, low := bits.Mul64(lo, uint64(c))
	q, rem := bits.Div64(hi*uint64(c)+top, low, uint64(d))
	return int64(q), int64(rem)
}

// compareRatios compares a/b with c/d, all at least 0 and b and d above 0, without overflow.
func compareRatios(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(d))
	h2, l2 := bits.Mul64(uint64(c), uint64(b))
	switch {
	case h1 < h2 || h1 == h2 && l1 < l2:
		return -1
	case h1 == h2 && l1 == l2:
		return 0
	default:
		return 1
	}
}

// levelling is the rule of R4 by which loads become targets, for instances or for the members of one: each part's target is as
// close to what it has as its bounds allow, and what is then missing or left over comes from the heaviest or goes to the
// lightest. All slices have one entry a part.
type levelling struct {
	capacity []int64
	base     []int64 // load that stays whatever is decided, for comparing who is lightest
	have     []int64
	prefer   []int64 // where two targets cost the same, the ones nearer to this
	lo, hi   []int64 // what a target is within, as far as incoming allows
	raise    []int64 // up to where each takes of what is left over before any takes more
	floor    []int64 // what the heaviest may be lowered to where something is missing
	spill    []int64 // up to where each takes what is left over when all others have come up to hi
	last     []int64 // the same when all have come up to spill: no bound but for those that may not take anything
	incoming int64   // what has to go somewhere and is in nobody's have
}

// demand is what there is to share out of one kind of tasks, and who may take more.
type demand struct {
	base      []int64          // by instance, load of the other kind; nil: nothing
	have      counts           // leaving instances included
	prefer    counts           // without counts: have
	incoming  []int64          // by class, tasks that have to go somewhere and are in nobody's have
	receives  func(i int) bool // may be raised to its fair share
	overflows func(i int) bool // may take what the others cannot
}

// levelKind returns how many tasks of each class every instance should have, where those above their range give up some and
// leaving ones all (R4).
func (r *round) levelKind(k *kind, d demand) counts {
	total := r.total(k, d)
	d.incoming = slices.Clone(d.incoming)
	for class := range d.incoming {
		for i, n := range d.have.of(int32(class)) {
			if !r.instances[i].stays {
				d.incoming[class] += n
			}
		}
	}
	if !k.unit() {
		return r.newWeighing(k, d, total).level()
	}
	l := r.newLevelling(d, total)
	for i := range r.instances {
		keeps := max(l.have[i], l.prefer[i])
		if !d.receives(i) {
			l.lo[i], l.hi[i] = min(l.lo[i], keeps), min(l.hi[i], keeps)
		}
		l.floor[i] = l.lo[i]
	}
	return counts{l.targets(), len(r.instances)}
}

// fillKind is levelKind where nobody gives up anything: it only says where incoming goes (R1.5).
func (r *round) fillKind(k *kind, d demand) counts {
	total := r.total(k, d)
	if !k.unit() {
		return r.newWeighing(k, d, total).fill()
	}
	l := r.newLevelling(d, total)
	for i, have := range l.have {
		l.floor[i] = have
		l.raise[i], l.lo[i] = max(l.lo[i], have), have
		l.hi[i], l.spill[i] = max(l.hi[i], have), max(l.spill[i], have)
		if !d.receives(i) {
			l.raise[i], l.hi[i] = have, have
		}
	}
	return counts{l.targets(), len(r.instances)}
}

// newLevelling has the fair range of every instance that stays as its bounds. One that leaves has nothing and takes nothing.
func (g *group) newLevelling(d demand, total int64) levelling {
	l := levellingIn(g.int64s.zeros(levellingColumns*len(g.instances)), len(g.instances))
	l.incoming = d.incoming[0]
	for i := range g.instances {
		in := &g.instances[i]
		l.capacity[i] = in.capacity
		if !in.stays {
			continue
		}
		if d.base != nil {
			l.base[i] = d.base[i]
		}
		lo, hi := fairRange(total, in.capacity, g.staying, g.config.ImbalancePercent)
		l.have[i], l.lo[i], l.hi[i] = d.have.n[i], max(0, lo-l.base[i]), max(0, hi-l.base[i])
		if d.overflows(i) {
			l.spill[i], l.last[i] = l.hi[i], math.MaxInt64
		}
	}
	if l.prefer = d.prefer.n; l.prefer == nil {
		l.prefer = l.have
	}
	return l
}

// total returns the load that is shared out among the instances that stay: that of all tasks of the kind but those that are
// fenced or awaited, and base.
func (g *group) total(k *kind, d demand) int64 {
	total := int64(0)
	for class, w := range k.weights {
		n := d.incoming[class]
		for _, have := range d.have.of(int32(class)) {
			n += have
		}
		total += n * w
	}
	for _, b := range d.base {
		total += b
	}
	return total
}

// levellingColumns is how many numbers a levelling keeps of each part.
const levellingColumns = 9

// levellingIn returns a levelling in a block of zeros.
func levellingIn(block []int64, parts int) levelling {
	next := func() []int64 {
		s := block[:parts:parts]
		block = block[parts:]
		return s
	}
	return levelling{capacity: next(), base: next(), have: next(), lo: next(), hi: next(), raise: next(), floor: next(), spill: next(), last: next()}
}

// targets returns the target of every part. Their sum is what the parts have plus incoming, unless nobody may take the rest.
// With the bounds of fairRange the sum of max(0, have - target) is the smallest that any targets within the bounds reach.
// It costs O(parts + left over or missing log parts); with bounds one apart that is at most O(parts log parts).
func (l *levelling) targets() []int64 {
	target := make([]int64, len(l.have))
	rest := l.incoming
	for i := range target {
		target[i] = max(l.lo[i], min(l.hi[i], l.have[i]))
		rest += l.have[i] - target[i]
	}
	if rest < 0 {
		l.take(target, -rest)
		return target
	}
	for _, bound := range [][]int64{l.raise, l.hi, l.have, l.spill, l.last} {
		rest = l.give(target, rest, bound)
	}
	return target
}

// give raises the lightest below bound, one by one, first those that prefer more, and returns what is left.
func (l *levelling) give(target []int64, rest int64, bound []int64) int64 {
	room := int64(0)
	for i := range target {
		room += min(max(0, bound[i]-target[i]), rest+1) // no more than it takes to see that it is too much
	}
	if room == 0 || rest == 0 {
		return rest
	}
	if room <= rest {
		for i := range target {
			target[i] = max(target[i], bound[i])
		}
		return rest - room
	}
	h := ranking{less: func(a, b int32) bool {
		if pa, pb := l.prefer[a] > target[a], l.prefer[b] > target[b]; pa != pb {
			return pa
		}
		return l.lighter(target, a, b)
	}}
	for i := range target {
		if target[i] < bound[i] {
			h.items = append(h.items, int32(i))
		}
	}
	for h.init(); rest > 0 && len(h.items) > 0; rest-- {
		i := h.items[0]
		target[i]++
		h.settleTop(target[i] < bound[i])
	}
	return rest
}

// take lowers the heaviest above floor, one by one, first those that prefer less.
func (l *levelling) take(target []int64, missing int64) {
	h := ranking{less: func(a, b int32) bool {
		if pa, pb := l.prefer[a] < target[a], l.prefer[b] < target[b]; pa != pb {
			return pa
		}
		if d := l.compare(target, a, b); d != 0 {
			return d > 0
		}
		return a < b
	}}
	for i := range target {
		if target[i] > l.floor[i] {
			h.items = append(h.items, int32(i))
		}
	}
	for h.init(); missing > 0 && len(h.items) > 0; missing-- {
		i := h.items[0]
		target[i]--
		h.settleTop(target[i] > l.floor[i])
	}
}

func (l *levelling) compare(target []int64, a, b int32) int {
	return compareRatios(l.base[a]+target[a], l.capacity[a], l.base[b]+target[b], l.capacity[b])
}

func (l *levelling) lighter(target []int64, a, b int32) bool {
	if d := l.compare(target, a, b); d != 0 {
		return d < 0
	}
	return a < b
}

// ranking is a binary heap of numbers whose first one changes its rank or goes.
type ranking struct {
	items []int32
	less  func(a, b int32) bool
}

func (h *ranking) init() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// settleTop restores the order after the first item has changed; where it does not stay it is removed.
func (h *ranking) settleTop(stays bool) {
	if !stays {
		last := len(h.items) - 1
		h.items[0] = h.items[last]
		h.items = h.items[:last]
	}
	h.down(0)
}

func (h *ranking) down(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.items); c++ {
			if h.less(h.items[c], h.items[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		h.items[i], h.items[first] = h.items[first], h.items[i]
		i = first
	}
}
