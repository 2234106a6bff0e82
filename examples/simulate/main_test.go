package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const scaleOut = "../../testdata/simulate/scale_out.sim"

func simulate(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestTable(t *testing.T) {
	code, out, errs := simulate(t, "-compare", scaleOut)
	assert.Equal(t, exitOK, code)
	assert.Empty(t, errs)
	for _, want := range []string{"One instance more", "worst pause", "learners", "stop-the-world", "cooperative-sticky", "warm-up", "18 of 18"} {
		assert.Contains(t, out, want)
	}
}

func TestFlagsMakeUpASpec(t *testing.T) {
	code, out, errs := simulate(t, "-instances", "4", "-tasks", "8", "-event", "add 1", "-event", "1h crash S1", "-line", "config rejoinDelay=5m", "-columns")
	assert.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "crash S1")
	assert.Contains(t, out, "the longest that a single task did not run")
}

func TestJSON(t *testing.T) {
	code, out, _ := simulate(t, "-json", scaleOut)
	assert.Equal(t, exitOK, code)
	var files []struct {
		File    string
		Results []struct {
			Total struct {
				Moved int `json:"tasks_moved"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &files))
	require.Len(t, files, 1)
	assert.Equal(t, 18, files[0].Results[0].Total.Moved)
}

func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	code, _, _ := simulate(t, "-html", path, scaleOut)
	assert.Equal(t, exitOK, code)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(page), "<svg")
	assert.NotContains(t, string(page), "<script", "self-contained")
	assert.NotContains(t, string(page), "href=")
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"-html", "x.html", scaleOut, scaleOut}, {"-nothing"}} {
		code, _, errs := simulate(t, args...)
		assert.Equal(t, exitUsage, code, args)
		assert.NotEmpty(t, errs)
	}
	for _, args := range [][]string{{"nowhere.sim"}, {"-variant", "nobody", scaleOut}, {"-event", "explode"}} {
		code, _, errs := simulate(t, args...)
		assert.Equal(t, exitFails, code, args)
		assert.Contains(t, errs, "simulate: ")
	}
}
