package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// contender is a function that is measured.
type contender struct {
	name     string
	peer     string // as in -peers; "" is the library
	standbys bool   // it knows standbys
	inGo     func(*measure.Input) (peers.Round, error)
	inJava   string // its name in Java
}

// The names of contenders, as the tables have them.
const (
	floor       = "floor"
	assign      = "Assign"
	leader      = "leader step"
	franz       = "franz-go (a)"
	franzLeader = "franz-go (b)"
	sarama      = "sarama"
	streamsHA   = "Streams HA"
	streamsPick = "Streams sticky"
)

// contenders are all but the floor.
var contenders = []contender{
	{name: assign, standbys: true, inGo: peers.Assign},
	{name: leader, standbys: true, inGo: peers.LeaderStep},
	{name: franz, peer: "franz", inGo: peers.Franz},
	{name: franzLeader, peer: "franz", inGo: peers.FranzLeader},
	{name: sarama, peer: "sarama", inGo: peers.Sarama},
	{name: streamsHA, peer: "streams", standbys: true, inJava: peers.HighAvailability},
	{name: streamsPick, peer: "streams", standbys: true, inJava: peers.Sticky},
}

// input is what a contender is given in a case. The others are not told that a member will leave: for them it has left.
func (f contender) input(c measure.Case) (*measure.Input, error) {
	if f.peer != "" && c.State == measure.Drain {
		c.State = measure.Leave
	}
	return c.Input()
}

// function makes what is measured of a contender, after one decision within the limit: else it fails with [peers.ErrTooSlow]. What is
// decided is checked.
func (b *bench) function(ctx context.Context, f contender, c measure.Case) (measure.Function, error) {
	if f.inJava != "" {
		return b.inJava(ctx, f, c)
	}
	if err := probe(ctx, f, c, b.limit); err != nil {
		return nil, err
	}
	in, err := f.input(c)
	if err != nil {
		return nil, err
	}
	round, err := f.inGo(in)
	if err != nil {
		return nil, err
	}
	if err := round.Check(); err != nil {
		return nil, err
	}
	return measure.Timed(round.Decide)
}

// inJava decides for two seconds, so that the code has been compiled.
func (b *bench) inJava(ctx context.Context, f contender, c measure.Case) (measure.Function, error) {
	const warmUp = 2 * time.Second
	limit := b.limit
	timed := func() (time.Duration, error) { return b.streams.Time(ctx, f.inJava, c, limit) }
	for start := time.Now(); time.Since(start) < warmUp; {
		if _, err := timed(); err != nil {
			return nil, err
		}
	}
	limit *= 3 // it is known to be within the limit, or near it on a machine that is busy now
	return timed, nil
}

// probeArgument has the command decide one round and exit.
const probeArgument = "-probe"

// probe lets a contender decide once in a process of its own, which can be stopped: a goroutine cannot. That process ends with its
// standard input, so when this one dies.
func probe(ctx context.Context, f contender, c measure.Case, limit time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	child := exec.CommandContext(limited, self, probeArgument, f.name, c.State, fmt.Sprint(c.Tasks, c.Members, c.Standbys))
	var said strings.Builder
	child.Stderr = &said
	alive, err := child.StdinPipe()
	if err != nil {
		return err
	}
	defer func() { _ = alive.Close() }() // it is closed already where the process has ended
	err = child.Run()
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return peers.ErrTooSlow
	default:
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
}

// probed is the process of [probe].
func probed(args []string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
		os.Exit(1)
	}()
	if err := decideOnce(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func decideOnce(args []string) error {
	if len(args) != 3 {
		return errors.New("no case to decide")
	}
	c := measure.Case{State: args[1]}
	if _, err := fmt.Sscan(args[2], &c.Tasks, &c.Members, &c.Standbys); err != nil {
		return err
	}
	for _, f := range contenders {
		if f.name != args[0] || f.inGo == nil {
			continue
		}
		in, err := f.input(c)
		if err != nil {
			return err
		}
		round, err := f.inGo(in)
		if err != nil {
			return err
		}
		return round.Decide()
	}
	return fmt.Errorf("nobody is called %q", args[0])
}
