package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// row is what came out for a case: times by function, or why there are none.
type row struct {
	measure.Case
	times map[string][]time.Duration
	notes map[string]string
}

// bench measures and prints.
type bench struct {
	options
	out           io.Writer
	streams       *peers.Streams
	noStreams     error // why there is no streams although it was asked for
	failures      []string
	started, said time.Time
}

func (b *bench) run(ctx context.Context) error {
	cases := b.cases()
	rows := make([]*row, 0, len(cases))
	for i, c := range cases {
		b.progress("%d of %d: %s tasks, %s, %d standbys", i+1, len(cases), size(c), c.State, c.Standbys)
		r, err := b.measure(ctx, c)
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		rows = append(rows, r)
	}
	ends := b.ends(ctx)
	growth, err := b.growth(ctx)
	if err != nil {
		return err
	}
	memory, err := b.memory()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.printHead()
	b.printSummary(rows)
	b.printRatios(rows)
	b.printTimes(rows)
	b.printEnds(ends)
	b.printGrowth(growth)
	b.printMemory(memory)
	b.printFailures()
	return b.writeChart(rows)
}

// cases are the rows of the tables.
func (b *bench) cases() []measure.Case {
	var cases []measure.Case
	for _, c := range b.sizes {
		for c.Standbys = range 2 {
			for _, c.State = range []string{measure.Cold, measure.Steady, measure.Join, measure.Leave, measure.Leave10, measure.Drain} {
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// taking are the contenders that take part, with so many standbys.
func (b *bench) taking(standbys int) []contender {
	var all []contender
	for _, f := range contenders {
		if f.peer != "" && !slices.Contains(b.peers, f.peer) || f.inJava != "" && b.streams == nil || standbys > 0 && !f.standbys {
			continue
		}
		all = append(all, f)
	}
	return all
}

// measure takes the functions that have the case in turns.
func (b *bench) measure(ctx context.Context, c measure.Case) (*row, error) {
	r := &row{Case: c, times: map[string][]time.Duration{}, notes: map[string]string{}}
	least, err := floorOf(c)
	if err != nil {
		return nil, err
	}
	turn := 0
	first := func() (time.Duration, error) {
		if turn++; time.Since(b.said) > 10*time.Second {
			b.progress("  round %d of %d", turn, b.rounds)
		}
		return least()
	}
	functions, names := []measure.Function{first}, []string{floor}
	for _, f := range b.taking(c.Standbys) {
		function, err := b.function(ctx, f, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			b.note(r, f.name, err)
			continue
		}
		functions, names = append(functions, b.unlessItFails(ctx, r, f.name, function)), append(names, f.name)
	}
	times, err := measure.Sample(b.rounds, 0, functions...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		r.times[name] = times[i]
	}
	return r, nil
}

// unlessItFails takes a function that fails out of the row, and lets the others go on.
func (b *bench) unlessItFails(ctx context.Context, r *row, name string, f measure.Function) measure.Function {
	return func() (time.Duration, error) {
		if ctx.Err() != nil || r.notes[name] != "" {
			return 0, ctx.Err()
		}
		took, err := f()
		if err != nil && ctx.Err() == nil {
			b.note(r, name, err)
		}
		return took, ctx.Err()
	}
}

// note says in a cell why there are no times.
func (b *bench) note(r *row, name string, err error) {
	if errors.Is(err, peers.ErrTooSlow) {
		b.progress("  %s takes longer than %v: left out", name, b.limit)
		r.notes[name] = fmt.Sprintf("> %v", b.limit)
		return
	}
	b.progress("  %s: %v", name, err)
	r.notes[name] = "failed"
	b.failures = append(b.failures, fmt.Sprintf("%s, %v: %v", name, r.Case, err))
}

// floorOf is the floor of a case: of as many tasks and members when nothing happens.
func floorOf(c measure.Case) (measure.Function, error) {
	c.State, c.Standbys = measure.Steady, 0
	in, err := c.Input()
	if err != nil {
		return nil, err
	}
	return measure.Timed(func() error {
		measure.Floor(in.Members, in.Config.Topology)
		return nil
	})
}

// growth measures Assign on ten times as many tasks as in the last size, on as many members: a row a case.
func (b *bench) growth(ctx context.Context) ([]*row, error) {
	last := b.sizes[len(b.sizes)-1]
	if last.Tasks > 100_000 {
		return nil, nil
	}
	b.progress("%s with ten times the tasks", assign)
	var rows []*row
	for _, c := range b.cases() {
		if c.Tasks != last.Tasks || c.Members != last.Members {
			continue
		}
		r := &row{Case: c, times: map[string][]time.Duration{}}
		var functions []measure.Function
		for _, factor := range []int{1, 10} {
			c.Tasks = last.Tasks * factor
			in, err := c.Input()
			if err != nil {
				return nil, err
			}
			f, err := measure.Timed(func() error { _, err := in.Assign(); return errors.Join(err, ctx.Err()) })
			if err != nil {
				return nil, err
			}
			functions = append(functions, f)
		}
		times, err := measure.Sample(b.rounds, 0, functions...)
		if err != nil {
			return nil, err
		}
		r.times["1"], r.times["10"] = times[0], times[1]
		rows = append(rows, r)
	}
	return rows, nil
}

// memory counts what one decision of a steady group allocates: bytes and allocations, by size and function.
func (b *bench) memory() (map[measure.Case]map[string][2]uint64, error) {
	b.progress("memory")
	all := map[measure.Case]map[string][2]uint64{}
	for _, c := range b.sizes {
		c.State = measure.Steady
		in, err := c.Input()
		if err != nil {
			return nil, err
		}
		all[c] = map[string][2]uint64{floor: allocated(func() { measure.Floor(in.Members, in.Config.Topology) })}
		for _, f := range b.counted() {
			round, err := f.inGo(in)
			if err != nil {
				return nil, err
			}
			all[c][f.name] = allocated(func() { err = round.Decide() })
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// counted are the contenders whose allocations are counted: sarama takes too long for that.
func (b *bench) counted() []contender {
	return slices.DeleteFunc(b.taking(0), func(f contender) bool { return f.inGo == nil || f.peer == "sarama" })
}

func allocated(f func()) [2]uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return [2]uint64{after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
}
