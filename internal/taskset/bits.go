package taskset

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter appends bits to buf, the lowest of a byte first, so that a reader can take the next bits of a word by a shift and a mask.
// It collects 32 of them before it writes, so that most calls of put are a shift and an or.
type bitWriter struct {
	buf  []byte
	bits uint64 // those that are not in buf yet, the next one to be written lowest; above n all are 0
	n    uint   // how many these are, below 32 between two calls
}

// put appends the n lowest bits of v, which has no others; n is at most 32.
func (w *bitWriter) put(v uint64, n uint) {
	w.bits |= v << w.n
	if w.n += n; w.n >= 32 {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(w.bits))
		w.bits >>= 32
		w.n -= 32
	}
}

// unary appends n zeros and a one: 3 is 0001.
func (w *bitWriter) unary(n uint64) {
	for ; n >= 32; n -= 32 {
		w.put(0, 32)
	}
	w.put(1<<n, uint(n)+1)
}

// gamma appends v, which is not 0, in Elias' gamma code: small numbers in few bits, with no width agreed on. 1 takes one bit, 4 takes five.
func (w *bitWriter) gamma(v uint64) {
	n := uint(bits.Len64(v)) - 1
	w.unary(uint64(n))
	w.put(v&^(1<<n), n)
}

// rice appends v in Rice's code with parameter k: v / 2^k in zeros, a one, and the rest in k bits. Most gaps of a random set are at most
// a few times 2^k, and then all of that is one put.
func (w *bitWriter) rice(v uint64, k uint) {
	quotient := uint(v >> k)
	if n := quotient + 1 + k; n <= 32 {
		w.put((v&(1<<k-1)<<1|1)<<quotient, n)
		return
	}
	w.unary(uint64(quotient))
	w.put(v&(1<<k-1), k)
}

// close fills the last byte with zeros and returns all of them.
func (w *bitWriter) close() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.buf = append(w.buf, byte(w.bits))
		w.bits >>= 8
	}
	return w.buf
}

// bitReader reads what a bitWriter wrote. Behind its data there are zeros; pos beyond the end tells that some were read.
type bitReader struct {
	data []byte
	pos  uint // in bits
}

// size returns how many bits there are.
func (r *bitReader) size() uint { return 8 * uint(len(r.data)) }

// peek returns at least the next 57 bits, the first of them lowest.
func (r *bitReader) peek() uint64 {
	i := r.pos >> 3
	if i+8 <= uint(len(r.data)) {
		return binary.LittleEndian.Uint64(r.data[i:]) >> (r.pos & 7)
	}
	var v uint64
	for shift := uint(0); i < uint(len(r.data)); i++ {
		v |= uint64(r.data[i]) << shift
		shift += 8
	}
	return v >> (r.pos & 7)
}

// take reads n bits, at most 57.
func (r *bitReader) take(n uint) uint64 {
	v := r.peek() & (1<<n - 1)
	r.pos += n
	return v
}

// unary reads zeros up to a one and returns their number. Where there is no one it goes beyond the end, which its caller sees by pos.
func (r *bitReader) unary() uint64 {
	start := r.pos
	for r.pos < r.size() {
		zeros := uint(bits.TrailingZeros64(r.peek()))
		if zeros < 57 {
			r.pos += zeros + 1
			return uint64(r.pos - 1 - start)
		}
		r.pos += 57
	}
	r.pos = r.size() + 1
	return 0
}

// gamma reads what bitWriter.gamma wrote. It reads no number of more than 33 bits, since no set has as many numbers.
func (r *bitReader) gamma() uint64 {
	n := r.unary()
	if n > 32 {
		r.pos = r.size() + 1
		return 1
	}
	return 1<<n | r.take(uint(n))
}

// rice reads what bitWriter.rice wrote, from one word where that has all of it. Decoding a random set spends its time here.
func (r *bitReader) rice(k uint) uint64 {
	v := r.peek()
	zeros := uint(bits.TrailingZeros64(v))
	if zeros+1+k <= 57 {
		r.pos += zeros + 1 + k
		return uint64(zeros)<<k | v>>(zeros+1)&(1<<k-1)
	}
	return r.unary()<<k | r.take(k)
}

// close moves pos to the next byte and reports whether the bits ended where the data could, with zeros.
func (r *bitReader) close() bool {
	if r.pos > r.size() {
		return false
	}
	rest := -r.pos & 7
	return r.take(rest) == 0
}
