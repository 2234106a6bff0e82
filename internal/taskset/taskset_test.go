package taskset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ExampleSet is the worked example of the package comment.
func ExampleSet() {
	s := Of([]uint32{3, 12, 20, 37, 41}, nil)
	p := s.Plan()
	data := s.Append(nil, p)
	fmt.Printf("form %d: % x\n", p.Form, data)

	var r Reader
	back, n, err := r.Read(data, p.Form, 1000)
	fmt.Print(n, " bytes, ", err, ":")
	back.Each(func(number uint32) { fmt.Print(" ", number) })
	// Output:
	// form 5: 44 88 c4 21 07
	// 5 bytes, <nil>: 3 12 20 37 41
}

// TestForms writes a set of each form as the table of the package comment says.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		form    Form
		numbers []uint32
		want    []byte
	}{
		{Single, []uint32{1000}, []byte{0xe8, 0x07}},
		{Single, []uint32{math.MaxInt32}, []byte{0xff, 0xff, 0xff, 0xff, 0x07}},
		{Run, count(10, 14, 1), []byte{10, 3}},
		{Stride, count(5, 305, 100), []byte{5, 98, 2}},
		{Runs, append(append(count(10, 20, 1), count(30, 40, 1)...), count(51, 60, 1)...), []byte{10, 1, 10, 8, 10, 9, 9}},
		{StridedRuns, append(count(3, 903, 100), count(1103, 1903, 100)...), []byte{98, 3, 0, 9, 0, 8}},
		{RandomGaps, []uint32{3, 12, 20, 37, 41}, []byte{0x44, 0x88, 0xc4, 0x21, 0x07}},
		{Bitmap, []uint32{100, 101, 103, 106, 107, 109, 110, 111, 113, 116, 117, 119, 120, 123, 124, 126}, []byte{100, 24, 0x65, 0x97, 0xcd, 0x00}},
		{StridedBitmap, []uint32{7, 17, 37, 67, 77, 97, 107, 117, 137, 167, 177, 197, 207, 237, 247, 267}, []byte{8, 7, 24, 0x65, 0x97, 0xcd, 0x00}},
	} {
		s := Of(c.numbers, nil)
		p := s.Plan()
		require.Equal(t, c.form, p.Form, "%v", c.numbers)
		require.Equal(t, c.want, s.Append(nil, p), "%v", c.numbers)
	}
}

func count(from, to, step uint32) (numbers []uint32) {
	for ; from <= to; from += step {
		numbers = append(numbers, from)
	}
	return numbers
}

// TestReadFails: bytes that nobody has written, and how far a reader comes with them.
func TestReadFails(t *testing.T) {
	for _, c := range []struct {
		form Form
		data []byte
		want error
		n    int
	}{
		{Single, nil, ErrEnd, 0},
		{Single, []byte{0x80}, ErrEnd, 0},
		{Single, []byte{0x80, 0x00}, ErrNumber, 0},
		{Single, []byte{0x80, 0x80, 0x80, 0x80, 0x08}, ErrLarge, 5},
		{Run, []byte{5}, ErrEnd, 1},
		{Run, []byte{5, 99}, ErrMany, 2},
		{Run, []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0}, ErrLarge, 6},
		{Stride, []byte{5, 0xff, 0xff, 0xff, 0xff, 0x07, 0}, ErrLarge, 6},
		{Runs, []byte{5, 0, 3, 0}, ErrEnd, 4},
		{RandomGaps, []byte{0x44}, ErrEnd, 0},
		{RandomGaps, []byte{0x44, 0x88, 0xc4, 0x21, 0x87}, ErrBits, 0},
		{Bitmap, []byte{100, 24, 0x65}, ErrEnd, 2},
		{Bitmap, []byte{100, 24, 0x65, 0x97, 0xcd, 0x80}, ErrBits, 2},
		{Runs, []byte{10, 0, 0, 0, 0}, ErrNotBest, 5},
		{NumForms, []byte{10}, ErrNotBest, 0},
	} {
		_, n, err := new(Reader).Read(c.data, c.form, 100)
		require.ErrorIs(t, err, c.want, "form %d: % x", c.form, c.data)
		require.Equal(t, c.n, n, "form %d: % x", c.form, c.data)
	}
}

