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
	done   func(inputs []*kgo.Record)                      // counted for good
	failed func(task assignor.TaskID, s *store, err error) // to replay a record
	reads  map[int32]*store                                // what the client reads, which only run knows

	mu     sync.Mutex
	stores map[int32]*store // what is to be followed
	urgent map[int32]bool
}

func newReplayer(opts []kgo.Opt, topic string, rate int) (*replayer, error) {
	client, err := kgo.NewClient(append(slices.Clone(opts), kgo.FetchMaxWait(50*time.Millisecond))...)
	if err != nil {
		return nil, err
	}
	return &replayer{
		client: client, admin: kadm.NewClient(client), topic: topic, rate: rate,
		stores: map[int32]*store{}, reads: map[int32]*store{}, urgent: map[int32]bool{},
	}, nil
}

// follow replays the changelog of a partition into a store from now on, from where the store is.
func (r *replayer) follow(partition int32, s *store, urgent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stores[partition], r.urgent[partition] = s, urgent
}

// leave stops the replay of a partition.
func (r *replayer) leave(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stores, partition)
	delete(r.urgent, partition)
}

// assign makes the client read what is followed. It is called between polls: no record that was fetched for one store gets into
// the next one, which may be behind it.
func (r *replayer) assign() {
	r.mu.Lock()
	defer r.mu.Unlock()
	remove, add := []int32{}, map[int32]kgo.Offset{}
	for p, s := range r.reads {
		if r.stores[p] != s {
			remove = append(remove, p)
			delete(r.reads, p)
		}
	}
	for p, s := range r.stores {
		if r.reads[p] == nil {
			r.reads[p] = s
			add[p] = kgo.NewOffset().At(s.log.Next())
		}
	}
	r.client.RemoveConsumePartitions(map[string][]int32{r.topic: remove})
	r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.topic: add})
}

// run replays until ctx ends.
func (r *replayer) run(ctx context.Context) {
	const tick = 20 * time.Millisecond
	for ctx.Err() == nil {
		most := max(1, r.rate/int(time.Second/tick))
		if r.hurries() {
			most = 0 // all there are
		}
		r.assign()
		poll, cancel := context.WithTimeout(ctx, tick)
		fetches := r.client.PollRecords(poll, most)
		cancel()
		fetches.EachRecord(r.apply)
		if fetches.NumRecords() == 0 {
			continue
		}
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
	s := r.reads[rec.Partition]
	done, err := s.replay(rec)
	if err != nil {
		r.failed(assignor.TaskID{Partition: rec.Partition}, s, err)
	}
	if len(done) > 0 {
		r.done(done)
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
					r.lag(assignor.TaskID{Partition: o.Partition}, max(0, o.Offset-s.log.Next()))
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
