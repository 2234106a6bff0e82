package churn_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// TestMistakesAreFound puts mistakes in the place of the library: some seed finds each, by the check that is there for it.
func TestMistakesAreFound(t *testing.T) {
	for name, mistake := range map[string]struct {
		change func(a *assignor.Assignment, members []assignor.Member)
		want   string
	}{
		"somebody gets no task": {func(a *assignor.Assignment, _ []assignor.Member) {
			a.Members[0].Active, a.Members[0].Handover = nil, nil
		}, "Check: assignor: I"},
		"nobody ever learns": {func(a *assignor.Assignment, _ []assignor.Member) {
			for i := range a.Members {
				a.Members[i].Learners, a.Members[i].Handover = nil, nil
			}
		}, "no move tells of|L1: not settled|L1: settled, but|stop learn"},
		"standbys are dropped": {func(a *assignor.Assignment, _ []assignor.Member) {
			for i := range a.Members {
				a.Members[i].Standbys = nil
			}
		}, "no move tells of|R6: settled"},
		"a reason is missing": {func(a *assignor.Assignment, _ []assignor.Member) {
			for i := range a.Moves {
				a.Moves[i].Reason = assignor.ReasonNone
			}
		}, "no reason"},
		"a move is told twice": {func(a *assignor.Assignment, _ []assignor.Member) {
			if len(a.Moves) > 0 {
				a.Moves = append(a.Moves, a.Moves[0])
			}
		}, "a move is told twice"},
		"nobody is told of a follow-up": {func(a *assignor.Assignment, _ []assignor.Member) { a.FollowUp = false }, "FollowUp"},
		"the round is never repeated":   {func(a *assignor.Assignment, _ []assignor.Member) { a.NextRebalance = 0 }, "R2: an order to stop is repeated"},
		"the arguments change":          {func(_ *assignor.Assignment, members []assignor.Member) { members[0].Capacity++ }, "Assign changes its arguments"},
		"the answer has the arguments":  {func(a *assignor.Assignment, members []assignor.Member) { a.Members[0].Active = members[0].Active }, "the answer|Check"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
				a, err := assignor.Assign(members, memory, config)
				if err == nil {
					mistake.change(a, members)
				}
				return a, err
			}
			var first error
			for seed := range uint64(200) {
				_, err := churn.Play(seed, wrong, wrong, (*churn.World).Live)
				if err != nil && regexp.MustCompile(mistake.want).MatchString(err.Error()) {
					return
				}
				if first == nil {
					first = err
				}
			}
			t.Errorf("no seed finds %q, but %v", mistake.want, first)
		})
	}
}

// TestGroup: a group that obeys scales out and in.
func TestGroup(t *testing.T) {
	g := &churn.Group{Config: assignor.Config{Topology: []assignor.Subtopology{{Partitions: 4}}}}
	g.Join("S1", "S2")
	_, err := g.Settle()
	require.NoError(t, err)
	g.Join("S3")
	rounds, err := g.Settle()
	require.NoError(t, err)
	require.Equal(t, 2, rounds, "one to learn, one to take over")
	require.NoError(t, g.Leave("S1"))
	require.Equal(t, "S2(assigned: [0_2, 0_3], revoked: [], learning: [])\nS3(assigned: [0_0, 0_1], revoked: [], learning: [])", g.Memory.String())

	g.Config.NewInstancesOnly = true // nobody left is a newcomer, but drains go on
	require.NoError(t, g.Leave("S2"))
	require.Error(t, g.Leave("S3"), "there is nobody to hand over to")
}
