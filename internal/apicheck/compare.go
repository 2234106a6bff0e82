package main

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"

	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// growing are the constants whose value is documented to differ between releases. Everything else that changes its value breaks
// somebody who has written the old one down.
var growing = []string{"CurrentVersion"}

// compare writes what changed between two states of a module to w. It returns errIncompatible where a user of the packages
// before may not compile with those after, or may mean something else.
func compare(w io.Writer, before, after *apidiff.Module) error {
	report := apidiff.ModuleChanges(before, after)
	if err := report.Text(w); err != nil {
		return err
	}
	for _, change := range report.Changes {
		if !change.Compatible && !grows(change.Message) {
			return errIncompatible
		}
	}
	return nil
}

// grows reports whether a change is that of a constant's value which is documented to change.
func grows(message string) bool {
	return slices.ContainsFunc(growing, func(name string) bool {
		return strings.HasPrefix(message, name+": value changed from ")
	})
}

// packages type-checks every package of the module in root that its users can import.
func packages(root string) (*apidiff.Module, error) {
	path, err := modulePath(root)
	if err != nil {
		return nil, err
	}
	module := &apidiff.Module{Path: path}
	err = filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if dir != root && isPrivate(dir) {
			return filepath.SkipDir
		}
		found, err := build.ImportDir(dir, 0)
		var none *build.NoGoError
		if errors.As(err, &none) || err == nil && (found.Name == "main" || len(found.GoFiles) == 0) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		p, err := typecheck.Dir(dir, strings.TrimSuffix(path+"/"+filepath.ToSlash(relative), "/."))
		if err != nil {
			return err
		}
		module.Packages = append(module.Packages, p.Types)
		return nil
	})
	return module, err
}

// isPrivate reports whether nobody outside the module can import what is in dir: it is internal, not seen by the go
// command, or another module.
func isPrivate(dir string) bool {
	name := filepath.Base(dir)
	if name == "internal" || name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func modulePath(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(path), nil
		}
	}
	return "", fmt.Errorf("%s has no module line", filepath.Join(root, "go.mod"))
}
