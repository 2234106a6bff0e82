package franz_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// service runs the tasks that its member owns in one loop, and replays changelogs in another.
type service struct {
	balancer *franz.Balancer
	client   *kgo.Client
	started  chan struct{} // closed when both are set
	process  func(*kgo.Record)
	replay   func(assignor.TaskID) (lag int64) // reads a batch of the changelog, with another client

	mu      sync.Mutex
	runs    map[assignor.TaskID]bool // by task that is active; false: it has not replayed everything
	replays []assignor.TaskID        // those, and the copies
}

func (s *service) start(instance string, opts ...kgo.Opt) (err error) {
	s.started = make(chan struct{})
	s.balancer, err = franz.New(franz.Config{
		Instance: instance, // the host's name: the same after a restart
		Topology: []franz.Subtopology{{ID: 0, Topics: []string{"orders"}}},
		Assignor: assignor.Config{Standbys: 1},
		OnChange: s.change,
		Local:    func() []assignor.Replica { return nil }, // what is on the disk: nothing
	})
	if err != nil {
		return err
	}
	opts = append(opts,
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.BlockRebalanceOnPoll(), // no callback comes between a poll and AllowRebalance
		kgo.AutoCommitMarks(),      // what is committed has been processed
	)
	s.client, err = kgo.NewClient(append(opts, s.balancer.Opts()...)...) // the balancer's are last
	if err != nil {
		return err
	}
	close(s.started)
	go s.poll()
	go s.follow()
	return nil
}

// poll processes what comes in, until the client is closed.
func (s *service) poll() {
	for {
		fetches := s.client.PollRecords(context.Background(), 100) // few: a round waits for them
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			s.process(r)
			s.client.MarkCommitRecords(r)
		})
		s.client.AllowRebalance()
	}
}

// change is OnChange. No record is being processed, so there is nothing to wait for: what is marked is
// committed when it returns. A task that is new here pauses: it may have as much as AcceptableLag to
// replay, or everything.
func (s *service) change(state franz.State) {
	<-s.started
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.runs
	s.runs, s.replays = map[assignor.TaskID]bool{}, nil
	for _, task := range state.Active {
		s.runs[task] = before[task]
		if !before[task] {
			s.client.PauseFetchPartitions(partitionOf(task))
			s.replays = append(s.replays, task)
		}
	}
	for _, c := range slices.Concat(state.Learning, state.Standby) {
		s.replays = append(s.replays, c.Task)
	}
}

// follow replays, and says how far it is. A lag that was measured before a task became active does not
// start it, because its last owner may have written since: hence the lock.
func (s *service) follow() {
	for s.client.Context().Err() == nil {
		s.mu.Lock()
		for _, task := range slices.Clone(s.replays) {
			lag := s.replay(task)
			s.balancer.Progress(task, lag)
			if runs, active := s.runs[task]; active && !runs && lag == 0 {
				s.runs[task] = true
				s.replays = slices.DeleteFunc(s.replays, func(t assignor.TaskID) bool { return t == task })
				s.client.ResumeFetchPartitions(partitionOf(task))
			}
		}
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// stop hands everything over, and leaves the group. Where the time does not suffice, the others get the
// tasks as after a crash.
func (s *service) stop() error {
	defer s.client.CloseAllowingRebalance()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.balancer.Drain(ctx)
}

func partitionOf(task assignor.TaskID) map[string][]int32 {
	return map[string][]int32{"orders": {task.Partition}}
}

// A service scales from one instance to two and back to one while records come in. None is lost, and none is processed twice.
func Example_service() {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "orders"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	var orders tally
	instance := func(name string) *service {
		s := &service{process: func(r *kgo.Record) { orders.add(name, r) }, replay: func(assignor.TaskID) int64 { return 0 }}
		if err := s.start(name, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.HeartbeatInterval(100*time.Millisecond),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())); err != nil {
			fmt.Println(err)
		}
		return s
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer producer.Close()
	produced := make(chan int)
	done := make(chan struct{})
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-done:
				produced <- n
				return
			default:
				producer.ProduceSync(context.Background(), &kgo.Record{Topic: "orders", Value: []byte("an order")})
			}
		}
	}()

	a := instance("host-a")
	orders.await("host-a", 4)
	b := instance("host-b")
	orders.await("host-b", 2)
	fmt.Println("host-a hands everything over:", a.stop() == nil)
	orders.forget("host-b")
	orders.await("host-b", 4)
	close(done)
	n := <-produced
	fmt.Println("every order was processed once:", orders.once(n))
	b.client.CloseAllowingRebalance()

	// Output:
	// host-a hands everything over: true
	// every order was processed once: true
}

// tally counts how often each record is processed, and which partitions an instance processes.
type tally struct {
	mu    sync.Mutex
	times map[string]int
	of    map[string]map[int32]bool
}

func (t *tally) add(instance string, r *kgo.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times == nil {
		t.times, t.of = map[string]int{}, map[string]map[int32]bool{}
	}
	if t.of[instance] == nil {
		t.of[instance] = map[int32]bool{}
	}
	t.of[instance][r.Partition] = true
	t.times[fmt.Sprintf("%d@%d", r.Partition, r.Offset)]++
}

// forget makes await count an instance's partitions anew.
func (t *tally) forget(instance string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, instance)
}

// await returns when an instance has processed records of so many partitions.
func (t *tally) await(instance string, partitions int) {
	t.until(func() bool { return len(t.of[instance]) >= partitions })
}

// once reports whether n records have been processed, each once. It waits for those that have not come yet.
func (t *tally) once(n int) bool {
	t.until(func() bool { return len(t.times) >= n })
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, times := range t.times {
		if times != 1 {
			return false
		}
	}
	return len(t.times) == n
}

// until returns when something is so, or after half a minute.
func (t *tally) until(so func() bool) {
	for range 3000 {
		t.mu.Lock()
		ok := so()
		t.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