// TestGapsAreAppended: sets that are read one after the other share an array.
func TestGapsAreAppended(t *testing.T) {
	gaps := make([]Gaps, 0, 16)
	first := Of([]uint32{1, 2, 3, 9}, gaps)
	second := Of([]uint32{0, 6, 7}, first.Gaps)
	require.Equal(t, []Gaps{{1, 2}, {6, 1}}, first.Gaps)
	require.Equal(t, []Gaps{{6, 1}, {1, 1}}, second.Gaps, "the first gap is not counted to the other set's last one")

	p := second.Plan()
	r := Reader{Gaps: first.Gaps}
	again, _, err := r.Read(second.Append(nil, p), p.Form, 10)
	require.NoError(t, err)
	require.Equal(t, second.Gaps, again.Gaps)
	require.Equal(t, append(append([]Gaps{}, first.Gaps...), second.Gaps...), r.Gaps)
}

// random returns a set of one of the patterns that the forms are made for.
func random(rng *rand.Rand) []uint32 {
	first, step := rng.Int63n(1<<rng.Intn(20)), int64(1)
	if rng.Intn(3) == 0 {
		step = 1 + rng.Int63n(1<<rng.Intn(12))
	}
	n, holes, sparse := 1+rng.Intn(1<<rng.Intn(9)), rng.Intn(10), 1+rng.Int63n(1<<rng.Intn(10))
	if rng.Intn(4) == 0 {
		holes = 0
	}
	var numbers []uint32
	for p := first; len(numbers) < n && p <= math.MaxInt32; p += step {
		if holes > 0 && rng.Intn(11-holes) == 0 {
			p += step * rng.Int63n(sparse)
		}
		if p <= math.MaxInt32 {
			numbers = append(numbers, uint32(p))
		}
	}
	return numbers
}

// checkSet holds a set against every way to write it: it comes back from the shortest, and from no other.
func checkSet(t *testing.T, numbers []uint32) Plan {
	t.Helper()
	s := Of(numbers, nil)
	plan := s.Plan()
	data := s.Append([]byte("head"), plan)
	require.Len(t, data, len("head")+plan.Size, "%v", numbers)
	eachForm(&s, func(p Plan, data []byte) {
		require.False(t, len(data) < plan.Size || len(data) == plan.Size && p.Form < plan.Form, "form %d in place of %d: %v", p.Form, plan.Form, numbers)
		back, n, err := new(Reader).Read(append(data, "tail"...), p.Form, len(numbers))
		if p.Size = plan.Size; p != plan {
			require.Error(t, err, "form %d in place of %d: %v", p.Form, plan.Form, numbers)
			return
		}
		require.NoError(t, err)
		require.Equal(t, len(data), n)
		require.Equal(t, numbers, list(&back))
		_, _, err = new(Reader).Read(data, p.Form, len(numbers)-1)
		require.True(t, len(numbers) == 1 || errors.Is(err, ErrMany), "limit: %v", err)
	})
	return plan
}

func list(s *Set) (numbers []uint32) {
	s.Each(func(number uint32) { numbers = append(numbers, number) })
	return numbers
}

