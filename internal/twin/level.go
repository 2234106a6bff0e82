package twin

import (
	"cmp"
	"math"
	"slices"
)

// pile is the tasks of one weight on one instance.
type pile struct {
	host   string
	weight int64
}

// piles counts tasks by instance and weight.
type piles map[pile]int64

// sharing is what there is to share out by R4.3: orphans, stateful tasks or stateless ones. Who may receive is a question of the rule
// that asks; overflows says who must take what those may not, so that every task ends somewhere.
type sharing struct {
	*round
	stateless bool
	base      map[string]int64 // by instance, load of the other kind
	have      piles
	prefer    piles
	incoming  map[int64]int64 // by weight, what has to go somewhere
	receives  func(host string) bool
	overflows func(host string) bool
}

// weight is that of a task's subtopology; none is 1.
func (n *round) weight(t taskID) int64 {
	sub, _ := n.sub(t)
	return max(1, int64(sub.Weight))
}

// weights returns the weights that the tasks of one kind have, the greatest first.
func (n *round) weights(stateless bool) []int64 {
	var weights []int64
	for _, t := range n.tasks {
		if n.stateless(t) == stateless {
			weights = append(weights, n.weight(t))
		}
	}
	slices.Sort(weights)
	slices.Reverse(weights)
	return slices.Compact(weights)
}

// load returns what a task of a weight counts for: 1 where all that are levelled together have one weight. Stateless tasks are
// levelled together with the stateful ones.
func (s *sharing) load(weight int64) int64 {
	together := s.weights(s.stateless)
	if s.stateless {
		together = append(together, s.weights(false)...)
	}
	if slices.Equal(slices.Compact(together), []int64{weight}) {
		return 1
	}
	return weight
}

// loadOf returns the load of an instance in tasks of the kind that is shared out, and base.
func (s *sharing) loadOf(piles piles, host string) int64 {
	sum := s.base[host]
	for pile, n := range piles {
		if pile.host == host {
			sum += n * s.load(pile.weight)
		}
	}
	return sum
}

// byCount reports whether all tasks of the kind count for 1.
func (s *sharing) byCount() bool {
	weights := s.weights(s.stateless)
	return len(weights) == 1 && s.load(weights[0]) == 1
}

// total is the load of all that is shared out. Tasks that are being fenced or awaited count for nobody (R4.3).
func (s *sharing) total() int64 {
	sum := int64(0)
	for _, t := range s.tasks {
		if s.stateless == s.round.stateless(t) && !s.fenced[t] && s.awaited[t] == "" && !s.shed[t] {
			sum += s.load(s.weight(t))
		}
	}
	for _, load := range s.base {
		sum += load
	}
	return sum
}

// fairRange is the allowed range of R4.1: 10 tasks on a capacity of 1 of 4 are 2 to 3 without tolerance, and 1 to 4 with 40 %.
func fairRange(total, capacity, staying, percent int64) (lo, hi int64) {
	lo = total * capacity * (100 - percent) / (staying * 100)
	hi = (total*capacity*(100+percent) + staying*100 - 1) / (staying * 100)
	if total*capacity >= staying {
		lo = max(lo, 1)
	}
	return lo, hi
}

// fair is the range of an instance.
func (s *sharing) fair(host string) (lo, hi int64) {
	return fairRange(s.total(), s.capacity(host), s.staying(), int64(s.config.ImbalancePercent))
}

// level returns what each instance should have, where those above their range give up some.
func (s *sharing) level() piles {
	if !s.byCount() {
		return newScale(s).level()
	}
	return s.targets(func(p *part) {
		if keeps := max(p.have, p.prefer); !s.receives(p.name) {
			p.lo, p.hi = min(p.lo, keeps), min(p.hi, keeps)
		}
		p.floor = p.lo
		p.raises = []int64{p.hi, p.have, p.spill, p.last}
	})
}

// fill returns what each instance should have, where nobody gives up any.
func (s *sharing) fill() piles {
	if !s.byCount() {
		w := newScale(s)
		w.fill()
		return w.count
	}
	return s.targets(func(p *part) {
		raise := max(p.have, p.lo)
		p.floor, p.lo, p.hi = p.have, p.have, max(p.have, p.hi)
		if !s.receives(p.name) {
			raise, p.hi = p.have, p.have
		}
		p.raises = []int64{raise, p.hi, p.spill, p.last}
	})
}

