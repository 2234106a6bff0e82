package timeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Table writes how the instances stand, a row each, in at most 80 columns for a dozen tasks.
func (w *Watch) Table(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(out, "%6.1fs %-8s %-15s %-13s %-15s %8s\n", time.Since(w.begun).Seconds(), "instance", "active", "learning", "standby", "records")
	for _, name := range sortedNames(w.standing) {
		s := w.standing[name]
		note := ""
		if s.Leads {
			note += " leads"
		}
		if s.Leaving {
			note += " leaving"
		}
		fmt.Fprintf(out, "%7s %-8s %-15s %-13s %-15s %8d%s\n", "", name, Short(s.Active), Short(s.Learning), Short(s.Standby), w.done[name], note)
	}
}

// Summary writes what each event has cost.
func (w *Watch) Summary(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(out, "\n%-24s %6s %6s %6s %7s %13s %8s\n", "event", "took", "rounds", "moved", "minimum", "longest pause", "records")
	for _, e := range w.past {
		fmt.Fprintf(out, "%-24s %5.1fs %6d %6d %7d %13v %8d\n", e.title, e.took.Seconds(), e.rounds, len(e.moved), e.atLeast,
			e.longest.Round(time.Millisecond), e.records)
	}
}

// Short returns the partitions of tasks that are all of one subtopology: "0-2 5 7" for 0, 1, 2, 5 and 7.
func Short(tasks []assignor.TaskID) string {
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, assignor.TaskID.Compare)
	var parts []string
	for i := 0; i < len(sorted); {
		n := i + 1
		for n < len(sorted) && sorted[n].Partition == sorted[n-1].Partition+1 {
			n++
		}
		switch first, last := sorted[i].Partition, sorted[n-1].Partition; {
		case n-i > 2:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		case n-i == 2:
			parts = append(parts, fmt.Sprint(first), fmt.Sprint(last))
		default:
			parts = append(parts, fmt.Sprint(first))
		}
		i = n
	}
	return strings.Join(parts, " ")
}

// sortedNames returns the keys of a map in their order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m { // order-free: sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
