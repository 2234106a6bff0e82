package assignor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTargetsNeedFewestMoves compares the targets of random small groups with all targets that there are: within the same bounds
// none needs fewer moves.
func TestTargetsNeedFewestMoves(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l := newLevelling(2 + rng.IntN(3))
		total, sum := int64(rng.IntN(6)), int64(0)
		l.incoming = total
		for i := range l.have {
			l.capacity[i], l.have[i] = 1+rng.Int64N(3), rng.Int64N(6)
			total += l.have[i]
			sum += l.capacity[i]
		}
		for i := range l.have {
			l.lo[i], l.hi[i] = fairRange(total, l.capacity[i], sum, rng.IntN(2)*30)
			l.floor[i], l.last[i] = l.lo[i], math.MaxInt64
		}
		l.prefer = l.have
		target := l.targets()
		require.Equal(t, total, sumOf(target), "seed %d: the targets %v do not add up", seed, target)
		for i := range target {
			require.True(t, target[i] >= l.lo[i] && target[i] <= l.hi[i], "seed %d: target %d of %v is out of its range", seed, i, target)
		}
		require.Equal(t, fewestMoves(&l, 0, total), moves(&l, target), "seed %d: have %v, incoming %d, targets %v", seed, l.have, l.incoming, target)
	}
}

func sumOf(n []int64) int64 {
	sum := int64(0)
	for _, v := range n {
		sum += v
	}
	return sum
}

// moves counts the tasks that parts give up.
func moves(l *levelling, target []int64) int64 {
	n := int64(0)
	for i := range target {
		n += max(0, l.have[i]-target[i])
	}
	return n
}

// fewestMoves tries all targets within the bounds for the parts from k on that add up to total.
func fewestMoves(l *levelling, k int, total int64) int64 {
	if k == len(l.have) {
		if total == 0 {
			return 0
		}
		return math.MaxInt32
	}
	best := int64(math.MaxInt32)
	for target := l.lo[k]; target <= min(l.hi[k], total); target++ {
		best = min(best, max(0, l.have[k]-target)+fewestMoves(l, k+1, total-target))
	}
	return best
}

// TestFairRange looks at the corners of the range: rounding, tolerance, and the one task that an instance with a whole share gets.
func TestFairRange(t *testing.T) {
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
		{MaxTasks * math.MaxInt32, maxCapacity, maxCapacity, 100, 1, 2 * MaxTasks * math.MaxInt32},
	} {
		lo, hi := fairRange(c.total, c.capacity, c.sum, c.percent)
		require.Equal(t, [2]int64{c.lo, c.hi}, [2]int64{lo, hi}, "%+v", c)
	}
}

// TestHugeCapacities checks that capacities whose sum does not fit are scaled down, not up, and that shares stay what they are.
func TestHugeCapacities(t *testing.T) {
	members := make([]Member, 1200)
	for i := range members {
		members[i] = Member{ID: string(rune('a'+i/26/26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26)), Capacity: math.MaxInt32}
	}
	a, err := Assign(members, nil, Config{Topology: []Subtopology{{Partitions: 2400}}})
	require.NoError(t, err)
	for _, ma := range a.Members {
		require.Len(t, ma.Active, 2)
	}
}

// TestTablesTooLargeToKeep gives more pairs of instances and subtopologies than a table is kept of: the tasks are dealt out in id
// order, evenly all the same.
func TestTablesTooLargeToKeep(t *testing.T) {
	members := make([]Member, 4200)
	for i := range members {
		members[i].ID = string(rune('a'+i/26/26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
	}
	config := Config{Topology: make([]Subtopology, 4200), Standbys: 1}
	for s := range config.Topology {
		config.Topology[s] = Subtopology{ID: int32(s), Partitions: 2}
	}
	a, err := Assign(members, nil, config)
	require.NoError(t, err)
	require.NoError(t, Check(members, a, config))
	for _, ma := range a.Members {
		require.Len(t, ma.Active, 2)
		require.Len(t, ma.Standbys, 2)
	}
}

func newLevelling(parts int) levelling {
	return levellingIn(make([]int64, levellingColumns*parts), parts)
}
