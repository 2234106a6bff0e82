package assignor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestOrderToStopForAnotherOwner: A and B both ran 0_0. B, whose generation was the higher one, went on with it, A was told to
// stop, and C went on learning it. Then B crashed, and A, which had missed the order, still ran it. The order to A was taken for one
// to hand 0_0 over, and C was to run it, far behind as it was; but only where every task was claimed by somebody.
func TestOrderToStopForAnotherOwner(t *testing.T) {
	task := assignor.TaskID{}
	memory := &assignor.Assignment{Generation: 7, Members: []assignor.MemberAssignment{
		{Member: "A", Revoke: []assignor.TaskID{task}},
		{Member: "B", Active: []assignor.TaskID{task}, Handover: []assignor.TaskID{task}},
		{Member: "C", Learners: []assignor.TaskID{task}},
	}}
	members := []assignor.Member{
		{ID: "A", Generation: 6, Leaving: true, Active: []assignor.TaskID{task}},
		{ID: "C", Generation: 7, Learners: []assignor.Replica{{Task: task, Lag: 1_000_000}}},
	}
	a, err := assignor.Assign(members, memory, assignor.Config{Topology: []assignor.Subtopology{{Partitions: 1}}})
	require.NoError(t, err)
	require.Equal(t, "A(assigned: [0_0], revoked: [], learning: [])\nC(assigned: [], revoked: [], learning: [0_0])", a.String())
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
