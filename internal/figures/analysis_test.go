package figures

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor/internal/plot"
	"github.com/incremental-rebalance/assignor/internal/sim"
)

const analysis = "docs/eager-or-conservative.md"

// modes are the four ways to run a group, in the order of the plots.
var modes = []string{"conservative", "eager", "conservative-two-rounds", "eager-two-rounds"}

var modeNames = map[string]string{
	"conservative": "conservative", "eager": "eager",
	"conservative-two-rounds": "conservative, two rounds", "eager-two-rounds": "eager, two rounds",
}

// figure is what one mode costs, in the mean over the seeds.
type figure struct {
	stopped  float64 // task-seconds
	overload float64 // task-seconds
	rounds   float64
	balanced float64 // seconds
	worst    float64 // seconds
}

// seeds is over how many runs every point is the mean.
const seeds = 10

// newcomer is the cluster of the analysis: eight instances with eight times learned+1 tasks, so that a ninth is to learn as many
// tasks as learned says, whose states are from a tenth of the mean to 1.9 times the mean.
func newcomer(learned int, mean int64, more ...string) string {
	lines := []string{
		"instances 8",
		fmt.Sprintf("subtopology 0 partitions=%d size=%dB..%dB unranked", 8*(learned+1), mean/10, mean*19/10),
		"variant conservative", "variant eager rejoin=eager",
		"variant conservative-two-rounds handover=twoRounds", "variant eager-two-rounds rejoin=eager handover=twoRounds",
		"end 10000h",
		"at 1m add 1",
	}
	return strings.Join(append(lines, more...), "\n")
}

// measure plays a spec under every mode and seed.
func measure(t *testing.T, text string) map[string]figure {
	t.Helper()
	spec, err := sim.Parse("analysis", []byte(text))
	require.NoError(t, err)
	figures := map[string]figure{}
	for seed := range int64(seeds) {
		spec.Seed = seed + 1
		results, err := sim.RunAll(spec, spec.Variants, nil)
		require.NoError(t, err)
		for _, r := range results {
			f := figures[r.Variant]
			f.stopped += (r.Total.Planned + r.Total.Unplanned).Seconds() / seeds
			f.overload += r.Total.Overload.Seconds() / seeds
			f.rounds += float64(r.Total.Rounds) / seeds
			f.balanced += r.Total.Balanced.Seconds() / seeds
			f.worst = max(f.worst, r.Total.Worst.Seconds())
			figures[r.Variant] = f
		}
	}
	return figures
}

// roundCost is what a round takes in the specs of this analysis, from the call until the answers are there: the mean of the
// slowest of eight members, each of which hears of it within three seconds, and 0.4 s.
const roundCost = 3.1

// spreadOf is the time between the first and the last of the copies that the newcomer learns, in seconds: they share 50 MB/s, the
// smallest is ready when each has read as much as it is large, the last when all have been read.
func spreadOf(learned int, mean int64) float64 {
	return float64(learned) * float64(mean) * 0.9 / 50e6
}

func TestAnalysisSpread(t *testing.T) {
	const learned = 8
	means := []int64{2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 2e10, 5e10}
	stopped, price := lines(), plot.Line{Color: plot.Colors[1], Dots: true}
	var table bytes.Buffer
	fmt.Fprintln(&table, "| mean state | spread / round | eager: rounds | stopped | overload | conservative: rounds | stopped | overload | overload saved per second of pause added |\n|---|---|---|---|---|---|---|---|---|")
	for _, mean := range means {
		f := measure(t, newcomer(learned, mean))
		ratio := spreadOf(learned, mean) / roundCost
		for i, mode := range modes {
			stopped[i].Points = append(stopped[i].Points, plot.XY{X: ratio, Y: f[mode].stopped})
		}
		con, eag := f["conservative"], f["eager"]
		saved, added := con.overload-eag.overload, eag.stopped-con.stopped
		if saved > 0 && added > 0 {
			price.Points = append(price.Points, plot.XY{X: ratio, Y: saved / added})
		}
		fmt.Fprintf(&table, "| %s | %s | %.1f | %.0f s | %s | %.1f | %.0f s | %s | %s |\n", size(mean), number(ratio), eag.rounds, eag.stopped, span(eag.overload),
			con.rounds, con.stopped, span(con.overload), quotient(saved, added))
	}
	x := ratioAxis()
	chart := plot.Chart{Title: "What it costs: time that tasks are stopped, in task-seconds", Width: 860, Height: 340, X: x, Lines: stopped}
	picture(t, "docs/eager-stopped.svg", chart.SVG())
	gain := plot.Chart{Title: "What it brings: seconds of overload saved for each second of pause added", Width: 860, Height: 300, X: x,
		Y: plot.Axis{Log: true, Min: 0.001, Max: 1000, Ticks: []float64{0.001, 0.01, 0.1, 1, 10, 100, 1000}, Format: plain}, Lines: []plot.Line{price}}
	picture(t, "docs/eager-price.svg", gain.SVG())
	section(t, analysis, "spread", table.String())
}

