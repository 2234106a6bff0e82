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

// A service with a kgo client gets learners, standbys and drains by adding the options of a Balancer. The README shows what stands
// between the marks; go test ./internal/figures -rewrite copies it there.
func ExampleNew() {
	hostname, _ := os.Hostname()
	// usage
	var balancer *franz.Balancer // OnChange uses it
	balancer, err := franz.New(franz.Config{
		Instance: hostname,                                                 // the same after a restart
		Topology: []franz.Subtopology{{ID: 0, Topics: []string{"orders"}}}, // a task a partition
		Assignor: assignor.Config{Standbys: 1},
		OnChange: func(state franz.State) {
			// Run the tasks of state.Active and no others. Replay the changelogs of state.Restores,
			// Learning and Standby elsewhere, and say how far they are: balancer.Progress(task, lag).
			fmt.Println(state.Active)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers("127.0.0.1:9092"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.BlockRebalanceOnPoll(), kgo.AutoCommitMarks(),
	}
	client, err := kgo.NewClient(append(opts, balancer.Opts()...)...) // the balancer's are last
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseAllowingRebalance()

	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ended.Done() // meanwhile: poll, process, mark, AllowRebalance
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := balancer.Drain(ctx); err != nil {
		fmt.Println("not everything has been taken over:", err)
	}
	// end of usage
}
