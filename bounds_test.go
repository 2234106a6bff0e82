package assignor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

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
