package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStepsAndTheirLines(t *testing.T) {
	text := "# a comment\n\n# another\ngroup\nS1[T1]\nS2[]\n----\n\n" +
		"rebalance join=(S4, S5) ready=(S3[T1, T2], S4[T3]) since=30s!\n----\nerror: no\n"
	f, err := Parse("f.txt", []byte(text))
	require.NoError(t, err)
	require.Len(t, f.Steps, 2)

	require.Equal(t, Step{
		Line: 4, Text: "group", Directive: "group",
		Input:      []Line{{5, "S1[T1]"}, {6, "S2[]"}},
		outputFrom: 7, outputTo: 7,
	}, f.Steps[0])
	require.Equal(t, Step{
		Line: 9, Text: "rebalance join=(S4, S5) ready=(S3[T1, T2], S4[T3]) since=30s!", Directive: "rebalance",
		Args: []Arg{
			{Key: "join", Op: "=", Values: []string{"S4", "S5"}},
			{Key: "ready", Op: "=", Values: []string{"S3[T1, T2]", "S4[T3]"}},
			{Key: "since", Op: "=", Values: []string{"30s"}},
		},
		WantsError: true, Want: "error: no",
		outputFrom: 10, outputTo: 11,
	}, f.Steps[1])
}

func TestParseArgument(t *testing.T) {
	for token, want := range map[string]Arg{
		"stable":     {Key: "stable"},
		"moves<=2":   {Key: "moves", Op: "<=", Values: []string{"2"}},
		"T1=S3":      {Key: "T1", Op: "=", Values: []string{"S3"}},
		"crash=":     {Key: "crash", Op: "="},
		"join=()":    {Key: "join", Op: "="},
		"tags=a:b,c": {Key: "tags", Op: "=", Values: []string{"a:b,c"}},
		"[T1, T2]":   {Key: "[T1, T2]"},
		"moves<=(1)": {Key: "moves", Op: "<=", Values: []string{"1"}},
	} {
		got, err := parseArg(token)
		require.NoError(t, err, token)
		require.Equal(t, want, got, token)
	}
}

func TestParseToleratesWindowsLineEnds(t *testing.T) {
	f, err := Parse("f.txt", []byte("assert stable\r\n----\r\nok\r\n\r\n# end\r\n"))
	require.NoError(t, err)
	require.Len(t, f.Steps, 1)
	require.Equal(t, "ok", f.Steps[0].Want)
}

func TestSyntaxErrorsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# c\nassert stable\nok\n", "f.txt:2: assert: no ---- ends the input of this step"},
		{"group\nS1[T1]\n\nS2[T2]\n----\n", "f.txt:1: group: no ---- ends the input of this step"},
		{"group\n# c\nS1[T1]\n----\n", "f.txt:2: a comment inside a step: put it before the directive"},
		{"assert stable\n----\nok\nassert stable\n----\nok\n", "f.txt:5: a second ---- in one step: is a blank line missing before the next?"},
		{"\n!\n----\n", "f.txt:2: the ! has no directive before it"},
		{"rebalance join=(S1\n----\n", `f.txt:1: '(' is never closed in "rebalance join=(S1"`},
		{"rebalance join=S1)\n----\n", `f.txt:1: ')' closes nothing in "rebalance join=S1)"`},
		{"rebalance ready=(S1[T1)]\n----\n", `f.txt:1: ')' closes nothing in "rebalance ready=(S1[T1)]"`},
		{"rebalance join=(S1,,S2)\n----\n", `f.txt:1: an empty part in the list "S1,,S2"`},
		{"rebalance join=(S1)x\n----\n", `f.txt:1: "join=(S1)x" goes on behind its bracket`},
		{"rebalance =S1\n----\n", `f.txt:1: "=S1" has no name before the =`},
	} {
		_, err := Parse("f.txt", []byte(c.text))
		require.EqualError(t, err, c.want, c.text)
		var fault *Fault
		require.ErrorAs(t, err, &fault)
		require.Equal(t, "f.txt", fault.Name)
	}
}
