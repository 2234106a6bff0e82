package figures

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor/internal/sim"
)

var rewrite = flag.Bool("rewrite", false, "write the figures of today into the documents")

const root = "../.."

// compared are the specs of which the README shows the totals.
var compared = []string{"scale_out", "host_swap", "zone_loss"}

// TestReadme compares the totals in the README with what the command beside them prints.
func TestReadme(t *testing.T) {
	var b bytes.Buffer
	for _, name := range compared {
		spec, results := playFile(t, name)
		fmt.Fprintf(&b, "%s\n\n", firstSentence(spec.Title))
		table := sim.VariantTable(results).Pick("variant", "moved", "restored", "stopped (planned)", "stopped (crash)", "worst pause", "balanced after")
		table.Heads = []string{"variant", "moved", "restored", "planned", "crash", "worst pause", "balanced"} // so that it fits 80 columns
		table.WriteMarkdown(&b)
		fmt.Fprintln(&b)
	}
	section(t, "README.md", "simulate", b.String())
}

// playFile plays a spec of testdata/simulate under its variants and the baselines, as simulate -compare does.
func playFile(t *testing.T, name string) (*sim.Spec, []*sim.Result) {
	t.Helper()
	path := filepath.Join(root, "testdata", "simulate", name+".sim")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	spec, err := sim.Parse(path, text)
	require.NoError(t, err)
	results, err := sim.RunAll(spec, append(spec.Variants[:len(spec.Variants):len(spec.Variants)], sim.Baselines(spec.Variants[0])...), nil)
	require.NoError(t, err)
	return spec, results
}

func firstSentence(title string) string {
	first, _, _ := strings.Cut(title, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// section compares what stands in a document between "<!-- name -->" and "<!-- end of name -->" with what should.
func section(t *testing.T, file, name, want string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	open, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(text), open)
	require.True(t, ok, "%s has no %s", file, open)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no %s", file, end)
	want = "\n" + strings.Trim(want, "\n") + "\n\n"
	if *rewrite && got != want {
		require.NoError(t, os.WriteFile(path, []byte(before+open+want+end+after), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s, %s: go test ./internal/figures -rewrite writes it anew", file, name)
}

// picture compares a committed picture with the one drawn now.
func picture(t *testing.T, file, svg string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(svg), 0o644))
		return
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(got) != svg {
		t.Errorf("%s has changed: go test ./internal/figures -rewrite draws it anew", file)
	}
}
