package scenario

import (
	"fmt"
	"strings"
)

// File is one scenario file, taken apart into its steps.
type File struct {
	Name  string
	Steps []Step
	lines []string // the whole file, for Result.Rewrite; without line ends
}

// Step is one directive with its input and the output that the file expects of it.
type Step struct {
	Line       int    // of the directive, counted from 1
	Text       string // the directive line as it is written
	Directive  string
	Args       []Arg
	WantsError bool // the directive line ends in "!"
	Input      []Line
	Want       string // without a final newline

	outputFrom, outputTo int // the indices in File.lines of the expected output
}

// Line is one input line of a step.
type Line struct {
	Number int // counted from 1, in the file
	Text   string
}

// Fault is why a file cannot be run, or cannot be run any further: it is wrong as a text, a step makes no sense (a crash of
// somebody who is not there), or the library broke a promise (a failed Check). It is an error of the file or of the
// library, never the output of a step, so no "!" expects it and no rewrite hides it.
type Fault struct {
	Name string // of the file
	Line int
	Err  error
}

// Error returns "file:line: what is wrong".
func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %v", f.Name, f.Line, f.Err) }

// Unwrap returns what is wrong, without the place.
func (f *Fault) Unwrap() error { return f.Err }

// faultAt returns a Fault of a file whose name the caller adds.
func faultAt(line int, format string, args ...any) *Fault {
	return &Fault{Line: line, Err: fmt.Errorf(format, args...)}
}

const separator = "----"

// Parse takes a file apart. It knows no directives; it fails with a [Fault] where the text breaks the rules of the syntax:
// a step without "----", a blank line or comment inside a step, brackets that do not match.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name, lines: splitLines(text)}
	for at := 0; at < len(f.lines); {
		line := strings.TrimSpace(f.lines[at])
		if line == "" || strings.HasPrefix(line, "#") {
			at++
			continue
		}
		step, next, fault := f.parseStep(at)
		if fault != nil {
			fault.Name = name
			return nil, fault
		}
		f.Steps = append(f.Steps, step)
		at = next
	}
	return f, nil
}

// splitLines cuts a text into lines and tolerates line ends of Windows, which a checkout may have put there.
func splitLines(text []byte) []string {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// parseStep reads the step whose directive is f.lines[at], and returns the index of the line behind it.
func (f *File) parseStep(at int) (step Step, next int, fault *Fault) {
	step, err := parseDirective(f.lines[at])
	if err != nil {
		return Step{}, 0, faultAt(at+1, "%w", err)
	}
	step.Line = at + 1
	for at++; ; at++ {
		if at == len(f.lines) || strings.TrimSpace(f.lines[at]) == "" {
			return Step{}, 0, faultAt(step.Line, "%s: no %s ends the input of this step", step.Directive, separator)
		}
		if f.lines[at] == separator {
			break
		}
		if strings.HasPrefix(strings.TrimSpace(f.lines[at]), "#") {
			return Step{}, 0, faultAt(at+1, "a comment inside a step: put it before the directive")
		}
		step.Input = append(step.Input, Line{Number: at + 1, Text: strings.TrimSpace(f.lines[at])})
	}
	step.outputFrom = at + 1
	for at++; at < len(f.lines) && strings.TrimSpace(f.lines[at]) != ""; at++ {
		if f.lines[at] == separator {
			return Step{}, 0, faultAt(at+1, "a second %s in one step: is a blank line missing before the next?", separator)
		}
	}
	step.outputTo = at
	step.Want = strings.Join(f.lines[step.outputFrom:at], "\n")
	return step, at, nil
}

// parseDirective reads "rebalance join=(S4, S5) since=30s!".
func parseDirective(line string) (Step, error) {
	text, wantsError := strings.CutSuffix(strings.TrimSpace(line), "!")
	tokens, err := splitTokens(text)
	if err != nil {
		return Step{}, err
	}
	if len(tokens) == 0 {
		return Step{}, fmt.Errorf("the ! has no directive before it")
	}
	step := Step{Text: strings.TrimSpace(line), Directive: tokens[0], WantsError: wantsError}
	for _, token := range tokens[1:] {
		arg, err := parseArg(token)
		if err != nil {
			return Step{}, err
		}
		step.Args = append(step.Args, arg)
	}
	return step, nil
}
