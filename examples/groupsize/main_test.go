package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for _, spread := range []string{"random", "contiguous", "roundrobin"} {
		var out strings.Builder
		require.NoError(t, run([]string{"-tasks", "1003", "-members", "7", "-standbys", "2", "-spread", spread, "-limit", "2000"}, &out, io.Discard))
		require.Contains(t, out.String(), "1003 tasks in 10 subtopologies, 7 members, 2 standbys a task")
		require.Contains(t, out.String(), "It reaches 2000 bytes at about ")
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-members 0", "members: 0, want 1 to 100000"},
		{"-members 1", "standbys: 1, want 0 to 0"},
		{"-tasks 1048577", "tasks: 1048577, want 0 to 1048576"},
		{"-spread even", `spread: "even", want random, contiguous or roundrobin`},
	} {
		require.EqualError(t, run(strings.Fields(c.args), io.Discard, io.Discard), c.want)
	}
}
