package franz_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests on a real broker. testdata/kafka/broker.sh starts one and says where:
//
//	bash franz/testdata/kafka/broker.sh go test -count 1 -run Broker ./franz

// realCluster returns a cluster on the real broker, with a topic and a group of its own.
func realCluster(t *testing.T) *cluster {
	t.Helper()
	brokers := os.Getenv("KAFKA_BROKERS")
	if brokers == "" {
		t.Skip("no real broker: run testdata/kafka/broker.sh, which needs Java and Maven, or set KAFKA_BROKERS")
	}
	suffix := fmt.Sprintf("-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	c := newClusterAt(t, nil, nil, []string{brokers}, suffix)
	c.createTopic(c.topic, partitions)
	return c
}

func TestBrokerScaleAndDrain(t *testing.T) {
	c := realCluster(t)
	c.group("ab")
	c.start("c")
	c.settled(30*time.Second, 3)
	c.onlyMoved(2)
	c.monitor.reset()
	w := c.follower()
	owned := len(w.owned())
	require.NoError(t, w.balancer.Drain(t.Context()))
	c.settled(30*time.Second, 2)
	c.onlyMoved(owned)
}

// number returns the generation that the group is in, as a member knows it.
func (w *worker) number() int32 {
	_, n := w.client.GroupMetadata()
	return n
}

// A static member that restarts gets its assignment back without a round; it knows so whether it leads or not.
func TestBrokerStaticRestart(t *testing.T) {
	c := realCluster(t)
	c.group("abc", static)
	for _, w := range []*worker{c.leader(), c.follower()} {
		led := w.balancer.Leader()
		other := c.workers[slices.IndexFunc(c.workers, func(o *worker) bool { return o != w && !o.dead.Load() })]
		owned, number := w.owned(), other.number()
		w.close()
		again := c.start(w.name, static)
		c.settled(30*time.Second, 3)
		time.Sleep(3 * time.Second) // a round that is not to come cannot be waited for
		assert.Equal(t, owned, again.owned())
		assert.Equal(t, number, other.number(), "without a round")
		assert.Equal(t, led, again.balancer.Leader())
	}
}

// When the leader of a static group restarts last, the others have ids that it has never seen. It calls for no round all the same.
func TestBrokerStaticRollingRestart(t *testing.T) {
	c := realCluster(t)
	c.group("abc", static)
	leader := c.leader()
	number := leader.number()
	restart := func(w *worker) *worker {
		w.close()
		again := c.start(w.name, static)
		c.settled(30*time.Second, 3)
		return again
	}
	for _, w := range c.workers[:3] {
		if w != leader {
			restart(w)
		}
	}
	again := restart(leader)
	time.Sleep(3 * time.Second) // a round that is not to come cannot be waited for
	assert.Equal(t, number, again.number(), "without a round")
	assert.True(t, again.balancer.Leader())
}

// A static leader that restarts without its state is given its tasks back, and sees that standbys should have them.
func TestBrokerStaticLeaderWithoutState(t *testing.T) {
	c := realCluster(t)
	standby := func(s *settings) { s.config.Assignor.Standbys = 1 }
	c.group("abc", static, standby)
	time.Sleep(3 * time.Second) // until the standbys have caught up
	w := c.leader()
	owned := w.owned()
	w.close()
	clear(c.disks[w.name].lag)
	c.disks[w.name].frozen = true
	again := c.start(w.name, static, standby)
	c.eventually(30*time.Second, "others have taken over", func() bool {
		return again.sessions.Load() > 0 && !slices.ContainsFunc(again.owned(), func(task assignor.TaskID) bool { return contains(owned, task) })
	})
	require.Empty(t, c.monitor.violated())
}

func TestBrokerStaticDrain(t *testing.T) {
	c := realCluster(t)
	workers := c.group("ab", static)
	require.NoError(t, workers[0].balancer.Drain(t.Context()))
	c.settled(10*time.Second, 1)
	c.onlyMoved(partitions / 2)
}

func TestBrokerMigration(t *testing.T) {
	c := realCluster(t)
	both := func(s *settings) { s.config.Fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()} }
	onlySticky := func(s *settings) { s.sticky = true; both(s) }
	workers := []*worker{c.start("a", onlySticky), c.start("b", onlySticky)}
	c.settled(30*time.Second, 2)
	for _, how := range []func(*settings){both, func(*settings) {}} {
		for i, w := range workers {
			w.close()
			c.settled(30*time.Second, 1)
			workers[i] = c.start(w.name, how)
			c.settled(30*time.Second, 2)
		}
	}
	admin := c.admin()
	defer admin.Close()
	members, _, err := franz.Describe(t.Context(), admin, c.groupID)
	require.NoError(t, err)
	assert.Len(t, members, 2)
}

