package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// last returns the output of the last step.
func last(t *testing.T, text string) string {
	t.Helper()
	got := runFake(t, &fake{}, text)
	return got[len(got)-1]
}

func TestAssertForms(t *testing.T) {
	for _, c := range []struct{ before, step, want string }{
		{twoMembers, "balanced stable moves<=0 moves=0 once owner T1=S1 T3=S2 unowned none missing=0", "ok"},
		{twoMembers, "owner T1=S2 T2=S1 T9=S1", "owner: T1=S1\nowner: T9=nobody"},
		{twoMembers, "owner T9=nobody", "ok"},
		{twoMembers, "moves=1", "moves: 0"},
		{twoMembers, "missing=4", "missing: 0"},
		{twoMembers, "unowned [T2]", "unowned: []"},
		{"topology\n0 partitions=5\n----\n\n" + twoMembers, "unowned [T5, T4]", "ok"},
		{"topology\n0 partitions=5\n----\n\n" + twoMembers, "unowned none", "unowned: [T4, T5]"},
		{"topology\n0 partitions=5\n----\n\n" + twoMembers, "stable", "stable: S1(assigned: [T1, T2, T4, T5], revoked: [], learning: [])"},
		{"group\nS1[T1, T2, T3]\nS2[]\n----\n\n", "balanced moves=1",
			"balanced: S1 has a stateful load of 3, not 1 to 2\nbalanced: S2 has a stateful load of 0, not 1 to 2\nmoves: 0"},
	} {
		require.Equal(t, c.want, last(t, c.before+"assert "+c.step+"\n----\n"), c.step)
	}
}

func TestMovesAreCountedPerInstance(t *testing.T) {
	crash := "rebalance crash=S2\n----\n\nrebalance join=S2\nS1(assigned: [T1, T2], revoked: [], learning: [])\n" +
		"S2(assigned: [T3], revoked: [], learning: [])\n----\n\nassert moves=0 once\n----\n"
	require.Equal(t, "moves: 2\nonce: T3 moved 2 times", last(t, twoMembers+crash))
	siblings := "members\nS1 instance=h\nS2 instance=h\n----\n\n"
	require.Equal(t, "ok", last(t, siblings+twoMembers+crash))
	require.Equal(t, "ok", last(t, twoMembers+crash+"\n"+twoMembers+"assert moves=0\n----\n"), "group begins a new count")
}

func TestBalance(t *testing.T) {
	tasks := func(from, to int32) []assignor.TaskID {
		var list []assignor.TaskID
		for p := from; p < to; p++ {
			list = append(list, task(0, p))
		}
		return list
	}
	answer := func(lists ...[]assignor.TaskID) *assignor.Assignment {
		a := &assignor.Assignment{}
		for i, list := range lists {
			a.Members = append(a.Members, assignor.MemberAssignment{Member: []string{"S1", "S2", "S3"}[i], Active: list})
		}
		return a
	}
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 100}}}
	members := func() []assignor.Member { return []assignor.Member{{ID: "S1"}, {ID: "S2"}, {ID: "S3"}} }

	t.Run("rounding", func(t *testing.T) {
		require.Empty(t, imbalances(members(), answer(tasks(0, 3), tasks(3, 6), tasks(6, 10)), config))
		require.Equal(t, []string{"balanced: S3 has a stateful load of 5, not 3 to 4"},
			imbalances(members()[:3], answer(tasks(0, 3), tasks(3, 6), tasks(6, 11)), config))
	})
	t.Run("capacity", func(t *testing.T) {
		m := members()
		m[0].Capacity = 2
		require.Empty(t, imbalances(m, answer(tasks(0, 4), tasks(4, 6), tasks(6, 8)), config))
	})
	t.Run("tolerance", func(t *testing.T) {
		c := config
		c.ImbalancePercent = 100
		require.Equal(t, []string{"balanced: S3 has a stateful load of 0, not 1 to 4"},
			imbalances(members(), answer(tasks(0, 3), tasks(3, 6), nil), c), "an instance whose share is one or more is not left idle")
		require.Empty(t, imbalances(members(), answer(tasks(0, 1), tasks(1, 2), nil), c))
	})
	t.Run("leaving", func(t *testing.T) {
		m := members()
		m[0].Leaving = true
		require.Empty(t, imbalances(m, answer(nil, tasks(3, 6), tasks(6, 10)), config))
		m[1].Leaving, m[2].Leaving = true, true
		require.Len(t, imbalances(m, answer(nil, tasks(3, 6), tasks(6, 10)), config), 2, "all leave: all count as staying")
	})
	t.Run("siblings", func(t *testing.T) {
		m := members()
		m[0].Instance, m[1].Instance = "h", "h"
		require.Empty(t, imbalances(m, answer(tasks(0, 6), nil, tasks(6, 9)), config))
	})
	t.Run("stateless and weights", func(t *testing.T) {
		c := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 2, Weight: 3}, {ID: 1, Partitions: 9, Stateless: true}}}
		a := answer(tasks(0, 1), tasks(1, 2), []assignor.TaskID{task(1, 0), task(1, 1), task(1, 2)})
		require.Equal(t, []string{"balanced: S1 has a stateful load of 3, not 2 to 2", "balanced: S2 has a stateful load of 3, not 2 to 2",
			"balanced: S3 has a stateful load of 0, not 2 to 2"}, imbalances(members(), a, c))
	})
}

func TestFairRangeDoesNotOverflow(t *testing.T) {
	low, high := fairRange(1<<51, 1<<31, 1<<33, 50)
	require.Equal(t, int64(1<<48), low)
	require.Equal(t, int64(3<<48), high)
}

func TestExplain(t *testing.T) {
	text := "topology\n0 partitions=4\n----\n\n" + twoMembers + "rebalance\n----\n\nexplain T1 T4 T9\n----\n"
	require.Equal(t, "T1: stays on S1\nT4: first placement on S1\nT9: runs nowhere", last(t, text))
	f := &fake{assign: func(m []assignor.Member, a *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
		answer, err := assignFake(m, a, c)
		answer.Moves = []assignor.Move{{Task: task(0, 2), From: "S2", To: "S1", Kind: assignor.MoveLearn, Reason: assignor.ReasonBalance}}
		answer.Members[0].Active = answer.Members[0].Active[:1]
		answer.Members[1].Revoke, answer.Members[1].Active = answer.Members[0].Active, nil
		answer.Members[0].Active = nil
		answer.Departed = []assignor.Departure{{Instance: "S7", Tasks: []assignor.TaskID{task(0, 1)}}}
		return answer, err
	}}
	got := runFake(t, f, twoMembers+"rebalance\n----\n\nexplain T3 T1 T2\n----\n")
	require.Equal(t, "T3: S2 -> S1 (learn), evens the load\nT1: waits until S2 has stopped it\nT2: waits for S7", got[2])
}
