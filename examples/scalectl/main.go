// Command scalectl lists the instances of a running group, and tells some of them to leave or to stay.
//
//	scalectl -brokers 127.0.0.1:9092 -group word-count list
//	scalectl -brokers 127.0.0.1:9092 -group word-count leave c d
//	scalectl -brokers 127.0.0.1:9092 -group word-count -to 80% leave
//	scalectl -brokers 127.0.0.1:9092 -group word-count stay c
//
// It asks the coordinator who is in the group, and the instances themselves for their lag, at the address that each reports in
// the tag "http" (another with -tag). leave follows the drain with a line of progress until the instances are out of the group; it
// exits with 1 where that takes longer than -deadline: they go on leaving then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// options are the flags.
type options struct {
	brokers, group, tag, to string
	deadline                time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.brokers, "brokers", "127.0.0.1:9092", "host:port of the cluster, several separated by commas")
	flag.StringVar(&o.group, "group", "", "the group")
	flag.StringVar(&o.tag, "tag", "http", "the tag in which an instance reports the address of its handler")
	flag.StringVar(&o.to, "to", "", "leave: how many instances to keep, in percent of those that stay (80%); those with the least to move leave")
	flag.DurationVar(&o.deadline, "deadline", 10*time.Minute, "leave: how long to follow the drain")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "scalectl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, args []string) error {
	if o.group == "" || len(args) == 0 {
		return errors.New("want -group GROUP and a command: list, leave [INSTANCE...] or stay INSTANCE")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(o.brokers, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	g := &group{options: o, client: client, out: os.Stdout}
	if err := g.load(ctx); err != nil {
		return err
	}
	switch command, names := args[0], args[1:]; command {
	case "list":
		g.list()
		return nil
	case "leave":
		return g.leave(ctx, names)
	case "stay":
		return g.tell(ctx, "/stay", names)
	default:
		return fmt.Errorf("no command %q, want list, leave or stay", command)
	}
}