// targets levels tasks that all count for 1. bound sets how far each instance may be lowered and raised.
func (s *sharing) targets(bound func(p *part)) piles {
	weight := s.weights(s.stateless)[0]
	var parts []part
	for _, h := range s.hosts {
		if !s.stays(h) {
			continue
		}
		p := part{name: h, capacity: s.capacity(h), base: s.base[h], have: s.have[pile{h, weight}], prefer: s.prefer[pile{h, weight}]}
		lo, hi := s.fair(h)
		p.lo, p.hi = max(0, lo-p.base), max(0, hi-p.base)
		if s.overflows(h) {
			p.spill, p.last = p.hi, math.MaxInt64
		}
		bound(&p)
		parts = append(parts, p)
	}
	target := piles{}
	for h, n := range targetsOf(parts, s.incoming[weight]) {
		target[pile{h, weight}] = n
	}
	return target
}

// part is an instance among all, or a member among those of its instance, while their tasks are shared out by number.
type part struct {
	name        string
	capacity    int64
	base        int64 // load that stays
	have        int64
	prefer      int64 // of targets that cost the same, the ones nearer to this
	lo, hi      int64 // a target is in this range
	floor       int64 // the heaviest are lowered to this where something is missing
	spill, last int64
	raises      []int64 // the lightest are raised to the first of these where something is left over, then all to the second...
}

// targetsOf computes targets as close as can be to what the parts have (R4.2): one thing at a time from the heaviest, or to the lightest,
// which is found by looking at all of them each time.
func targetsOf(parts []part, incoming int64) map[string]int64 {
	target := map[string]int64{}
	rest := incoming
	for _, p := range parts {
		target[p.name] = max(p.lo, min(p.hi, p.have))
		rest += p.have - target[p.name]
	}
	compare := func(a, b part) int {
		return cmp.Compare((a.base+target[a.name])*b.capacity, (b.base+target[b.name])*a.capacity)
	}
	for ; rest < 0; rest++ {
		heaviest, ok := firstOf(parts, func(p part) bool { return target[p.name] > p.floor }, func(a, b part) int {
			return cmp.Or(trueFirst(a.prefer < target[a.name], b.prefer < target[b.name]), compare(b, a), cmp.Compare(a.name, b.name))
		})
		if !ok {
			return target
		}
		target[heaviest.name]--
	}
	for k := 0; rest > 0 && len(parts) > 0 && k < len(parts[0].raises); {
		lightest, ok := firstOf(parts, func(p part) bool { return target[p.name] < p.raises[k] }, func(a, b part) int {
			return cmp.Or(trueFirst(a.prefer > target[a.name], b.prefer > target[b.name]), compare(a, b), cmp.Compare(a.name, b.name))
		})
		if !ok {
			k++
			continue
		}
		target[lightest.name]++
		rest--
	}
	return target
}

// firstOf returns the first of those that admit accepts, in the order of compare.
func firstOf[T any](all []T, admit func(T) bool, compare func(a, b T) int) (first T, ok bool) {
	for _, one := range all {
		if admit(one) && (!ok || compare(one, first) < 0) {
			first, ok = one, true
		}
	}
	return first, ok
}

// scale is R4.6: tasks of several weights, where a move must shrink the summed distance of all instances from their ranges.
type scale struct {
	*sharing
	count  piles // what each instance is planned to have
	lo, hi map[string]int64
}

// newScale begins with what each instance has.
func newScale(s *sharing) *scale {
	w := &scale{sharing: s, count: piles{}, lo: map[string]int64{}, hi: map[string]int64{}}
	for pile, n := range s.have {
		if s.stays(pile.host) {
			w.count[pile] = n
		}
	}
	for _, h := range s.hosts {
		if s.stays(h) {
			w.lo[h], w.hi[h] = s.fair(h)
		}
	}
	return w
}

// now is the load of an instance as it is planned.
func (w *scale) now(host string) int64 { return w.loadOf(w.count, host) }

// distance is how far a load is out of an instance's range.
func (w *scale) distance(host string, load int64) int64 {
	return max(0, w.lo[host]-load, load-w.hi[host])
}

// gain is by how much the summed distance shrinks if a task goes from one instance to another.
func (w *scale) gain(from, to string, weight int64) int64 {
	x, a, b := w.load(weight), w.now(from), w.now(to)
	return w.distance(from, a) + w.distance(to, b) - w.distance(from, a-x) - w.distance(to, b+x)
}

