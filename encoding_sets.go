package assignor

import "math/bits"

// setForm is how a set of partitions is coded. encoding.go has the table.
type setForm uint8

const (
	formSingle setForm = iota
	formRun
	formStride
	formRuns
	formStridedRuns
	formGaps
	formBitmap
	formStridedBitmap
)

// gapRun says that the next times members of a set each follow their neighbour by gap.
type gapRun struct{ gap, times uint32 }

// partitionSet is a set of at least one partition, or position in a list. No two neighbours in gaps have the same gap, so a
// run of partitions, or a stride, is one gapRun whatever its length; planning costs O(gaps).
type partitionSet struct {
	first uint32
	n     int
	gaps  []gapRun
}

// setPlan is the form that takes fewest bytes for a set, and its parameters.
type setPlan struct {
	form setForm
	step uint32 // 1 but for the strided forms
	k    uint8  // of Rice's code
	size int    // in bytes, without the head
}

// or returns the smaller one, p where they are equal: it comes first in the table.
func (p setPlan) or(other setPlan) setPlan {
	if other.size < p.size {
		return other
	}
	return p
}

// plan returns how the set is coded. The forms are compared by their exact sizes.
func (s *partitionSet) plan() setPlan {
	if s.n == 1 {
		return setPlan{form: formSingle, step: 1, size: uvarintLen(s.first)}
	}
	if p := s.planOneGap(); p.size > 0 {
		return p
	}
	span, neighbours, step := s.extent()
	k, riceBits := s.riceParameter(span)
	best := setPlan{form: formGaps, step: 1, k: k, size: s.gapsSize(riceBits)}
	if len(s.gaps) == 1 {
		best = s.planStride(step).or(best)
	} else {
		best = s.planRuns(step, neighbours, best)
	}
	if span > 1 {
		best = best.or(setPlan{form: formBitmap, step: 1, size: s.bitmapSize(span)})
	}
	if step > 1 && span > step {
		size := uvarintLen(step-2) + s.bitmapSize(span/step)
		best = best.or(setPlan{form: formStridedBitmap, step: step, size: size})
	}
	return best
}

// extent returns the last partition less the first, the number of neighbours, and the smallest gap where it divides all others,
// else 1. (The greatest common divisor would find a step for a few more sets, but takes several divisions a gap on every random
// one.)
func (s *partitionSet) extent() (span, neighbours, step uint32) {
	step = s.gaps[0].gap
	for _, g := range s.gaps {
		span += g.gap * g.times
		if g.gap == 1 {
			neighbours = g.times + neighbours
		}
		step = min(step, g.gap)
	}
	for _, g := range s.gaps {
		if g.gap%step != 0 {
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
func (s *partitionSet) planOneGap() setPlan {
	if len(s.gaps) != 1 {
		return setPlan{}
	}
	gap, times := s.gaps[0].gap, s.gaps[0].times
	p := s.planStride(gap)
	if p.size > s.gapsSize(uint64(times)*uint64(bits.Len32(gap-1)+1)) || gap*times > 1 && p.size > s.bitmapSize(gap*times) {
		return setPlan{}
	}
	return p
}

func (s *partitionSet) planStride(step uint32) setPlan {
	size := uvarintLen(s.first) + uvarintLen(uint32(s.n-2))
	if step == 1 {
		return setPlan{form: formRun, step: 1, size: size}
	}
	return setPlan{form: formStride, step: step, size: size + uvarintLen(step-2)}
}

// planRuns returns the plan of the runs forms, or best where none of them can be smaller: a run takes at least two bytes.
func (s *partitionSet) planRuns(step, neighbours uint32, best setPlan) setPlan {
	if step == 1 && 2*(s.n-int(neighbours)) > best.size {
		return best
	}
	runs := setPlan{form: formRuns, step: 1, size: s.runsSize(1)}
	if step > 1 {
		runs = runs.or(setPlan{form: formStridedRuns, step: step, size: s.runsSize(step)})
	}
	return runs.or(best)
}

// runsSize returns the size as at least two runs of partitions that follow each other by step, which divides every gap.
func (s *partitionSet) runsSize(step uint32) int {
	size, runs, length := uvarintLen(s.first), uint32(1), uint32(1)
	if step > 1 {
		size += uvarintLen(step - 2)
	}
	for _, g := range s.gaps {
		if g.gap == step {
			length += g.times
			continue
		}
		unit := g.gap
		if step > 1 {
			unit /= step
		}
		size += uvarintLen(length-1) + int(g.times)*uvarintLen(unit-2) + int(g.times-1)
		runs += g.times
		length = 1
	}
	return size + uvarintLen(length-1) + uvarintLen(runs-2)
}

// riceParameter returns the k with which Rice's code takes fewest bits for the gaps, and their number. Each step of k costs
// every gap one bit more and saves half of its quotient, rounded up: less with each step, so the first minimum is the minimum,
// and a search may begin anywhere.
func (s *partitionSet) riceParameter(span uint32) (k uint8, size uint64) {
	n := uint64(s.n - 1)
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
func (s *partitionSet) quotients(k uint8) (below, at, above uint64) {
	under := max(k, 1) - 1
	for _, g := range s.gaps {
		v, times := uint64(g.gap-1), uint64(g.times)
		below += v >> (under & 63) * times
		at += v >> (k & 63) * times
		above += v >> ((k + 1) & 63) * times
	}
	return below, at, above
}

// Bits of form 5 that tell the parameter and the width of the first partition.
const (
	riceParameterBits = 5
	widthBits         = 5
)

func (s *partitionSet) gapsSize(riceBits uint64) int {
	head := 2*bits.Len(uint(s.n-1)) - 1 + riceParameterBits + widthBits + max(bits.Len32(s.first), 1) - 1
	return int((uint64(head) + riceBits + 7) / 8)
}

// bitmapSize returns the size as a bitmap of span+1 bits, of which the first and the last are not written.
func (s *partitionSet) bitmapSize(span uint32) int {
	return uvarintLen(s.first) + uvarintLen(span-2) + int((span-1+7)/8)
}
