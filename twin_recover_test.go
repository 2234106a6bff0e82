package assignor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/twin"
)

// TestRecoverAgreesWithTwin: groups in which most tasks have one owner, in lists that are sorted, shuffled or given twice, with
// partitions numbered from 0, with gaps, far above or below what there is.
func TestRecoverAgreesWithTwin(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		members := recoverable(rng)
		require.Equal(t, twin.Recover(members), assignor.Recover(members), "seed %d", seed)
	}
}

// recoverable returns reports of a group of which some members are behind and some claim what others run.
func recoverable(rng *rand.Rand) []assignor.Member {
	members := make([]assignor.Member, 1+rng.IntN(8))
	for i := range members {
		members[i] = assignor.Member{ID: string(rune('a' + rng.IntN(10))), Generation: 5 + int32(rng.IntN(2))}
	}
	subs, partitions := []int32{0, 1, 2, 7, 1 << 20, -3}, []int32{0, 0, 0, 1000, math.MaxInt32 - 100, -50}
	for _, sub := range subs {
		first := partitions[rng.IntN(len(partitions))]
		for p := range int32(rng.IntN(40)) {
			task := assignor.TaskID{Subtopology: sub, Partition: first + p}
			for range 1 + rng.IntN(5)/4 {
				m := &members[rng.IntN(len(members))]
				if rng.IntN(6) == 0 {
					m.Revoked = append(m.Revoked, task)
					continue
				}
				m.Active = append(m.Active, task)
			}
		}
	}
	for i := range members {
		if active := members[i].Active; rng.IntN(3) == 0 {
			rng.Shuffle(len(active), func(a, b int) { active[a], active[b] = active[b], active[a] })
		}
	}
	return members
}