// eachForm writes the set in every form that can hold it, with every parameter.
func eachForm(s *Set, visit func(p Plan, data []byte)) {
	try := func(p Plan) { visit(p, s.Append(nil, p)) }
	if s.Len == 1 {
		try(Plan{Form: Single, step: 1})
		return
	}
	span, _, step := s.extent()
	switch {
	case len(s.Gaps) == 1 && step == 1:
		try(Plan{Form: Run, step: 1})
	case len(s.Gaps) == 1:
		try(Plan{Form: Stride, step: step})
	default:
		try(Plan{Form: Runs, step: 1})
		if step > 1 {
			try(Plan{Form: StridedRuns, step: step})
		}
	}
	for k := range uint8(32) {
		if span>>k < 1<<16 {
			try(Plan{Form: RandomGaps, step: 1, k: k})
		}
	}
	if span > 1 && span < 1<<20 {
		try(Plan{Form: Bitmap, step: 1})
	}
	if step > 1 && span > step && span/step < 1<<20 {
		try(Plan{Form: StridedBitmap, step: step})
	}
}

// TestShortestForm: every set comes back, is written in the shortest form, and every form is the shortest for some.
func TestShortestForm(t *testing.T) {
	var chosen [NumForms]int
	for seed := range int64(3000) {
		numbers := random(rand.New(rand.NewSource(seed)))
		chosen[checkSet(t, numbers).Form]++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for form, n := range chosen {
		assert.Positive(t, n, "form %d is never chosen: %v", form, chosen)
	}
}

// FuzzSet writes the set whose gaps are the varints in data.
func FuzzSet(f *testing.F) {
	f.Add([]byte{5, 1, 1, 1, 9, 1, 1})
	f.Add([]byte{200, 1, 100, 100, 100, 200, 1, 100})
	f.Add([]byte{3, 9, 8, 17, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		var numbers []uint32
		for last := uint64(0); len(numbers) < 1000; {
			gap, n := binary.Uvarint(data)
			if n <= 0 || gap > 1<<20 {
				break
			}
			data = data[n:]
			if last += gap; gap > 0 || len(numbers) == 0 {
				numbers = append(numbers, uint32(last))
			}
		}
		if len(numbers) > 0 {
			checkSet(t, numbers)
		}
	})
}

// FuzzRead reads any bytes: what can be read is written in the same bytes, and costs no more than a few entries a byte.
func FuzzRead(f *testing.F) {
	for seed := range int64(16) {
		s := Of(random(rand.New(rand.NewSource(seed))), nil)
		p := s.Plan()
		f.Add(byte(p.Form), s.Append(nil, p))
	}
	f.Add(byte(RandomGaps), []byte{0x44, 0x88, 0xc4, 0x21, 0x87})
	f.Fuzz(func(t *testing.T, form byte, data []byte) {
		var r Reader
		s, n, err := r.Read(data, Form(form%byte(NumForms)), 1<<20)
		require.LessOrEqual(t, n, len(data))
		require.LessOrEqual(t, len(r.Gaps), 8*len(data)+1)
		if err != nil {
			return
		}
		require.LessOrEqual(t, s.Len, 1<<20)
		p := s.Plan()
		require.True(t, bytes.Equal(data[:n], s.Append(nil, p)), "% x is written as % x", data[:n], s.Append(nil, p))
	})
}

// BenchmarkPlan plans the sets that groups have: runs, strides and random choices of 100 of 100 000 numbers.
func BenchmarkPlan(b *testing.B) {
	rng := rand.New(rand.NewSource(1))
	sparse := map[uint32]bool{}
	for len(sparse) < 100 {
		sparse[uint32(rng.Intn(100_000))] = true
	}
	var chosen []uint32
	for n := range uint32(100_000) {
		if sparse[n] {
			chosen = append(chosen, n)
		}
	}
	for _, c := range []struct {
		name    string
		numbers []uint32
	}{{"run", count(700, 799, 1)}, {"stride", count(7, 99_000, 1000)}, {"random", chosen}} {
		s := Of(c.numbers, nil)
		data, form := s.Append(nil, s.Plan()), s.Plan().Form
		b.Run(c.name+"/plan", func(b *testing.B) {
			for range b.N {
				s.Plan()
			}
		})
		b.Run(c.name+"/read", func(b *testing.B) {
			var r Reader
			for range b.N {
				r.Gaps = r.Gaps[:0]
				if _, _, err := r.Read(data, form, 1000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
