package taskset

import (
	"encoding/binary"
	"errors"
	"math"
)

// Read fails with one of these.
var (
	ErrEnd     = errors.New("taskset: ends too early")
	ErrNumber  = errors.New("taskset: a number is too long")
	ErrLarge   = errors.New("taskset: a number beyond 2147483647")
	ErrMany    = errors.New("taskset: more numbers than allowed")
	ErrBits    = errors.New("taskset: bits that are not filled with zeros")
	ErrNotBest = errors.New("taskset: not in its shortest form")
)

// Reader reads sets. The zero value is ready to use.
type Reader struct {
	Gaps []Gaps // of all the sets that it has read; the caller cuts them off

	data  []byte
	off   int // behind the last byte where there is an error, so that nothing more is read
	limit uint64
	err   error // the first one
	at    int   // where that was

	begin int // of the set in Gaps
	first uint32
	last  uint64
	n     uint64
}

// Read reads a set of at most limit numbers, of which somebody has kept the form, from the head of data, and returns how many bytes
// that took. The set's gaps are appended to r.Gaps, and are valid as long as the caller leaves them there. It fails where the bytes
// are not what [Set.Append] has written, in that form and with the parameters that [Set.Plan] chooses. Then n is how far it came.
//
// It allocates for gaps alone, a small multiple of the bytes.
func (r *Reader) Read(data []byte, form Form, limit int) (s Set, n int, err error) {
	r.data, r.off, r.limit, r.err, r.begin, r.n = data, 0, uint64(limit), nil, len(r.Gaps), 0
	p := r.form(form)
	s = Set{First: r.first, Len: int(r.n), Gaps: r.Gaps[r.begin:]}
	if r.err != nil {
		return s, r.at, r.err
	}
	shortest := s.Plan()
	if p.Size = shortest.Size; p != shortest {
		return s, r.off, ErrNotBest
	}
	return s, r.off, nil
}

// form reads the set, and returns the form and the parameters with which it was written.
func (r *Reader) form(form Form) Plan {
	p := Plan{Form: form, step: 1}
	switch form {
	case Single:
		r.start(r.number())
	case Run:
		r.start(r.number())
		r.add(1, r.uvarint()+1)
	case Stride:
		r.start(r.number())
		p.step = r.step()
		r.add(uint64(p.step), r.uvarint()+1)
	case Runs, StridedRuns:
		if form == StridedRuns {
			p.step = r.step()
		}
		r.start(r.number())
		r.runs(uint64(p.step))
	case RandomGaps:
		p.k = r.rice()
	case Bitmap, StridedBitmap:
		if form == StridedBitmap {
			p.step = r.step()
		}
		r.start(r.number())
		r.bitmap(uint64(p.step))
	default:
		r.fail(ErrNotBest)
	}
	return p
}

// fail notes the first error and goes to the end of the data, so that whatever is read after it is zeros: no other method has to ask
// whether there was one, and every loop ends.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err, r.at = err, r.off
	}
	r.off = len(r.data)
}

// uvarint reads a number in as few bytes as it takes: 80 00 is no other way to write 0, it is an error. One of a byte, which most are, is
// read here; the rest is a function of its own, so that this one is inlined.
func (r *Reader) uvarint() uint64 {
	if r.off < len(r.data) && r.data[r.off] < 0x80 {
		r.off++
		return uint64(r.data[r.off-1])
	}
	return r.longUvarint()
}

// longUvarint reads a number of two bytes or more, or fails.
func (r *Reader) longUvarint() uint64 {
	v, n := binary.Uvarint(r.data[r.off:])
	switch {
	case n == 0:
		r.fail(ErrEnd)
		return 0
	case n < 0 || n > 1 && r.data[r.off+n-1] == 0:
		r.fail(ErrNumber)
		return 0
	}
	r.off += n
	return v
}

// number reads one that may be in a set.
func (r *Reader) number() uint64 { return r.atMost(math.MaxInt32) }