func (w *scale) give(from, to string, weight int64) {
	w.count[pile{from, weight}]--
	w.count[pile{to, weight}]++
}

// fill gives out what is incoming, the heaviest tasks first, each where it brings an instance closest to its range.
func (w *scale) fill() {
	for _, weight := range w.weights(w.stateless) {
		for range w.incoming[weight] {
			harm := func(h string) int64 { return w.distance(h, w.now(h)+w.load(weight)) - w.distance(h, w.now(h)) }
			welcome := func(h string) bool { return w.receives(h) && harm(h) <= 0 }
			to, ok := firstOf(w.hosts, func(h string) bool { return w.stays(h) && (w.receives(h) || w.overflows(h)) },
				func(a, b string) int {
					return cmp.Or(trueFirst(welcome(a), welcome(b)), cmp.Compare(harm(a), harm(b)),
						cmp.Compare(w.now(a)*w.capacity(b), w.now(b)*w.capacity(a)), cmp.Compare(a, b))
				})
			if ok {
				w.count[pile{to, weight}]++
			}
		}
	}
}

// level sweeps until nothing shrinks the distance any more, which ends, since every move shrinks it by 1 at least.
func (w *scale) level() piles {
	if !w.stateless {
		w.keepLearners()
	}
	w.fill()
	for w.sweep() {
	}
	return w.count
}

// keepLearners counts learners in place as having taken over, the smallest lag first, for as long as that improves anything.
func (w *scale) keepLearners() {
	var learned []taskID
	for _, t := range w.tasks {
		if w.learner[t] != "" {
			learned = append(learned, t)
		}
	}
	slices.SortStableFunc(learned, func(a, b taskID) int { return cmp.Compare(w.from[a].lag, w.from[b].lag) })
	for again := true; again; {
		again = false
		for k := 0; k < len(learned); k++ {
			if w.keepLearner(learned[k]) {
				learned, again = slices.Delete(learned, k, k+1), true
				k--
			}
		}
	}
}

// keepLearner counts one learner as having taken over, if that is a move that levelling might make; from a leaving instance, if there is
// room for it.
func (w *scale) keepLearner(t taskID) bool {
	from, to, weight := w.at[t], w.learner[t], w.weight(t)
	switch {
	case !w.leaves(from):
		if w.gain(from, to, weight) <= 0 {
			return false
		}
		w.give(from, to, weight)
	case w.now(to)+w.load(weight) > w.hi[to]:
		return false
	default:
		w.incoming[weight]--
		w.count[pile{to, weight}]++
	}
	return true
}

// sweep moves task by task from the instance furthest above the lower end of its range to the one with the most room below the
// upper end of its own, where that shrinks the distances. In one sweep an instance only gives or only takes, and what it takes
// makes it no better a giver.
func (w *scale) sweep() bool {
	start := map[string]int64{}
	var givers, takers []string
	for _, h := range w.hosts {
		start[h] = w.now(h)
		if w.stays(h) {
			givers = append(givers, h)
		}
		if w.stays(h) && w.receives(h) {
			takers = append(takers, h)
		}
	}
	gave, took := map[string]bool{}, map[string]bool{}
	for len(givers) > 0 && len(takers) > 0 {
		every := func(string) bool { return true }
		from, _ := firstOf(givers, every, func(a, b string) int {
			return cmp.Or(cmp.Compare(min(w.now(b), start[b])-w.lo[b], min(w.now(a), start[a])-w.lo[a]), cmp.Compare(a, b))
		})
		to, _ := firstOf(takers, every, func(a, b string) int {
			return cmp.Or(cmp.Compare(w.hi[b]-max(w.now(b), start[b]), w.hi[a]-max(w.now(a), start[a])), cmp.Compare(a, b))
		})
		best, most := int64(0), int64(0)
		for _, weight := range w.weights(w.stateless) {
			if g := w.gain(from, to, weight); from != to && w.count[pile{from, weight}] > 0 && g > most {
				best, most = weight, g
			}
		}
		switch {
		case gave[to]:
			takers = slices.DeleteFunc(takers, func(h string) bool { return h == to })
		case took[from] || most == 0:
			givers = slices.DeleteFunc(givers, func(h string) bool { return h == from })
		default:
			w.give(from, to, best)
			gave[from], took[to] = true, true
		}
	}
	return len(gave) > 0
}
