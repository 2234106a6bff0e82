package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// current fails where the version that is to be tagged is not newer than the last release. A module that requires the last
// release while it uses what came after it builds in the workspace, and for nobody else.
func current(root string, list []released) error {
	text, err := os.ReadFile(filepath.Join(root, ".ci", "last-release"))
	if os.IsNotExist(err) {
		return nil // there was none
	}
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 || !semver.IsValid(fields[0]) {
		return fmt.Errorf(".ci/last-release: %q, want a version and a commit", text)
	}
	for _, m := range list {
		if m.dir == "." && semver.Compare(m.mod.Version, fields[0]) <= 0 {
			return fmt.Errorf("the modules require %s, which is not newer than the last release %s: raise it in every go.mod", m.mod, fields[0])
		}
	}
	return nil
}
