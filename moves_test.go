package assignor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestMoves: of 1 000 tasks on 10 members, the eleventh gets 90, and no other task moves; a member that leaves moves its 100, and no
// other.
func TestMoves(t *testing.T) {
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 1000}}}
	var members []assignor.Member
	for i := range 10 {
		members = append(members, assignor.Member{ID: fmt.Sprintf("S%02d", i)})
	}
	start, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	stable := obey(members, start)

	joined := append(obey(members, start), assignor.Member{ID: "S10"})
	moved := movesUntilStable(t, joined, start, config)
	require.Len(t, moved, 90)
	for task, to := range moved {
		require.Equal(t, []string{"S10"}, to, "%v", task)
	}

	stable[3].Leaving = true
	moved = movesUntilStable(t, stable, start, config)
	require.Len(t, moved, 100)
	for task, to := range moved {
		owner, _ := start.Owner(task)
		require.Equal(t, "S03", owner, "%v", task)
		require.Len(t, to, 1, "%v", task)
	}
}

// movesUntilStable lets members obey and learners catch up, and returns who got each task that moved, move by move.
func movesUntilStable(t *testing.T, members []assignor.Member, memory *assignor.Assignment, config assignor.Config) map[assignor.TaskID][]string {
	t.Helper()
	moved := map[assignor.TaskID][]string{}
	for range 5 {
		answer, err := assignor.Assign(members, memory, config)
		require.NoError(t, err)
		require.NoError(t, assignor.Check(members, answer, config))
		for _, m := range answer.Moves {
			if m.Kind == assignor.MoveActive {
				moved[m.Task] = append(moved[m.Task], m.To)
			}
		}
		if len(answer.Moves) == 0 {
			return moved
		}
		members, memory = obey(members, answer), answer
		for i := range members {
			for k := range members[i].Learners {
				members[i].Learners[k].Lag = 0
			}
		}
	}
	require.Fail(t, "the group does not settle")
	return nil
}