// atMost reads a number that has to be at most limit.
func (r *Reader) atMost(limit uint64) uint64 {
	v := r.uvarint()
	if v > limit {
		r.fail(ErrLarge)
		return 0
	}
	return v
}

// step reads the step of a strided form, which is at least 2.
func (r *Reader) step() uint32 { return uint32(r.atMost(math.MaxInt32-2)) + 2 }

// start begins the set with its first number.
func (r *Reader) start(first uint64) { r.first, r.last, r.n = uint32(first), first, 1 }

// add notes that the next times members each follow their neighbour by gap, where that is a set: no number beyond the largest, and no
// more numbers than allowed. Both are seen before anything is made of them, so that a few bytes that claim two billion cost nothing.
// times is compared with the limit by itself first, or r.n+times could overflow, and gap x times with it.
func (r *Reader) add(gap, times uint64) {
	switch {
	case r.err != nil || times == 0:
		return
	case times > r.limit || r.n+times > r.limit:
		r.fail(ErrMany)
		return
	case gap > math.MaxInt32 || r.last+gap*times > math.MaxInt32:
		r.fail(ErrLarge)
		return
	}
	r.last += gap * times
	r.n += times
	if last := len(r.Gaps) - 1; last >= r.begin && r.Gaps[last].Gap == uint32(gap) {
		r.Gaps[last].Times += uint32(times)
		return
	}
	r.Gaps = append(r.Gaps, Gaps{uint32(gap), uint32(times)})
}

// runs reads what appendRuns wrote.
func (r *Reader) runs(step uint64) {
	further := r.uvarint() + 1
	r.add(step, r.uvarint())
	for ; further > 0 && r.err == nil; further-- {
		r.add(r.number()*step+2*step, 1)
		r.add(step, r.uvarint())
	}
}

// rice reads form 5 and returns its k. Every gap takes a bit at least, so a set that claims more numbers than there are bits ends too
// early, and is refused before anything is read for it.
func (r *Reader) rice() (k uint8) {
	b := bitReader{data: r.data[r.off:]}
	n := b.gamma()
	k = uint8(b.take(riceParameterBits))
	var first uint64
	if width := uint(b.take(widthBits)); width > 0 {
		first = 1<<(width-1) | b.take(width-1)
	}
	if n > uint64(b.size()) {
		r.fail(ErrEnd)
		return k
	}
	r.start(first)
	r.riceGaps(&b, uint(k), n)
	r.closeBits(&b)
	return k
}

// riceGaps reads n gaps: what add does, for where decoding a random set spends its time.
func (r *Reader) riceGaps(b *bitReader, k uint, n uint64) {
	if r.n+n > r.limit {
		r.fail(ErrMany)
		return
	}
	gaps, last := r.Gaps, r.last
	for range n {
		gap := b.rice(k) + 1
		if last += gap; gap > math.MaxInt32 || last > math.MaxInt32 {
			r.fail(ErrLarge)
			return
		}
		if end := len(gaps) - 1; end >= r.begin && gaps[end].Gap == uint32(gap) {
			gaps[end].Times++
		} else {
			gaps = append(gaps, Gaps{uint32(gap), 1})
		}
	}
	r.Gaps, r.last, r.n = gaps, last, r.n+n
	if b.pos > b.size() {
		r.fail(ErrEnd)
	}
}

// bitmap reads what appendBitmap wrote. Behind the last bit that is written there is the one of the last number, which is not.
func (r *Reader) bitmap(step uint64) {
	left := r.number() + 1
	size := int((left + 7) / 8)
	if r.err != nil || size > len(r.data)-r.off {
		r.fail(ErrEnd)
		return
	}
	b := bitReader{data: r.data[r.off:][:size]}
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
func (r *Reader) closeBits(b *bitReader) {
	if r.err != nil {
		return
	}
	if !b.close() {
		r.fail(ErrBits)
		return
	}
	r.off += int(b.pos / 8)
}
