package fence_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz/fence"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is a broker with a changelog of one partition.
type cluster struct {
	t     *testing.T
	fake  *kfake.Cluster // nil: a real broker
	addrs []string
	topic string
}

func newFake(t *testing.T) *cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, addrs: fake.ListenAddrs(), topic: "log"}
	c.create(map[string]string{"cleanup.policy": "compact"})
	return c
}

func (c *cluster) create(configs map[string]string) {
	c.t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = c.topic, 1, 1
	for name, value := range configs {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: name, Value: kmsg.StringPtr(value)})
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(c.t.Context(), c.client())
	require.NoError(c.t, err)
	require.NoError(c.t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
}

func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.DisableClientMetrics(),
		kgo.FetchMaxWait(50 * time.Millisecond),
	}, opts...)...)
	require.NoError(c.t, err)
	c.t.Cleanup(client.Close)
	return client
}

// node is a process: a store, the changelog that it is replayed from, and a client to write with.
type node struct {
	*cluster
	name   string
	log    *fence.Changelog
	writer *kgo.Client

	mu    sync.Mutex
	state map[string]string
	errs  []error
}

// node starts one, with a replay that goes on until the test ends.
func (c *cluster) node(name string) *node {
	c.t.Helper()
	n := &node{cluster: c, name: name, log: fence.NewChangelog(c.topic, 0, fence.Checkpoint{}), writer: c.client(), state: map[string]string{}}
	reader := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.topic: {0: kgo.NewOffset().AtStart()}}))
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			reader.PollFetches(ctx).EachRecord(n.replay)
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		<-done
	})
	return n
}

func (n *node) replay(r *kgo.Record) {
	v, err := n.log.Replay(r)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.errs = append(n.errs, err)
	}
	if v == fence.Apply {
		n.put(r)
	}
}

func (n *node) put(r *kgo.Record) {
	if r.Value == nil {
		delete(n.state, string(r.Key))
		return
	}
	n.state[string(r.Key)] = string(r.Value)
}

func (n *node) takeOver() *fence.Tenure {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Second)
	defer cancel()
	tenure, err := n.log.TakeOver(ctx, n.writer, n.name)
	require.NoError(n.t, err)
	return tenure
}

// set makes a change under a tenure; an empty value removes the key.
func (n *node) set(tenure *fence.Tenure, key, value string) {
	n.t.Helper()
	r := &kgo.Record{Key: []byte(key)}
	if value != "" {
		r.Value = []byte(value)
	}
	require.NoError(n.t, tenure.Stamp(r))
	n.mu.Lock()
	n.put(r)
	n.mu.Unlock()
	n.write(r)
}

func (n *node) write(records ...*kgo.Record) {
	n.t.Helper()
	require.NoError(n.t, n.writer.ProduceSync(n.t.Context(), records...).FirstErr())
}

// mend writes what is to be mended until there is nothing left.
func (n *node) mend(tenure *fence.Tenure) {
	n.t.Helper()
	n.eventually("mended", func() bool {
		n.write(tenure.Mend(func(key []byte) []byte {
			n.mu.Lock()
			defer n.mu.Unlock()
			if value, ok := n.state[string(key)]; ok {
				return []byte(value)
			}
			return nil
		})...)
		at := n.log.Checkpoint()
		return len(at.Void) == 0 && len(at.Old) == 0
	})
}

func (c *cluster) eventually(what string, f func() bool) {
	c.t.Helper()
	require.Eventually(c.t, f, 20*time.Second, 5*time.Millisecond, what)
}

// has waits until the state is what rows say.
func (n *node) has(rows string) {
	n.t.Helper()
	var got string
	defer func() { assert.Equal(n.t, rows, got, n.name) }()
	n.eventually(n.name+" has "+rows, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		var all []string
		for key, value := range n.state {
			all = append(all, key+"="+value)
		}
		slices.Sort(all)
		got = strings.Join(all, " ")
		return got == rows
	})
}

