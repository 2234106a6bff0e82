package lead_test

import (
	"flag"
	"testing"

	"github.com/incremental-rebalance/assignor/lead"
	"github.com/incremental-rebalance/assignor/lead/leadtest"
)

var (
	seeds = flag.Int("seeds", 0, "how many seeds TestPlay plays; 0: 2 000, and 300 with -short")
	seed  = flag.Uint64("seed", 1, "the first one")
)

// TestPlay plays the recipe of the README, in both hand-over modes, against a transport that loses, delays, doubles and reorders what
// it can, with leaders that die between deciding and delivering.
func TestPlay(t *testing.T) {
	n := *seeds
	switch {
	case n > 0:
	case testing.Short():
		n = 300
	default:
		n = 2000
	}
	for i := range uint64(n) {
		if err := leadtest.Play(leadtest.Config{Seed: *seed + i, New: newMember(t)}); err != nil {
			t.Fatalf("%v\ngo test ./lead -run TestPlay -seed %d -seeds 1", err, *seed+i)
		}
	}
	t.Logf("seeds %d to %d", *seed, *seed+uint64(n)-1)
}

func newMember(t *testing.T) func(leadtest.Host, lead.Config) leadtest.Member {
	t.Helper()
	return func(host leadtest.Host, config lead.Config) leadtest.Member {
		session, err := lead.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return &member{session, host, host}
	}
}
