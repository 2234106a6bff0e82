package assignor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// TestNext follows one member through an answer: what it runs, what it has stopped, and what state it has.
func TestNext(t *testing.T) {
	m := assignor.Member{
		ID: "S1", Instance: "h1", Generation: 4, Tags: map[string]string{"zone": "a"}, Memory: &assignor.Assignment{},
		Active:   []assignor.TaskID{id(0, 0), id(0, 1), id(0, 2), id(0, 3)},
		Revoked:  []assignor.TaskID{id(0, 4), id(0, 5)},
		Learners: []assignor.Replica{{Task: id(0, 6), Lag: 7, For: time.Second}, {Task: id(0, 9), Lag: 0, For: time.Minute}},
		Standbys: []assignor.Replica{{Task: id(0, 3), Lag: 30}, {Task: id(0, 7), Lag: 5}, {Task: id(0, 8), Lag: assignor.UnknownLag}},
	}
	ma := assignor.MemberAssignment{
		Member: "S1", Generation: 5,
		Active:   []assignor.TaskID{id(0, 0), id(0, 3), id(0, 4), id(0, 6), id(0, 9), id(0, 10)},
		Handover: []assignor.TaskID{id(0, 4)},
		Revoke:   []assignor.TaskID{id(0, 1), id(0, 11)},
		Learners: []assignor.TaskID{id(0, 7), id(0, 12)},
		Standbys: []assignor.TaskID{id(0, 2), id(0, 5), id(0, 8)},
	}
	want := assignor.Member{
		ID: "S1", Instance: "h1", Generation: 5, Tags: map[string]string{"zone": "a"},
		Active:   []assignor.TaskID{id(0, 0), id(0, 3), id(0, 6), id(0, 9), id(0, 10)},
		Revoked:  []assignor.TaskID{id(0, 4)},
		Learners: []assignor.Replica{{Task: id(0, 7), Lag: 5}, {Task: id(0, 12), Lag: assignor.UnknownLag}},
		Standbys: []assignor.Replica{
			{Task: id(0, 1)},                           // stopped, its state is left; 0_11 it never had
			{Task: id(0, 2)},                           // ran until now
			{Task: id(0, 3), Lag: 30},                  // is still being restored
			{Task: id(0, 5)},                           // stopped for a hand-over
			{Task: id(0, 6), Lag: 7, For: time.Second}, // runs, but had not caught up when it was learned
			{Task: id(0, 8), Lag: assignor.UnknownLag}, // as before
		},
	}
	before := churn.CloneMember(&m)
	got := m.Next(ma, assignor.OneRound)
	require.Equal(t, want, got)
	require.Equal(t, want, got.Next(ma, assignor.OneRound), "obeying twice")
	require.Equal(t, before.String(), m.String(), "the argument")

	got.Tags["zone"], got.Active[0], got.Standbys[0].Lag = "b", id(9, 9), 9
	require.Equal(t, "a", m.Tags["zone"])
	require.Equal(t, id(0, 0), ma.Active[0])
	require.Equal(t, before.String(), m.String(), "the result shares nothing")

	want.Active = []assignor.TaskID{id(0, 0), id(0, 3), id(0, 4), id(0, 6), id(0, 9), id(0, 10)}
	want.Revoked = nil
	require.Equal(t, want, m.Next(ma, assignor.TwoRounds), "with two rounds it runs on")
	require.Equal(t, assignor.Member{ID: "S9", Generation: 3}, assignor.Member{ID: "S9"}.Next(assignor.MemberAssignment{Generation: 3}, assignor.OneRound))
}
