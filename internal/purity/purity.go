// Package purity checks that a package is fit to be the core: that it computes and does nothing else, that its answers do
// not depend on the order of a map, on floating point or on what ran before, that it is documented, and that it stays
// small. Each rule is one function or one case of [checker.node].
package purity

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

const (
	maxFunctionLines = 70
	maxFileLines     = 450
)

// imports is all that the core may import: packages that compute. Whoever adds one sees to it that nothing in it reads a
// clock, draws a random number, logs, waits, or walks a map (as maps.Keys does).
var imports = []string{
	"bytes", "cmp", "container/heap", "encoding", "encoding/binary", "errors", "fmt", "math", "math/bits", "slices", "sort",
	"strconv", "strings", "time", "unicode/utf8",
	"github.com/incremental-rebalance/assignor/internal/level",
	"github.com/incremental-rebalance/assignor/internal/taskset",
}

// Violation is one place where a package breaks one rule.
type Violation struct {
	Pos  token.Position
	Rule string
	Text string
}

// String returns the violation as "file:line: rule: text".
func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", v.Pos.Filename, v.Pos.Line, v.Rule, v.Text)
}

// Check returns every violation in p, by position, each rule at most once a line.
func Check(p *typecheck.Package) []Violation {
	c := checker{Package: p}
	for _, file := range p.Files {
		c.orderFree = c.orderFreeLines(file)
		c.file(file)
		ast.Inspect(file, func(n ast.Node) bool { c.node(n); return true })
	}
	slices.SortStableFunc(c.found, compareViolations)
	return slices.CompactFunc(c.found, func(a, b Violation) bool { return compareViolations(a, b) == 0 })
}

func compareViolations(a, b Violation) int {
	return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Rule, b.Rule))
}

type checker struct {
	*typecheck.Package
	orderFree map[int]bool // lines of the current file that say why the order of a map does not matter there
	found     []Violation
}

func (c *checker) report(at token.Pos, rule, format string, args ...any) {
	c.found = append(c.found, Violation{c.Fset.Position(at), rule, fmt.Sprintf(format, args...)})
}

func (c *checker) file(file *ast.File) {
	if lines := c.Fset.File(file.Pos()).LineCount(); lines > maxFileLines {
		c.report(file.Pos(), "file-length", "%d lines, at most %d", lines, maxFileLines)
	}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || !slices.Contains(imports, path) {
			c.report(spec.Pos(), "import", "the core does not import %s", spec.Path.Value)
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			c.function(decl)
		case *ast.GenDecl:
			c.declaration(decl)
		}
	}
}

func (c *checker) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.RangeStmt:
		c.rangeOver(n)
	case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
		c.report(n.Pos(), "concurrency", "the core has no goroutines and no channels")
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			c.write(target)
		}
	case *ast.IncDecStmt:
		c.write(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.write(n.X)
		}
	case *ast.Ident:
		c.use(n)
	}
	if e, ok := n.(ast.Expr); ok {
		c.float(e)
	}
}

func (c *checker) rangeOver(loop *ast.RangeStmt) {
	c.write(loop.Key)
	c.write(loop.Value)
	line := c.Fset.Position(loop.Pos()).Line
	if isMap(c.Info.Types[loop.X].Type) && !c.orderFree[line] && !c.orderFree[line-1] {
		c.report(loop.Pos(), "map-range", "ranges over a map without // order-free: why")
	}
}

// isMap reports whether t is a map, or a type parameter that may be one.
func isMap(t types.Type) bool {
	param, ok := t.(*types.TypeParam)
	if !ok {
		_, ok = t.Underlying().(*types.Map)
		return ok
	}
	constraint := param.Underlying().(*types.Interface)
	for i := range constraint.NumEmbeddeds() {
		if union, ok := constraint.EmbeddedType(i).(*types.Union); ok {
			for j := range union.Len() {
				if isMap(union.Term(j).Type()) {
					return true
				}
			}
		} else if isMap(constraint.EmbeddedType(i)) {
			return true
		}
	}
	return false
}

var orderFreeComment = regexp.MustCompile(`^// order-free: \w`)

