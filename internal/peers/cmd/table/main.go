// Command table measures the library beside other libraries and beside the floor, all in one run, and prints what came out:
//
//	go run ./internal/peers/cmd/table            # text
//	go run ./internal/peers/cmd/table -markdown  # the same for a README
//
// All functions of a row take turns, a collection before each, and every ratio is the median of the rounds' ratios. What is counted
// is the thread's processor time where there is one (Linux, Java), so that another program on the machine changes little. Kafka
// Streams' assignors need java (17 or later) and mvn; without them the rest is printed. Before a function is measured it decides once
// in a process that is stopped after -limit: one that is not done by then is left out of that row, which says so.
//
// All of it takes about 25 minutes, two with -peers franz; progress is on stderr. Nothing is left on the disk but what
// Go and Maven keep in their caches.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// options are the command line's.
type options struct {
	rounds   int
	limit    time.Duration
	sizes    []measure.Case // Tasks and Members
	peers    []string
	markdown bool
	svg      string // the file of the chart, "" for none
}

var allPeers = []string{"franz", "sarama", "streams"}

func main() {
	if len(os.Args) > 1 && os.Args[1] == probeArgument {
		probed(os.Args[2:])
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 11, "how often each function is measured; the tables have the medians")
	flag.DurationVar(&o.limit, "limit", 10*time.Second, "how long one decision may take, by the clock; a function that takes longer is left out of the row")
	flag.StringVar(&o.svg, "svg", "", "draw the first size without standbys into this file")
	flag.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	sizes := flag.String("sizes", "10000x100,100000x1000", "TASKSxMEMBERS, separated by commas")
	which := flag.String("peers", strings.Join(allPeers, ","), "whom to measure beside the library")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the function that is running
	if err := run(ctx, os.Stdout, o, *sizes, *which); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options, sizes, which string) error {
	if err := o.parse(sizes, which); err != nil {
		return err
	}
	b := &bench{options: o, out: out, started: time.Now()}
	if slices.Contains(o.peers, "streams") {
		b.progress("asking Maven for Kafka Streams (the first time it downloads about 50 MB)")
		streams, err := peers.NewStreams(ctx)
		if err != nil {
			b.noStreams = err
			b.progress("going on without Kafka Streams: %v", err)
		} else {
			defer func() { _ = streams.Close() }() // all that can fail is removing the files, and the tables are printed
			b.streams = streams
		}
	}
	return b.run(ctx)
}

func (o *options) parse(sizes, which string) error {
	if o.rounds < 1 || o.limit <= 0 {
		return fmt.Errorf("-rounds is %d and -limit %v, want both above 0", o.rounds, o.limit)
	}
	for size := range strings.SplitSeq(sizes, ",") {
		c, err := parseSize(size)
		if err != nil {
			return err
		}
		o.sizes = append(o.sizes, c)
	}
	for name := range strings.SplitSeq(which, ",") {
		if name == "" {
			continue
		}
		if !slices.Contains(allPeers, name) {
			return fmt.Errorf("-peers: %q is none of %s", name, strings.Join(allPeers, ", "))
		}
		o.peers = append(o.peers, name)
	}
	return nil
}

func parseSize(size string) (measure.Case, error) {
	tasks, members, _ := strings.Cut(size, "x")
	var c measure.Case
	var err error
	if c.Tasks, err = strconv.Atoi(tasks); err == nil {
		c.Members, err = strconv.Atoi(members)
	}
	if err != nil || c.Tasks%10 != 0 || c.Members < 2 || c.Tasks < c.Members {
		return c, fmt.Errorf("-sizes: %q is not TASKSxMEMBERS, with tasks in tens, two members or more, and at least as many tasks", size)
	}
	return c, nil
}

func (b *bench) progress(format string, args ...any) {
	b.said = time.Now()
	fmt.Fprintf(os.Stderr, "%5s %s\n", b.said.Sub(b.started).Round(time.Second), fmt.Sprintf(format, args...))
}
