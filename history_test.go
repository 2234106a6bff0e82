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