func TestBrokerMigrationFromEager(t *testing.T) { realCluster(t).migrateFromEager() }

// Kafka's own command-line tool reads the group: its protocol, its members and who owns what.
func TestBrokerConsumerGroupsTool(t *testing.T) {
	c := realCluster(t)
	if os.Getenv("KAFKA_CLASSPATH") == "" {
		t.Skip("no Kafka tools: KAFKA_CLASSPATH is not set")
	}
	c.group("ab", static)
	assert.Contains(t, c.tool("--state"), franz.Protocol)
	members := c.tool("--members", "--verbose")
	for _, w := range c.workers {
		line := lineWith(members, " "+w.name+" ")
		assert.Contains(t, line, c.topic)
		for _, task := range w.owned() {
			assert.Regexp(t, fmt.Sprintf(`[:,]%d[, ]`, task.Partition), line)
		}
	}
}

// tool returns what Kafka's command-line tool says of the group.
func (c *cluster) tool(args ...string) string {
	c.t.Helper()
	args = append([]string{
		"-cp", os.Getenv("KAFKA_CLASSPATH"), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", c.addrs[0], "--describe", "--group", c.groupID,
	}, args...)
	out, err := exec.CommandContext(c.t.Context(), "java", args...).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	return string(out)
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// A topic that is deleted freezes its own subtopology: every member says so, and the tasks of others fail over and are shared with
// newcomers. It is over when the topic is back.
func TestBrokerDeletedTopic(t *testing.T) {
	c := realCluster(t)
	left, right := c.topic+"-left", c.topic+"-right"
	c.createTopic(left, 4)
	c.createTopic(right, 4)
	both := func(s *settings) {
		s.config.Topology = []franz.Subtopology{{ID: 0, Topics: []string{c.topic}}, {ID: 1, Topics: []string{left, right}}}
		s.opts = append(s.opts, kgo.ConsumeTopics(c.topic, left, right), kgo.MetadataMaxAge(2*time.Second), kgo.MetadataMinAge(time.Second))
	}
	for _, name := range "abc" {
		c.start(string(name), both)
	}
	c.eventually(time.Minute, "all tasks run", func() bool { return len(c.monitor.tasksOf(0))+len(c.monitor.tasksOf(1)) == partitions+4 })
	time.Sleep(5 * time.Second) // until the group is at rest
	c.deleteTopic(right)
	time.Sleep(5 * time.Second) // the clients' metadata, of which nobody is told
	victim, before := c.follower(), c.monitor.tasksOf(1)
	victim.kill()
	c.eventually(time.Minute, "the others take over", func() bool { return len(c.monitor.tasksOf(0)) == partitions })
	c.eventually(time.Minute, "everybody says so", everyTrouble(c, "no metadata of "+right))
	if os.Getenv("KAFKA_CLASSPATH") != "" {
		assert.Contains(t, c.tool("--members", "--verbose"), c.topic+":", "it overlooks what the leader says of the topic")
	}
	newcomer := c.start("d", both)
	c.eventually(time.Minute, "a newcomer gets its share", func() bool { return len(newcomer.owned()) >= partitions/3 })
	c.eventually(time.Minute, "it says so too", everyTrouble(c, "no metadata of "+right))
	after := c.monitor.tasksOf(1)
	for task, name := range before {
		if name != victim.name {
			assert.Equal(t, name, after[task], "%s stays where it is", task)
		}
	}
	c.createTopic(right, 4)
	c.eventually(2*time.Minute, "all tasks run again", func() bool { return len(c.monitor.tasksOf(1)) == 4 })
	c.eventually(time.Minute, "it is over", func() bool { return !everyTroubleOf(c, franz.TroubleTopics)() })
	require.Empty(t, c.monitor.violated())
}

// A topic that is created anew with fewer partitions loses the tasks of those that are gone, and a drain does not pass them on.
func TestBrokerRecreatedSmaller(t *testing.T) {
	c := realCluster(t)
	quick := func(s *settings) {
		s.opts = append(s.opts, kgo.MetadataMaxAge(2*time.Second), kgo.MetadataMinAge(time.Second))
	}
	c.group("abc", quick)
	c.deleteTopic(c.topic)
	c.eventually(30*time.Second, "the broker has deleted it", func() bool { return c.tryCreateTopic(c.topic, partitions/2) })
	time.Sleep(5 * time.Second) // the clients' metadata, of which nobody is told
	c.follower().client.ForceRebalance()
	c.eventually(time.Minute, "the others are gone", func() bool { return len(c.monitor.tasksOf(0)) == partitions/2 })
	for _, w := range slices.Clone(c.workers) { // kgo reads a topic of another id only from a new client
		w.close()
		c.start(w.name, quick)
		c.eventually(time.Minute, "all tasks run", func() bool { return len(c.monitor.tasksOf(0)) == partitions/2 })
	}
	require.NoError(t, c.follower().balancer.Drain(t.Context()))
	c.eventually(time.Minute, "all tasks run", func() bool { return len(c.monitor.tasksOf(0)) == partitions/2 })
	require.Empty(t, c.monitor.violated())
}

// A record of the group that is too large for the broker would throw everybody out. Within the budget it is not written: nothing
// stops, and the trouble is told.
func TestBrokerRecordTooLarge(t *testing.T) {
	c := realCluster(t)
	const limit = 4000
	budget := func(s *settings) { s.config.Budget = limit - 1500 }
	c.group("ab", budget) // the first group of a broker makes the topic that has the limit
	c.limitRecords(limit)
	defer c.limitRecords(1 << 20)
	for i := range 6 {
		c.start(fmt.Sprint("w", i), budget)
	}
	c.eventually(30*time.Second, "the leader has noticed", func() bool {
		return strings.Contains(c.leader().balancer.State().Trouble(), "too large")
	})
	require.Empty(t, c.monitor.violated())
	assert.Zero(t, c.lostSessions())
	all, _ := c.monitor.running()
	assert.Equal(t, partitions, all)
	c.onlyMoved(len(c.movedTasks()))
}

// A broker that takes smaller records than the budget throws everybody out, again and again. Each member says what to set, and when
// it is set the group goes on.
func TestBrokerRefusesTheRecord(t *testing.T) {
	const limit = 1000
	for name, set := range map[string]func(c *cluster, size int){
		"max.message.bytes of the topic":  (*cluster).limitRecords,
		"message.max.bytes of the broker": (*cluster).limitBroker,
	} {
		t.Run(name, func(t *testing.T) {
			c := realCluster(t)
			c.group("ab") // the first group of a broker makes the topic that has the limit
			set(c, limit)
			defer set(c, 1<<20)
			c.start("c")
			c.eventually(60*time.Second, "all know why", func() bool {
				return !slices.ContainsFunc(c.workers, func(w *worker) bool {
					trouble := w.balancer.State().Trouble()
					return !strings.Contains(trouble, kerr.UnknownServerError.Message) || !strings.Contains(trouble, "Config.Budget, now 900000 bytes") ||
						!strings.Contains(trouble, "message.max.bytes")
				})
			})
			set(c, 1<<20)
			c.settled(60*time.Second, 3)
			assert.NotContains(t, c.leader().balancer.State().Trouble(), "message.max.bytes", "it is over")
		})
	}
}

// Kafka's own tool copes with members whose assignments name no topics: it shows none.
func TestBrokerWithoutTopics(t *testing.T) {
	c := realCluster(t)
	c.withoutTopics()
	if os.Getenv("KAFKA_CLASSPATH") == "" {
		t.Skip("no Kafka tools: KAFKA_CLASSPATH is not set")
	}
	members := c.tool("--members", "--verbose")
	for _, w := range c.workers {
		id, _ := w.client.GroupMetadata()
		if line := lineWith(members, id); !w.dead.Load() {
			assert.NotEmpty(t, line)
			assert.NotContains(t, line, c.topic+"(")
			assert.NotContains(t, line, c.topic+":")
		}
	}
}

// What the broker writes down of a group is at most what the leader counts, and not much less.
func TestBrokerRecordIsAsCounted(t *testing.T) {
	c := realCluster(t)
	c.group("abc", static)
	c.start("d") // not static
	c.settled(30*time.Second, 4)
	counted := int(c.leader().record.Load())
	written := c.groupRecord()
	t.Logf("%d bytes counted, %d written", counted, written)
	assert.LessOrEqual(t, written, counted)
	assert.Less(t, counted-written, 4*100)
}

// groupRecord returns the size of the last record of the group, which has its key in it.
func (c *cluster) groupRecord() (size int) {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.addrs...), kgo.ConsumeTopics("__consumer_offsets"), kgo.DisableClientMetrics(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(c.t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			var key kmsg.GroupMetadataKey
			if key.ReadFrom(r.Key) == nil && key.Version == 2 && key.Group == c.groupID {
				size = len(r.Key) + len(r.Value)
			}
		})
	}
	require.Positive(c.t, size)
	return size
}

