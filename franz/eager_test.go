package franz_test

import (
	"context"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// plain starts a member that is a client of kgo's own, without this balancer.
func (c *cluster) plain(name string, balancers ...kgo.GroupBalancer) *worker {
	c.t.Helper()
	w := &worker{c: c, name: name, runs: map[assignor.TaskID]bool{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	set := func(runs bool) franz.PartitionsFunc {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, p := range partitions[c.topic] {
				task := assignor.TaskID{Partition: p}
				switch {
				case w.dead.Load():
				case runs:
					w.runs[task] = true
					c.monitor.start(task, w)
				default:
					delete(w.runs, task)
					c.monitor.stop(task, w)
				}
			}
		}
	}
	var err error
	w.balancer, err = franz.New(franz.Config{Instance: name, Topology: []franz.Subtopology{{Topics: []string{c.topic}}}}) // unused
	require.NoError(c.t, err)
	w.client, err = kgo.NewClient(
		kgo.SeedBrokers(c.addrs...), kgo.Dialer(w.dial), kgo.ConsumerGroup(c.groupID), kgo.ConsumeTopics(c.topic),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second), kgo.RebalanceTimeout(2*time.Second), kgo.DisableClientMetrics(),
		kgo.Balancers(balancers...),
		kgo.OnPartitionsAssigned(set(true)), kgo.OnPartitionsRevoked(set(false)), kgo.OnPartitionsLost(set(false)),
	)
	require.NoError(c.t, err)
	c.workers = append(c.workers, w)
	return w
}

// migrateFromEager takes a group from an eager balancer to this one, over cooperative-sticky: kgo changes over by itself when all
// members offer it, and then the group is one that has this balancer's fallback. No two members run a task at any time.
func (c *cluster) migrateFromEager() {
	c.t.Helper()
	eager, sticky := kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()
	workers := []*worker{c.plain("a", eager), c.plain("b", eager)}
	c.settled(time.Minute, 2)
	assert.Equal(c.t, eager.ProtocolName(), c.protocol())
	for _, step := range []struct {
		start    func(name string) *worker
		protocol string
	}{
		{func(name string) *worker { return c.plain(name, sticky, eager) }, sticky.ProtocolName()},
		{func(name string) *worker {
			return c.start(name, func(s *settings) { s.config.Fallback = []kgo.GroupBalancer{sticky} })
		}, franz.Protocol},
		{func(name string) *worker { return c.start(name) }, franz.Protocol},
	} {
		for i, w := range workers {
			w.close()
			c.settled(time.Minute, 1)
			workers[i] = step.start(w.name)
			c.settled(time.Minute, 2)
		}
		assert.Equal(c.t, step.protocol, c.protocol())
	}
}

// protocol returns the name of the balancer that the group has agreed on.
func (c *cluster) protocol() string {
	c.t.Helper()
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{c.groupID}
	admin := c.admin()
	defer admin.Close()
	resp, err := describe.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	return resp.Groups[0].Protocol
}
