package scenario

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func task(sub, partition int32) assignor.TaskID {
	return assignor.TaskID{Subtopology: sub, Partition: partition}
}

func TestParseRow(t *testing.T) {
	for _, c := range []struct {
		text string
		want row
	}{
		{"S1[]", row{member: "S1", groupForm: true}},
		{"S1[T1, 1_4]", row{member: "S1", groupForm: true, active: []assignor.TaskID{task(0, 0), task(1, 4)}}},
		{"S1(assigned: [], revoked: [], learning: [])", row{member: "S1"}},
		{
			"worker-1.a(assigned: [T2, T1], revoked: [0_9], learning: [T3 lag=100, T4, T5 lag=0 for=30s], standby: [T6, T7 lag=-1])",
			row{
				member: "worker-1.a",
				active: []assignor.TaskID{task(0, 1), task(0, 0)}, revoked: []assignor.TaskID{task(0, 9)},
				learners: []assignor.Replica{{Task: task(0, 2), Lag: 100}, {Task: task(0, 3), Lag: -1}, {Task: task(0, 4), For: 30 * time.Second}},
				standbys: []assignor.Replica{{Task: task(0, 5), Lag: -1}, {Task: task(0, 6), Lag: -1}},
			},
		},
		{"S1(assigned:[T1,T1],revoked:[],learning:[])", row{member: "S1", active: []assignor.TaskID{task(0, 0), task(0, 0)}}},
	} {
		got, err := parseRow(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
}

func TestParseRowErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"S1", `row "S1": want S1[T1, T2] or S1(assigned: [T1], revoked: [], learning: [])`},
		{"[T1]", `row "[T1]": "" is no name of a member: want one word without !, =, commas or brackets`},
		{"S1[T0]", `row "S1[T0]": "T0" is no task: want T1, T2, ... or 1_4`},
		{"S1[T01]", `row "S1[T01]": "T01" is no task: want T1, T2, ... or 1_4`},
		{"S1[x]", `row "S1[x]": assignor: task id "x": want subtopology_partition, as in 0_12`},
		{"S1[T1] T2", `row "S1[T1] T2": "T2" is left over`},
		{"S1(assigned: [], learning: [])", `row "S1(assigned: [], learning: [])": want "revoked:" at ", learning: [])"`},
		{"S1(assigned: [T1 lag=1], revoked: [], learning: [])", `row "S1(assigned: [T1 lag=1], revoked: [], learning: [])": "T1 lag=1" is no task: want T1, T2, ... or 1_4`},
		{"S1(assigned: T1)", `row "S1(assigned: T1)": want a list in brackets at "T1)"`},
		{"S1(assigned: [], revoked: [], learning: [T1 lag=x])", `row "S1(assigned: [], revoked: [], learning: [T1 lag=x])": copy "T1 lag=x": strconv.ParseInt: parsing "x": invalid syntax`},
		{"S1(assigned: [], revoked: [], learning: [T1 log=1])", `row "S1(assigned: [], revoked: [], learning: [T1 log=1])": copy "T1 log=1": "log=1": want lag= or for=`},
		{"S1(assigned: [], revoked: [], learning: []", `row "S1(assigned: [], revoked: [], learning: []": want ")" at ""`},
	} {
		_, err := parseRow(c.text)
		require.EqualError(t, err, c.want, c.text)
	}
}

func TestParseTaskIsTheInverseOfPrinting(t *testing.T) {
	for _, id := range []assignor.TaskID{task(0, 0), task(0, 9), task(0, math.MaxInt32), task(1, 4)} {
		for _, n := range []notation{{short: true}, {short: false}} {
			got, err := parseTask(n.task(id))
			require.NoError(t, err)
			require.Equal(t, id, got)
		}
	}
	_, err := parseTask("T2147483649")
	require.Error(t, err)
}

func TestNotation(t *testing.T) {
	two := []assignor.Subtopology{{ID: 0}, {ID: 1}}
	require.Equal(t, "[T1, T12, 1_4]", notationOf(two[:1]).list([]assignor.TaskID{task(0, 0), task(0, 11), task(1, 4)}))
	require.Equal(t, "[0_0, 1_4]", notationOf(two).list([]assignor.TaskID{task(0, 0), task(1, 4)}))
	require.Equal(t, "0_0", notationOf(two[1:]).task(task(0, 0)), "a single subtopology, but not 0")
	require.Equal(t, "T1", notationOf(nil).task(task(0, 0)))
	require.Equal(t, "T3: S2 -> S4, learner caught up", notation{short: true}.move(assignor.Move{
		Task: task(0, 2), From: "S2", To: "S4", Kind: assignor.MoveActive, Reason: assignor.ReasonLearnerCaughtUp,
	}))
}

func TestAnswerRowsInNaturalOrder(t *testing.T) {
	a := &assignor.Assignment{
		Members: []assignor.MemberAssignment{
			{Member: "S10", Active: []assignor.TaskID{task(0, 1), task(0, 9)}},
			{Member: "S2", Revoke: []assignor.TaskID{task(0, 0)}, Learners: []assignor.TaskID{task(0, 2)}, Standbys: []assignor.TaskID{task(0, 3)}},
		},
		Departed:      []assignor.Departure{{Instance: "h10", Tasks: []assignor.TaskID{task(0, 4)}}, {Instance: "h9", Tasks: []assignor.TaskID{task(0, 5)}}},
		FollowUp:      true,
		NextRebalance: 90 * time.Second,
	}
	require.Equal(t, `S2(assigned: [], revoked: [T1], learning: [T3], standby: [T4])
S10(assigned: [T2, T10], revoked: [], learning: [])
departed: h9[T6]
departed: h10[T5]
follow-up
next: 1m30s`, notation{short: true}.answer(a))
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "0", "S", "S01", "S1", "S1a", "S1b2", "S1b10", "S2", "S10", "S10a", "a9", "a10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturalCompare)
	require.Equal(t, want, got)
	for _, a := range want {
		for _, b := range want {
			require.Equal(t, naturalCompare(a, b), -naturalCompare(b, a), "%q %q", a, b)
			require.Equal(t, a == b, naturalCompare(a, b) == 0, "%q %q", a, b)
		}
	}
}
