package franz_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	group      = "words"
	topic      = "lines"
	partitions = 8
	fullLag    = 100_000 // records that a copy which starts from nothing replays,
	replayTick = 100 * time.Millisecond
	perTick    = 10_000 // so that it takes a second

	// shortly is longer than any round takes, and much shorter than a heartbeat interval.
	shortly = 50 * time.Millisecond
)

// cluster is a broker with a topic, and the workers that consume it.
type cluster struct {
	*kfake.Cluster // nil: a real broker
	t              testing.TB
	addrs          []string
	groupID        string
	topic          string
	net            *kfake.VirtualNetwork // nil: TCP
	monitor        *monitor
	disks          map[string]*disk // by instance: they outlive the workers
	workers        []*worker
}

// disk is the state of an instance: how far each copy is behind.
type disk struct {
	mu     sync.Mutex
	lag    map[assignor.TaskID]int64
	frozen bool // nothing is replayed
}

func newCluster(tb testing.TB, network *kfake.VirtualNetwork, opts ...kfake.Opt) *cluster {
	tb.Helper()
	opts = append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic), kfake.GroupMinSessionTimeout(time.Second),
		kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}),
	}, opts...)
	if network != nil {
		opts = append(opts, kfake.ListenFn(network.Listen), kfake.Ports(9092))
	}
	fake, err := kfake.NewCluster(opts...)
	require.NoError(tb, err)
	return newClusterAt(tb, fake, network, fake.ListenAddrs(), "")
}

func newClusterAt(tb testing.TB, fake *kfake.Cluster, network *kfake.VirtualNetwork, addrs []string, suffix string) *cluster {
	tb.Helper()
	c := &cluster{
		Cluster: fake, t: tb, net: network, addrs: addrs, groupID: group + suffix, topic: topic + suffix,
		monitor: newMonitor(), disks: map[string]*disk{},
	}
	tb.Cleanup(c.shut)
	return c
}

// shut ends all workers, then the cluster.
func (c *cluster) shut() {
	for _, w := range c.workers {
		w.kill()
	}
	if c.Cluster != nil {
		c.Close()
	}
}

// observer counts.
type observer struct {
	franz.NopObserver
	w *worker
}

func (o observer) Trouble(franz.Trouble) { o.w.troubles.Add(1) }

func (o observer) Balanced(r franz.Round) {
	o.w.rounds.Add(1)
	o.w.record.Store(int32(r.Record))
	if r.Repeated {
		o.w.repeats.Add(1)
	}
	m := o.w.c.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds++
}

// leader returns the worker that leads.
func (c *cluster) leader() *worker {
	c.t.Helper()
	for _, w := range c.workers {
		if !w.dead.Load() && w.balancer.Leader() {
			return w
		}
	}
	c.t.Fatal("nobody leads")
	return nil
}

// follower returns a worker that does not lead.
func (c *cluster) follower() *worker {
	c.t.Helper()
	for _, w := range c.workers {
		if !w.dead.Load() && !w.balancer.Leader() {
			return w
		}
	}
	c.t.Fatal("nobody follows")
	return nil
}

// owned returns what a worker runs.
func (w *worker) owned() []assignor.TaskID { return w.balancer.State().Active }

// eventually waits until f holds.
func (c *cluster) eventually(within time.Duration, what string, f func() bool) {
	c.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); {
		if f() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.True(c.t, f(), "within %v: %s\n%s", within, what, c.rows())
}

// rows describes the workers.
func (c *cluster) rows() string {
	text := ""
	for _, w := range c.workers {
		if w.dead.Load() {
			continue
		}
		s := w.balancer.State()
		text += assignor.MemberAssignment{
			Member: w.name, Active: s.Active, Revoke: s.Revoking, Learners: copied(s.Learning), Standbys: copied(s.Standby),
		}.String() + " " + s.Trouble() + "\n"
	}
	return text
}

// balanced reports whether every task runs, each of n workers has its share and nobody learns.
func (c *cluster) balanced(n int) func() bool {
	return func() bool {
		all, each := c.monitor.running()
		if all != partitions || len(each) != n {
			return false
		}
		for _, w := range c.workers {
			if !w.dead.Load() && len(w.balancer.State().Learning) > 0 {
				return false
			}
		}
		for _, k := range each {
			if k < partitions/n || k > (partitions+n-1)/n {
				return false
			}
		}
		return true
	}
}

func (d *disk) set(task assignor.TaskID, lag int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lag[task] = lag
}

func contains(tasks []assignor.TaskID, task assignor.TaskID) bool {
	return slices.Contains(tasks, task)
}

// static makes a worker a static member.
func static(s *settings) { s.opts = append(s.opts, kgo.InstanceID(s.config.Instance)) }

// admin is a client outside of the group.
func (c *cluster) admin() *kgo.Client {
	c.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(c.addrs...), kgo.DisableClientMetrics()}
	if c.net != nil {
		opts = append(opts, kgo.Dialer(c.net.DialContext))
	}
	client, err := kgo.NewClient(opts...)
	require.NoError(c.t, err)
	return client
}

// lostSessions returns how often any worker lost its place.
func (c *cluster) lostSessions() int32 {
	n := int32(0)
	for _, w := range c.workers {
		n += w.lost.Load()
	}
	return n
}

func (c *cluster) createTopic(name string, parts int32) {
	c.t.Helper()
	require.True(c.t, c.tryCreateTopic(name, parts))
}

