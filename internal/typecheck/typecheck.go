// Package typecheck parses and type-checks a package from its source, with what the standard library offers and without a
// compiler's export data. The checks of this repository that read code share it.
package typecheck

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Package is a package with everything that is known of it.
type Package struct {
	Fset  *token.FileSet
	Files []*ast.File // with their comments, in the order of their names
	Types *types.Package
	Info  *types.Info
}

// Dir checks the package in dir, without its tests, under the import path that is given. A file that the current platform or
// an older Go would leave out is an error, since nobody would check it. It costs a type check of all that the package imports.
func Dir(dir, path string) (*Package, error) {
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("find the files of %s: %w", path, err)
	}
	left := slices.DeleteFunc(slices.Concat(found.CgoFiles, found.IgnoredGoFiles), isTest)
	if len(left) > 0 {
		return nil, fmt.Errorf("%s: files that depend on the platform cannot be checked: %v", path, left)
	}
	p := &Package{Fset: token.NewFileSet(), Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}}
	for _, name := range found.GoFiles {
		file, err := parser.ParseFile(p.Fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, file)
	}
	config := types.Config{Importer: importer.ForCompiler(p.Fset, "source", nil)}
	if p.Types, err = config.Check(path, p.Fset, p.Files, p.Info); err != nil {
		return nil, fmt.Errorf("type-check %s: %w", path, err)
	}
	return p, nil
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
