package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func TestSettle(t *testing.T) {
	learner := "members\nS2 version=9\n----\n\n"
	require.Equal(t, "settled after 0", last(t, twoMembers+"settle\n----\n"))
	require.Equal(t, `round 1:
S1(assigned: [T1, T2], revoked: [], learning: [])
S2(assigned: [T3], revoked: [], learning: [T1])
round 2:
S1(assigned: [T2], revoked: [], learning: [])
S2(assigned: [T1, T3], revoked: [], learning: [])
settled after 2`, last(t, learner+twoMembers+"settle max=2\n----\n"))
	require.Equal(t, "error: not settled after 1 rounds", last(t, learner+twoMembers+"settle max=1!\n----\n"))
	require.Equal(t, `round 1:
S1(assigned: [T2], revoked: [], learning: [])
S2(assigned: [T1, T3], revoked: [], learning: [])
settled after 1`, last(t, learner+twoMembers+"rebalance\n----\n\nsettle\n----\n"), "the learners of the round before have caught up")
}

func TestSettleLetsCopiesCatchUp(t *testing.T) {
	f := &fake{}
	runFake(t, f, "group\nS1(assigned: [T1, T2], revoked: [], learning: [], standby: [T2 lag=7])\n"+
		"S2(assigned: [], revoked: [], learning: [], standby: [T1])\n----\n\nsettle\n----\n\nrebalance\n----\n")
	require.Len(t, f.calls, 2)
	for _, c := range f.calls {
		require.Empty(t, c.member(t, "S1").Standbys, "T2 is restored")
		require.Equal(t, []assignor.Replica{{Task: task(0, 0)}}, c.member(t, "S2").Standbys)
	}
	require.Equal(t, f.calls[0].memory, f.calls[1].memory, "the round that changed nothing was not adopted")
}

func TestSettleModes(t *testing.T) {
	group := "group\nS1[T1, T2]\nS2(assigned: [], revoked: [], learning: [T1, T2])\n----\n\n"
	first := "S1(assigned: [T2], revoked: [], learning: [])\nS2(assigned: [T1], revoked: [], learning: [T2])\n"
	both := "S1(assigned: [], revoked: [], learning: [])\nS2(assigned: [T1, T2], revoked: [], learning: [])\n"
	require.Equal(t, "round 1:\n"+both+"settled after 1", last(t, "config mode=conservative\n----\n\n"+group+"settle\n----\n"))
	require.Equal(t, "round 1:\n"+first+"round 2:\n"+both+"settled after 2", last(t, "config mode=eager\n----\n\n"+group+"settle\n----\n"))
}