func (c *checker) orderFreeLines(file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if orderFreeComment.MatchString(comment.Text) {
				lines[c.Fset.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}

// write reports a target of an assignment, or an operand whose address is taken, that belongs to a package-level variable.
func (c *checker) write(target ast.Expr) {
	for {
		switch t := target.(type) {
		case *ast.IndexExpr:
			target = t.X
		case *ast.SelectorExpr:
			target = t.X
		case *ast.StarExpr:
			target = t.X
		case *ast.ParenExpr:
			target = t.X
		case *ast.Ident:
			if v, ok := c.Info.Uses[t].(*types.Var); ok && v.Parent() == c.Types.Scope() {
				c.report(t.Pos(), "write", "changes the package-level variable %s", t.Name)
			}
			return
		default:
			return
		}
	}
}

// use reports a name that tells the time, waits or writes somewhere.
func (c *checker) use(id *ast.Ident) {
	obj := c.Info.Uses[id]
	if obj == nil {
		return
	}
	if b, ok := obj.(*types.Builtin); ok && strings.HasPrefix(b.Name(), "print") {
		c.report(id.Pos(), "output", "%s writes to the standard error", b.Name())
	}
	if obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return
	}
	_, constant := obj.(*types.Const)
	switch path := obj.Pkg().Path(); {
	case path == "time" && !constant && obj.Name() != "Duration" && obj.Name() != "ParseDuration":
		c.report(id.Pos(), "clock", "of package time only Duration and the constants, not %s", obj.Name())
	case path == "fmt" && (strings.HasPrefix(obj.Name(), "Print") || strings.Contains(obj.Name(), "scan") || strings.Contains(obj.Name(), "Scan")):
		c.report(id.Pos(), "output", "fmt.%s uses the standard output or input", obj.Name())
	}
}

func (c *checker) float(e ast.Expr) {
	tv, ok := c.Info.Types[e]
	if !ok || tv.Type == nil {
		return
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
		c.report(e.Pos(), "float", "decisions use integers")
	}
}

func (c *checker) function(f *ast.FuncDecl) {
	lines := c.Fset.Position(f.End()).Line - c.Fset.Position(f.Pos()).Line + 1
	if lines > maxFunctionLines {
		c.report(f.Pos(), "function-length", "%s has %d lines, at most %d", f.Name.Name, lines, maxFunctionLines)
	}
	if f.Recv == nil && f.Name.Name == "init" {
		c.report(f.Pos(), "init", "the core has nothing to initialize")
	}
	if f.Name.IsExported() && (f.Recv == nil || exportedReceiver(f.Recv.List[0].Type)) {
		c.nameComment(f.Name, f.Doc)
	}
}

func exportedReceiver(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return exportedReceiver(t.X)
	case *ast.IndexExpr:
		return exportedReceiver(t.X)
	case *ast.IndexListExpr:
		return exportedReceiver(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}

// nameComment reports an exported name without a comment that starts with it.
func (c *checker) nameComment(name *ast.Ident, doc *ast.CommentGroup) {
	first, _, _ := strings.Cut(doc.Text(), " ")
	if strings.Trim(first, ",:\n") != name.Name {
		c.report(name.Pos(), "doc", "the comment of %s starts with its name", name.Name)
	}
}

func (c *checker) declaration(decl *ast.GenDecl) {
	covered := -1 // the last line of a documented constant or variable; the next line's belongs to it
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				doc := spec.Doc
				if doc == nil {
					doc = decl.Doc
				}
				c.nameComment(spec.Name, doc)
			}
		case *ast.ValueSpec:
			if decl.Tok == token.VAR {
				c.variable(spec)
			}
			start, end := c.Fset.Position(spec.Pos()).Line, c.Fset.Position(spec.End()).Line
			if decl.Doc != nil || spec.Doc != nil || spec.Comment != nil || start == covered+1 {
				covered = end
				continue
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					c.report(name.Pos(), "doc", "%s has no comment", name.Name)
				}
			}
		}
	}
}

// variable reports a package-level variable that is neither an error sentinel nor a table: an array of basic values, which
// nobody can grow or share. Interface assertions (var _ I = T{}) are no variables.
func (c *checker) variable(spec *ast.ValueSpec) {
	for _, name := range spec.Names {
		if name.Name == "_" {
			continue
		}
		t := c.Info.Defs[name].Type()
		if types.Identical(t, types.Universe.Lookup("error").Type()) {
			continue
		}
		if array, ok := t.Underlying().(*types.Array); ok {
			if _, ok := array.Elem().Underlying().(*types.Basic); ok {
				continue
			}
		}
		c.report(name.Pos(), "var", "%s is neither an error sentinel nor an array of names or numbers", name.Name)
	}
}
