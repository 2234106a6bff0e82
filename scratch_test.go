//go:build go1.24

package assignor_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// scratchCases are groups of different sizes in an order in which an Assignor has to grow and to shrink what it keeps.
func scratchCases() (cases []measure.Case) {
	for _, size := range [][2]int{{1000, 10}, {4000, 100}, {500, 100}, {8000, 20}, {20, 2}, {2000, 50}} {
		for _, state := range measure.States {
			for standbys := range 3 {
				cases = append(cases, measure.Case{State: state, Tasks: size[0], Members: size[1], Standbys: standbys})
			}
		}
	}
	return cases
}

// TestAssignor: an Assignor that has decided rounds of other groups decides what Assign does, and does not touch it later.
func TestAssignor(t *testing.T) {
	var decider assignor.Assignor
	var answers, want []*assignor.Assignment
	for _, c := range scratchCases() {
		in, err := c.Input()
		require.NoError(t, err)
		fresh, err := in.Assign()
		require.NoError(t, err)
		for range 3 { // what the first wanted, the second makes and the third uses
			answer, err := decider.Assign(in.Members, in.Memory, in.Config)
			require.NoError(t, err)
			answers, want = append(answers, answer), append(want, fresh)
			decider.Poison()
		}
	}
	for i := range want {
		require.Equal(t, want[i], answers[i], scratchCases()[i/3])
	}
}

// TestAssignorKeeps: neither an error nor quiet rounds make an Assignor forget what a busy round needs, as long as there are busy ones;
// and a group that has become small does not keep the memory of a large one for ever.
func TestAssignorKeeps(t *testing.T) {
	quiet, err := measure.Case{State: measure.Steady, Tasks: 32_000, Members: 100, Standbys: 1}.Input()
	require.NoError(t, err)
	busy, err := measure.Case{State: measure.Leave10, Tasks: 32_000, Members: 100, Standbys: 1}.Input()
	require.NoError(t, err)
	small, err := measure.Case{State: measure.Steady, Tasks: 100, Members: 10, Standbys: 1}.Input()
	require.NoError(t, err)
	var decider assignor.Assignor
	assign := func(in *measure.Input) {
		_, err := decider.Assign(in.Members, in.Memory, in.Config)
		require.NoError(t, err)
	}
	assign(busy)
	assign(busy)
	kept := decider.Kept()
	for range 3 {
		for range 10 {
			assign(quiet)
		}
		_, err = decider.Assign(nil, nil, quiet.Config)
		require.ErrorIs(t, err, assignor.ErrNoMembers)
		require.GreaterOrEqual(t, decider.Kept(), kept)
		assign(busy)
	}
	for range 40 {
		assign(small)
	}
	require.Less(t, decider.Kept(), kept/20)
}

// TestAssignorForgets: what an Assignor was given can be collected, and what it returned.
func TestAssignorForgets(t *testing.T) {
	var decider assignor.Assignor
	reachable := assignAndForget(t, &decider)
	runtime.GC()
	require.Empty(t, reachable())
	runtime.KeepAlive(&decider)
}

// assignAndForget decides a round. What it returns says which of its arguments and its answer can still be reached.
func assignAndForget(t *testing.T, decider *assignor.Assignor) (reachable func() []string) {
	t.Helper()
	in, err := measure.Case{State: measure.Leave, Tasks: 1000, Members: 10, Standbys: 1}.Input()
	require.NoError(t, err)
	answer, err := decider.Assign(in.Members, in.Memory, in.Config)
	require.NoError(t, err)
	member, memory := weak.Make(&in.Members[0]), weak.Make(in.Memory)
	tasks, returned := weak.Make(&in.Members[0].Active[0]), weak.Make(answer)
	return func() (names []string) {
		for name, reached := range map[string]bool{
			"a member": member.Value() != nil, "the memory": memory.Value() != nil,
			"a member's tasks": tasks.Value() != nil, "the answer": returned.Value() != nil,
		} {
			if reached {
				names = append(names, name)
			}
		}
		return names
	}
}
