package franz_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A service with a kgo client gets learners, standbys and drains by adding the options of a Balancer.
func ExampleNew() {
	balancer, err := franz.New(franz.Config{
		Instance: "host-a", // the same after a restart
		Topology: []franz.Subtopology{{ID: 0, Topics: []string{"orders"}}},
		Assignor: assignor.Config{Standbys: 1},
		OnChange: func(s franz.State) {
			// Run s.Active and nothing else, replay the changelogs of s.Learning and s.Standby, and say how far they are:
			// balancer.Progress(task, lag).
			fmt.Println(s.Active)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers("127.0.0.1:9092"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
	}, balancer.Opts()...)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ended.Done() // meanwhile: poll, process
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := balancer.Drain(ctx); err != nil {
		fmt.Println("not everything has been taken over:", err)
	}
}
