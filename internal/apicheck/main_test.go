package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/exp/apidiff"
)

const releasedAPI = `package api

import "container/list"

// Config has one field.
type Config struct{ Tasks list.List }

// Mode is an enum.
type Mode uint8

// Fast is a mode.
const Fast Mode = 1

// CurrentVersion grows with releases.
const CurrentVersion = 2

// Run runs.
func Run(c Config, more *list.List) error { return nil }
`

// edits are changes of releasedAPI, and whether whoever uses it still compiles.
var edits = []struct {
	name, old, new string
	compatible     bool
}{
	{"body and parameter name", "more *list.List) error { return nil }", "l *list.List) error { return error(nil) }", true},
	{"field added", "struct{ Tasks list.List }", "struct{ Tasks, Other list.List }", true},
	{"method added", "// Run", "// Bump adds one.\nfunc (m Mode) Bump() Mode { return m + 1 }\n\n// Run", true},
	{"field renamed", "Tasks list", "Jobs list", false},
	{"field type", "Tasks list.List", "Tasks list.Element", false},
	{"type made an alias", "Config struct", "Config = struct", false},
	{"constant value", "Mode = 1", "Mode = 2", false},
	{"value of a constant that grows", "CurrentVersion = 2", "CurrentVersion = 3", true},
	{"type of a constant that grows", "CurrentVersion = 2", "CurrentVersion = \"2\"", false},
	{"constant that grows renamed", "const CurrentVersion", "const LatestVersion", false},
	{"parameter added", "more *list.List)", "more *list.List, n int)", false},
	{"result removed", "error { return nil }", "{}", false},
	{"function renamed", "func Run", "func Start", false},
}

func TestCompare(t *testing.T) {
	before := load(t, newModule(t, releasedAPI))
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			changed := strings.Replace(releasedAPI, edit.old, edit.new, 1)
			if changed == releasedAPI {
				t.Fatal("the edit changes nothing")
			}
			var out strings.Builder
			err := compare(&out, before, load(t, newModule(t, changed)))
			if edit.compatible && err != nil || !edit.compatible && !errors.Is(err, errIncompatible) {
				t.Errorf("compatible is %v, got %v\n%s", edit.compatible, err, out.String())
			}
		})
	}
}

func TestComparePackages(t *testing.T) {
	root := newModule(t, releasedAPI)
	for _, private := range []string{"internal/a/a.go", "examples/a/main.go", "testdata/a/a.go"} {
		write(t, root, private, "package main\n\nfunc main() {}\n")
	}
	before := load(t, root)
	write(t, root, "extra/extra.go", "package extra\n")
	after := load(t, root)
	var out strings.Builder
	if err := compare(&out, before, after); err != nil || !strings.Contains(out.String(), "example.com/api/extra: added") {
		t.Errorf("a package was added: %v\n%s", err, out.String())
	}
	if err := compare(&out, after, before); !errors.Is(err, errIncompatible) {
		t.Errorf("a package was removed: %v\n%s", err, out.String())
	}
}

// TestRun goes through the life of a repository: no release, one that is HEAD, an incompatible change after it, and the same
// in a clone without tags.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	root := newModule(t, releasedAPI)
	do := func(args ...string) string {
		t.Helper()
		out, err := git(root, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	expect := func(text string, want error) {
		t.Helper()
		var out strings.Builder
		if err := run(&out, root); !errors.Is(err, want) || !strings.Contains(out.String(), text) {
			t.Errorf("got %v, want %v; output %q, want %q", err, want, out.String(), text)
		}
	}
	do("init", "-q")
	do("add", ".")
	do("commit", "-q", "-m", "a")
	expect("no release yet", nil)

	do("tag", "v0.9.0")
	do("tag", "v0.10.0")
	expect("no release yet", nil)

	do("commit", "-q", "--allow-empty", "-m", "b")
	expect("compared with v0.10.0\n", nil)
	write(t, root, "api.go", strings.Replace(releasedAPI, "func Run", "func Start", 1))
	expect("- Run: removed\n", errIncompatible)

	write(t, root, ".ci/last-release", "v0.10.0 "+do("rev-parse", "v0.10.0")+"\n")
	do("tag", "-d", "v0.9.0", "v0.10.0")
	expect("- Run: removed\n", errIncompatible)

	write(t, root, ".ci/last-release", "v0.10.0 "+strings.Repeat("0", 40)+"\n")
	var lost strings.Builder
	if err := run(&lost, root); err == nil {
		t.Error("the released commit is not there, and nothing was said")
	}
}

func newModule(t *testing.T, api string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "go.mod", "module example.com/api\n\ngo 1.22\n")
	write(t, root, "api.go", api)
	return root
}

func load(t *testing.T, root string) *apidiff.Module {
	t.Helper()
	module, err := packages(root)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := writeFile(filepath.Join(root, filepath.FromSlash(name)), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
}
