// Command table measures the library beside other libraries and beside the floor, all in one run, and prints what came out:
//
//	go run ./internal/peers/cmd/table            # text
//	go run ./internal/peers/cmd/table -markdown  # the tables of the README
//
// All functions of a case take turns, a collection before each, and every ratio is the median of the rounds' ratios. What is counted
// is the thread's processor time where there is one (Linux, Java), so that another program on the machine changes little. Kafka
// Streams' assignors need java and mvn; without them the rest is printed. A function that does not end in -limit is stopped and left
// out. All of it takes about a quarter of an hour, a minute with -peers franz; progress is on stderr.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// options are the command line's.
type options struct {
	rounds   int
	limit    time.Duration
	sizes    []measure.Case // Tasks and Members
	markdown bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 11, "how often each function is measured")
	flag.DurationVar(&o.limit, "limit", time.Minute, "how long a function may take in all the rounds of a case; one that takes longer for one round is left out")
	flag.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	sizes := flag.String("sizes", "10000x100,100000x1000", "tasks x members")
	which := flag.String("peers", "franz,sarama,streams", "whom to measure beside the library")
	probe := flag.String("probe", "", "of the command's own use: decide one case of sarama and exit")
	flag.Parse()
	if err := run(o, *sizes, *which, *probe); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(o options, sizes, which, probe string) error {
	if probe != "" {
		return decideOnce(probe)
	}
	for size := range strings.SplitSeq(sizes, ",") {
		c, err := parseSize(size)
		if err != nil {
			return err
		}
		o.sizes = append(o.sizes, c)
	}
	streams := startStreams(o, which)
	if streams != nil {
		defer func() { _ = streams.Close() }() // a temporary directory may stay
	}
	b := &bench{options: o, which: which, streams: streams, slow: map[string]int{}}
	return b.run()
}

// startStreams returns nil where Kafka Streams' assignors are not asked for or cannot be had, which it says.
func startStreams(o options, which string) *peers.Streams {
	if !strings.Contains(which, "streams") {
		return nil
	}
	streams, err := peers.NewStreams(o.limit)
	if err != nil {
		progress("Kafka Streams is left out: %v", err)
		return nil
	}
	return streams
}

func parseSize(size string) (measure.Case, error) {
	tasks, members, _ := strings.Cut(size, "x")
	var c measure.Case
	var err error
	if c.Tasks, err = strconv.Atoi(tasks); err == nil {
		c.Members, err = strconv.Atoi(members)
	}
	if err != nil || c.Tasks%10 != 0 || c.Members < 1 || c.Tasks < c.Members {
		return c, fmt.Errorf("-sizes: %q is not TASKSxMEMBERS, with tasks in tens and at least as many as members", size)
	}
	return c, nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
