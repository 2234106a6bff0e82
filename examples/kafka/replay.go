package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// replayer replays changelogs into stores, with a client of its own that is in no group. It replays at most rate records a second
// for learners and standbys; a task that is to run at once is not held back.
type replayer struct {
	client *kgo.Client
	admin  *kadm.Client
	topic  string
	rate   int
	lag    func(task assignor.TaskID, lag int64)

	mu     sync.Mutex
	stores map[int32]*store
	urgent map[int32]bool
	ends   map[int32]int64
	moved  chan struct{} // closed when anything was replayed
}

func newReplayer(opts []kgo.Opt, topic string, rate int, lag func(assignor.TaskID, int64)) (*replayer, error) {
	client, err := kgo.NewClient(append(slices.Clone(opts), kgo.FetchMaxWait(50*time.Millisecond))...)
	if err != nil {
		return nil, err
	}
	return &replayer{
		client: client, admin: kadm.NewClient(client), topic: topic, rate: rate, lag: lag,
		stores: map[int32]*store{}, urgent: map[int32]bool{}, ends: map[int32]int64{}, moved: make(chan struct{}),
	}, nil
}

// follow replays the changelog of a partition into a store from now on, from where the store is.
func (r *replayer) follow(partition int32, s *store, urgent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urgent[partition] = urgent
	if r.stores[partition] == s {
		return
	}
	r.stores[partition] = s
	r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{
		r.topic: {partition: kgo.NewOffset().At(s.position())},
	})
}

// leave stops the replay of a partition.
func (r *replayer) leave(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stores[partition] == nil {
		return
	}
	delete(r.stores, partition)
	delete(r.urgent, partition)
	r.client.RemoveConsumePartitions(map[string][]int32{r.topic: {partition}})
}

// await waits until the store has replayed everything before an offset.
func (r *replayer) await(ctx context.Context, s *store, offset int64) error {
	for {
		r.mu.Lock()
		moved := r.moved
		r.mu.Unlock()
		if s.position() >= offset {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run replays until ctx ends.
func (r *replayer) run(ctx context.Context) {
	const tick = 20 * time.Millisecond
	for ctx.Err() == nil {
		most := max(1, r.rate/int(time.Second/tick))
		if r.hurries() {
			most = 0 // all there are
		}
		poll, cancel := context.WithTimeout(ctx, tick)
		fetches := r.client.PollRecords(poll, most)
		cancel()
		fetches.EachRecord(r.apply)
		if fetches.NumRecords() == 0 {
			continue
		}
		r.mu.Lock()
		close(r.moved)
		r.moved = make(chan struct{})
		r.mu.Unlock()
		if !r.hurries() {
			sleep(ctx, tick)
		}
	}
}

// hurries reports whether a task waits for its state.
func (r *replayer) hurries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(valuesOf(r.urgent), true)
}

func (r *replayer) apply(rec *kgo.Record) {
	r.mu.Lock()
	s := r.stores[rec.Partition]
	r.mu.Unlock()
	if s != nil && rec.Offset >= s.position() {
		s.replay(rec)
	}
}

// watch reports how far each store is behind the end of its changelog, again and again, until ctx ends.
func (r *replayer) watch(ctx context.Context) {
	for ctx.Err() == nil {
		ends, err := r.admin.ListEndOffsets(ctx, r.topic)
		if err == nil {
			ends.Each(func(o kadm.ListedOffset) {
				r.mu.Lock()
				s := r.stores[o.Partition]
				r.mu.Unlock()
				if s != nil && o.Err == nil {
					r.lag(assignor.TaskID{Partition: o.Partition}, max(0, o.Offset-s.position()))
				}
			})
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func valuesOf[K comparable, V any](m map[K]V) []V {
	values := make([]V, 0, len(m))
	for _, v := range m {
		values = append(values, v)
	}
	return values
}
