package assignor_test

import (
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
