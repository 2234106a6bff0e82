package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The whole story, on a cluster in this process.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	picture := filepath.Join(t.TempDir(), "timeline.svg")
	begun := time.Now()
	require.NoError(t, run(t.Context(), options{
		partitions: 12, rate: 6000, svg: picture, group: "g", input: "in", changelog: "log",
		pause: 5 * time.Second, // other tests may have the processors
	}))
	t.Logf("took %v", time.Since(begun).Round(time.Millisecond))
}
