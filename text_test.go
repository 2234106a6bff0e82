package assignor_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func id(subtopology, partition int32) assignor.TaskID {
	return assignor.TaskID{Subtopology: subtopology, Partition: partition}
}

// TestTaskIDText: the text of a task id reads back as the same id, and nothing else reads as one.
func TestTaskIDText(t *testing.T) {
	for text, want := range map[string]assignor.TaskID{"0_0": id(0, 0), "0_12": id(0, 12), "2147483647_10": id(2147483647, 10)} {
		got, err := assignor.ParseTaskID(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
		marshaled, err := got.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(marshaled))
		var back assignor.TaskID
		require.NoError(t, back.UnmarshalText(marshaled))
		require.Equal(t, want, back)
	}
	for _, text := range []string{
		"", "_", "0", "0_", "_0", "0_0_0", "0-1", "-1_0", "0_-1", "+1_0", "00_1", "0_01", " 0_1", "0_1 ", "0x1_1", "1_2147483648", "9999999999_1", "a_1", "0_é",
	} {
		_, err := assignor.ParseTaskID(text)
		require.ErrorContains(t, err, "assignor: task id \""+text+"\"", "it must name what it refuses")
		kept := id(3, 4)
		require.Error(t, kept.UnmarshalText([]byte(text)))
		require.Equal(t, id(3, 4), kept, "what cannot be read changes nothing")
	}
}

// TestTaskIDCompare: task ids are ordered by numbers, not by their texts.
func TestTaskIDCompare(t *testing.T) {
	ids := []assignor.TaskID{id(10, 0), id(2, 0), id(0, 10), id(0, 2), id(0, 0)}
	slices.SortFunc(ids, assignor.TaskID.Compare)
	require.Equal(t, []assignor.TaskID{id(0, 0), id(0, 2), id(0, 10), id(2, 0), id(10, 0)}, ids)
	require.Zero(t, id(1, 2).Compare(id(1, 2)))
}

// TestRows: members, answers and assignments print as the rows that the scenarios are written in.
func TestRows(t *testing.T) {
	m := assignor.Member{
		ID: "S1", Active: []assignor.TaskID{id(0, 1), id(0, 2)}, Revoked: []assignor.TaskID{id(1, 0)},
		Learners: []assignor.Replica{{Task: id(0, 3), Lag: 100}, {Task: id(0, 4), Lag: assignor.UnknownLag}},
	}
	require.Equal(t, "S1(assigned: [0_1, 0_2], revoked: [1_0], learning: [0_3 lag=100, 0_4])", m.String())
	m.Standbys = []assignor.Replica{{Task: id(0, 5)}}
	require.Equal(t, "S1(assigned: [0_1, 0_2], revoked: [1_0], learning: [0_3 lag=100, 0_4], standby: [0_5 lag=0])", m.String())

	ma := assignor.MemberAssignment{Member: "S2", Revoke: []assignor.TaskID{id(0, 7)}}
	require.Equal(t, "S2(assigned: [], revoked: [0_7], learning: [])", ma.String())
	ma.Standbys = []assignor.TaskID{id(0, 8), id(0, 9)}
	require.Equal(t, "S2(assigned: [], revoked: [0_7], learning: [], standby: [0_8, 0_9])", ma.String())

	a := &assignor.Assignment{}
	require.Empty(t, a.String())
	a = &assignor.Assignment{
		Members: []assignor.MemberAssignment{{Member: "S1"}, {Member: "S2"}}, FollowUp: true, NextRebalance: 90 * time.Second,
		Departed: []assignor.Departure{{Instance: "h3", Tasks: []assignor.TaskID{id(0, 3), id(0, 4)}}},
	}
	require.Equal(t, "S1(assigned: [], revoked: [], learning: [])\nS2(assigned: [], revoked: [], learning: [])\n"+
		"departed: h3[0_3, 0_4]\nfollow-up\nnext: 1m30s", a.String())
}

// TestMoveText: a move says who had the task and who gets it, and why.
func TestMoveText(t *testing.T) {
	require.Equal(t, "0_3: S2 -> S4, learner caught up",
		assignor.Move{Task: id(0, 3), From: "S2", To: "S4", Reason: assignor.ReasonLearnerCaughtUp}.String())
	require.Equal(t, "0_3: nobody -> S4 (standby), too few standbys",
		assignor.Move{Task: id(0, 3), To: "S4", Kind: assignor.MoveStandby, Reason: assignor.ReasonTooFewStandbys}.String())
	require.Equal(t, "0_3: S2 -> nobody (MoveKind(99)), Reason(99)", assignor.Move{Task: id(0, 3), From: "S2", Kind: 99, Reason: 99}.String())
	_, err := assignor.MoveKind(99).MarshalText()
	require.EqualError(t, err, "assignor: MoveKind(99) has no text")
}

// TestForAndOwner look a member up in an answer, and who runs a task.
func TestForAndOwner(t *testing.T) {
	a := &assignor.Assignment{Members: []assignor.MemberAssignment{
		{Member: "S1", Active: []assignor.TaskID{id(0, 0), id(0, 2)}}, {Member: "S10", Revoke: []assignor.TaskID{id(0, 1)}}, {Member: "S2"},
	}}
	for _, member := range []string{"S1", "S10", "S2"} {
		ma, ok := a.For(member)
		require.True(t, ok)
		require.Equal(t, member, ma.Member)
	}
	for _, member := range []string{"", "S", "S11", "S3"} {
		ma, ok := a.For(member)
		require.False(t, ok)
		require.Zero(t, ma)
	}
	owner, ok := a.Owner(id(0, 2))
	require.True(t, ok)
	require.Equal(t, "S1", owner)
	owner, ok = a.Owner(id(0, 1))
	require.False(t, ok, "a task to be stopped runs nowhere")
	require.Empty(t, owner)
}

// TestMoveJSON: a move survives JSON, with names like all others, so that tools can read what a service writes of them.
func TestMoveJSON(t *testing.T) {
	for kind := range numValues[assignor.MoveKind]() {
		for reason := range numValues[assignor.Reason]() {
			move := assignor.Move{Task: id(0, 3), From: "S2", To: "S4", Kind: kind, Reason: reason}
			text, err := json.Marshal(move)
			require.NoError(t, err)
			var back assignor.Move
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, move, back)
		}
	}
	text, err := json.Marshal(assignor.Move{Task: id(0, 3), From: "S2", Kind: assignor.MoveRevoke, Reason: assignor.ReasonLeaving})
	require.NoError(t, err)
	require.JSONEq(t, `{"task":"0_3","from":"S2","to":"","kind":"revoke","reason":"instance leaves"}`, string(text))
	var move assignor.Move
	require.NoError(t, json.Unmarshal([]byte(`{"Task":"0_3","From":"S2","To":"","Kind":"revoke","Reason":"instance leaves"}`), &move))
	require.Equal(t, assignor.Move{Task: id(0, 3), From: "S2", Kind: assignor.MoveRevoke, Reason: assignor.ReasonLeaving}, move, "as 0.1.0 wrote it")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Kind": "fly"}`), &move), `assignor: no MoveKind "fly"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Reason": "whim"}`), &move), `assignor: no Reason "whim"`)
}

// numValues returns the number of the values of an enum, as a value of it: those that have a text.
func numValues[E interface {
	~uint8
	text
}]() (n E) {
	for {
		if _, err := n.MarshalText(); err != nil {
			return n
		}
		n++
	}
}
