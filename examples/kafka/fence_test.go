package main

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz/fence"
	"github.com/incremental-rebalance/assignor/internal/timeline"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const tasks = 4

// world is a cluster in this process, with topics, a producer and instances.
type world struct {
	t *testing.T
	settings
	producer *producer
	services []*service
}

func newWorld(t *testing.T) *world {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	w := &world{t: t, settings: settings{
		brokers: fake.ListenAddrs(), group: "g", input: "in", changelog: "log", rate: 6000,
		session: 3 * time.Second, heartbeat: 300 * time.Millisecond, watch: seen{timeline.New()}, logger: slog.New(slog.DiscardHandler),
	}}
	require.NoError(t, createTopics(t.Context(), w.settings, tasks))
	w.producer, err = newProducer(w.settings, tasks)
	require.NoError(t, err)
	t.Cleanup(w.producer.client.Close)
	t.Cleanup(w.close)
	return w
}

func (w *world) start(name string) *service {
	w.t.Helper()
	s, err := start(name, w.settings)
	require.NoError(w.t, err)
	w.services = append(w.services, s)
	return s
}

// close ends all instances.
func (w *world) close() {
	for _, s := range w.services {
		s.close()
	}
	w.services = nil
}

func (w *world) send(n int) {
	w.t.Helper()
	w.producer.send(w.t.Context(), n)
	require.NoError(w.t, w.producer.client.Flush(w.t.Context()))
}

// counted waits until the instances have counted everything that was sent, and nothing else.
func (w *world) counted() {
	w.t.Helper()
	require.EventuallyWithT(w.t, func(c *assert.CollectT) {
		counts := map[int32]map[string]int64{}
		for _, s := range w.services {
			for partition, words := range s.counts() {
				counts[partition] = words
			}
		}
		_, err := w.producer.check(counts)
		assert.NoError(c, err)
	}, 20*time.Second, 50*time.Millisecond)
}

// follows returns the store that the instance has of a task.
func (w *service) follows(id assignor.TaskID) *store {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.store(id)
}

// A group that was deleted begins at generation 1 again, and without offsets. The changelog decides, and knows what is counted.
func TestFenceOfADeletedGroup(t *testing.T) {
	w := newWorld(t)
	for range 3 { // generations 1 to 3 at least
		w.start("a")
		w.send(100)
		w.counted()
		w.close()
	}
	_, err := kadm.NewClient(w.producer.client).DeleteGroup(t.Context(), w.group)
	require.NoError(t, err)
	s := w.start("a")
	w.send(100)
	w.counted()
	assert.LessOrEqual(t, s.balancer.State().Generation, int32(3))
	w.close()
	w.start("b")
	w.counted()
}

// Under the fallback there is no generation to go by. A member that knows nothing else joins, and leaves again.
func TestFenceUnderTheFallbackAndBack(t *testing.T) {
	w := newWorld(t)
	w.fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()}
	s := w.start("a")
	w.send(200)
	w.counted()
	other, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.ConsumerGroup(w.group), kgo.ConsumeTopics(w.input),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.DisableAutoCommit(), kgo.DisableClientMetrics())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.balancer.State().Active) == tasks/2 }, 20*time.Second, 20*time.Millisecond)
	w.send(200)
	other.Close()
	w.counted()
	w.start("b")
	require.Eventually(t, func() bool { return len(s.balancer.State().Active) == tasks/2 }, 20*time.Second, 20*time.Millisecond)
	w.send(200)
	w.counted()
	w.close()
	w.start("c")
	w.counted()
}

// A static member is replaced under its own name and its own generation. What the process before it writes yet does not count, and
// is mended; its own state cannot be used any more.
func TestFenceOfAStaticReplacement(t *testing.T) {
	w := newWorld(t)
	w.static = true
	old := w.start("a")
	w.send(200)
	w.counted()
	id := assignor.TaskID{Partition: 1}
	late := &kgo.Record{Key: []byte("task"), Value: []byte(`{"c":1000000,"i":1000000}`)}
	old.mu.Lock()
	zombie := old.store(id)
	require.NoError(t, old.tasks[id].tenure.Stamp(late))
	old.mu.Unlock()

	w.services = nil
	w.start("a")
	w.send(100)
	w.counted()
	writer, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	require.NoError(t, err)
	defer writer.Close()
	require.NoError(t, writer.ProduceSync(t.Context(), late).FirstErr())
	require.Eventually(t, func() bool { return w.services[0].follows(id).log.Next() > late.Offset }, 10*time.Second, 20*time.Millisecond)
	w.send(100)
	w.counted()
	assert.NotSame(t, zombie, old.follows(id), "it holds a change that is void")
	old.kill()
	require.Eventually(t, func() bool { return len(w.services[0].follows(id).log.Checkpoint().Void) == 0 }, 10*time.Second, 20*time.Millisecond)
	w.close()
	w.static = false
	w.start("b")
	w.counted()
}

// Somebody who is out of the group takes tasks over while records flow. Their owner takes them back, and counts again what it had
// counted in vain.
func TestFenceOfAStranger(t *testing.T) {
	w := newWorld(t)
	s := w.start("a")
	w.send(100)
	w.counted()
	writer, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	require.NoError(t, err)
	defer writer.Close()
	for epoch := 1000; epoch <= 5000; epoch += 1000 {
		for range 20 {
			w.producer.send(t.Context(), 50)
		}
		header := kgo.RecordHeader{Key: fence.HeaderFence, Value: fmt.Appendf(nil, "%d stranger", epoch)}
		r := &kgo.Record{Topic: w.changelog, Partition: 1, Key: header.Value, Value: header.Value, Headers: []kgo.RecordHeader{header}}
		require.NoError(t, writer.ProduceSync(t.Context(), r).FirstErr())
		w.send(200)
		require.Eventually(t, func() bool {
			force := s.follows(assignor.TaskID{Partition: 1}).log.InForce()
			return force.Epoch == int64(epoch)+1
		}, 10*time.Second, 10*time.Millisecond, "it takes the task back")
	}
	w.counted()
	w.close()
	w.start("b")
	w.counted()
}
