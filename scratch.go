package assignor

// none stands for "no member", "no instance", "no copy" among the dense numbers.
const none = int32(-1)

// scratch has the arrays of numbers in which a round works, and which do not outlive it. The layers above add the rows of their
// own.
//
// Arrays are handed out and never given back: begin takes all of them back at once. So no step can free what another still
// reads, and there is nothing to forget. A round that fails to write what it has taken would read what an earlier round left;
// so the tests overwrite it between rounds.
type scratch struct {
	int32s arena[int32]
	int64s arena[int64]
	bools  arena[bool]
}

// begin makes the arrays ready for a round.
func (s *scratch) begin() {
	s.int32s.begin()
	s.int64s.begin()
	s.bools.begin()
}

// arena hands out slices. It cuts them from one block, which has room for what some earlier round wanted, and makes what does not
// fit; so the zero arena makes everything.
type arena[T any] struct {
	block, free []T
	room        int // that the block has, or will have once something is taken
	wanted      int // in this round
	most        int // wanted by any of the last few rounds, all of which wanted much less than there is room for
	few         int // the number of those
}

// patience is after how many rounds that want less than a quarter of it an arena gives up its block for a smaller one: of those
// that only some rounds need, most are quiet.
const patience = 16

// begin makes the whole block free. It grows the block to what the last round wanted, and gives up one that is much too large.
func (a *arena[T]) begin() {
	a.most = max(a.most, a.wanted)
	switch {
	case a.wanted > a.room:
		a.resize(a.wanted + a.wanted/8)
	case a.wanted >= a.room/4:
		a.most, a.few = 0, 0
	default:
		if a.few++; a.few == patience {
			a.resize(a.most)
		}
	}
	a.free, a.wanted = a.block, 0
}

// resize lets the next take make a block of so many values.
func (a *arena[T]) resize(room int) {
	a.block, a.room, a.most, a.few = nil, room, 0, 0
}

// take returns a slice of n values, which are zero or were in use before.
func (a *arena[T]) take(n int) []T {
	s, _ := a.cut(n)
	return s
}

// zeros returns a slice of n zeros.
func (a *arena[T]) zeros(n int) []T {
	s, used := a.cut(n)
	if used {
		clear(s)
	}
	return s
}

// cut returns n values from the block, or new ones where it has no room; used says that they may not be zero.
func (a *arena[T]) cut(n int) (s []T, used bool) {
	a.wanted += n
	if a.block == nil && n > 0 && n <= a.room {
		a.block = make([]T, a.room)
		a.free = a.block
	}
	if n > len(a.free) {
		return make([]T, n), false
	}
	s, a.free = a.free[:n:n], a.free[n:]
	return s, true
}

// clone returns a copy of s.
func (a *arena[T]) clone(s []T) []T {
	c := a.take(len(s))
	copy(c, s)
	return c
}

// filled returns n times v.
func (s *scratch) filled(n int, v int32) []int32 {
	f := s.int32s.take(n)
	for i := range f {
		f[i] = v
	}
	return f
}

// sum returns the sum of numbers.
func sum(numbers []int32) (total int) {
	for _, n := range numbers {
		total += int(n)
	}
	return total
}

// cut cuts a block into empty lists with room for so many tasks.
func cut(block, sizes []int32) [][]int32 {
	lists := make([][]int32, len(sizes))
	for i, n := range sizes {
		lists[i], block = block[:0:n], block[n:]
	}
	return lists
}
