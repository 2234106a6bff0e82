package assignor_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// twinRecover is Recover of members that echo no memory: it sorts all claims by task, the latest generation first, where Recover
// counts in arrays.
func twinRecover(members []assignor.Member) *assignor.Assignment {
	known := twinKnown(members)
	a := &assignor.Assignment{Members: []assignor.MemberAssignment{}}
	for i := range members {
		a.Generation = max(a.Generation, twinGeneration(members[i].Generation))
	}
	type claim struct {
		task   assignor.TaskID
		gen    int32
		member int
	}
	var claims []claim
	for i, m := range known {
		a.Members = append(a.Members, assignor.MemberAssignment{
			Member: m.ID, Instance: cmp.Or(m.Instance, m.ID), Leaving: m.Leaving, Version: m.Version, Generation: a.Generation,
		})
		for _, task := range slices.Concat(m.Active, m.Revoked) {
			claims = append(claims, claim{task, m.Generation, i})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(a.task.Compare(b.task), cmp.Compare(b.gen, a.gen), cmp.Compare(a.member, b.member))
	})
	claims = slices.Compact(claims)
	for i, c := range claims {
		first := i == 0 || claims[i-1].task != c.task
		tied := i+1 < len(claims) && claims[i+1].task == c.task && claims[i+1].gen == c.gen
		if first && !tied {
			a.Members[c.member].Active = append(a.Members[c.member].Active, c.task)
		}
	}
	return a
}

// twinKnown returns the members that have a generation, by id, of several with one id the first; of those that have none and
// of those that come after it under its id, none.
func twinKnown(members []assignor.Member) []assignor.Member {
	seen := map[string]bool{"": true}
	var known []assignor.Member
	for _, m := range members {
		if !seen[m.ID] && twinGeneration(m.Generation) > 0 {
			known = append(known, m)
		}
		seen[m.ID] = true
	}
	slices.SortFunc(known, func(a, b assignor.Member) int { return cmp.Compare(a.ID, b.ID) })
	return known
}

func twinGeneration(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// TestRecoverAgreesWithTwin: groups in which most tasks have one owner, in lists that are sorted, shuffled or given twice, with
// partitions numbered from 0, with gaps, far above or below what there is.
func TestRecoverAgreesWithTwin(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		members := recoverable(rng)
		require.Equal(t, twinRecover(members), assignor.Recover(members), "seed %d", seed)
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
