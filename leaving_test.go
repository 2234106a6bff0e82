package assignor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// TestScaleDown: who is told to leave. S1 to S4 run 3, 1, 1 and 2 tasks, of which those of S2 cost more than those of S3.
func TestScaleDown(t *testing.T) {
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 7, RestoreCost: []int64{1, 1, 1, 9, 8, 1, 1}}}}
	group := func() []assignor.Member {
		return []assignor.Member{
			{ID: "S4", Active: []assignor.TaskID{id(0, 5)}, Revoked: []assignor.TaskID{id(0, 6)}},
			{ID: "S1", Active: []assignor.TaskID{id(0, 0), id(0, 1), id(0, 2), id(0, 0)}},
			{ID: "S3", Active: []assignor.TaskID{id(0, 4)}},
			{ID: "S2", Active: []assignor.TaskID{id(0, 3)}},
		}
	}
	for target, want := range map[int][]string{
		5: nil, 4: nil, 3: {"S3"}, 2: {"S2", "S3"}, 1: {"S2", "S3", "S4"}, 0: {"S2", "S3", "S4"}, math.MinInt: {"S2", "S3", "S4"},
	} {
		require.Equal(t, want, assignor.ScaleDown(group(), target, config), "target %d", target)
	}

	one := group()
	one[2].Leaving = true
	require.Equal(t, []string{"S2"}, assignor.ScaleDown(one, 2, config), "who leaves already does not count")
	one[2].Instance, one[1].Instance = "S1", "S1"
	require.Nil(t, assignor.ScaleDown(one, 3, config), "an instance one of whose members leaves stays")
	require.Equal(t, []string{"S2", "S4"}, assignor.ScaleDown(one, 1, config))
	require.Equal(t, []string{"B", "C"}, assignor.ScaleDown([]assignor.Member{{ID: "C"}, {ID: "A"}, {ID: "B"}}, 1, config), "the largest names go")
}

// TestScaleDownFortyToThirtyTwo: of 40 instances with two members each the 8 with the least to move go, however they are listed.
func TestScaleDownFortyToThirtyTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	config := assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 1000, Weight: 3}, {ID: 1, Partitions: 1000}}}
	var members []assignor.Member
	load := map[string]int{}
	next := int32(0)
	for i := range 40 {
		for m := range 2 {
			member := assignor.Member{ID: fmt.Sprintf("m%02d-%d", i, m), Instance: fmt.Sprintf("h%02d", i)}
			for range rng.IntN(6) {
				sub := rng.Int32N(2)
				member.Active = append(member.Active, id(sub, next))
				load[member.Instance] += 3 - 2*int(sub)
				next++
			}
			members = append(members, member)
		}
	}
	leave := assignor.ScaleDown(members, 32, config)
	require.Len(t, leave, 8)
	require.True(t, slices.IsSorted(leave))
	most := 0
	for _, name := range leave {
		most = max(most, load[name])
	}
	for i := range 40 {
		if name := fmt.Sprintf("h%02d", i); !slices.Contains(leave, name) {
			require.GreaterOrEqual(t, load[name], most, "%s stays", name)
		}
	}
	for range 10 {
		churn.Shuffle(rng, members)
		require.Equal(t, leave, assignor.ScaleDown(members, 32, config))
	}
}

// TestScaleDownOfUnknownTasks: a task of a partition that its subtopology does not have weighed what the others do.
func TestScaleDownOfUnknownTasks(t *testing.T) {
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 2, Weight: 5, RestoreCost: []int64{1, 1}}}}
	members := []assignor.Member{
		{ID: "A", Active: []assignor.TaskID{{Partition: 0}}},
		{ID: "B", Active: []assignor.TaskID{{Partition: 7}, {Partition: 8}}},
		{ID: "C", Active: []assignor.TaskID{{Partition: 1}}},
	}
	require.Equal(t, []string{"B"}, assignor.ScaleDown(members, 2, config))
}
