// Command groupsize prints how many bytes a group takes of the record in which a broker keeps it, part by part, and at what
// number of tasks it reaches the limit.
//
//	go run ./examples/groupsize -tasks 100000 -members 1000 -standbys 1 -spread random
//
// The broker's record holds what every member reports and what every member gets. The members are called worker-00001 and so
// on. With -spread random every task runs anywhere, which costs most; with contiguous each member runs one range of every
// subtopology, as after a first assignment; with roundrobin it runs every n-th task of n members. Standbys are placed in the same way, some
// members further on, and one of them in ten is behind.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/incremental-rebalance/assignor"
)

func main() {
	switch err := run(os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "groupsize:", err)
		os.Exit(1)
	}
}

// run prints the table and the search's result on out, and the search's progress on progress.
func run(args []string, out, progress io.Writer) error {
	g, err := parse(args, progress)
	if err != nil {
		return err
	}
	sizes, err := g.measure()
	if err != nil {
		return err
	}
	if err := sizes.print(out, g); err != nil {
		return err
	}
	return search(g, out, progress)
}

func parse(args []string, usage io.Writer) (group, error) {
	var g group
	flags := flag.NewFlagSet("groupsize", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&g.tasks, "tasks", 10_000, "tasks of the whole topology")
	flags.IntVar(&g.members, "members", 100, "members of the group")
	flags.IntVar(&g.standbys, "standbys", 1, "standbys of each task")
	flags.StringVar(&g.spread, "spread", "random", "who runs what: random, contiguous or roundrobin")
	flags.IntVar(&g.subtopologies, "subtopologies", 10, "subtopologies, all of the same size")
	flags.IntVar(&g.limit, "limit", assignor.MaxPayload, "bytes that the broker stores of a group")
	if err := flags.Parse(args); err != nil {
		return g, err
	}
	return g, g.validate()
}

// part is a row of the table.
type part struct {
	name  string
	bytes int
}

// groupSizes are the bytes that a group takes, by part.
type groupSizes struct {
	parts  []part
	total  int // of what cannot be left out
	memory int // of one copy of the leader's memory
}

func (s groupSizes) print(out io.Writer, g group) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%v\n\n", g)
	fmt.Fprintf(w, "part\tbytes\tper member\tper task\tof the limit\t\n")
	row := func(name string, bytes int) {
		n := float64(bytes)
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.2f\t%.1f %%\t\n", name, bytes, n/float64(g.members), n/float64(max(g.tasks, 1)), 100*n/float64(g.limit))
	}
	for _, p := range s.parts {
		row(p.name, p.bytes)
	}
	row("all of it", s.total)
	row("one copy of the memory", s.memory)
	if err := w.Flush(); err != nil {
		return err
	}
	// A keeper gets the memory with its assignment, and echoes it in its next report.
	keepers := min(assignor.MemoryKeepers, g.members, max(0, g.limit-s.total)/max(1, 2*s.memory))
	fmt.Fprintf(out, "\nKeepers that the memory fits for, in what they get and in what they report: %d.\n", keepers)
	return nil
}

// search prints the number of tasks at which the group reaches its limit.
func search(g group, out, progress io.Writer) error {
	fits := func(tasks int) (bool, error) {
		g.tasks = tasks
		sizes, err := g.measure()
		if err != nil {
			return false, err
		}
		fmt.Fprintf(progress, "searching: %d tasks take %d bytes\n", tasks, sizes.total)
		return sizes.total <= g.limit, nil
	}
	low, high := 0, g.subtopologies
	for {
		ok, err := fits(high)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if high == g.mostTasks() {
			fmt.Fprintf(out, "At %d tasks, as many as there can be, it is still within %d bytes.\n", high, g.limit)
			return nil
		}
		low, high = high, min(2*high, g.mostTasks())
	}
	for high-low > max(low/500, g.subtopologies) { // within 0.2 %
		middle := (low + high) / 2
		ok, err := fits(middle)
		switch {
		case err != nil:
			return err
		case ok:
			low = middle
		default:
			high = middle
		}
	}
	fmt.Fprintf(out, "It reaches %d bytes at about %d tasks.\n", g.limit, low)
	return nil
}
