package assignor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

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
