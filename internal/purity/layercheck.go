package purity

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// CheckLayers returns where the package p in dir uses an identifier of a file that stands higher in layers than the file that uses it,
// or names such a file; and what is in dir and not in layers, or the other way round.
//
// The files of one layer are in an order too, so that no two files use each other: whoever reads from the bottom to the top meets
// nothing that has not been declared.
func CheckLayers(p *typecheck.Package, dir string, layers []Layer) []Violation {
	c := checker{Package: p}
	depth := depths(layers)
	for _, file := range p.Files {
		if _, ok := depth[c.fileAt(file.Pos())]; !ok {
			c.report(file.Pos(), "layer", "%s is in no layer", c.fileAt(file.Pos()))
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				c.arrow(id, depth)
			}
			return true
		})
	}
	for _, layer := range layers {
		for _, file := range layer.Files {
			if _, err := os.Stat(filepath.Join(dir, file.Name)); err != nil {
				c.found = append(c.found, Violation{Rule: "layer", Text: fmt.Sprintf("layer %s: %v", layer.Name, err)})
			}
		}
	}
	slices.SortStableFunc(c.found, compareViolations)
	return slices.CompactFunc(c.found, func(a, b Violation) bool { return a == b })
}

// depths returns how deep every file stands.
func depths(layers []Layer) map[string]int {
	depth := map[string]int{}
	for _, layer := range layers {
		for _, file := range layer.Files {
			depth[file.Name] = len(depth)
		}
	}
	return depth
}

func (c *checker) fileAt(pos token.Pos) string { return filepath.Base(c.Fset.Position(pos).Filename) }

// arrow reports an identifier that is declared above the file that uses it.
func (c *checker) arrow(id *ast.Ident, depth map[string]int) {
	obj := c.Info.Uses[id]
	if obj == nil || obj.Pkg() != c.Types {
		return
	}
	from, to := c.fileAt(id.Pos()), c.fileAt(obj.Pos())
	if depth[to] < depth[from] {
		c.report(id.Pos(), "layer", "%s uses %s, which %s declares above it", from, obj.Name(), to)
	}
}