// TestAnalysisCount varies how many tasks the newcomer learns.
func TestAnalysisCount(t *testing.T) {
	stopped := lines()
	var table bytes.Buffer
	fmt.Fprintln(&table, "| tasks learned | conservative: stopped | eager: stopped | conservative, two rounds: stopped | rounds | eager, two rounds: stopped | rounds |\n|---|---|---|---|---|---|---|")
	for _, learned := range []int{1, 2, 4, 8, 16, 24, 32} {
		f := measure(t, newcomer(learned, 1e9))
		for i, mode := range modes {
			stopped[i].Points = append(stopped[i].Points, plot.XY{X: float64(learned), Y: f[mode].stopped})
		}
		con2, eag2 := f["conservative-two-rounds"], f["eager-two-rounds"]
		fmt.Fprintf(&table, "| %d | %.0f s | %.0f s | %.0f s | %.0f | %.0f s | %.0f |\n", learned, f["conservative"].stopped, f["eager"].stopped,
			con2.stopped, con2.rounds, eag2.stopped, eag2.rounds)
	}
	chart := plot.Chart{Title: "What it costs: time that tasks are stopped, in task-seconds", Width: 860, Height: 340, Lines: stopped,
		X: plot.Axis{Label: "tasks that the new instance learns (mean state 1 GB)", Ticks: []float64{1, 4, 8, 16, 24, 32}, Min: 0, Max: 33}}
	picture(t, "docs/eager-count.svg", chart.SVG())
	section(t, analysis, "count", table.String())
}

// TestAnalysisBudget looks at the two cases in which waiting for all costs more than overload: a budget of learners, and one
// task that is much larger than the others.
func TestAnalysisBudget(t *testing.T) {
	var table bytes.Buffer
	fmt.Fprintln(&table, "| case | mode | rounds | stopped | balanced after | overload |\n|---|---|---|---|---|---|")
	straggler := []string{
		"instances 8", "subtopology 0 partitions=64 size=1GB unranked", "subtopology 1 partitions=9 size=50GB unranked",
		"variant conservative", "variant eager rejoin=eager", "variant conservative-with-timeout learnerTimeout=10m",
		"end 10000h", "at 1m add 1",
	}
	for _, c := range []struct {
		name, spec string
		modes      []string
	}{
		{"16 tasks, no budget", newcomer(16, 1e9), modes[:2]},
		{"16 tasks, MaxLearners 2", newcomer(16, 1e9, "config maxLearners=2"), modes[:2]},
		{"16 tasks, MaxLearners 4", newcomer(16, 1e9, "config maxLearners=4"), modes[:2]},
		{"7 tasks of 1 GB, 1 of 50 GB", strings.Join(straggler, "\n"), []string{"conservative", "eager", "conservative-with-timeout"}},
	} {
		f := measure(t, c.spec)
		for _, mode := range c.modes {
			name := mode
			if name == "conservative-with-timeout" {
				name = "conservative, LearnerTimeout 10 min"
			}
			fmt.Fprintf(&table, "| %s | %s | %.0f | %.0f s | %s | %s |\n", c.name, name, f[mode].rounds, f[mode].stopped, span(f[mode].balanced), span(f[mode].overload))
		}
	}
	section(t, analysis, "budget", table.String())
}

func lines() []plot.Line {
	all := make([]plot.Line, len(modes))
	for i, mode := range modes {
		all[i] = plot.Line{Name: modeNames[mode], Color: plot.Colors[i%2], Dots: true, Dashed: i >= 2}
	}
	return all
}

func ratioAxis() plot.Axis {
	return plot.Axis{Label: "restore-time spread / duration of a round", Log: true, Min: 0.05, Max: 3000, Ticks: []float64{0.1, 1, 10, 100, 1000}, Format: plain}
}

func plain(v float64) string { return fmt.Sprintf("%g", v) }

func size(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%d GB", n/1e9)
	}
	return fmt.Sprintf("%d MB", n/1e6)
}

func span(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
}

// number returns two significant digits, or all before the point.
func number(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

func quotient(saved, added float64) string {
	switch {
	case saved <= 0:
		return "nothing saved"
	case added <= 0:
		return "nothing added"
	}
	return number(saved / added)
}
