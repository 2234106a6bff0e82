package taskset

import (
	"encoding/binary"
	"math/bits"
)

// Append appends the set to b as its plan says. p is the set's own [Set.Plan]: the bytes are as many as p.Size, and [Reader.Read] takes
// no others.
func (s *Set) Append(b []byte, p Plan) []byte {
	if p.Form == RandomGaps {
		return s.appendGaps(b, uint(p.k))
	}
	if p.step > 1 && p.Form != Stride {
		b = binary.AppendUvarint(b, uint64(p.step-2))
	}
	b = binary.AppendUvarint(b, uint64(s.First))
	switch p.Form {
	case Stride:
		b = binary.AppendUvarint(b, uint64(p.step-2))
		return binary.AppendUvarint(b, uint64(s.Len-2))
	case Run:
		return binary.AppendUvarint(b, uint64(s.Len-2))
	case Runs, StridedRuns:
		return s.appendRuns(b, p.step)
	case Bitmap, StridedBitmap:
		return s.appendBitmap(b, p.step)
	}
	return b
}

// appendRuns appends what follows the first number in the forms 3 and 4. In {10..20, 30..40}, of which the first number is 10, that is
//
//	0    two runs, less 2
//	10   the first has eleven numbers, less 1
//	8    30 is 10 behind 20, less 2: a gap of 1 would be no end of a run
//	10   the second has eleven numbers
//
// A gap that comes several times in a row ends as many runs, of one number each but for the first.
func (s *Set) appendRuns(b []byte, step uint32) []byte {
	runs := uint64(1)
	for _, g := range s.Gaps {
		if g.Gap != step {
			runs += uint64(g.Times)
		}
	}
	b = binary.AppendUvarint(b, runs-2)
	length := uint64(1)
	for _, g := range s.Gaps {
		if g.Gap == step {
			length += uint64(g.Times)
			continue
		}
		for range g.Times {
			b = binary.AppendUvarint(b, length-1)
			b = binary.AppendUvarint(b, uint64(g.Gap/step-2))
			length = 1
		}
	}
	return binary.AppendUvarint(b, length-1)
}

// appendGaps appends form 5, in which nothing begins at a byte, the head neither: in a small set it is as long as the gaps.
func (s *Set) appendGaps(b []byte, k uint) []byte {
	w := bitWriter{buf: b}
	w.gamma(uint64(s.Len - 1))
	w.put(uint64(k), riceParameterBits)
	width := uint(bits.Len32(s.First))
	w.put(uint64(width), widthBits)
	if width > 1 { // the highest bit of a number is a one, which nobody has to be told
		w.put(uint64(s.First)&^(1<<(width-1)), width-1)
	}
	for _, g := range s.Gaps {
		for range g.Times {
			w.rice(uint64(g.Gap-1), k)
		}
	}
	return w.close()
}

// appendBitmap appends what follows the first number in the forms 6 and 7: the span, which is at least 2, and a bit for each number
// between the first and the last. These two are ones in any case.
func (s *Set) appendBitmap(b []byte, step uint32) []byte {
	span, _, _ := s.extent()
	span /= step
	w := bitWriter{buf: binary.AppendUvarint(b, uint64(span-2))}
	left := span - 1 // the last bit is not written
	for _, g := range s.Gaps {
		for range g.Times {
			w.zerosAndOne(g.Gap/step-1, &left)
		}
	}
	return w.close()
}

// zerosAndOne appends n zeros and a one, of which there is only room for left bits.
func (w *bitWriter) zerosAndOne(n uint32, left *uint32) {
	if n < *left {
		w.unary(uint64(n))
		*left -= n + 1
		return
	}
	for ; *left > 0; *left -= min(*left, 32) {
		w.put(0, uint(min(*left, 32)))
	}
}
