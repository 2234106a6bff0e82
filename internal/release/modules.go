package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// released is a module of the repository that users import or run.
type released struct {
	dir string // relative to the root of the repository, with slashes; "." is the core
	mod module.Version
}

// tag returns the tag that makes the release of the module, as the go command looks for it.
func (m released) tag() string {
	if m.dir == "." {
		return m.mod.Version
	}
	return m.dir + "/" + m.mod.Version
}

// modules returns the modules that go.work lists, but for those below internal, in an order in which they can be tagged: each
// comes after those that it requires, ties in the order of their directories. A module has the version that the others require
// of it; one that nobody requires has the core's. It fails with every problem at once: two versions of one module, or one
// that cannot be tagged.
func modules(root string) ([]released, error) {
	all, err := readSources(root)
	if err != nil {
		return nil, err
	}
	versions, problems := all.versions()
	core := all.core().path()
	if versions[core] == "" && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("no module requires %s: its version is not known", core))
	}
	list := make([]released, len(all))
	for i, s := range all {
		list[i] = released{s.dir, module.Version{Path: s.path(), Version: cmp.Or(versions[s.path()], versions[core])}}
	}
	return list, errors.Join(problems...)
}

// source is a module's directory and its go.mod.
type source struct {
	dir  string
	file *modfile.File
}

func (s source) path() string { return s.file.Module.Mod.Path }

// sources are the modules to release. Each comes after those that it requires.
type sources []source

// readSources reads go.work and the go.mod files that it names.
func readSources(root string) (sources, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var all sources
	for _, use := range work.Use {
		dir := path.Clean(use.Path)
		if strings.HasPrefix(dir, "internal/") {
			continue
		}
		name := path.Join(dir, "go.mod")
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, source{dir, file})
	}
	if !slices.ContainsFunc(all, func(s source) bool { return s.dir == "." }) {
		return nil, errors.New("go.work: no module at the root, want the core")
	}
	slices.SortFunc(all, func(a, b source) int {
		return cmp.Or(cmp.Compare(all.depth(a), all.depth(b)), cmp.Compare(a.dir, b.dir))
	})
	return all, nil
}

func (all sources) core() source {
	return all[slices.IndexFunc(all, func(s source) bool { return s.dir == "." })]
}

// needs returns the modules of the repository that s requires, as it requires them.
func (all sources) needs(s source) []module.Version {
	var needs []module.Version
	for _, r := range s.file.Require {
		if _, ok := all.find(r.Mod.Path); ok {
			needs = append(needs, r.Mod)
		}
	}
	return needs
}

func (all sources) find(modulePath string) (source, bool) {
	i := slices.IndexFunc(all, func(s source) bool { return s.path() == modulePath })
	if i < 0 {
		return source{}, false
	}
	return all[i], true
}

// depth returns the length of the longest chain of requirements within the repository that begins at s.
func (all sources) depth(s source) int {
	deepest := 0
	for _, need := range all.needs(s) {
		if other, ok := all.find(need.Path); ok {
			deepest = max(deepest, 1+all.depth(other))
		}
	}
	return deepest
}

// versions returns the version that the modules require of each other, by module path, and what is wrong with them.
func (all sources) versions() (versions map[string]string, problems []error) {
	versions = map[string]string{}
	for _, s := range all {
		for _, need := range all.needs(s) {
			switch known := versions[need.Path]; {
			case !taggable(need.Version):
				problems = append(problems, fmt.Errorf("%s requires %s, want a version that can be tagged", s.file.Syntax.Name, need))
			case known != "" && known != need.Version:
				problems = append(problems, fmt.Errorf("%s requires %s, others %s, want one", s.file.Syntax.Name, need, known))
			default:
				versions[need.Path] = need.Version
			}
		}
	}
	return versions, problems
}

// taggable reports whether a release can have this version: v0.0.0 and pseudo-versions are what the go command writes where
// a replace directive hides that there is none.
func taggable(version string) bool {
	return version != "v0.0.0" && !module.IsPseudoVersion(version) && semver.Canonical(version) == version
}
