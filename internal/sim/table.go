package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// column is one column of the tables: its head, what it means for somebody who sees it for the first time, and its cells.
type column struct {
	Head, Meaning string
	cell          func(r Row) string
}

// Columns are what every table of results shows of a row, with what it means.
var columns = []column{
	{"rounds", "how often the whole group had to meet (rebalance)", func(r Row) string { return fmt.Sprint(r.Rounds) }},
	{"moved", "how often a task came to another instance, of the fewest that the change needs", func(r Row) string { return movedOf(r) }},
	{"restored", "how much state was copied over the network", func(r Row) string { return formatBytes(r.Restored) }},
	{"stopped (planned)", "time without processing caused by the rebalancing itself, summed over all tasks", func(r Row) string { return formatTime(r.Planned) }},
	{"stopped (crash)", "time without processing that began with a crash, summed over all tasks", func(r Row) string { return formatTime(r.Unplanned) }},
	{"worst pause", "the longest that a single task did not run", func(r Row) string { return formatTime(r.Worst) }},
	{"balanced after", "time until every instance ran its fair share for good", func(r Row) string { return formatDelay(r.Balanced) }},
	{"standbys after", "time until every task had all its standbys caught up for good", func(r Row) string { return formatDelay(r.Standbys) }},
	{"peak", "how far the fullest instance was above its fair share", func(r Row) string { return fmt.Sprintf("+%d%%", r.PeakImbalance) }},
	{"overload", "tasks above the fair share of their instance, summed over tasks and time", func(r Row) string { return formatTime(r.Overload) }},
	{"metadata", "bytes that the largest round sent through the broker", func(r Row) string { return formatMetadata(r.Metadata) }},
}

func movedOf(r Row) string {
	if r.Minimum < 0 {
		return fmt.Sprint(r.Moved)
	}
	return fmt.Sprintf("%d of %d", r.Moved, r.Minimum)
}

// formatBytes returns three significant digits and a unit.
func formatBytes(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	u, scale := 0, int64(1)
	for u < len(units)-1 && n >= 1000*scale {
		u++
		scale *= 1000
	}
	tenths := (n*10 + scale/2) / scale
	if u == 0 || tenths >= 1000 || tenths%10 == 0 {
		return fmt.Sprintf("%d %s", (n+scale/2)/scale, units[u])
	}
	return fmt.Sprintf("%d.%d %s", tenths/10, tenths%10, units[u])
}

// formatTime returns a time as people say it: 0.4 s, 35 s, 12 min, 3.5 h.
func formatTime(d time.Duration) string {
	tenths := func(unit time.Duration) string {
		n := int64((d*10 + unit/2) / unit)
		if n%10 == 0 || n >= 1000 {
			return fmt.Sprint((n + 5) / 10)
		}
		return fmt.Sprintf("%d.%d", n/10, n%10)
	}
	switch {
	case d == 0:
		return "0"
	case d < 2*time.Minute:
		return tenths(time.Second) + " s"
	case d < 2*time.Hour:
		return tenths(time.Minute) + " min"
	case d < 1000*time.Hour:
		return tenths(time.Hour) + " h"
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}

func formatDelay(d time.Duration) string {
	if d < 0 {
		return "not yet"
	}
	return formatTime(d)
}

func formatMetadata(n int) string {
	if n == 0 {
		return "-"
	}
	return formatBytes(int64(n))
}

// Table is rows of cells under heads.
type Table struct {
	Heads []string
	Cells [][]string
}

// EventTable has a row for each event of a result, and one for all of them.
func EventTable(r *Result) Table {
	t := Table{Heads: []string{"event", "at"}}
	for _, c := range columns {
		t.Heads = append(t.Heads, c.Head)
	}
	for _, row := range append(r.Events[:len(r.Events):len(r.Events)], r.Total) {
		cells := []string{row.Event, formatTime(row.At)}
		for _, c := range columns {
			cells = append(cells, c.cell(row))
		}
		t.Cells = append(t.Cells, cells)
	}
	return t.dropEmpty()
}

// VariantTable has a row for each result, with its total.
func VariantTable(results []*Result) Table {
	t := Table{Heads: []string{"variant"}}
	for _, c := range columns {
		t.Heads = append(t.Heads, c.Head)
	}
	for _, r := range results {
		cells := []string{r.Variant}
		for _, c := range columns {
			cells = append(cells, c.cell(r.Total))
		}
		t.Cells = append(t.Cells, cells)
	}
	return t.dropEmpty()
}

// dropEmpty drops the columns in which no row says anything.
func (t Table) dropEmpty() Table {
	var kept Table
	kept.Cells = make([][]string, len(t.Cells))
	for c, head := range t.Heads {
		empty := true
		for _, cells := range t.Cells {
			empty = empty && cells[c] == "-"
		}
		if empty {
			continue
		}
		kept.Heads = append(kept.Heads, head)
		for i, cells := range t.Cells {
			kept.Cells[i] = append(kept.Cells[i], cells[c])
		}
	}
	return kept
}

// WriteText writes the table in columns.
func (t Table) WriteText(w io.Writer) {
	width := make([]int, len(t.Heads))
	for _, cells := range append([][]string{t.Heads}, t.Cells...) {
		for c, cell := range cells {
			width[c] = max(width[c], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range append([][]string{t.Heads}, t.Cells...) {
		var line strings.Builder
		for c, cell := range cells {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			if c == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// WriteMarkdown writes the table for a document.
func (t Table) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.Heads, " | "), strings.Repeat("---|", len(t.Heads)))
	for _, cells := range t.Cells {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// ColumnMeanings says what the columns of the tables mean, a line each.
func ColumnMeanings() string {
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%-18s %s\n", c.Head, c.Meaning)
	}
	return b.String()
}

// Pick returns the table with these columns only.
func (t Table) Pick(heads ...string) Table {
	picked := Table{Cells: make([][]string, len(t.Cells))}
	for c, head := range t.Heads {
		if !slices.Contains(heads, head) {
			continue
		}
		picked.Heads = append(picked.Heads, head)
		for i, cells := range t.Cells {
			picked.Cells[i] = append(picked.Cells[i], cells[c])
		}
	}
	return picked
}
