// Package level shares a number of equal things among parts of different capacity: tasks among instances, standbys among instances,
// tasks among the members of one instance. It knows integers only. What a part is, and which thing goes where, is its caller's.
//
// # The model
//
// A part has a capacity and has something already. [Range] says what would be its fair share: what there is in all, times its capacity,
// over the capacity of all, rounded outwards. A [Levelling] computes a target for every part, from bounds that the caller sets, and in
// such a way that as little as possible changes hands:
//
//   - Each part starts with what it has, cut to [Low, High].
//   - Where that is too much in all, the heaviest parts come down, one thing at a time, but none below its Floor.
//   - Where something is left over, it is given out in passes, each up to a bound that is further away: First, High, Have, Spill,
//     Last. A pass gives to the lightest part that is below the bound, one thing at a time.
//
// Light and heavy mean for its capacity; ties go to the part with the smaller index. Where two targets cost the same, those are taken
// that are nearer to Prefer.
//
// # Worked examples
//
// A and B have five things and C is new. Ten in all: the fair range of each is 3 to 4.
//
//	          A  B  C
//	have      6  4  0
//	start     4  4  3   one more than there is
//	target    3  4  3   A and B are the heaviest; A comes first
//
// Three change hands, and no targets within the ranges need fewer. In the next one nobody gives up anything, as where tasks of a dead
// instance are shared out: Low and Floor are what each has, First is the lower end of its range.
//
//	          A  B  C
//	have      2  2  0   seven come in: eleven in all, a fair range of 3 to 4
//	start     2  2  0
//	to First  3  3  3   five are given, two are left
//	to High   4  4  3   the lightest first, of equals the first
//
// # Why not proportional rounding
//
// To round every share (largest remainders, say) and move what differs is shorter. But it moves things between parts that are all
// within their range, whenever a part comes or goes: the remainders change places. Here what is within its range stays.
//
// # What it costs
//
// Targets takes O(parts + n log parts) for n things that are left over or missing after the start; with ranges one apart n is
// at most the number of parts. All products are of 128 bits, so that no load times a capacity overflows.
package level

import (
	"math"
	"math/bits"
)

// Range returns the least and the greatest load that counts as fair for a part that has capacity of sum: its share of total,
// rounded outwards, give or take percent of it. It never is below one where the share is one or more, so that no tolerance leaves a
// part idle.
func Range(total, capacity, sum int64, percent int) (lo, hi int64) {
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

// CompareRatios compares a/b with c/d, all at least 0 and b and d above 0, without overflow.
func CompareRatios(a, b, c, d int64) int {
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

// Levelling is what targets are computed from. All slices have one entry a part, and those of one [New] are zero.
type Levelling struct {
	Capacity []int64 // above 0
	Base     []int64 // load that stays whatever is decided, for comparing who is lightest
	Have     []int64
	Prefer   []int64 // where two targets cost the same, the ones nearer to this; the caller sets it, often to Have
	Floor    []int64 // what the heaviest may be lowered to where something is missing; at most Low
	Low      []int64 // a part with less starts with this
	First    []int64 // up to where each takes of what is left over before any takes more
	High     []int64 // a part with more starts with this; the second bound of what is left over
	Spill    []int64 // up to where each takes what is left over when all others have come up to High
	Last     []int64 // the same when all have come up to Spill
	Incoming int64   // what has to go somewhere and is in nobody's Have
}

// Columns is how many numbers a Levelling keeps of each part, in the block that [New] is given.
const Columns = 9

// New returns a Levelling in a block of Columns x parts zeros. Prefer is the caller's to set.
func New(block []int64, parts int) Levelling {
	next := func() []int64 {
		s := block[:parts:parts]
		block = block[parts:]
		return s
	}
	return Levelling{
		Capacity: next(), Base: next(), Have: next(), Floor: next(), Low: next(), First: next(), High: next(), Spill: next(), Last: next(),
	}
}

// Targets returns the target of every part. Their sum is what the parts have plus Incoming, unless nobody may take the rest.
// With the bounds of [Range] the sum of max(0, have - target) is the smallest that any targets within the bounds reach.
func (l *Levelling) Targets() []int64 {
	target := make([]int64, len(l.Have))
	rest := l.Incoming
	for i := range target {
		target[i] = max(l.Low[i], min(l.High[i], l.Have[i]))
		rest += l.Have[i] - target[i]
	}
	if rest < 0 {
		l.lower(target, -rest)
		return target
	}
	for _, bound := range l.passes() {
		rest = l.raise(target, rest, bound)
	}
	return target
}

// passes returns the bounds up to which what is left over is given out, one after the other.
func (l *Levelling) passes() [5][]int64 {
	return [5][]int64{
		l.First, // nobody gets more before each has this
		l.High,
		l.Have,  // who has more than High keeps it before somebody else gets it
		l.Spill, // beyond what is fair: those that must take what the others may not
		l.Last,
	}
}

// raise gives to the lightest below bound, one by one, first to those that prefer more, and returns what is left.
func (l *Levelling) raise(target []int64, rest int64, bound []int64) int64 {
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
	h := Ranking{Less: func(a, b int32) bool {
		if pa, pb := l.Prefer[a] > target[a], l.Prefer[b] > target[b]; pa != pb {
			return pa
		}
		if d := l.compare(target, a, b); d != 0 {
			return d < 0
		}
		return a < b
	}}
	for i := range target {
		if target[i] < bound[i] {
			h.Items = append(h.Items, int32(i))
		}
	}
	for h.Init(); rest > 0 && len(h.Items) > 0; rest-- {
		i := h.Items[0]
		target[i]++
		h.SettleTop(target[i] < bound[i])
	}
	return rest
}

// lower takes from the heaviest above Floor, one by one, first from those that prefer less.
func (l *Levelling) lower(target []int64, missing int64) {
	h := Ranking{Less: func(a, b int32) bool {
		if pa, pb := l.Prefer[a] < target[a], l.Prefer[b] < target[b]; pa != pb {
			return pa
		}
		if d := l.compare(target, a, b); d != 0 {
			return d > 0
		}
		return a < b
	}}
	for i := range target {
		if target[i] > l.Floor[i] {
			h.Items = append(h.Items, int32(i))
		}
	}
	for h.Init(); missing > 0 && len(h.Items) > 0; missing-- {
		i := h.Items[0]
		target[i]--
		h.SettleTop(target[i] > l.Floor[i])
	}
}

func (l *Levelling) compare(target []int64, a, b int32) int {
	return CompareRatios(l.Base[a]+target[a], l.Capacity[a], l.Base[b]+target[b], l.Capacity[b])
}

// Add returns a + b, or the greatest number where that does not fit: a load, a cost or a duration that somebody made up counts as
// very large, not as negative. Neither may be negative.
func Add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
