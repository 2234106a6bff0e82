package level_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor/internal/level"
)

func newLevelling(parts int) level.Levelling {
	return level.New(make([]int64, level.Columns*parts), parts)
}

// The first example of the package comment: somebody has too much.
func ExampleLevelling_Targets() {
	l := newLevelling(3)
	copy(l.Have, []int64{6, 4, 0})
	for i := range l.Have {
		l.Capacity[i] = 1
		l.Low[i], l.High[i] = level.Range(10, 1, 3, 0)
		l.Floor[i] = l.Low[i]
	}
	l.Prefer = l.Have
	fmt.Println(l.Targets())
	// Output: [3 4 3]
}

// The second one: nobody gives up anything.
func ExampleLevelling_Targets_incoming() {
	l := newLevelling(3)
	copy(l.Have, []int64{2, 2, 0})
	l.Incoming = 7
	for i, have := range l.Have {
		l.Capacity[i] = 1
		l.First[i], l.High[i] = level.Range(11, 1, 3, 0)
		l.Low[i], l.Floor[i] = have, have
	}
	l.Prefer = l.Have
	fmt.Println(l.Targets())
	// Output: [4 4 3]
}

// TestTargetsNeedFewestMoves compares the targets of random small groups with all targets that there are: within the same bounds
// none needs fewer moves.
func TestTargetsNeedFewestMoves(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l := newLevelling(2 + rng.IntN(3))
		total, sum := int64(rng.IntN(6)), int64(0)
		l.Incoming = total
		for i := range l.Have {
			l.Capacity[i], l.Have[i] = 1+rng.Int64N(3), rng.Int64N(6)
			total += l.Have[i]
			sum += l.Capacity[i]
		}
		percent := rng.IntN(2) * 30
		checkFair(t, &l, total, sum, percent, fmt.Sprintf("seed %d", seed))
	}
}

// checkFair sets the bounds of fair ranges and checks the targets.
func checkFair(t *testing.T, l *level.Levelling, total, sum int64, percent int, name string) {
	t.Helper()
	for i := range l.Have {
		l.Low[i], l.High[i] = level.Range(total, l.Capacity[i], sum, percent)
		l.Floor[i], l.Last[i] = l.Low[i], math.MaxInt64
	}
	l.Prefer = l.Have
	target := l.Targets()
	require.Equal(t, total, sumOf(target), "%s: the targets %v do not add up", name, target)
	for i := range target {
		require.True(t, target[i] >= l.Low[i] && target[i] <= l.High[i], "%s: target %d of %v is out of its range", name, i, target)
	}
	require.Equal(t, fewestMoves(l, 0, total), moves(l, target), "%s: have %v, incoming %d, targets %v", name, l.Have, l.Incoming, target)
}

func sumOf(n []int64) int64 {
	sum := int64(0)
	for _, v := range n {
		sum += v
	}
	return sum
}

// moves counts what parts give up.
func moves(l *level.Levelling, target []int64) int64 {
	n := int64(0)
	for i := range target {
		n += max(0, l.Have[i]-target[i])
	}
	return n
}

// fewestMoves tries all targets within the bounds for the parts from k on that add up to total.
func fewestMoves(l *level.Levelling, k int, total int64) int64 {
	if k == len(l.Have) {
		if total == 0 {
			return 0
		}
		return math.MaxInt32
	}
	best := int64(math.MaxInt32)
	for target := l.Low[k]; target <= min(l.High[k], total); target++ {
		best = min(best, max(0, l.Have[k]-target)+fewestMoves(l, k+1, total-target))
	}
	return best
}

// TestRange looks at the corners of the range: rounding, tolerance, and the one thing that a part with a whole share gets.
func TestRange(t *testing.T) {
	const most, maxCapacity = int64(1<<20) * math.MaxInt32, int64(1 << 40)
	for _, c := range []struct {
		total, capacity, sum int64
		percent              int
		lo, hi               int64
	}{
		{10, 1, 4, 0, 2, 3},
		{12, 1, 4, 0, 3, 3},
		{12, 1, 4, 50, 1, 5},
		{4, 1, 4, 100, 1, 2}, // tolerance leaves no newcomer idle
		{3, 1, 4, 0, 0, 1},
		{1001, 1000, 1001, 0, 1000, 1000},
		{most, maxCapacity, maxCapacity, 100, 1, 2 * most},
	} {
		lo, hi := level.Range(c.total, c.capacity, c.sum, c.percent)
		require.Equal(t, [2]int64{c.lo, c.hi}, [2]int64{lo, hi}, "%+v", c)
	}
}

