package taskset

import "math/bits"

// Form is one of the eight ways to write a set; the package comment has the table.
type Form uint8

const (
	Single        Form = iota // one number
	Run                       // p, p+1, ..
	Stride                    // p, p+step, ..
	Runs                      // a run with holes
	StridedRuns               // a stride with holes
	RandomGaps                // each gap in a few bits
	Bitmap                    // a bit for each number between the first and the last
	StridedBitmap             // a bit for each step between them
	NumForms                  // how many there are
)

// Gaps says that the next Times members of a set each follow their neighbour by Gap.
type Gaps struct{ Gap, Times uint32 }

// Set is a set of at least one number.
type Set struct {
	First uint32
	Len   int    // how many numbers it has
	Gaps  []Gaps // no two neighbours have the same Gap; all of them together are Len-1 times
}

// Append appends a gap to gaps: to the last entry where that is of the same gap, so that a run is one entry whatever its length.
func Append(gaps []Gaps, gap uint32) []Gaps {
	if last := len(gaps) - 1; last >= 0 && gaps[last].Gap == gap {
		gaps[last].Times++
		return gaps
	}
	return append(gaps, Gaps{gap, 1})
}

// Of returns the set of these numbers, which are in order, without duplicates and at least one. Its gaps are appended to gaps.
func Of(numbers []uint32, gaps []Gaps) Set {
	begin := len(gaps)
	for i := 1; i < len(numbers); i++ {
		gap := numbers[i] - numbers[i-1]
		if last := len(gaps) - 1; last >= begin && gaps[last].Gap == gap {
			gaps[last].Times++
			continue
		}
		gaps = append(gaps, Gaps{gap, 1})
	}
	return Set{First: numbers[0], Len: len(numbers), Gaps: gaps[begin:]}
}

// Each calls visit for every number, in order.
func (s *Set) Each(visit func(number uint32)) {
	number := s.First
	visit(number)
	for _, g := range s.Gaps {
		for range g.Times {
			number += g.Gap
			visit(number)
		}
	}
}

// Plan is the form that takes fewest bytes for a set, and its parameters.
type Plan struct {
	Form Form
	step uint32 // 1 but for the strided forms
	k    uint8  // of Rice's code
	Size int    // in bytes
}

// or returns the smaller one, p where they are equal. So the plan whose form comes first in the table has to be p: then one set has one
// encoding.
func (p Plan) or(other Plan) Plan {
	if other.Size < p.Size {
		return other
	}
	return p
}

// Plan returns how the set is coded. The forms are compared by their exact sizes, which are computed from the gaps. Not taken: to
// write all of them and keep the shortest, which costs O(span) for the bitmaps. This costs O(gaps).
func (s *Set) Plan() Plan {
	if s.Len == 1 {
		return Plan{Form: Single, step: 1, Size: uvarintLen(s.First)}
	}
	if p := s.planOneGap(); p.Size > 0 {
		return p
	}
	span, neighbours, step := s.extent()
	k, riceBits := s.riceParameter(span)
	best := Plan{Form: RandomGaps, step: 1, k: k, Size: s.gapsSize(riceBits)}
	if len(s.Gaps) == 1 {
		best = s.planStride(step).or(best)
	} else {
		best = s.planRuns(step, neighbours, best)
	}
	if span > 1 {
		best = best.or(Plan{Form: Bitmap, step: 1, Size: s.bitmapSize(span)})
	}
	if step > 1 && span > step {
		size := uvarintLen(step-2) + s.bitmapSize(span/step)
		best = best.or(Plan{Form: StridedBitmap, step: step, Size: size})
	}
	return best
}

// extent returns the last number less the first, the number of neighbours, and the smallest gap where it divides all others,
// else 1. (The greatest common divisor would find a step for a few more sets, but takes several divisions a gap on every random
// one.)
func (s *Set) extent() (span, neighbours, step uint32) {
	step = s.Gaps[0].Gap
	for _, g := range s.Gaps {
		span += g.Gap * g.Times
		if g.Gap == 1 {
			neighbours = g.Times + neighbours
		}
		step = min(step, g.Gap)
	}
	for _, g := range s.Gaps {
		if g.Gap%step != 0 {
			return span, neighbours, 1
		}
	}
	return span, neighbours, step
}

