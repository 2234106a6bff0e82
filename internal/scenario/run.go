package scenario

import (
	"errors"
	"fmt"
	"strings"
)

// Result is what came of running a file.
type Result struct {
	Failures []Failure // the steps that did not do what the file says, in order
	file     *File
	got      []string // the output of each step that was run; fewer than steps after a Fault
}

// Failure is a step whose output differs from what the file says, or that fails without a "!" (or does not in spite of it).
type Failure struct {
	Name      string // of the file
	Line      int    // of the directive
	Step      string // the directive line
	Got, Want string
	Note      string // what is wrong beside the output, or ""
}

// Place returns "file:line".
func (f Failure) Place() string { return fmt.Sprintf("%s:%d", f.Name, f.Line) }

// String returns the place, the step, and the two outputs below each other.
func (f Failure) String() string {
	note := ""
	if f.Note != "" {
		note = " (" + f.Note + ")"
	}
	return fmt.Sprintf("%s: %s%s\ngot:\n%s\nwant:\n%s", f.Place(), f.Step, note, indent(f.Got), indent(f.Want))
}

func indent(text string) string {
	if text == "" {
		return "  (nothing)"
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// Run runs the steps of one file. Every step is run, whatever came of those before it; a step that fails changes nothing.
// The error is a [*Fault], by which the run ends; the result then holds the failures before it.
//
// The cost is that of the rounds: each is decided three times, and checked once.
func Run(name string, text []byte) (*Result, error) {
	return run(name, text, realLibrary)
}

func run(name string, text []byte, lib library) (*Result, error) {
	file, err := Parse(name, text)
	if err != nil {
		return &Result{}, err
	}
	result := &Result{file: file}
	g := newGroup()
	for i := range file.Steps {
		step := &file.Steps[i]
		next := g.clone()
		got, err := next.step(lib, step)
		switch {
		case err == nil:
			g = next
		case isRefusal(err):
			got = "error: " + oneLine(err.Error())
		default:
			return result, placed(err, name, step.Line)
		}
		result.add(step, got, err != nil)
	}
	return result, nil
}

// step runs one step on g.
func (g *group) step(lib library, step *Step) (string, error) {
	if err := checkShape(step); err != nil {
		return "", err
	}
	switch step.Directive {
	case "config":
		return "", g.changeSettings(lib, g.configure(step.Args))
	case "topology":
		return "", g.changeSettings(lib, g.setTopology(step.Input))
	case "members":
		return "", g.declare(step.Input)
	case "group":
		return "", g.changeSettings(lib, g.start(step.Input))
	case "rebalance":
		return g.rebalance(lib, step)
	case "settle":
		return g.settle(lib, step)
	case "assert":
		return g.assert(lib, step)
	default: // checkShape knows all directives
		return g.explain(step)
	}
}

// shapes says of each directive whether it takes arguments and input lines.
var shapes = map[string]struct{ args, input bool }{
	"config":    {args: true},
	"topology":  {input: true},
	"members":   {input: true},
	"group":     {input: true},
	"rebalance": {args: true, input: true},
	"settle":    {args: true},
	"assert":    {args: true},
	"explain":   {args: true},
}

func checkShape(step *Step) error {
	shape, ok := shapes[step.Directive]
	switch {
	case !ok:
		return fmt.Errorf("no directive %s", step.Directive)
	case !shape.args && len(step.Args) > 0:
		return fmt.Errorf("%s takes no arguments", step.Directive)
	case !shape.input && len(step.Input) > 0:
		return faultAt(step.Input[0].Number, "%s takes no input lines", step.Directive)
	case shape.input && !shape.args && len(step.Input) == 0:
		return fmt.Errorf("%s wants input lines", step.Directive)
	}
	return nil
}

// changeSettings lets the library judge the settings, after a step that could be read.
func (g *group) changeSettings(lib library, err error) error {
	if err != nil {
		return err
	}
	if err := g.validate(lib); err != nil {
		return refusal{err}
	}
	return nil
}

// placed returns the error as a Fault with its place: the line of the step, unless it names an input line itself.
func placed(err error, name string, line int) error {
	var fault *Fault
	if !errors.As(err, &fault) {
		fault = faultAt(line, "%w", err)
	}
	return &Fault{Name: name, Line: fault.Line, Err: fault.Err}
}

// oneLine joins the lines of an error that lists several problems.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// add compares what a step did with what the file says.
func (r *Result) add(step *Step, got string, failed bool) {
	f := Failure{Name: r.file.Name, Line: step.Line, Step: step.Text, Got: got, Want: step.Want}
	switch {
	case failed && !step.WantsError:
		f.Note = "the step fails, and its line does not end in !"
	case !failed && step.WantsError:
		f.Note = "the step does not fail, and its line ends in !"
	}
	r.got = append(r.got, got)
	if f.Note != "" || got != step.Want {
		r.Failures = append(r.Failures, f)
	}
}

// Rewrite returns the file with the outputs that the steps really have, all else as it is. A step that fails where it
// should not, or the reverse, keeps its text: that is for the author to decide.
func (r *Result) Rewrite() []byte {
	keep := map[int]bool{}
	for _, f := range r.Failures {
		keep[f.Line] = f.Note != ""
	}
	var out []string
	at := 0
	for i, got := range r.got {
		step := &r.file.Steps[i]
		if keep[step.Line] {
			continue
		}
		out = append(out, r.file.lines[at:step.outputFrom]...)
		if got != "" {
			out = append(out, got)
		}
		at = step.outputTo
	}
	out = append(out, r.file.lines[at:]...)
	return []byte(strings.Join(out, "\n") + "\n")
}
