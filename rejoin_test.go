package assignor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestShouldRejoin: when a member calls for a round. Of the letters each is a learner: h has caught up, s is still at it, u has an
// unknown lag, t takes longer than the timeout.
func TestShouldRejoin(t *testing.T) {
	config := assignor.Config{AcceptableLag: 10, LearnerTimeout: time.Minute}
	learners := map[rune]assignor.Replica{
		'h': {Lag: 10, For: time.Second}, 's': {Lag: 11, For: time.Minute}, 'u': {Lag: assignor.UnknownLag}, 't': {Lag: 11, For: time.Minute + 1},
	}
	for held, want := range map[string]struct{ conservative, eager bool }{
		"":     {false, false},
		"h":    {true, true},
		"s":    {false, false},
		"u":    {false, false},
		"t":    {false, false},
		"hh":   {true, true},
		"hs":   {false, true},
		"hu":   {false, true},
		"ht":   {true, true},
		"htts": {false, true},
		"st":   {false, false},
	} {
		var holds []assignor.Replica
		for _, letter := range held {
			holds = append(holds, learners[letter])
		}
		require.Equal(t, want.conservative, assignor.Conservative.ShouldRejoin(holds, config), "conservative, %q", held)
		require.Equal(t, want.eager, assignor.Eager.ShouldRejoin(holds, config), "eager, %q", held)
	}
	late := []assignor.Replica{{Lag: 10}, {Lag: 11, For: 1000 * time.Hour}}
	require.False(t, assignor.Conservative.ShouldRejoin(late, assignor.Config{AcceptableLag: 10}), "without a timeout nobody is late")
	require.False(t, assignor.Eager.ShouldRejoin([]assignor.Replica{{Lag: -7}}, config), "every negative lag is an unknown one")
}