// planOneGap returns the plan of a set in which all gaps are equal, where that is a run or a stride, as it is for all but the
// smallest sets. It spares most sets of a group that is spread evenly the comparison with all other forms: that takes a seventh off
// the time of encoding them (BenchmarkEncode, roundrobin).
//
// Rice's code takes at least as many bits for a gap as gap-1 has, and one, whatever its parameter; and a strided bitmap is never
// smaller than a stride.
func (s *Set) planOneGap() Plan {
	if len(s.Gaps) != 1 {
		return Plan{}
	}
	gap, times := s.Gaps[0].Gap, s.Gaps[0].Times
	p := s.planStride(gap)
	if p.Size > s.gapsSize(uint64(times)*uint64(bits.Len32(gap-1)+1)) || gap*times > 1 && p.Size > s.bitmapSize(gap*times) {
		return Plan{}
	}
	return p
}

// planStride returns the plan of a set in which every gap is step: a run, or a stride.
func (s *Set) planStride(step uint32) Plan {
	size := uvarintLen(s.First) + uvarintLen(uint32(s.Len-2))
	if step == 1 {
		return Plan{Form: Run, step: 1, Size: size}
	}
	return Plan{Form: Stride, step: step, Size: size + uvarintLen(step-2)}
}

// planRuns returns the plan of the runs forms, or best where none of them can be smaller: a run takes at least two bytes.
func (s *Set) planRuns(step, neighbours uint32, best Plan) Plan {
	if step == 1 && 2*(s.Len-int(neighbours)) > best.Size {
		return best
	}
	runs := Plan{Form: Runs, step: 1, Size: s.runsSize(1)}
	if step > 1 {
		runs = runs.or(Plan{Form: StridedRuns, step: step, Size: s.runsSize(step)})
	}
	return runs.or(best)
}

// runsSize returns the size as at least two runs of numbers that follow each other by step, which divides every gap.
func (s *Set) runsSize(step uint32) int {
	size, runs, length := uvarintLen(s.First), uint32(1), uint32(1)
	if step > 1 {
		size += uvarintLen(step - 2)
	}
	for _, g := range s.Gaps {
		if g.Gap == step {
			length += g.Times
			continue
		}
		unit := g.Gap
		if step > 1 {
			unit /= step
		}
		size += uvarintLen(length-1) + int(g.Times)*uvarintLen(unit-2) + int(g.Times-1)
		runs += g.Times
		length = 1
	}
	return size + uvarintLen(length-1) + uvarintLen(runs-2)
}

// riceParameter returns the k with which Rice's code takes fewest bits for the gaps, and their number. Each step of k costs
// every gap one bit more and saves half of its quotient, rounded up: less with each step, so the first minimum is the minimum,
// and a search may begin anywhere.
func (s *Set) riceParameter(span uint32) (k uint8, size uint64) {
	n := uint64(s.Len - 1)
	k = uint8(bits.Len64(uint64(span)*31/32/n|1)) - 1 // log2 of 0.97 x the mean gap: best for most random sets
	for {
		below, at, above := s.quotients(k)
		switch size = n*uint64(k+1) + at; {
		case k > 0 && size >= n*uint64(k)+below:
			k--
		case size > n*uint64(k+2)+above:
			k++
		default:
			return k, size
		}
	}
}

// quotients returns the sums of the gaps' quotients with the parameters k-1 (0 where k is 0), k and k+1.
func (s *Set) quotients(k uint8) (below, at, above uint64) {
	under := max(k, 1) - 1
	for _, g := range s.Gaps {
		v, times := uint64(g.Gap-1), uint64(g.Times)
		below += v >> (under & 63) * times
		at += v >> (k & 63) * times
		above += v >> ((k + 1) & 63) * times
	}
	return below, at, above
}

// Bits of form 5 that tell the parameter and the width of the first number: both are at most 31.
const (
	riceParameterBits = 5
	widthBits         = 5
)

// gapsSize returns the size as form 5, of which the gaps take so many bits.
func (s *Set) gapsSize(riceBits uint64) int {
	head := 2*bits.Len(uint(s.Len-1)) - 1 + riceParameterBits + widthBits + max(bits.Len32(s.First), 1) - 1
	return int((uint64(head) + riceBits + 7) / 8)
}

// bitmapSize returns the size as a bitmap of span+1 bits, of which the first and the last are not written.
func (s *Set) bitmapSize(span uint32) int {
	return uvarintLen(s.First) + uvarintLen(span-2) + int((span-1+7)/8)
}

// uvarintLen returns how many bytes a number takes: one for every 7 bits, and 0 takes one too.
func uvarintLen(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }
