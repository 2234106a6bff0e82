package assignor_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func validConfig() assignor.Config {
	return assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 2, RestoreCost: []int64{0, 7}}, {ID: 1}}}
}

// TestValidate breaks a valid config in one way after the other: the problem is named with its value and its bound.
func TestValidate(t *testing.T) {
	require.NoError(t, validConfig().Validate(), "a subtopology of 0 partitions is no problem")
	for _, c := range []struct {
		damage func(c *assignor.Config)
		want   string
	}{
		{func(c *assignor.Config) { c.Topology = nil }, "Config.Topology has no subtopologies, want at least 1"},
		{func(c *assignor.Config) { c.Standbys = -1 }, "Config.Standbys is -1, want at least 0"},
		{func(c *assignor.Config) { c.MaxLearners = -2 }, "Config.MaxLearners is -2, want at least 0"},
		{func(c *assignor.Config) { c.AcceptableLag = -3 }, "Config.AcceptableLag is -3, want at least 0"},
		{func(c *assignor.Config) { c.LearnerTimeout = -time.Second }, "Config.LearnerTimeout is -1s, want at least 0"},
		{func(c *assignor.Config) { c.ScaleDownTimeout = -time.Minute }, "Config.ScaleDownTimeout is -1m0s, want at least 0"},
		{func(c *assignor.Config) { c.RejoinDelay = -1 }, "Config.RejoinDelay is -1ns, want at least 0"},
		{func(c *assignor.Config) { c.SincePrevious = -1 }, "Config.SincePrevious is -1ns, want at least 0"},
		{func(c *assignor.Config) { c.ImbalancePercent = 101 }, "Config.ImbalancePercent is 101, want 0 to 100"},
		{func(c *assignor.Config) { c.ImbalancePercent = -1 }, "Config.ImbalancePercent is -1, want 0 to 100"},
		{func(c *assignor.Config) { c.SpreadTags = []string{"zone", ""} }, "Config.SpreadTags has an empty tag, want names"},
		{func(c *assignor.Config) { c.Topology[1].ID = 0 }, "Config.Topology has two subtopologies with the ID 0, want one"},
		{func(c *assignor.Config) { c.Topology[1].ID = -4 }, "subtopology -4: ID is -4, want at least 0"},
		{func(c *assignor.Config) { c.Topology[1].Partitions = -5 }, "subtopology 1: Partitions is -5, want at least 0"},
		{func(c *assignor.Config) { c.Topology[1].Weight = -6 }, "subtopology 1: Weight is -6, want at least 0"},
		{func(c *assignor.Config) { c.Topology[0].RestoreCost = []int64{1} },
			"subtopology 0: RestoreCost has 1 entries, want none or one for each of 2 partitions"},
		{func(c *assignor.Config) { c.Topology[0].RestoreCost[1] = -8 }, "subtopology 0: RestoreCost of partition 1 is -8, want at least 0"},
		{func(c *assignor.Config) { c.Topology[1].Partitions = math.MaxInt32 }, "Config.Topology has 2147483649 tasks, want at most 1048576"},
	} {
		config := validConfig()
		c.damage(&config)
		err := config.Validate()
		require.EqualError(t, err, "assignor: "+c.want)
		require.ErrorIs(t, err, assignor.ErrConfig)
		_, err = assignor.Assign([]assignor.Member{{ID: "S1"}}, nil, config)
		require.EqualError(t, err, "assignor: "+c.want)
		require.ErrorIs(t, err, assignor.ErrConfig)
	}
}

// TestValidateReportsAll: all problems at once, and of the members too.
func TestValidateReportsAll(t *testing.T) {
	config := assignor.Config{Standbys: -1, Topology: []assignor.Subtopology{{ID: -1, Weight: -1}}}
	require.EqualError(t, config.Validate(), "assignor: Config.Standbys is -1, want at least 0\n"+
		"assignor: subtopology -1: ID is -1, want at least 0\nassignor: subtopology -1: Weight is -1, want at least 0")
	_, err := assignor.Assign(nil, nil, config)
	require.ErrorIs(t, err, assignor.ErrConfig)
	require.ErrorIs(t, err, assignor.ErrNoMembers)
}