// One owner after the other, the first of which goes on: nobody else believes it, and it learns what its store is worth.
func TestTakeOver(t *testing.T) {
	takeOver(newFake(t))
}

func takeOver(c *cluster) {
	a, b, copied := c.node("a"), c.node("b"), c.node("c")
	c.direct(a, "before=1") // from before there were fences
	first := a.takeOver()
	a.has("before=1")
	assert.Equal(c.t, int64(1), first.Epoch)
	a.set(first, "k", "1")
	a.set(first, "gone", "1")
	a.set(first, "gone", "")
	require.NoError(c.t, first.Settle(c.t.Context()))
	assert.False(c.t, a.log.Checkpoint().Dirty)
	late := &kgo.Record{Key: []byte("k"), Value: []byte("9")}
	require.NoError(c.t, first.Stamp(late))

	second := b.takeOver()
	assert.Greater(c.t, second.Epoch, first.Epoch)
	b.has("before=1 k=1")
	a.write(late)
	c.direct(a, "before=9")
	b.set(second, "m", "1")
	<-first.Lost()
	require.ErrorIs(c.t, first.Settle(c.t.Context()), fence.ErrSpoilt)
	_, err := a.log.TakeOver(c.t.Context(), a.writer, "a")
	require.ErrorIs(c.t, err, fence.ErrSpoilt)
	b.mend(second)
	require.NoError(c.t, second.Settle(c.t.Context()))
	copied.has("before=1 k=1 m=1")
	c.node("late").has("before=1 k=1 m=1")
}

// direct writes a change without a header.
func (c *cluster) direct(n *node, change string) {
	key, value, _ := strings.Cut(change, "=")
	n.write(&kgo.Record{Topic: c.topic, Key: []byte(key), Value: []byte(value)})
}

// Many take over at once, for as long as any of them does not hold: in the end exactly one does, and all agree which.
func TestManyAtOnce(t *testing.T) {
	manyAtOnce(newFake(t))
}

func manyAtOnce(c *cluster) {
	var nodes []*node
	for i := range 5 {
		nodes = append(nodes, c.node(fmt.Sprint("n", i)))
	}
	tenures := make([]*fence.Tenure, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() { tenures[i], _ = n.log.TakeOver(c.t.Context(), n.writer, "the same name") })
	}
	group.Wait()
	best := slices.MaxFunc(tenures, func(a, b *fence.Tenure) int { return int(a.Epoch - b.Epoch) })
	writers := map[string]bool{}
	for i, tenure := range tenures {
		writers[tenure.Writer] = true
		c.eventually("all agree", func() bool { return nodes[i].log.InForce() == best.Fence })
		if tenure != best {
			<-tenure.Lost()
		}
	}
	assert.Len(c.t, writers, len(nodes), "each take-over is a writer of its own")
	require.NoError(c.t, best.Stamp(&kgo.Record{}))
}

// A fence that the broker refuses once, or five times, or of which only the answer is lost.
func TestFenceWriteFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		failing int32
		want    string
	}{
		{"once", 1, ""},
		{"four times", 4, ""},
		{"always", 1000, "no fence can be written to log[0]: MESSAGE_TOO_LARGE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newFake(t)
			a := c.node("a")
			var failed atomic.Int32
			c.fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.fake.KeepControl()
				if failed.Add(1) > test.failing {
					return nil, nil, false
				}
				return refused(req.(*kmsg.ProduceRequest)), nil, true
			})
			tenure, err := a.log.TakeOver(t.Context(), a.writer, "a")
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				assert.Equal(t, int32(5), failed.Load())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, int64(test.failing)+1, tenure.Epoch, "each attempt has an epoch of its own")
			a.set(tenure, "k", "1")
			c.node("b").has("k=1")
		})
	}
}

