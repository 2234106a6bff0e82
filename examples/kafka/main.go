// Command kafka counts words on a Kafka cluster, with local state and a changelog, while its group is scaled, swapped, drained and
// hit: it shows what each event costs, and fails if a record was lost, a task had two owners or a planned event paused one.
//
//	go run ./examples/kafka                          on a cluster inside of this process
//	go run ./examples/kafka -brokers 127.0.0.1:9092  on a real one
//	go run ./examples/kafka -svg timeline.svg        with a picture: who ran and who learned what
//
// With -instance it is one instance of the word count and nothing else, on topics that exist: start several of them, and tell
// them to leave with SIGTERM or with scalectl.
//
//	go run ./examples/kafka -brokers 127.0.0.1:9092 -instance a -group word-count -input words -changelog words-changelog
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/incremental-rebalance/assignor/internal/timeline"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// options are the flags.
type options struct {
	brokers    string
	svg        string
	partitions int
	rate       int
	pause      time.Duration
	static     bool
	verbose    bool

	instance, group, input, changelog, http string
}

func main() {
	var o options
	flag.StringVar(&o.brokers, "brokers", "", "host:port of a real cluster, several separated by commas")
	flag.StringVar(&o.svg, "svg", "", "file to write the timeline to")
	flag.IntVar(&o.partitions, "partitions", 12, "partitions of the input topic: as many tasks")
	flag.IntVar(&o.rate, "replay", 6000, "records a second that an instance replays")
	flag.DurationVar(&o.pause, "pause", 500*time.Millisecond, "how long a planned event may pause a task")
	flag.BoolVar(&o.static, "static", false, "static members")
	flag.BoolVar(&o.verbose, "v", false, "log what the balancers do")
	flag.StringVar(&o.instance, "instance", "", "be this one instance on -brokers, on topics that exist")
	flag.StringVar(&o.group, "group", "word-count", "with -instance: the group")
	flag.StringVar(&o.input, "input", "words", "with -instance: the input topic")
	flag.StringVar(&o.changelog, "changelog", "word-count-changelog", "with -instance: the changelog topic, with as many partitions")
	flag.StringVar(&o.http, "http", "127.0.0.1:0", "with -instance: where it answers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	w := timeline.New()
	s := settings{
		group: o.group, input: o.input, changelog: o.changelog, rate: o.rate, static: o.static,
		session: 3 * time.Second, heartbeat: 300 * time.Millisecond, watch: seen{w}, logger: slog.New(slog.DiscardHandler),
	}
	if o.verbose {
		s.logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if o.brokers == "" {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
		if err != nil {
			return err
		}
		defer fake.Close()
		s.brokers = fake.ListenAddrs()
	} else {
		s.brokers = strings.Split(o.brokers, ",")
		s.session, s.heartbeat = 6*time.Second, time.Second // brokers allow no shorter session by default
		if o.instance != "" {
			return member(ctx, os.Stdout, o.instance, o.http, s)
		}
		s.unique(time.Now())
	}
	if err := createTopics(ctx, s, int32(o.partitions)); err != nil {
		return err
	}
	p, err := newProducer(s, int32(o.partitions))
	if err != nil {
		return err
	}
	defer p.client.Close()
	play := &scenario{settings: s, out: os.Stdout, watch: w, partitions: int32(o.partitions), pause: o.pause, producer: p}
	defer play.end()
	err = play.play(ctx)
	if o.svg != "" && err == nil {
		err = w.WriteSVG(o.svg)
	}
	return err
}

// unique gives the group and the topics names that no earlier run has used.
func (s *settings) unique(now time.Time) {
	suffix := now.Format("-20060102-150405.000")
	s.group, s.input, s.changelog = s.group+suffix, s.input+suffix, s.changelog+suffix
}

func createTopics(ctx context.Context, s settings, partitions int32) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(ctx, partitions, 1, nil, s.input)
	if err != nil {
		return err
	}
	_, err = admin.CreateTopic(ctx, partitions, 1, changelogConfigs(), s.changelog)
	return err
}

// changelogConfigs are those of a changelog: compaction leaves void records time to be mended, see the package fence.
func changelogConfigs() map[string]*string {
	compact, day := "compact", "86400000"
	return map[string]*string{"cleanup.policy": &compact, "min.compaction.lag.ms": &day}
}
