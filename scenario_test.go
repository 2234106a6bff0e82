package assignor_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor/internal/scenario"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the outputs in testdata, but not in testdata/walkthroughs: those are requirements")

// TestScenarios runs every scenario file below testdata.
func TestScenarios(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), ".txt")
		t.Run(name, func(t *testing.T) { runScenario(t, path) })
	}
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && entry.Name() == "fuzz" {
			return fs.SkipDir // go test keeps its fuzzing corpus there
		}
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".txt" {
			paths = append(paths, path)
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// runScenario runs one file and reports every step that differs. With -rewrite it writes the outputs into the file instead,
// unless the run ended with a fault (a failed Check is one).
func runScenario(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	result, fault := scenario.Run(filepath.ToSlash(path), text)
	if *rewrite && fault == nil && len(result.Failures) > 0 && !isRequirement(path) {
		require.NoError(t, os.WriteFile(path, result.Rewrite(), 0o644))
		text, err = os.ReadFile(path)
		require.NoError(t, err)
		result, fault = scenario.Run(filepath.ToSlash(path), text)
	}
	for _, failure := range result.Failures {
		t.Errorf("%v", failure)
	}
	if fault != nil {
		t.Errorf("%v", fault)
	}
}

func isRequirement(path string) bool {
	return strings.HasPrefix(filepath.ToSlash(path), "testdata/walkthroughs/")
}