// TestCompareRatios compares products that no int64 holds.
func TestCompareRatios(t *testing.T) {
	const most = math.MaxInt64
	require.Equal(t, 0, level.CompareRatios(most, most, most-1, most-1))
	require.Equal(t, 1, level.CompareRatios(most, most-1, most-1, most-1))
	require.Equal(t, -1, level.CompareRatios(most-1, most, most, most))
	require.Equal(t, 0, level.CompareRatios(0, 1, 0, most))
}

// Each bound is a pass of its own: what one leaves over goes on to the next, and who is not admitted gets nothing.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		name                           string
		have, first, high, spill, last []int64
		incoming                       int64
		want                           []int64
	}{
		{"nothing to give", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 0, []int64{0, 0}},
		{"to First", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 1, []int64{1, 0}},
		{"to High", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 2, []int64{1, 1}},
		{"to Spill", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 3, []int64{2, 1}},
		{"to Last", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 4, []int64{3, 1}},
		{"nobody may take the fifth", []int64{0, 0}, []int64{1, 0}, []int64{1, 1}, []int64{2, 0}, []int64{3, 0}, 5, []int64{3, 1}},
		{"to Have, before Spill", []int64{0, 9}, []int64{0, 0}, []int64{1, 5}, []int64{7, 0}, []int64{7, 0}, 0, []int64{1, 8}},
		{"and Spill after it", []int64{0, 9}, []int64{0, 0}, []int64{1, 5}, []int64{7, 0}, []int64{7, 0}, 2, []int64{2, 9}},
	} {
		l := newLevelling(2)
		copy(l.Capacity, []int64{1, 1})
		l.Have, l.First, l.High, l.Spill, l.Last = c.have, c.first, c.high, c.spill, c.last
		l.Prefer, l.Incoming = l.Have, c.incoming
		require.Equal(t, c.want, l.Targets(), c.name)
	}
}

// A Ranking gives its items in order, whatever they were.
func TestRanking(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rank := make([]int, rng.IntN(20))
		h := level.Ranking{Less: func(a, b int32) bool { return rank[a] < rank[b] || rank[a] == rank[b] && a < b }}
		for i := range rank {
			rank[i] = rng.IntN(10)
			h.Items = append(h.Items, int32(i))
		}
		sorted := slices.Clone(h.Items)
		slices.SortFunc(sorted, func(a, b int32) int {
			if h.Less(a, b) {
				return -1
			}
			return 1
		})
		h.Init()
		got := slices.Clone(h.Items[:0])
		for len(h.Items) > 0 {
			got = append(got, h.Items[0])
			h.SettleTop(false)
		}
		require.Equal(t, sorted, got, "seed %d", seed)
	}
}

// FuzzTargets checks what holds for any loads and capacities with fair ranges: the targets add up, keep within the ranges, need the
// fewest moves, and levelling them again changes nothing.
func FuzzTargets(f *testing.F) {
	f.Add([]byte{6, 1, 4, 1, 0, 1}, uint8(0), uint8(0))
	f.Add([]byte{2, 1, 2, 1, 0, 1}, uint8(7), uint8(0))
	f.Add([]byte{9, 3, 0, 2, 5, 1, 1, 7}, uint8(3), uint8(30))
	f.Fuzz(func(t *testing.T, parts []byte, incoming, percent uint8) {
		n := min(len(parts)/2, 4)
		if n == 0 {
			return
		}
		l := newLevelling(n)
		total, sum := int64(incoming%16), int64(0)
		l.Incoming = total
		for i := range n {
			l.Have[i], l.Capacity[i] = int64(parts[2*i]%16), 1+int64(parts[2*i+1]%8)
			total += l.Have[i]
			sum += l.Capacity[i]
		}
		checkFair(t, &l, total, sum, int(percent)%101, "fuzz")
		copy(l.Have, l.Targets())
		l.Incoming = 0
		require.Equal(t, l.Have, l.Targets(), "levelled again")
	})
}
