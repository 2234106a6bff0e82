package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// The functions that are measured.
const (
	floor       = "floor"
	assign      = "Assign"
	leader      = "leader step"
	franz       = "franz-go"
	franzLeader = "franz-go's leader"
	sarama      = "sarama"
	streamsHA   = "Streams HA"
	streamsPick = "Streams sticky"
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
	which   string
	streams *peers.Streams
	slow    map[string]int // by function, the fewest tasks with which it was too slow
}

func (b *bench) run() error {
	cases := b.cases()
	rows := make([]*row, 0, len(cases))
	for i, c := range cases {
		progress("[%d/%d] %v", i+1, len(cases), c)
		r, err := b.measure(c)
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		rows = append(rows, r)
	}
	b.printTimes(rows)
	if err := b.printGrowth(); err != nil {
		return err
	}
	if err := b.printMemory(); err != nil {
		return err
	}
	return b.printSettled()
}

func (b *bench) cases() []measure.Case {
	var cases []measure.Case
	for _, c := range b.sizes {
		for _, c.State = range []string{measure.Cold, measure.Steady, measure.Join, measure.Leave, measure.Drain} {
			cases = append(cases, c)
		}
		c.Standbys = 1
		for _, c.State = range []string{measure.Steady, measure.Join, measure.Leave, measure.Drain} {
			cases = append(cases, c)
		}
	}
	return cases
}

// measure takes the functions that have the case in turns.
func (b *bench) measure(c measure.Case) (*row, error) {
	r := &row{Case: c, times: map[string][]time.Duration{}, notes: map[string]string{}}
	functions, names, err := b.own(c)
	if err != nil {
		return nil, err
	}
	theirs, theirNames, err := b.theirs(r)
	if err != nil {
		return nil, err
	}
	names = append(names, theirNames...)
	times, err := measure.Sample(b.rounds, b.limit, append(functions, theirs...)...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		r.times[name] = times[i]
	}
	return r, nil
}

// own are the floor and the library.
func (b *bench) own(c measure.Case) (functions []measure.Function, names []string, err error) {
	in, err := c.Input()
	if err != nil {
		return nil, nil, err
	}
	steady := c
	steady.State, steady.Standbys = measure.Steady, 0
	before, err := steady.Input()
	if err != nil {
		return nil, nil, err
	}
	least, err := measure.Timed(func() error {
		measure.Floor(before.Members, before.Config.Topology)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	functions, names = append(functions, least), append(names, floor)
	for _, f := range []function{{assign, peers.Assign}, {leader, peers.LeaderStep}} {
		timed, err := f.timed(in)
		if err != nil {
			return nil, nil, err
		}
		functions, names = append(functions, timed), append(names, f.name)
	}
	return functions, names, nil
}

type function struct {
	name  string
	round func(*measure.Input) (peers.Round, error)
}

// timed checks the round first.
func (f function) timed(in *measure.Input) (measure.Function, error) {
	round, err := f.round(in)
	if err != nil {
		return nil, err
	}
	if err := round.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return measure.Timed(round.Decide)
}

// theirs are the other libraries that know the case.
func (b *bench) theirs(r *row) (functions []measure.Function, names []string, err error) {
	switch r.State {
	case measure.Cold, measure.Steady, measure.Join, measure.Leave:
	default:
		return nil, nil, nil
	}
	var inGo []function
	if r.Standbys == 0 && strings.Contains(b.which, "franz") {
		inGo = append(inGo, function{franz, peers.Franz}, function{franzLeader, peers.FranzLeader})
	}
	if r.Standbys == 0 && strings.Contains(b.which, "sarama") && b.inTime(r, sarama, func() error { return b.probe(r.Case) }) {
		inGo = append(inGo, function{sarama, peers.Sarama})
	}
	in, err := r.Input()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range inGo {
		timed, err := f.timed(in)
		if err != nil {
			return nil, nil, err
		}
		functions, names = append(functions, timed), append(names, f.name)
	}
	if b.streams == nil {
		return functions, names, nil
	}
	for _, in := range []struct{ java, name string }{{peers.HighAvailability, streamsHA}, {peers.Sticky, streamsPick}} {
		timed := func() (time.Duration, error) { return b.streams.Time(in.java, r.Case) }
		if b.inTime(r, in.name, func() error { _, err := timed(); return err }) {
			functions, names = append(functions, timed), append(names, in.name)
		}
	}
	return functions, names, nil
}

// inTime reports whether a function can be measured, and notes why not. One that was too slow is not asked for more tasks.
func (b *bench) inTime(r *row, name string, once func() error) bool {
	if least, ok := b.slow[name]; ok && r.Tasks >= least {
		r.notes[name] = "slow"
		return false
	}
	err := once()
	switch {
	case err == nil:
		return true
	case errors.Is(err, peers.ErrTooSlow):
		progress("  %s takes longer than %v: left out from here on", name, b.limit)
		b.slow[name] = r.Tasks
		r.notes[name] = "slow"
	default:
		progress("  %s: %v", name, err)
		r.notes[name] = "fails"
	}
	return false
}

// probe decides a case of sarama in a process of its own, which can be stopped.
func (b *bench) probe(c measure.Case) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	probe := exec.CommandContext(ctx, self, "-probe", fmt.Sprintf("%s %d %d", c.State, c.Tasks, c.Members))
	probe.Stderr = os.Stderr
	if err := probe.Run(); ctx.Err() != nil {
		return peers.ErrTooSlow
	} else if err != nil {
		return err
	}
	return nil
}

func decideOnce(probe string) error {
	var c measure.Case
	if _, err := fmt.Sscan(probe, &c.State, &c.Tasks, &c.Members); err != nil {
		return err
	}
	in, err := c.Input()
	if err != nil {
		return err
	}
	round, err := peers.Sarama(in)
	if err != nil {
		return err
	}
	return round.Decide()
}
