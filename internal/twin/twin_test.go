package twin_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
	"github.com/incremental-rebalance/assignor/internal/twin"
)

func id(partition int32) assignor.TaskID { return assignor.TaskID{Partition: partition} }

// joined is a group of five tasks in which S4 joins S1, S2 and S3, and the rows that the design has of it.
func joined() (in twin.Input, rows string) {
	in.Config = assignor.Config{Topology: []assignor.Subtopology{{Partitions: 5}}}
	in.Members = []assignor.Member{
		{ID: "S1", Generation: 1, Active: []assignor.TaskID{id(0), id(1)}},
		{ID: "S2", Generation: 1, Active: []assignor.TaskID{id(2), id(3)}},
		{ID: "S3", Generation: 1, Active: []assignor.TaskID{id(4)}},
		{ID: "S4"},
	}
	in.Memory = twin.Recover(in.Members)
	return in, "S1(assigned: [0_0, 0_1], revoked: [], learning: [])\nS2(assigned: [0_2, 0_3], revoked: [], learning: [])\n" +
		"S3(assigned: [0_4], revoked: [], learning: [])\nS4(assigned: [], revoked: [], learning: [0_0])"
}

// TestAssign: the twin alone, on the worked example of the library, round by round.
func TestAssign(t *testing.T) {
	in, rows := joined()
	a, err := twin.Assign(in.Members, in.Memory, in.Config)
	require.NoError(t, err)
	require.Equal(t, rows, a.String())
	require.Equal(t, "[0_0: S1 -> S4 (learn), evens the load]", fmt.Sprint(a.Moves))
	in.Members = churn.Obey(in.Members, a, assignor.OneRound)
	in.Members[3].Learners[0].Lag = 0
	a, err = twin.Assign(in.Members, a, in.Config)
	require.NoError(t, err)
	require.Equal(t, "[0_0: S1 -> S4, learner caught up]", fmt.Sprint(a.Moves))
	_, err = twin.Assign(nil, nil, in.Config)
	require.ErrorIs(t, err, assignor.ErrNoMembers)
}

// TestDifference changes an answer in one way after the other: each is a difference.
func TestDifference(t *testing.T) {
	in, _ := joined()
	require.Empty(t, in.Difference())
	for name, change := range map[string]func(a *assignor.Assignment){
		"generation":    func(a *assignor.Assignment) { a.Generation++ },
		"follow-up":     func(a *assignor.Assignment) { a.FollowUp = true },
		"deadline":      func(a *assignor.Assignment) { a.NextRebalance = time.Second },
		"standbys":      func(a *assignor.Assignment) { a.MissingStandbys++ },
		"active":        func(a *assignor.Assignment) { a.Members[0].Active = a.Members[0].Active[:1] },
		"handover":      func(a *assignor.Assignment) { a.Members[0].Handover = nil },
		"revoke":        func(a *assignor.Assignment) { a.Members[1].Revoke = []assignor.TaskID{id(2)} },
		"learners":      func(a *assignor.Assignment) { a.Members[3].Learners = []assignor.TaskID{id(1)} },
		"instance":      func(a *assignor.Assignment) { a.Members[2].Instance = "h" },
		"departed":      func(a *assignor.Assignment) { a.Departed = []assignor.Departure{{Instance: "h"}} },
		"reason":        func(a *assignor.Assignment) { a.Moves[0].Reason = assignor.ReasonOrphan },
		"no move":       func(a *assignor.Assignment) { a.Moves = nil },
		"nil and empty": func(a *assignor.Assignment) { a.Members[0].Revoke = []assignor.TaskID{} },
	} {
		got, err := in.Answer()
		require.NoError(t, err)
		want, wantErr := twin.Assign(in.Members, in.Memory, in.Config)
		require.Empty(t, twin.Difference(got, nil, want, wantErr))
		change(got)
		require.NotEmpty(t, twin.Difference(got, nil, want, wantErr), name)
	}
	want, _ := in.Answer()
	require.NotEmpty(t, twin.Difference(nil, errors.New("no"), want, nil))
	require.NotEmpty(t, twin.Difference(nil, assignor.ErrMember, nil, assignor.ErrConfig))
	require.Empty(t, twin.Difference(nil, assignor.ErrMember, nil, assignor.ErrMember))
}
