package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUsage compares the usage in the README with the example that compiles and runs.
func TestUsage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "assignor_test.go"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\t// usage\n")
	code, rest, ok := strings.Cut(rest, "\t// end of usage\n")
	require.True(t, ok, "assignor_test.go has no usage")
	_, printed, ok := strings.Cut(rest, "\t// Output:\n")
	require.True(t, ok, "the usage prints nothing")
	printed, _, _ = strings.Cut(printed, "}\n")
	section(t, "README.md", "usage", "```go\nimport \"github.com/incremental-rebalance/assignor\"\n\n"+unindent(code, "\t")+"```")
	section(t, "README.md", "usage prints", "```\n"+unindent(printed, "\t// ")+"```")
}

// TestFranzUsage compares the usage in the adapter's README with the example that compiles.
func TestFranzUsage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "franz", "example_test.go"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\t// usage\n")
	code, _, ok := strings.Cut(rest, "\t// end of usage\n")
	require.True(t, ok, "franz/example_test.go has no usage")
	section(t, "franz/README.md", "usage", "```go\n"+unindent(code, "\t")+"```")
}

func unindent(text, prefix string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		b.WriteString(strings.TrimPrefix(line, prefix))
	}
	return b.String()
}

// A page is read on half a screen, and in a terminal, where a wide table is not read at all. What is read beside code is as wide as code.
func TestWidth(t *testing.T) {
	for page, widest := range map[string]int{"README.md": 100, "franz/README.md": 100, "CONTRIBUTING.md": 135, "docs/design.md": 135} {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			widest := widest
			if strings.HasPrefix(line, "|") {
				widest = 80
			}
			assert.LessOrEqual(t, utf8.RuneCountInString(line), widest, "%s:%d: %s", page, i+1, line)
		}
	}
}
