package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// table writes how the instances stand.
func (w *watch) table(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(out, "%6.1fs  %-9s %-24s %-22s %-24s %9s\n", time.Since(w.begun).Seconds(), "instance", "active", "learning", "standby", "records")
	for _, name := range slices.Sorted(maps.Keys(w.states)) {
		s := w.states[name]
		note := ""
		if s.Leader {
			note += " leads"
		}
		if s.Leaving {
			note += " leaving"
		}
		fmt.Fprintf(out, "%8s %-9s %-24s %-22s %-24s %9d%s\n", "", name, short(s.Active), short(tasksOf(s.Learning)), short(tasksOf(s.Standby)), w.done[name], note)
	}
}

// short writes the partitions of tasks: they are all of one subtopology.
func short(tasks []assignor.TaskID) string {
	parts := make([]string, len(tasks))
	for i, t := range tasks {
		parts[i] = fmt.Sprint(t.Partition)
	}
	return strings.Join(parts, " ")
}

func tasksOf(copies []assignor.Replica) []assignor.TaskID {
	tasks := make([]assignor.TaskID, len(copies))
	for i, c := range copies {
		tasks[i] = c.Task
	}
	return tasks
}

// summary writes what each event cost.
func summary(out io.Writer, events []*event) {
	fmt.Fprintf(out, "\n%-34s %7s %6s %7s %7s %13s %9s\n", "event", "took", "rounds", "moved", "minimum", "longest pause", "records")
	for _, e := range events {
		fmt.Fprintf(out, "%-34s %6.1fs %6d %7d %7d %13v %9d\n", e.title, e.took.Seconds(), e.rounds, len(e.moved), e.atLeast,
			e.longest.Round(time.Millisecond), e.records)
	}
}
