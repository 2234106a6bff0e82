package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Arg is one argument of a directive: "stable", "since=30s", "moves<=2", "join=(S4, S5)". A bare word has a Key only.
type Arg struct {
	Key    string
	Op     string // "", "=" or "<="
	Values []string
}

// value returns the only value of the argument.
func (a Arg) value() (string, error) {
	if a.Op != "=" || len(a.Values) != 1 {
		return "", fmt.Errorf("%s wants one value, as in %s=x", a.Key, a.Key)
	}
	return a.Values[0], nil
}

// list returns the values of the argument, of which there must be at least one.
func (a Arg) list() ([]string, error) {
	if a.Op != "=" || len(a.Values) == 0 {
		return nil, fmt.Errorf("%s wants a value or a list, as in %s=(x, y)", a.Key, a.Key)
	}
	return a.Values, nil
}

// parseArg reads one token of a directive line.
func parseArg(token string) (Arg, error) {
	key, value, ok := strings.Cut(token, "=")
	if !ok {
		return Arg{Key: token}, nil
	}
	arg := Arg{Key: key, Op: "="}
	if less, ok := strings.CutSuffix(key, "<"); ok {
		arg.Key, arg.Op = less, "<="
	}
	if arg.Key == "" {
		return Arg{}, fmt.Errorf("%q has no name before the =", token)
	}
	if inner, ok := strings.CutPrefix(value, "("); ok {
		inner, ok = strings.CutSuffix(inner, ")")
		if !ok {
			return Arg{}, fmt.Errorf("%q goes on behind its bracket", token)
		}
		values, err := splitList(inner)
		arg.Values = values
		return arg, err
	}
	if value != "" {
		arg.Values = []string{value}
	}
	return arg, nil
}

// splitTokens cuts a line at the blanks that no bracket encloses.
func splitTokens(line string) ([]string, error) {
	parts, err := splitOutside(line, ' ')
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" }), err
}

// splitList cuts "S3[T1, T2], S4[T3]" at the commas that no bracket encloses. A blank text is the empty list.
func splitList(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	parts, err := splitOutside(text, ',')
	if err != nil {
		return nil, err
	}
	if slices.Contains(parts, "") {
		return nil, fmt.Errorf("an empty part in the list %q", text)
	}
	return parts, nil
}

// splitOutside cuts the text at every sep outside of brackets, and trims the parts. It fails where brackets do not match.
func splitOutside(text string, sep byte) ([]string, error) {
	var parts []string
	var open []byte
	start := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(' || c == '[':
			open = append(open, c)
		case c == ')' || c == ']':
			if len(open) == 0 || open[len(open)-1] != opening(c) {
				return nil, fmt.Errorf("%q closes nothing in %q", c, text)
			}
			open = open[:len(open)-1]
		case c == sep && len(open) == 0:
			parts = append(parts, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%q is never closed in %q", open[len(open)-1], text)
	}
	return append(parts, strings.TrimSpace(text[start:])), nil
}

func opening(closing byte) byte {
	if closing == ')' {
		return '('
	}
	return '['
}
