package assignor_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// TestRecover: what a new leader remembers.
func TestRecover(t *testing.T) {
	require.Equal(t, &assignor.Assignment{Members: []assignor.MemberAssignment{}}, assignor.Recover(nil))
	members := []assignor.Member{
		{ID: "S3", Generation: 7, Active: []assignor.TaskID{id(0, 4), id(0, 0)}, Leaving: true, Version: 1},
		{ID: "S1", Instance: "h1", Generation: 7, Active: []assignor.TaskID{id(0, 1)}, Revoked: []assignor.TaskID{id(0, 2), id(0, 2)}},
		{ID: "S2", Generation: 6, Active: []assignor.TaskID{id(0, 1), id(0, 3)}},
		{ID: "S4", Active: []assignor.TaskID{id(0, 5)}},                            // new: not in the memory
		{ID: "S4", Generation: 7, Active: []assignor.TaskID{id(0, 9)}},             // there is one already, which is new
		{ID: "", Generation: 7, Active: []assignor.TaskID{id(0, 6)}},               // nobody
		{ID: "S1", Generation: 7, Active: []assignor.TaskID{id(0, 7)}},             // there is one already
		{ID: "S5", Generation: math.MaxInt32, Active: []assignor.TaskID{id(0, 8)}}, // no leader can have given that
		{ID: "S6", Generation: 7, Active: []assignor.TaskID{id(0, 4)}},             // in dispute with S3
	}
	rebuilt := &assignor.Assignment{Generation: 7, Members: []assignor.MemberAssignment{
		{Member: "S1", Instance: "h1", Generation: 7, Active: []assignor.TaskID{id(0, 1), id(0, 2)}},
		{Member: "S2", Instance: "S2", Generation: 7, Active: []assignor.TaskID{id(0, 3)}},
		{Member: "S3", Instance: "S3", Generation: 7, Leaving: true, Version: 1, Active: []assignor.TaskID{id(0, 0)}},
		{Member: "S6", Instance: "S6", Generation: 7},
	}}
	require.Equal(t, rebuilt, assignor.Recover(members))

	older, newer := &assignor.Assignment{Generation: 6}, &assignor.Assignment{
		Generation: 7, Members: []assignor.MemberAssignment{{Member: "S1", Active: []assignor.TaskID{id(0, 1)}}},
		Departed: []assignor.Departure{{Instance: "h9", Absent: time.Minute, Tasks: []assignor.TaskID{id(0, 9)}}},
	}
	members[0].Memory = older
	require.Equal(t, rebuilt, assignor.Recover(members), "what is echoed is older than a report")
	members[1].Memory = newer
	got := assignor.Recover(members)
	require.Equal(t, newer, got)
	got.Members[0].Active[0], got.Departed[0].Tasks[0] = id(9, 9), id(9, 9)
	require.Equal(t, id(0, 1), newer.Members[0].Active[0], "the result shares nothing")
	require.Equal(t, id(0, 9), newer.Departed[0].Tasks[0])

	members[1].Memory, members[3].Memory = nil, &assignor.Assignment{Generation: 9, Members: newer.Members}
	got = assignor.Recover(members)
	require.Equal(t, int32(9), got.Generation, "S4 knows of a generation 9, and has not acted on it")
	for i := range rebuilt.Members {
		rebuilt.Members[i].Generation = 9
	}
	require.Equal(t, rebuilt.Members, got.Members)
	members[1].Memory = newer
	require.Equal(t, rebuilt.Members, assignor.Recover(members).Members, "7 is not the newest")
}

// TestRecoverGivesNobodyATask: as an answer where Assign fails it lets members do what they do, and no more.
func TestRecoverGivesNobodyATask(t *testing.T) {
	for seed := range uint64(50) {
		w, err := churn.Play(seed, assignor.Assign, assignor.Assign, (*churn.World).Churn)
		require.NoError(t, err)
		members := w.Reports()
		claims := map[assignor.TaskID][]string{}
		for i := range members {
			members[i].Memory = nil
			for _, task := range slices.Concat(members[i].Active, members[i].Revoked) {
				claims[task] = append(claims[task], members[i].ID)
			}
		}
		for _, ma := range assignor.Recover(members).Members {
			for _, task := range ma.Active {
				require.Contains(t, claims[task], ma.Member, "seed %d: %v", seed, task)
			}
		}
	}
}