// limitRecords sets the largest record that the broker stores of a group.
func (c *cluster) limitRecords(size int) {
	c.t.Helper()
	c.configure(kmsg.ConfigResourceTypeTopic, "__consumer_offsets", "max.message.bytes", size)
}

// limitBroker sets the largest record that the broker stores in any topic that has no limit of its own.
func (c *cluster) limitBroker(size int) {
	c.t.Helper()
	c.configure(kmsg.ConfigResourceTypeTopic, "__consumer_offsets", "max.message.bytes", -1)
	c.configure(kmsg.ConfigResourceTypeBroker, "", "message.max.bytes", size)
}

// configure sets a number of a topic, or of all brokers; -1 takes back what was set.
func (c *cluster) configure(what kmsg.ConfigResourceType, resourceName, name string, n int) {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = what, resourceName
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = name, kmsg.StringPtr(fmt.Sprint(n))
	if n < 0 {
		config.Op, config.Value = kmsg.IncrementalAlterConfigOpDelete, nil
	}
	resource.Configs = append(resource.Configs, config)
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	require.NoError(c.t, kerr.ErrorForCode(resp.Resources[0].ErrorCode))
}

// A member process that is killed is noticed after its session, and its tasks go to a standby.
func TestBrokerKilledProcess(t *testing.T) {
	c := realCluster(t)
	standby := func(s *settings) { s.config.Assignor.Standbys = 1 }
	a := c.start("a", standby)
	c.settled(30*time.Second, 1)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMemberProcess$")
	child.Env = append(os.Environ(), "FRANZ_MEMBER_GROUP="+c.groupID, "FRANZ_MEMBER_TOPIC="+c.topic)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "runs 4 tasks") {
		t.Log(lines.Text())
	}
	c.eventually(30*time.Second, "a has handed half over", func() bool { return len(a.owned()) == partitions/2 })
	time.Sleep(3 * time.Second) // until the standbys have caught up
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	killed := time.Now()
	c.settled(30*time.Second, 1)
	t.Logf("a runs everything %v after the kill", time.Since(killed).Round(time.Millisecond))
	assert.Less(t, time.Since(killed), 12*time.Second)
}

// TestMemberProcess is a member in a process of its own, for TestBrokerKilledProcess.
func TestMemberProcess(t *testing.T) {
	if os.Getenv("FRANZ_MEMBER_GROUP") == "" {
		t.Skip("not a test of its own")
	}
	c := newClusterAt(t, nil, nil, []string{os.Getenv("KAFKA_BROKERS")}, "")
	c.groupID, c.topic = os.Getenv("FRANZ_MEMBER_GROUP"), os.Getenv("FRANZ_MEMBER_TOPIC")
	w := c.start("child", func(s *settings) { s.config.Assignor.Standbys = 1 })
	c.eventually(30*time.Second, "it runs its half", func() bool { return len(w.owned()) == partitions/2 })
	fmt.Println("it runs 4 tasks")
	time.Sleep(time.Minute)
}
