package purity

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// TestCheckFinds shows that each rule finds what it is there for, and nothing else. A comment on its line would document
// a constant, so those that have none are named here.
func TestCheckFinds(t *testing.T) {
	dir := filepath.Join("testdata", "impure")
	text, err := os.ReadFile(filepath.Join(dir, "impure.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`// want: ([a-z-]+)$`)
	var wanted []string
	for i, line := range strings.Split(string(text), "\n") {
		if m := want.FindStringSubmatch(line); m != nil {
			wanted = append(wanted, fmt.Sprintf("%d: %s", i+1, m[1]))
		}
		if line == "\tThird = 3" || line == "\tFifth = 5" {
			wanted = append(wanted, fmt.Sprintf("%d: doc", i+1))
		}
	}
	compare(t, dir, wanted)
}

func TestCheckFindsLength(t *testing.T) {
	dir := t.TempDir()
	functions := "package long\n\nfunc tooLong() {" + strings.Repeat("\n", maxFunctionLines) + "}\n" +
		"func longest() {" + strings.Repeat("\n", maxFunctionLines-1) + "}\n"
	tooLong := functions + strings.Repeat("\n", maxFileLines+1-strings.Count(functions, "\n"))
	longest := "package long" + strings.Repeat("\n", maxFileLines)
	for name, text := range map[string]string{"a.go": tooLong, "b.go": longest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, dir, []string{"1: file-length", "3: function-length"})
}

func compare(t *testing.T, dir string, wanted []string) {
	t.Helper()
	p, err := typecheck.Dir(dir, "impure")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, v := range Check(p) {
		found = append(found, fmt.Sprintf("%d: %s", v.Pos.Line, v.Rule))
	}
	if !slices.Equal(found, wanted) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(wanted, "\n"))
	}
}
