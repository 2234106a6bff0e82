package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

var errNoRound = errors.New("there has been no group and no round yet")

// assert is the directive of that name. It returns "ok", or a line for every number that fails one of the assertions.
func (g *group) assert(lib library, step *Step) (string, error) {
	if g.memory == nil {
		return "", errNoRound
	}
	if len(step.Args) == 0 {
		return "", fmt.Errorf("assert wants balanced, stable, moves<=N, once, owner T1=S1, unowned none or missing=N")
	}
	var failing []string
	for args := step.Args; len(args) > 0; {
		lines, rest, err := g.assertion(lib, step, args)
		if err != nil {
			return "", err
		}
		failing = append(failing, lines...)
		args = rest
	}
	if len(failing) == 0 {
		return "ok", nil
	}
	return strings.Join(failing, "\n"), nil
}

// assertion evaluates the first assertion of args. It returns the lines that fail it, and the arguments behind it.
func (g *group) assertion(lib library, step *Step, args []Arg) (failing []string, rest []Arg, err error) {
	arg, rest := args[0], args[1:]
	switch {
	case arg.Key == "moves" && arg.Op != "":
		failing, err = assertNumber(arg, g.moves.total())
	case arg.Key == "missing" && arg.Op != "":
		failing, err = assertNumber(arg, g.memory.MissingStandbys)
	case arg.Op != "":
		err = fmt.Errorf("assert has no form %s%s", arg.Key, arg.Op)
	case arg.Key == "balanced":
		failing = imbalances(g.reports(), g.memory, g.config)
	case arg.Key == "stable":
		failing, err = g.assertStable(lib, step)
	case arg.Key == "once":
		failing = g.assertOnce()
	case arg.Key == "owner":
		failing, rest, err = g.assertOwners(rest)
	case arg.Key == "unowned":
		failing, rest, err = g.assertUnowned(rest)
	default:
		err = fmt.Errorf("assert has no form %s", arg.Key)
	}
	return failing, rest, err
}

// assertNumber compares got with what "moves<=2" or "moves=2" wants.
func assertNumber(arg Arg, got int) ([]string, error) {
	var want int
	if len(arg.Values) != 1 {
		return nil, fmt.Errorf("%s%s wants a number", arg.Key, arg.Op)
	}
	if err := parseInt(arg.Values[0], &want); err != nil {
		return nil, err
	}
	if got == want || arg.Op == "<=" && got < want {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s: %d", arg.Key, got)}, nil
}

// assertStable returns the rows by which another round, with the reports as they are, would change anything. The round is
// only tried: nobody obeys it.
func (g *group) assertStable(lib library, step *Step) ([]string, error) {
	r := g.nextRound(lib, g.reports(), change{})
	if err := lib.decide(r, int64(step.Line)); err != nil {
		return nil, err
	}
	n := notationOf(g.config.Topology)
	var failing []string
	for _, ma := range changedRows(r) {
		failing = append(failing, "stable: "+n.row(ma))
	}
	if !sameDepartures(g.memory, r.answer) {
		failing = append(failing, "stable: others are awaited")
	}
	return failing, nil
}

func (g *group) assertOnce() []string {
	n := notationOf(g.config.Topology)
	var failing []string
	for _, task := range g.moves.often() {
		failing = append(failing, fmt.Sprintf("once: %s moved %d times", n.task(task), g.moves.count[task]))
	}
	return failing
}

// assertOwners reads "T1=S3 T2=S4" and compares it with the last answer.
func (g *group) assertOwners(args []Arg) (failing []string, rest []Arg, err error) {
	n := notationOf(g.config.Topology)
	for rest = args; len(rest) > 0 && rest[0].Op == "="; rest = rest[1:] {
		task, err := parseTask(rest[0].Key)
		if err != nil {
			break // the next assertion
		}
		want, err := rest[0].value()
		if err != nil {
			return nil, nil, err
		}
		got, ok := g.memory.Owner(task)
		if !ok {
			got = "nobody"
		}
		if got != want {
			failing = append(failing, fmt.Sprintf("owner: %s=%s", n.task(task), got))
		}
	}
	if len(rest) == len(args) {
		return nil, nil, fmt.Errorf("assert owner wants a task and a member, as in owner T1=S3")
	}
	return failing, rest, nil
}

// assertUnowned reads "none" or "[T1, T2]" and compares it with the tasks that nobody runs by the last answer.
func (g *group) assertUnowned(args []Arg) (failing []string, rest []Arg, err error) {
	if len(args) == 0 || args[0].Op != "" {
		return nil, nil, fmt.Errorf("assert unowned wants none or a list, as in unowned [T1, T2]")
	}
	var want []assignor.TaskID
	if args[0].Key != "none" {
		r := rowReader{text: args[0].Key, rest: args[0].Key}
		if want = r.tasks(); r.err != nil {
			return nil, nil, r.err
		}
	}
	got := g.unowned()
	if !slices.Equal(got, sortedSet(want)) {
		failing = []string{"unowned: " + notationOf(g.config.Topology).list(got)}
	}
	return failing, args[1:], nil
}

// unowned returns the tasks of the topology that nobody runs by the last answer, sorted.
func (g *group) unowned() []assignor.TaskID {
	var unowned []assignor.TaskID
	for _, sub := range g.config.Topology {
		for p := range sub.Partitions {
			task := assignor.TaskID{Subtopology: sub.ID, Partition: p}
			if _, owned := g.memory.Owner(task); !owned {
				unowned = append(unowned, task)
			}
		}
	}
	return sortedSet(unowned)
}
