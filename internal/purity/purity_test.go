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

// TestCheckLayers shows what an arrow is: a type, a field, a method or a function that a file above declares, in a higher layer or in
// the same one; and that every file has its place.
func TestCheckLayers(t *testing.T) {
	dir := filepath.Join("testdata", "layered")
	p, err := typecheck.Dir(dir, "layered")
	if err != nil {
		t.Fatal(err)
	}
	layers := []Layer{{"top", "", []File{{"high.go", ""}}}, {"bottom", "", []File{{"middle.go", ""}, {"low.go", ""}, {"gone.go", ""}}}}
	var found []string
	for _, v := range CheckLayers(p, dir, layers) {
		found = append(found, fmt.Sprintf("%s:%d: %s", filepath.Base(v.Pos.Filename), v.Pos.Line, v.Text))
	}
	want := []string{
		".:0: layer bottom: stat testdata/layered/gone.go: no such file or directory",
		"low.go:5: low.go uses middle, which middle.go declares above it",
		"low.go:10: low.go uses high, which high.go declares above it",
		"low.go:10: low.go uses name, which high.go declares above it",
		"stray.go:1: stray.go is in no layer",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}
