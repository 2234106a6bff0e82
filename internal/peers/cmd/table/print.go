package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// none is the cell of an assignor that does not know the case.
const none = "–"

func (b *bench) heading(title string) {
	if b.markdown {
		title = "### " + title
	} else {
		title += "\n" + strings.Repeat("=", len(title))
	}
	fmt.Fprintf(b.out, "\n%s\n", title)
}

func (b *bench) paragraph(format string, args ...any) {
	fmt.Fprintln(b.out)
	b.wrap("", fmt.Sprintf(format, args...))
}

func (b *bench) list(items ...string) {
	fmt.Fprintln(b.out)
	for _, item := range items {
		b.wrap("- ", item)
	}
}

// wrap breaks lines at 120 characters, and indents all but the first as far as that is.
func (b *bench) wrap(first, text string) {
	line, words := first, 0
	for _, word := range strings.Fields(text) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 120 {
			fmt.Fprintln(b.out, line)
			line, words = strings.Repeat(" ", len(first)), 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	fmt.Fprintln(b.out, line)
}

// table prints rows of cells; in Markdown the columns of words are aligned at the left, those of numbers at the right.
func (b *bench) table(head []string, rows [][]string) {
	fmt.Fprintln(b.out)
	if b.markdown {
		fmt.Fprintf(b.out, "| %s |\n|", strings.Join(head, " | "))
		for i, name := range head {
			align := "--:|"
			if i == 0 || name == "round" {
				align = "---|"
			}
			fmt.Fprint(b.out, align)
		}
		fmt.Fprintln(b.out)
		for _, cells := range rows {
			fmt.Fprintf(b.out, "| %s |\n", strings.Join(cells, " | "))
		}
		return
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range append([][]string{head}, rows...) {
		fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	}
	_ = w.Flush() // the writer below fails, if any
}

// printHead says who was measured, on what, and what the words mean.
func (b *bench) printHead() {
	b.paragraph("Measured by `go run ./internal/peers/cmd/table` with Go %s, in one run on %s, %d cores, %s/%s. Every figure is the "+
		"median of %d rounds in which all take turns, and of processor time: of the thread that decides, without what a collector or "+
		"a compiler does on others.",
		strings.TrimPrefix(runtime.Version(), "go"), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, b.rounds)
	items := []string{
		"floor: the least that any assignor has to do. Mark the owner of every task, count, write the lists.",
		"Assign: this library's decision. leader step: decode all members' reports (but for the " +
			"memories in them, which this leader has), Assign, encode all payloads.",
	}
	if b.has("franz") {
		items = append(items, "franz-go (a): `Balance` of its cooperative-sticky balancer alone; (b): its leader step, with decoding and encoding. "+
			version("github.com/twmb/franz-go")+".")
	}
	if b.has("sarama") {
		items = append(items, "sarama: `Plan` of its sticky strategy, which decodes what members ran before. "+version("github.com/IBM/sarama")+".")
	}
	if b.streams != nil {
		items = append(items, fmt.Sprintf("Streams HA, Streams sticky: `HighAvailabilityTaskAssignor` (the default) and `StickyTaskAssignor` of Kafka "+
			"Streams %s, the decision alone, on Java %s after a warm-up.", b.streams.Kafka, b.streams.Java))
	} else if b.noStreams != nil {
		items = append(items, "Kafka Streams was not measured: "+firstLine(b.noStreams)+".")
	}
	items = append(items, "cold: nobody runs anything; steady: nothing has changed; join: one member more; leave, leave10: one member, a "+
		"tenth of them has gone; drain: one member is to leave, and hands over first. The other libraries are not told of that: they "+
		"decide the round in which it has left.",
		fmt.Sprintf("`> %v`: one decision was not done in %v, and was stopped.", b.limit, b.limit))
	b.list(items...)
}

// printSummary says in a paragraph between which bounds the ratios are.
func (b *bench) printSummary(rows []*row) {
	var said []string
	for _, pair := range []struct{ a, b, text string }{
		{franz, assign, "franz-go's balancer takes %s times as long as Assign"},
		{franzLeader, leader, "its leader step %s times as long as the library's"},
		{sarama, assign, "sarama %s times as long as Assign"},
		{streamsHA, assign, "Streams HA %s times"},
		{streamsPick, assign, "Streams sticky %s times"},
	} {
		if span := span(rows, pair.a, pair.b); span != "" {
			said = append(said, fmt.Sprintf(pair.text, span))
		}
	}
	if len(said) > 0 {
		b.paragraph("In short, where they decided within the limit: %s.", strings.Join(said, ", "))
	}
}

// span are the least and the greatest ratio of a to b.
func span(rows []*row, a, b string) string {
	least, greatest := 0.0, 0.0
	for _, r := range rows {
		ratio := measure.Ratio(r.times[a], r.times[b])
		if r.notes[a] != "" || ratio == 0 {
			continue
		}
		if least == 0 || ratio < least {
			least = ratio
		}
		greatest = max(greatest, ratio)
	}
	if greatest == 0 {
		return ""
	}
	return digits(least) + " to " + digits(greatest)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (b *bench) has(peer string) bool {
	for _, f := range b.taking(0) {
		if f.peer == peer {
			return true
		}
	}
	return false
}

// version is that of a module in this program.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "unknown version"
}

// processor is the model, where Linux names it.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "a processor of unknown model"
}

// printRatios prints a table for each number of standbys: what each takes in floors, and the library beside franz-go.
func (b *bench) printRatios(rows []*row) {
	b.heading("One decision, in floors")
	b.paragraph("How many times the floor each takes. Where two are set against each other, below 1 means that this library takes less.")
	for standbys, title := range []string{"Without standbys:", "With one standby a task (franz-go and sarama have none):"} {
		head := []string{"tasks × members", "round", "floor, ms"}
		taking := b.taking(standbys)
		for _, f := range taking {
			head = append(head, f.name)
		}
		against := b.has("franz") && standbys == 0
		if against {
			head = append(head, "Assign : (a)", "leader step : (b)")
		}
		var cells [][]string
		for _, r := range rows {
			if r.Standbys != standbys {
				continue
			}
			line := []string{size(r.Case), r.State, milliseconds(r.times[floor])}
			for _, f := range taking {
				line = append(line, r.ratio(f.name, floor))
			}
			if against {
				line = append(line, r.ratio(assign, franz), r.ratio(leader, franzLeader))
			}
			cells = append(cells, line)
		}
		b.paragraph("%s", title)
		b.table(head, cells)
	}
}

// printTimes prints the same in milliseconds.
func (b *bench) printTimes(rows []*row) {
	head := []string{"tasks × members", "standbys", "round", floor}
	for _, f := range b.taking(0) {
		head = append(head, f.name)
	}
	var cells [][]string
	for _, r := range rows {
		line := []string{size(r.Case), fmt.Sprint(r.Standbys), r.State, milliseconds(r.times[floor])}
		for _, f := range b.taking(0) {
			line = append(line, r.time(f.name))
		}
		cells = append(cells, line)
	}
	b.heading("One decision, in milliseconds")
	b.table(head, cells)
}

func (b *bench) printGrowth(rows []*row) {
	if len(rows) == 0 {
		return
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.State, fmt.Sprint(r.Standbys), milliseconds(r.times["1"]), milliseconds(r.times["10"]), r.ratio("10", "1")})
	}
	b.heading("Assign with ten times the tasks")
	b.paragraph("Milliseconds, on %s members.", thousands(rows[0].Members))
	b.table([]string{"round", "standbys", thousands(rows[0].Tasks) + " tasks", thousands(10*rows[0].Tasks) + " tasks", "ratio"}, cells)
}