// tryCreateTopic reports whether the broker has made the topic: not as long as it is still deleting one of that name.
func (c *cluster) tryCreateTopic(name string, parts int32) bool {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	top := kmsg.NewCreateTopicsRequestTopic()
	top.Topic, top.NumPartitions, top.ReplicationFactor = name, parts, 1
	req.Topics = append(req.Topics, top)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode) == nil
}

func (c *cluster) growTopic(name string, parts int32) {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrCreatePartitionsRequest()
	top := kmsg.NewCreatePartitionsRequestTopic()
	top.Topic, top.Count = name, parts
	req.Topics = append(req.Topics, top)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	require.NoError(c.t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
}

// settled waits until n workers share the tasks, and checks that no task ever had two owners.
func (c *cluster) settled(within time.Duration, n int) {
	c.t.Helper()
	c.eventually(within, "the workers share the tasks", c.balanced(n))
	require.Empty(c.t, c.monitor.violated())
}

// group starts workers one after the other, each when those before it share the tasks.
func (c *cluster) group(names string, change ...func(*settings)) []*worker {
	c.t.Helper()
	var workers []*worker
	for i, name := range names {
		workers = append(workers, c.start(string(name), change...))
		c.settled(time.Minute, i+1)
	}
	c.monitor.reset()
	return workers
}

// shortly is how long a hand-over may pause a task.
func (c *cluster) shortly() time.Duration {
	if c.Cluster == nil {
		return 10 * shortly
	}
	return shortly
}

// onlyMoved checks that tasks that stayed where they were did not pause, and that the others did so shortly, and moved once.
func (c *cluster) onlyMoved(want int) {
	c.t.Helper()
	moved, most := c.monitor.moves()
	tasks, longest := c.monitor.pauses()
	assert.Equal(c.t, want, moved, "tasks that moved")
	assert.LessOrEqual(c.t, most, 1, "each once")
	assert.Len(c.t, tasks, moved, "only those paused: %v", tasks)
	assert.Less(c.t, longest, c.shortly())
}

func (c *cluster) deleteTopic(name string) {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	top := kmsg.NewDeleteTopicsRequestTopic()
	top.Topic = &name
	req.Topics, req.TopicNames = append(req.Topics, top), append(req.TopicNames, name)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	require.NoError(c.t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
}

// tasksOf returns the tasks of a subtopology that run, and on which worker.
func (m *monitor) tasksOf(sub int32) map[assignor.TaskID]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	tasks := map[assignor.TaskID]string{}
	for task, w := range m.owner {
		if task.Subtopology == sub {
			tasks[task] = w.name
		}
	}
	return tasks
}

func alive(c *cluster) (workers []*worker) {
	for _, w := range c.workers {
		if !w.dead.Load() {
			workers = append(workers, w)
		}
	}
	return workers
}

// everyTrouble reports whether each worker says that, in a trouble that lasts.
func everyTrouble(c *cluster, text string) func() bool {
	return func() bool {
		for _, w := range alive(c) {
			if !strings.Contains(w.balancer.State().Trouble(), text) {
				return false
			}
		}
		return true
	}
}

func quickMetadata(s *settings) {
	s.opts = append(s.opts, kgo.MetadataMaxAge(10*time.Second), kgo.MetadataMinAge(time.Second))
}

func everyTroubleOf(c *cluster, kind franz.TroubleKind) func() bool {
	return func() bool {
		for _, w := range alive(c) {
			if len(ofKind(lasting(w.balancer), kind)) > 0 {
				return true
			}
		}
		return false
	}
}

// withoutTopics checks that members run what they are assigned in a group whose budget has no room for the topics in Kafka's frames.
func (c *cluster) withoutTopics() {
	c.t.Helper()
	const many = 400
	name := c.topic + "-many"
	c.createTopic(name, many)
	for _, w := range "abc" {
		c.start(string(w), func(s *settings) {
			s.config.Topology = append(s.config.Topology, franz.Subtopology{ID: 1, Topics: []string{name}, Stateless: true})
			s.config.Budget = 2500
			s.opts = append(s.opts, kgo.ConsumeTopics(c.topic, name))
		})
	}
	shared := func(n int) func() bool {
		return func() bool {
			all, each := c.monitor.running()
			return all == partitions+many && len(each) == n && !slices.ContainsFunc(c.workers, func(w *worker) bool {
				return !w.dead.Load() && len(w.owned()) < (partitions+many)/n-1
			})
		}
	}
	c.eventually(time.Minute, "three share the tasks", shared(3))
	assert.Contains(c.t, c.leader().balancer.State().Trouble(), "Kafka's tools show none")
	for id, assigned := range c.described() {
		assert.Empty(c.t, assigned.Topics, id)
	}
	c.leader().close()
	c.eventually(time.Minute, "two share the tasks", shared(2))
	require.Empty(c.t, c.monitor.violated())
	assert.Zero(c.t, c.lostSessions())
}

// described returns what the coordinator says that the members are assigned.
func (c *cluster) described() map[string]kmsg.ConsumerMemberAssignment {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{c.groupID}
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	all := map[string]kmsg.ConsumerMemberAssignment{}
	for _, m := range resp.Groups[0].Members {
		var ka kmsg.ConsumerMemberAssignment
		require.NoError(c.t, ka.ReadFrom(m.MemberAssignment))
		all[m.MemberID] = ka
	}
	require.NotEmpty(c.t, all)
	return all
}
