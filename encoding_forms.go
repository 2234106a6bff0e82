package assignor

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// append appends the set to b as its plan says, without a head.
func (s *partitionSet) append(b []byte, p setPlan) []byte {
	if p.form == formGaps {
		return s.appendGaps(b, uint(p.k))
	}
	if p.step > 1 && p.form != formStride {
		b = binary.AppendUvarint(b, uint64(p.step-2))
	}
	b = binary.AppendUvarint(b, uint64(s.first))
	switch p.form {
	case formStride:
		b = binary.AppendUvarint(b, uint64(p.step-2))
		return binary.AppendUvarint(b, uint64(s.n-2))
	case formRun:
		return binary.AppendUvarint(b, uint64(s.n-2))
	case formRuns, formStridedRuns:
		return s.appendRuns(b, p.step)
	case formBitmap, formStridedBitmap:
		return s.appendBitmap(b, p.step)
	}
	return b
}

func (s *partitionSet) appendRuns(b []byte, step uint32) []byte {
	runs := uint64(1)
	for _, g := range s.gaps {
		if g.gap != step {
			runs += uint64(g.times)
		}
	}
	b = binary.AppendUvarint(b, runs-2)
	length := uint64(1)
	for _, g := range s.gaps {
		if g.gap == step {
			length += uint64(g.times)
			continue
		}
		for range g.times {
			b = binary.AppendUvarint(b, length-1)
			b = binary.AppendUvarint(b, uint64(g.gap/step-2))
			length = 1
		}
	}
	return binary.AppendUvarint(b, length-1)
}

func (s *partitionSet) appendGaps(b []byte, k uint) []byte {
	w := bitWriter{buf: b}
	w.gamma(uint64(s.n - 1))
	w.put(uint64(k), riceParameterBits)
	width := uint(bits.Len32(s.first))
	w.put(uint64(width), widthBits)
	if width > 1 {
		w.put(uint64(s.first)&^(1<<(width-1)), width-1)
	}
	for _, g := range s.gaps {
		for range g.times {
			w.rice(uint64(g.gap-1), k)
		}
	}
	return w.close()
}

func (s *partitionSet) appendBitmap(b []byte, step uint32) []byte {
	span, _, _ := s.extent()
	span /= step
	w := bitWriter{buf: binary.AppendUvarint(b, uint64(span-2))}
	left := span - 1 // the last bit is not written
	for _, g := range s.gaps {
		for range g.times {
			w.zerosAndOne(g.gap/step-1, &left)
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

// set reads a set in the given form. It checks that no other form, nor another parameter, would have been chosen for it.
// The gaps are appended to d.gaps.
func (d *decoder) set(form setForm) partitionSet {
	r := setReader{decoder: d, begin: len(d.gaps)}
	p := setPlan{form: form, step: 1}
	switch form {
	case formSingle:
		r.start(d.partition())
	case formRun:
		r.start(d.partition())
		r.add(1, d.uvarint()+1)
	case formStride:
		r.start(d.partition())
		p.step = d.step()
		r.add(uint64(p.step), d.uvarint()+1)
	case formRuns, formStridedRuns:
		if form == formStridedRuns {
			p.step = d.step()
		}
		r.start(d.partition())
		r.runs(uint64(p.step))
	case formGaps:
		p.k = r.rice()
	case formBitmap, formStridedBitmap:
		if form == formStridedBitmap {
			p.step = d.step()
		}
		r.start(d.partition())
		r.bitmap(uint64(p.step))
	}
	s := partitionSet{first: r.first, n: int(r.n), gaps: d.gaps[r.begin:]}
	if d.err != nil {
		return s
	}
	shortest := s.plan()
	if p.size = shortest.size; p != shortest {
		d.fail("a set of tasks is not in its shortest form")
	}
	return s
}

func (d *decoder) partition() uint64 { return d.number(math.MaxInt32, "partition") }

func (d *decoder) step() uint32 { return uint32(d.number(math.MaxInt32-2, "step")) + 2 }

// setReader collects the gaps of one set.
type setReader struct {
	*decoder
	begin int // of the set in decoder.gaps
	first uint32
	last  uint64
	n     uint64
}

func (r *setReader) start(first uint64) { r.first, r.last, r.n = uint32(first), first, 1 }

// add notes that the next times members each follow their neighbour by gap, where that is a set.
func (r *setReader) add(gap, times uint64) {
	switch {
	case r.err != nil || times == 0:
		return
	case times > MaxTasks || r.n+times > MaxTasks:
		r.fail("more than %d tasks", MaxTasks)
		return
	case gap > math.MaxInt32 || r.last+gap*times > math.MaxInt32:
		r.fail("a partition beyond %d", math.MaxInt32)
		return
	}
	r.last += gap * times
	r.n += times
	if last := len(r.gaps) - 1; last >= r.begin && r.gaps[last].gap == uint32(gap) {
		r.gaps[last].times += uint32(times)
		return
	}
	r.gaps = append(r.gaps, gapRun{uint32(gap), uint32(times)})
}

func (r *setReader) runs(step uint64) {
	further := r.uvarint() + 1
	r.add(step, r.uvarint())
	for ; further > 0 && r.err == nil; further-- {
		r.add(r.number(math.MaxInt32, "gap")*step+2*step, 1)
		r.add(step, r.uvarint())
	}
}

func (r *setReader) rice() (k uint8) {
	b := bitReader{data: r.data[r.off:r.end]}
	n := b.gamma()
	k = uint8(b.take(riceParameterBits))
	var first uint64
	if width := uint(b.take(widthBits)); width > 0 {
		first = 1<<(width-1) | b.take(width-1)
	}
	if n > uint64(b.size()) {
		r.fail("ends too early")
		return k
	}
	r.start(first)
	r.riceGaps(&b, uint(k), n)
	r.closeBits(&b)
	return k
}

// riceGaps reads n gaps: what add does, for where decoding a random set spends its time.
func (r *setReader) riceGaps(b *bitReader, k uint, n uint64) {
	if r.n+n > MaxTasks {
		r.fail("more than %d tasks", MaxTasks)
		return
	}
	gaps, last := r.gaps, r.last
	for range n {
		gap := b.rice(k) + 1
		if last += gap; gap > math.MaxInt32 || last > math.MaxInt32 {
			r.fail("a partition beyond %d", math.MaxInt32)
			return
		}
		if end := len(gaps) - 1; end >= r.begin && gaps[end].gap == uint32(gap) {
			gaps[end].times++
		} else {
			gaps = append(gaps, gapRun{uint32(gap), 1})
		}
	}
	r.gaps, r.last, r.n = gaps, last, r.n+n
	if b.pos > b.size() {
		r.fail("ends too early")
	}
}

func (r *setReader) bitmap(step uint64) {
	left := r.number(math.MaxInt32, "span") + 1
	b := bitReader{data: r.bytes(int((left + 7) / 8))}
	r.off -= len(b.data)
	end := uint(left)
	for r.err == nil {
		before := b.pos
		zeros := b.unary()
		if b.pos > end {
			r.add((left-uint64(before)+1)*step, 1)
			break
		}
		r.add((zeros+1)*step, 1)
	}
	b.pos = end
	r.closeBits(&b)
}

// closeBits goes on behind the byte in which b ended.
func (r *setReader) closeBits(b *bitReader) {
	if r.err != nil {
		return
	}
	if !b.close() {
		r.fail("bits that are not filled with zeros")
		return
	}
	r.off += int(b.pos / 8)
}
