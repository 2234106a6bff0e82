package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(strings.Fields("-members 3,5 -standbys 1 -topics 2 -budget 6000"), &out, io.Discard))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.Equal(t, 6, strings.Count(line, "|"), line)
	}
	for _, args := range []string{"-members 0", "-standbys x", "-budget 0", "-topics 0"} {
		require.Error(t, run(strings.Fields(args), io.Discard, io.Discard), args)
	}
}
