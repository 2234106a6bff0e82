package assignor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestManyStandbys: more standbys than an int32 holds became a negative number of them, and Assign panicked. Whatever the number,
// the answer is that of one standby on every other instance, and what is missing is counted as far as an int goes.
func TestManyStandbys(t *testing.T) {
	members := []assignor.Member{{ID: "A"}, {ID: "B"}, {ID: "C"}}
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 4}}, Standbys: 2}
	want, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	for _, standbys := range []int{3, math.MaxInt32, math.MaxInt >> 1, math.MaxInt} {
		config.Standbys = standbys
		a, err := assignor.Assign(members, nil, config)
		require.NoError(t, err)
		require.Equal(t, want.String(), a.String(), "%d standbys", standbys)
		require.Positive(t, a.MissingStandbys, "%d standbys", standbys)
	}
}

// TestEverybodyClaimsEverything: each copy of a member was compared with every conflict of the group, which took minutes where
// all of many tasks were claimed by several members: then this test does not end in time.
func TestEverybodyClaimsEverything(t *testing.T) {
	const tasks = 20_000
	members := make([]assignor.Member, 4)
	for i := range members {
		members[i] = assignor.Member{ID: fmt.Sprintf("S%d", i), Generation: 1}
		for p := range int32(tasks) {
			members[i].Active = append(members[i].Active, assignor.TaskID{Partition: p})
			members[i].Standbys = append(members[i].Standbys, assignor.Replica{Task: assignor.TaskID{Partition: p}})
		}
	}
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: tasks}}}
	a, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	require.NoError(t, assignor.Check(members, a, config))
	require.Len(t, a.Members[0].Revoke, tasks)
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

// TestNegativeNumbers: a member that reported a task which cannot be kept it, and then the whole group could not be encoded.
func TestNegativeNumbers(t *testing.T) {
	none := assignor.TaskID{Subtopology: -1, Partition: -1}
	members := []assignor.Member{{
		ID: "A", Active: []assignor.TaskID{none, {}}, Revoked: []assignor.TaskID{{Partition: -3}},
		Learners: []assignor.Replica{{Task: none}}, Standbys: []assignor.Replica{{Task: none}},
	}}
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 1}}}
	a, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	require.NoError(t, assignor.Check(members, a, config))
	require.Equal(t, []assignor.TaskID{{}}, a.Members[0].Active)
	_, err = a.Encode(0)
	require.NoError(t, err)
}
