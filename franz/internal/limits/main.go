// Command limits prints how many tasks a group can have within a budget, as a table for the README. It asks the adapter itself: it
// makes groups whose members join, decide and read their assignments by the adapter's own code, and looks for the largest ones that
// go on through a failure.
//
//	go run ./franz/internal/limits # the table of the README, in about 15 minutes
//	go run ./franz/internal/limits -members 50 -standbys 1 -topics 3 -budget 4500000
//
// Every task runs on any member, which costs most: ranges, as after a first assignment, take a fraction of it. Copies report lags
// that are all the same; where each is another, they take a byte or two more. Ids have 49 bytes and names of topics 20.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/incremental-rebalance/assignor/franz/internal/paper"
)

func main() {
	switch err := run(os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

// kind is a kind of group, a row of the table.
type kind struct{ members, standbys, topics, budget int }

// run prints the table on out, and what it tries on progress.
func run(args []string, out, progress io.Writer) error {
	var k kind
	flags := flag.NewFlagSet("limits", flag.ContinueOnError)
	flags.SetOutput(progress)
	members := flags.String("members", "10,100,300,1000", "members of the group, a row each, separated by commas")
	standbys := flags.String("standbys", "0,1", "standbys of each task, the same")
	flags.IntVar(&k.topics, "topics", 10, "topics, as many subtopologies")
	flags.IntVar(&k.budget, "budget", franz.DefaultBudget, "Config.Budget, in bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sizes, err1 := numbers("members", *members, 1)
	copies, err2 := numbers("standbys", *standbys, 0)
	if k.topics < 1 || k.budget < 1 {
		err1 = errors.Join(err1, fmt.Errorf("-topics is %d and -budget %d, want both above 0", k.topics, k.budget))
	}
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fmt.Fprintln(out, "| members | standbys | with three memories | with all standbys and topics | in all |")
	fmt.Fprintln(out, "|--:|--:|--:|--:|--:|")
	for _, k.members = range sizes {
		for _, k.standbys = range copies {
			most, err := k.limits(progress)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %d | %s | %s | %s |\n", k.members, k.standbys, most[0], most[1], most[2])
		}
	}
	return nil
}

func numbers(name, list string, least int) (numbers []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < least {
			return nil, fmt.Errorf("-%s: %q, want numbers from %d on, separated by commas", name, text, least)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// level is how well a group goes: each has what those before it have.
type level int

const (
	stuck    level = iota // a round repeats what is
	goesOn                // it starts and fails over
	complete              // and has all standbys, and Kafka's tools show who owns what
	remember              // and as many members as can keep the leader's memory
)

// limits returns the most tasks of each level, the highest level first, within 2 percent.
func (k kind) limits(progress io.Writer) (most [3]string, err error) {
	known := map[int]level{}
	reaches := func(tasks int, want level) bool {
		got, tried := known[tasks]
		if !tried && err == nil {
			got, err = k.try(tasks)
			known[tasks] = got
			fmt.Fprintf(progress, "%+v, %d tasks: level %d of %d\n", k, tasks, got, remember)
		}
		return err == nil && got >= want
	}
	for i, want := range []level{remember, complete, goesOn} {
		low, high := 0, k.round(1024)
		for high < k.round(assignor.MaxTasks) && reaches(high, want) {
			low, high = high, min(2*high, k.round(assignor.MaxTasks))
		}
		for high-low > max(low/50, k.topics) {
			if middle := k.round((low + high) / 2); reaches(middle, want) {
				low = middle
			} else {
				high = middle
			}
		}
		most[i] = strconv.Itoa(low)
	}
	return most, err
}

// round returns as many tasks as all topics together can have, at least one each.
func (k kind) round(tasks int) int { return max(1, tasks/k.topics) * k.topics }

// try has a group of so many tasks start, and lose a member.
func (k kind) try(tasks int) (level, error) {
	g := paper.New(k.topics, tasks/k.topics, franz.Config{
		Assignor: assignor.Config{Standbys: k.standbys}, Budget: k.budget, Logger: slog.New(slog.DiscardHandler),
	})
	defer g.Close()
	if err := g.Add(k.members); err != nil {
		return stuck, err
	}
	g.Deal()
	reached := remember
	for range 4 { // standbys begin in the first, and the memory that comes back has settled after three
		if err := g.Round(); err != nil {
			return stuck, err
		}
		if g.Trouble(franz.TroubleRound) != "" {
			return stuck, nil
		}
	}
	if g.Kept < min(assignor.MemoryKeepers, k.members) {
		reached = complete
	}
	copies := 0
	for _, ma := range g.Answers {
		copies += len(ma.Standbys)
	}
	if !g.Named() || copies < tasks*min(k.standbys, k.members-1) {
		reached = goesOn
	}
	if k.members > 1 {
		g.Leave(k.members - 1)
	}
	if err := g.Round(); err != nil {
		return stuck, err
	}
	running, err := g.Running()
	if err != nil || running < tasks {
		return stuck, err
	}
	return reached, nil
}