func (b *bench) printMemory(all map[measure.Case]map[string][2]uint64) {
	names := []string{floor}
	for _, f := range b.counted() {
		names = append(names, f.name)
	}
	var cells [][]string
	for _, c := range b.sizes {
		c.State = measure.Steady
		line := []string{size(c)}
		for _, name := range names {
			line = append(line, fmt.Sprintf("%.2f MB, %s", float64(all[c][name][0])/1e6, thousands(int(all[c][name][1]))))
		}
		cells = append(cells, line)
	}
	b.heading("Memory")
	b.paragraph("What one decision allocates in a steady group without standbys: megabytes, and in how many allocations.")
	b.table(append([]string{"tasks × members"}, names...), cells)
}

func (b *bench) printFailures() {
	if len(b.failures) > 0 {
		b.heading("What failed")
		b.list(b.failures...)
	}
}

// ratio is the cell of a/b, or says why there is none.
func (r *row) ratio(a, b string) string {
	for _, name := range []string{a, b} {
		if note := r.notes[name]; note != "" {
			return note
		}
		if len(r.times[name]) == 0 {
			return none
		}
	}
	return digits(measure.Ratio(r.times[a], r.times[b]))
}

func (r *row) time(name string) string {
	if note := r.notes[name]; note != "" {
		return note
	}
	return milliseconds(r.times[name])
}

func size(c measure.Case) string { return thousands(c.Tasks) + " × " + thousands(c.Members) }

// milliseconds is the median.
func milliseconds(times []time.Duration) string {
	if len(times) == 0 {
		return none
	}
	return digits(float64(measure.Median(times)) / 1e6)
}

// digits shows two or three that count.
func digits(x float64) string {
	switch {
	case x >= 99.5:
		return thousands(int(x + 0.5))
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.3f", x)
	}
}

// thousands groups digits by three.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", thousands(n/1000), n%1000)
}
