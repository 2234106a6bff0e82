package assignor_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// TestDecide shows that the order of the steps is not a convention: decide does not compile with two neighbours swapped, be it their
// lines or what they call, nor with a step left out.
func TestDecide(t *testing.T) {
	core, err := typecheck.Dir(".", "github.com/incremental-rebalance/assignor")
	require.NoError(t, err)
	n := len(steps(t).calls)
	require.Greater(t, n, 10)
	require.NoError(t, steps(t).check(t, core), "as it is")
	for i := range n - 1 {
		d := steps(t)
		first, second := d.name(i), d.name(i+1)
		d.body.List[i], d.body.List[i+1] = d.body.List[i+1], d.body.List[i]
		require.Error(t, d.check(t, core), "%s after %s", first, second)

		d = steps(t)
		d.calls[i].Fun, d.calls[i+1].Fun = d.calls[i+1].Fun, d.calls[i].Fun
		require.Error(t, d.check(t, core), "%s in the place of %s", first, second)

		d = steps(t)
		d.calls[i].Fun, d.calls[i+1].Fun = d.calls[i+1].Fun, d.calls[i].Fun
		d.calls[i].Args, d.calls[i+1].Args = d.withInput(i+1, i), d.withInput(i, i+1)
		require.Error(t, d.check(t, core), "%s with what it needs in the place of %s", first, second)

		if i > 0 {
			d = steps(t)
			d.calls[i+1].Args[0] = d.calls[i].Args[0]
			d.body.List = slices.Delete(d.body.List, i, i+1)
			require.Error(t, d.check(t, core), "without %s", first)
		}
	}
}

// decision is the function decide: a list of steps and a return, each of which calls the next.
type decision struct {
	signature *ast.FuncType
	body      *ast.BlockStmt
	calls     []*ast.CallExpr
}

// steps reads decide anew. Every step takes the result of the one before as its first argument.
func steps(t *testing.T) *decision {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "assignor.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Name.Name == "decide"
	})
	require.GreaterOrEqual(t, i, 0)
	f := file.Decls[i].(*ast.FuncDecl)
	d := &decision{signature: f.Type, body: f.Body}
	for _, s := range f.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			d.calls = append(d.calls, s.Rhs[0].(*ast.CallExpr))
		case *ast.ReturnStmt:
			d.calls = append(d.calls, s.Results[0].(*ast.CallExpr))
		default:
			t.Fatalf("decide has a %T", s)
		}
	}
	return d
}

func (d *decision) name(i int) string { return d.calls[i].Fun.(*ast.Ident).Name }

// withInput returns the arguments of one step with the first of another.
func (d *decision) withInput(step, other int) []ast.Expr {
	args := slices.Clone(d.calls[step].Args)
	args[0] = d.calls[other].Args[0]
	return args
}

// check type-checks decide in the scope of the package.
func (d *decision) check(t *testing.T, core *typecheck.Package) error {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, printer.Fprint(&text, token.NewFileSet(), &ast.FuncLit{Type: d.signature, Body: d.body}))
	expr, err := parser.ParseExprFrom(core.Fset, "decide.go", text.Bytes(), parser.SkipObjectResolution)
	require.NoError(t, err)
	return types.CheckExpr(core.Fset, core.Types, token.NoPos, expr, nil)
}
