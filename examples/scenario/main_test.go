package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	group := "group\nS1[T1]\n----\n\n"
	good := write("good.txt", group+"assert owner T1=S1\n----\nok\n")
	bad := write("later.txt", group+"assert owner T1=S2\n----\nok\n\nassert moves=1\n----\nok\n")
	wrong := write("wrong.txt", group+"dance\n----\n")
	write("notes.md", "no scenario")

	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"ok", []string{good}, 0, "ok   " + good + "\n", ""},
		{"differs", []string{bad, good}, 1,
			"FAIL " + bad + ":5: assert owner T1=S2\ngot:\n  owner: T1=S1\nwant:\n  ok\nand 1 more steps of this file differ\nok   " + good + "\n", ""},
		{"cannot be run", []string{wrong}, 1, "FAIL " + wrong + ":5: no directive dance\n", ""},
		{"no arguments", nil, 2, "", "usage: scenario FILE..."},
		{"flag", []string{"-x"}, 2, "", "unknown flag -x"},
		{"no such file", []string{filepath.Join(dir, "none.txt")}, 2, "", "none.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			require.Equal(t, c.code, run(c.args, &stdout, &stderr))
			require.Equal(t, c.stdout, stdout.String())
			require.Contains(t, stderr.String(), c.stderr)
		})
	}

	var stdout, stderr strings.Builder
	require.Equal(t, 1, run([]string{dir}, &stdout, &stderr), "a directory is its .txt files")
	require.Equal(t, 3, strings.Count(stdout.String(), dir))
}