// refused answers that the record is too large, which kgo does not try again.
func refused(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, rt := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition, partition.ErrorCode = rp.Partition, kerr.MessageTooLarge.Code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// silent makes connections on which no answer arrives for a while.
type silent struct {
	mu   sync.Mutex
	wait chan struct{}
}

func (s *silent) withhold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wait == nil {
		s.wait = make(chan struct{})
	}
}

func (s *silent) release() { close(s.waits()) }

func (s *silent) waits() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait
}

func (s *silent) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	return &silentConn{conn, s}, err
}

type silentConn struct {
	net.Conn
	silent *silent
}

func (c *silentConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if wait := c.silent.waits(); wait != nil {
		<-wait
	}
	return n, err
}

// The caller gives up, since it hears nothing of its fence. It has arrived and takes the task from the owner, which hears of it and takes over
// again; nobody writes under it.
func TestFenceArrivesAfterAll(t *testing.T) {
	c := newFake(t)
	a, b := c.node("a"), c.node("b")
	first := a.takeOver()
	a.set(first, "k", "1")
	require.NoError(t, first.Settle(t.Context()))

	b.has("k=1") // so that its first fence is high enough

	var wire silent
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		wire.withhold()
		return nil, nil, false
	})
	b.writer = c.client(kgo.Dialer(wire.dial))
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := b.log.TakeOver(ctx, b.writer, "b")
		gaveUp <- err
	}()
	<-first.Lost()
	cancel()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	wire.release()
	assert.Equal(t, "b", strings.Split(a.log.InForce().Writer, ".")[0])
	again := a.takeOver()
	a.set(again, "m", "1")
	require.NoError(t, again.Settle(t.Context()))
	b.has("k=1 m=1")
}

// A client that would fence off other tasks, or write twice, is refused before it has written anything.
func TestUnsuitableClients(t *testing.T) {
	c := newFake(t)
	a := c.node("a")
	for _, p := range []kgo.Partitioner{kgo.StickyKeyPartitioner(nil), kgo.RoundRobinPartitioner(), kgo.UniformBytesPartitioner(1000, true, true, nil)} {
		_, err := a.log.TakeOver(t.Context(), c.client(kgo.RecordPartitioner(p)), "a")
		require.ErrorContains(t, err, "kgo.ManualPartitioner()")
	}
	_, err := a.log.TakeOver(t.Context(), c.client(kgo.DisableIdempotentWrite()), "a")
	require.ErrorContains(t, err, "kgo.DisableIdempotentWrite")
	a.has("")
	assert.Zero(t, a.log.Next())
}

// Compaction removes older fences and the changes under them; what is left is judged as before. Of a key that a zombie has written
// last, only the mended record saves the value.
func TestCompaction(t *testing.T) {
	c := newFake(t)
	compaction(c, func() { c.fake.Compact() })
}

// compaction lets two owners and a zombie write, mends, compacts, and reads from the start.
func compaction(c *cluster, compact func()) {
	a, b := c.node("a"), c.node("b")
	first := a.takeOver()
	for i := range 10 {
		a.set(first, "k", fmt.Sprint(i))
	}
	a.set(first, "cold", "1")
	a.set(first, "gone", "1")
	late := &kgo.Record{Key: []byte("k"), Value: []byte("zombie")}
	require.NoError(c.t, first.Stamp(late))
	second := b.takeOver()
	b.set(second, "gone", "")
	a.write(late)
	c.eventually("b has read what is void", func() bool { return len(b.log.Checkpoint().Void) == 1 })
	b.mend(second)
	third := b.takeOver()
	b.set(third, "m", "1")
	b.mend(third)
	require.NoError(c.t, third.Settle(c.t.Context()))
	compact()
	reader := c.node("reader")
	reader.has("cold=1 k=9 m=1")
	c.eventually("everything is read", func() bool { return reader.log.Next() >= b.log.Next()-1 })
	assert.Equal(c.t, third.Fence, reader.log.InForce())
	assert.Empty(c.t, reader.errs)
}
