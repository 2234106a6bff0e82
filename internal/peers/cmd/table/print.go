package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// table prints rows of cells.
func (b *bench) table(title string, head []string, rows [][]string) {
	fmt.Printf("\n%s\n\n", title)
	if b.markdown {
		fmt.Printf("| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, cells := range rows {
			fmt.Printf("| %s |\n", strings.Join(cells, " | "))
		}
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range append([][]string{head}, rows...) {
		fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	}
	_ = w.Flush()
}

func (b *bench) printTimes(rows []*row) {
	head := []string{"tasks x members", "round", "floor", "Assign", "/ floor", "franz-go", "sarama", "Streams HA", "Streams sticky", "leader step", "franz-go's leader step"}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{
			size(r.Case), state(r.Case), took(r.times[floor]), took(r.times[assign]), r.ratio(assign, floor),
			r.ratio(franz, assign), r.ratio(sarama, assign), r.ratio(streamsHA, assign), r.ratio(streamsPick, assign),
			took(r.times[leader]), r.ratio(franzLeader, leader),
		})
	}
	title := "One decision: the floor and Assign in ms, the others as multiples of Assign; the leader step in ms, franz-go's as a multiple of it. Medians of %d.%s"
	slow := ""
	if len(b.slow) > 0 {
		slow = fmt.Sprintf(" slow: none within %v.", b.limit)
	}
	b.table(fmt.Sprintf(title, b.rounds, slow), head, cells)
}

// printGrowth measures ten times as many tasks on as many members.
func (b *bench) printGrowth() error {
	last := b.sizes[len(b.sizes)-1]
	if last.Tasks > 100_000 {
		return nil
	}
	var cells [][]string
	for _, c := range []measure.Case{
		{State: measure.Cold}, {State: measure.Steady}, {State: measure.Join}, {State: measure.Leave}, {State: measure.Drain},
		{State: measure.Steady, Standbys: 1},
	} {
		c.Tasks, c.Members = last.Tasks, last.Members
		times, err := b.growth(c)
		if err != nil {
			return err
		}
		cells = append(cells, []string{
			state(c), took(times[0]), took(times[1]), fmt.Sprintf("%.1f", measure.Ratio(times[1], times[0])),
		})
	}
	b.table(fmt.Sprintf("Assign with ten times the tasks, on %s members, in ms.", thousands(last.Members)),
		[]string{"round", thousands(last.Tasks), thousands(10 * last.Tasks), "ratio"}, cells)
	return nil
}

func (b *bench) growth(c measure.Case) ([][]time.Duration, error) {
	var functions []measure.Function
	for _, factor := range []int{1, 10} {
		large := c
		large.Tasks *= factor
		progress("growth: %v", large)
		in, err := large.Input()
		if err != nil {
			return nil, err
		}
		f, err := function{assign, peers.Assign}.timed(in)
		if err != nil {
			return nil, err
		}
		functions = append(functions, f)
	}
	return measure.Sample(b.rounds, 0, functions...)
}

// printMemory counts what one decision of a steady group allocates.
func (b *bench) printMemory() error {
	functions := []function{{assign, peers.Assign}, {leader, peers.LeaderStep}}
	if strings.Contains(b.which, "franz") {
		functions = append(functions, function{franz, peers.Franz}, function{franzLeader, peers.FranzLeader})
	}
	head := []string{"tasks x members", "floor"}
	for _, f := range functions {
		head = append(head, f.name)
	}
	var rows [][]string
	for _, c := range b.sizes {
		c.State = measure.Steady
		in, err := c.Input()
		if err != nil {
			return err
		}
		cells := []string{size(c), allocated(func() { measure.Floor(in.Members, in.Config.Topology) })}
		for _, f := range functions {
			round, err := f.round(in)
			if err != nil {
				return err
			}
			cells = append(cells, allocated(func() { err = round.Decide() }))
			if err != nil {
				return err
			}
		}
		rows = append(rows, cells)
	}
	b.table("What one decision of a steady group allocates: megabytes and allocations.", head, rows)
	return nil
}

func allocated(f func()) string {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return fmt.Sprintf("%.2f, %s", float64(after.TotalAlloc-before.TotalAlloc)/1e6, thousands(int(after.Mallocs-before.Mallocs)))
}

// printSettled runs everybody to their end.
func (b *bench) printSettled() error {
	head := []string{"10 members, 1 000 tasks", "standbys", "fewest moves", "Assign", "Assign, 2 learners at once"}
	if b.streams != nil {
		head = append(head, streamsHA, streamsPick)
	}
	var rows [][]string
	for _, c := range []measure.Case{
		{State: measure.Join}, {State: measure.Leave}, {State: measure.Join, Standbys: 1}, {State: measure.Leave, Standbys: 1},
	} {
		c.Tasks, c.Members = 1000, 10
		progress("to the end: %v", c)
		fewest := map[string]int{measure.Join: c.Tasks / (c.Members + 1), measure.Leave: c.Tasks / c.Members}[c.State]
		cells := []string{c.State, fmt.Sprint(c.Standbys), fmt.Sprint(fewest)}
		for _, maxLearners := range []int{0, 2} {
			s, err := peers.Settle(c, maxLearners)
			if err != nil {
				return err
			}
			cells = append(cells, settled(s))
		}
		if b.streams != nil {
			for _, name := range []string{peers.HighAvailability, peers.Sticky} {
				s, err := b.streams.Settle(name, c)
				if err != nil {
					return err
				}
				cells = append(cells, settled(s))
			}
		}
		rows = append(rows, cells)
	}
	b.table("Until nothing is left to do, every copy having caught up before each round: rounds, active tasks moved, those of them to a member without the state.", head, rows)
	return nil
}

func settled(s peers.Settled) string {
	return fmt.Sprintf("%s, %s, %s", thousands(s.Rounds), thousands(s.Moves), thousands(s.Cold))
}

func (r *row) ratio(a, b string) string {
	if note, ok := r.notes[a]; ok {
		return note
	}
	if len(r.times[a]) == 0 {
		return "-"
	}
	ratio, few := measure.Ratio(r.times[a], r.times[b]), ""
	if n := len(r.times[a]); n < len(r.times[b]) {
		few = fmt.Sprintf(" (of %d)", n)
	}
	if ratio < 10 {
		return fmt.Sprintf("%.1f%s", ratio, few)
	}
	return thousands(int(ratio+0.5)) + few
}

func size(c measure.Case) string { return thousands(c.Tasks) + " x " + thousands(c.Members) }

func state(c measure.Case) string {
	if c.Standbys == 0 {
		return c.State
	}
	return c.State + ", 1 standby"
}

// took is the median in ms.
func took(times []time.Duration) string {
	ms := float64(measure.Median(times)) / 1e6
	switch {
	case ms >= 10:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 1:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.3f", ms)
	}
}

// thousands groups digits by three.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", thousands(n/1000), n%1000)
}
