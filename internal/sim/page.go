package sim

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/plot"
)

const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; background: #f3f4f6; margin: 0; }
main { max-width: 1180px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 24px; margin: 0 0 8px; }
h2 { font-size: 19px; margin: 36px 0 4px; }
section { background: #fff; border: 1px solid #e5e7eb; border-radius: 8px; padding: 14px 18px; margin: 14px 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; width: 100%%; }
th, td { text-align: right; padding: 5px 9px; border-bottom: 1px solid #e5e7eb; vertical-align: bottom; }
td { white-space: nowrap; }
th { font-weight: 600; color: #4b5563; }
th:first-child, td:first-child { text-align: left; }
tr.total td { font-weight: 600; border-top: 2px solid #9ca3af; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; font-size: 14px; margin: 12px 0 0; }
dt { font-weight: 600; } dd { margin: 0; color: #4b5563; }
svg { max-width: 100%%; height: auto; display: block; margin: 8px 0; }
.lead { font-size: 17px; max-width: 70em; margin: 4px 0 12px; }
.note { color: #4b5563; max-width: 75em; }
code { background: #eef2f7; padding: 1px 4px; border-radius: 3px; }
</style>
</head>
<body>
<main>
`

// WritePage writes one self-contained page about the results: what was played, what it cost, and how it went.
func WritePage(w io.Writer, name string, spec *Spec, results []*Result) error {
	var b strings.Builder
	title := spec.Title
	if title == "" {
		title = name
	}
	short, rest := cutTitle(title)
	fmt.Fprintf(&b, pageHead, html.EscapeString(short))
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=lead>%s</p>\n", html.EscapeString(short), html.EscapeString(rest))
	writeSetting(&b, spec, results)
	b.WriteString("<h2>What it cost</h2>\n<section>\n")
	table := VariantTable(results)
	writeTable(&b, table, 0)
	writeMeanings(&b, table.Heads, len(spec.Variants) < len(results))
	b.WriteString("</section>\n")
	for _, r := range results {
		writeResult(&b, r)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// cutTitle cuts a title at its first colon or the end of its first sentence.
func cutTitle(title string) (short, rest string) {
	i := strings.IndexAny(title, ":.")
	if i < 0 {
		return title, ""
	}
	rest = strings.TrimSpace(title[i+1:])
	if rest != "" {
		rest = strings.ToUpper(rest[:1]) + rest[1:]
	}
	return title[:i], rest
}

// writeSetting tells what the words mean, what the cluster is, and what happens to it.
func writeSetting(b *strings.Builder, spec *Spec, results []*Result) {
	b.WriteString("<section>\n<p class=note>A stream application is split into <b>tasks</b>. Each runs on one <b>instance</b> (a host) and keeps its " +
		"state there. When instances come, go or fail, tasks change hands, and the state has to be copied first: a <b>learner</b> " +
		"is a copy that is being made for the next owner while the old one runs on, a <b>standby</b> one that is kept in case the owner fails. " +
		"This page is a simulation: times are those of the simulated cluster.</p>\n<dl>\n")
	item := func(term, text string) {
		fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", html.EscapeString(term), html.EscapeString(text))
	}
	item("Cluster", spec.describeCluster())
	for _, t := range spec.Tasks {
		item(fmt.Sprintf("Tasks %d_*", t.ID), t.describe())
	}
	for _, e := range spec.Events {
		item("At "+formatTime(e.At), e.describe())
	}
	if len(results) > 1 {
		item("Variants", fmt.Sprintf("the same events under %d settings or protocols, each below", len(results)))
	}
	b.WriteString("</dl>\n</section>\n")
}

func (s *Spec) describeCluster() string {
	c := s.Costs
	text := fmt.Sprintf("%d instances, which restore state at %s/s each", len(s.Instances), formatBytes(c.Restore))
	if c.Broker > 0 {
		text += fmt.Sprintf(" and %s/s in all", formatBytes(c.Broker))
	}
	return text + fmt.Sprintf("; a member hears of a rebalance within %s, and a dead one is missed after %s; standbys of every task: %d",
		formatTime(c.Heartbeat), formatTime(c.Session), s.Config.Standbys)
}

func (t *Tasks) describe() string {
	if t.Stateless {
		return fmt.Sprintf("%d tasks without state", t.Partitions)
	}
	size := formatBytes(t.MinSize)
	if t.MaxSize > t.MinSize {
		size += " to " + formatBytes(t.MaxSize)
	}
	text := fmt.Sprintf("%d tasks with a state of %s, each written to at %s/s", t.Partitions, size, formatBytes(t.Write))
	if t.Grow > 0 {
		text += fmt.Sprintf(", growing by %s an hour", formatBytes(t.Grow*3600))
	}
	return text
}

// describe tells an event in a sentence.
func (e *Event) describe() string {
	who := strings.Join(e.Names, ", ")
	if len(e.Names) > 3 {
		who = fmt.Sprintf("%s to %s", e.Names[0], e.Names[len(e.Names)-1])
	}
	switch {
	case e.Zone != "":
		who = "every instance of zone " + e.Zone
	case e.Leader && e.Phase != AnyPhase:
		who = "the leader of the group, " + [numPhases]string{"", "while the members join a round", "while its answers are on their way", "while others learn"}[e.Phase]
	case e.Leader:
		who = "the leader of the group"
	}
	disk := ""
	if e.DiskLost {
		disk = ", with its disk"
	}
	switch e.Kind {
	case Add:
		return fmt.Sprintf("%d more %s", len(e.Instances), map[bool]string{true: "instance joins", false: "instances join"}[len(e.Instances) == 1])
	case Drain:
		return who + " are told to leave"
	case Stay:
		return who + " are told to stay after all"
	case Crash:
		return "crash: " + who + disk
	case Restart:
		return fmt.Sprintf("%s restart, down for %s", who, formatTime(e.Down))
	case Roll:
		return fmt.Sprintf("all are restarted one by one, each down for %s, %s apart", formatTime(e.Down), formatTime(e.Gap))
	case Flap:
		return fmt.Sprintf("%s crashes %d times, each time down for %s and then up for %s", who, e.Times, formatTime(e.Down), formatTime(e.Gap))
	default:
		return fmt.Sprintf("%d new instances join, and the %d oldest are told to leave", e.Count, e.Count)
	}
}

// writeTable writes a table; the last totals rows are set off.
func writeTable(b *strings.Builder, t Table, totals int) {
	b.WriteString("<table>\n<tr>")
	for _, head := range t.Heads {
		fmt.Fprintf(b, "<th>%s</th>", html.EscapeString(head))
	}
	b.WriteString("</tr>\n")
	for i, cells := range t.Cells {
		class := ""
		if i >= len(t.Cells)-totals {
			class = " class=total"
		}
		fmt.Fprintf(b, "<tr%s>", class)
		for _, cell := range cells {
			fmt.Fprintf(b, "<td>%s</td>", html.EscapeString(cell))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
}

// writeMeanings explains the columns that are there, and the protocols where there are several.
func writeMeanings(b *strings.Builder, heads []string, baselines bool) {
	b.WriteString("<dl>\n")
	for _, c := range columns {
		for _, head := range heads {
			if head == c.Head {
				fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", html.EscapeString(c.Head), html.EscapeString(c.Meaning))
			}
		}
	}
	if baselines {
		for _, p := range [][2]string{
			{"stop-the-world", "for comparison: every member stops everything in every rebalance; what moves restores its state while it does not run"},
			{"cooperative-sticky", "for comparison: only what moves stops; it restores its state while it does not run"},
			{"warm-up", "for comparison (KIP-441): two copies at a time are warmed up, and looked at every ten minutes; no notion of leaving"},
		} {
			fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", p[0], html.EscapeString(p[1]))
		}
	}
	b.WriteString("</dl>\n")
}

// writeResult writes how one variant went.
func writeResult(b *strings.Builder, r *Result) {
	fmt.Fprintf(b, "<h2>%s</h2>\n<section>\n<p class=note>%s</p>\n", html.EscapeString(r.Variant), html.EscapeString(r.sentence()))
	t := &r.Timeline
	from, to := t.interesting()
	for _, chart := range []plot.Chart{t.availability(from, to), t.imbalance(from, to)} {
		b.WriteString(chart.SVG())
	}
	lanes := t.lanes(from, to)
	b.WriteString(lanes.SVG())
	if len(r.Events) > 1 {
		writeTable(b, EventTable(r), 1)
	}
	b.WriteString("</section>\n")
}

// sentence sums a result up.
func (r *Result) sentence() string {
	t := &r.Total
	text := "No task stopped at any time."
	if t.Worst > 0 {
		text = fmt.Sprintf("No task stopped for longer than %s at a stretch; all pauses of all tasks together took %s.",
			formatTime(t.Worst), formatTime(t.Planned+t.Unplanned))
	}
	if t.Balanced < 0 {
		return text + " The load was still not balanced at the end."
	}
	return text + fmt.Sprintf(" The load was balanced %s after the first event.", formatTime(t.Balanced))
}

// interesting returns the time from a little before the first event to a little after the last thing that happened.
func (t *Timeline) interesting() (from, to time.Duration) {
	to = t.End
	if len(t.Marks) > 0 {
		from = t.Marks[0].At
	}
	margin := (to - from) / 25
	return max(0, from-margin), to + margin
}
