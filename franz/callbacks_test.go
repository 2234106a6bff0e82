//go:build synctests

package franz_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// calls are the callbacks of a service in the order in which they come.
type calls struct {
	mu  sync.Mutex
	all []string
}

func (c *calls) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

// take returns the calls since the last take.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// first returns the first n of the calls since the last take, and forgets them all.
func (c *calls) first(n int) []string {
	all := c.take()
	return all[:min(n, len(all))]
}

// record notes the calls of every callback of a worker.
func (c *calls) record(s *settings) {
	change := s.config.OnChange
	s.config.OnChange = func(st franz.State) {
		change(st)
		c.add("change %d", len(st.Active))
	}
	note := func(what string) franz.PartitionsFunc {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			c.add("%s %d", what, len(partitions[topic]))
		}
	}
	s.config.OnAssigned, s.config.OnRevoked, s.config.OnLost = note("assigned"), note("revoked"), note("lost")
}

// What a session takes away has stopped when the service commits, and what it gives is known before records of it come; that goes
// for a member that leaves and for one that has lost its place too. A session that takes nothing away ends with nothing revoked.
func TestVirtualOrderOfCallbacks(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		var calls calls
		a := c.start("a", calls.record)
		c.settled(time.Minute, 1)
		assert.Equal(t, []string{"change 8", "assigned 8"}, calls.take())
		c.start("b")
		c.settled(time.Minute, 2)
		assert.Equal(t, []string{
			"revoked 0", "change 8", "assigned 0", // b learns
			"revoked 0", "change 4", "revoked 4", "assigned 0", // the hand-over
			"revoked 0", "change 4", "assigned 0", // b runs them
		}, calls.take())
		c.expel(a)
		c.eventually(time.Minute, "it has noticed", func() bool { return a.lost.Load() > 0 })
		time.Sleep(time.Millisecond)
		assert.Equal(t, []string{"change 0", "lost 4"}, calls.first(2))
		c.settled(time.Minute, 2)
		calls.take()
		owned := len(a.owned())
		a.client.Close()
		assert.Equal(t, []string{"change 0", fmt.Sprintf("revoked %d", owned)}, calls.first(2))
		assert.Empty(t, a.balancer.State().Active)
	})
}

// produce writes n records to each partition.
func (c *cluster) produce(n int) {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.net.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(c.t, err)
	defer client.Close()
	for i := range n * partitions {
		r := &kgo.Record{Topic: c.topic, Partition: int32(i % partitions), Value: fmt.Appendf(nil, "%d", i)}
		require.NoError(c.t, client.ProduceSync(c.t.Context(), r).FirstErr())
	}
}

// What stands in for kgo's commit commits after OnChange, and what the options of the client say has been processed: what OnChange
// still marks is in it.
func TestVirtualCommitAfterChange(t *testing.T) {
	for _, test := range []struct {
		name string
		opts []kgo.Opt
		want int64 // of the ten records of a partition
	}{
		{"marks", []kgo.Opt{kgo.AutoCommitMarks()}, 10},
		{"blocked polls", []kgo.Opt{kgo.BlockRebalanceOnPoll()}, 10},
		{"greedy", []kgo.Opt{kgo.GreedyAutoCommit()}, 10},
		{"plain", nil, -1},
		{"none", []kgo.Opt{kgo.DisableAutoCommit()}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.produce(10)
				var mu sync.Mutex
				var polled []*kgo.Record
				var a *worker
				a = c.start("a", func(s *settings) {
					s.opts = append(s.opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(time.Hour))
					s.opts = append(s.opts, test.opts...)
					change := s.config.OnChange
					s.config.OnChange = func(st franz.State) {
						mu.Lock() // it waits for what is being processed,
						defer mu.Unlock()
						change(st)
						if test.name == "marks" { // and says how far that is
							a.client.MarkCommitRecords(polled...)
						}
					}
				})
				for len(polled) < 10*partitions {
					fetches := a.client.PollFetches(t.Context())
					mu.Lock()
					polled = append(polled, fetches.Records()...)
					mu.Unlock()
					a.client.AllowRebalance()
				}
				b := c.start("b")
				c.settled(time.Minute, 2)
				for _, task := range b.owned() {
					assert.Equal(t, test.want, c.committed(task.Partition), "partition %d", task.Partition)
				}
				require.Len(t, b.owned(), partitions/2)
			})
		})
	}
}

// committed returns the group's committed offset of a partition, -1 for none.
func (c *cluster) committed(partition int32) int64 {
	if commit, ok := c.GroupInfo(c.groupID).Commits[c.topic][partition]; ok {
		return commit.Offset
	}
	return -1
}

// An OnChange that waits for a transaction to end does not wait for ever: a transaction session calls what is revoked with a lock that
// the end of a transaction takes.
func TestVirtualTransactionSession(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		var lost atomic.Int32
		transaction := make(chan struct{}, 1) // held from the beginning of a transaction to its end
		b, err := franz.New(franz.Config{
			Instance: "a", Topology: []franz.Subtopology{{Topics: []string{c.topic}}},
			OnChange: func(s franz.State) {
				if s.Lost {
					lost.Add(1)
				}
				transaction <- struct{}{}
				<-transaction
			},
		})
		require.NoError(t, err)
		session, err := kgo.NewGroupTransactSession(append([]kgo.Opt{
			kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.net.DialContext), kgo.ConsumerGroup(c.groupID), kgo.ConsumeTopics(c.topic),
			kgo.TransactionalID("a"), kgo.HeartbeatInterval(time.Second), kgo.DisableClientMetrics(),
		}, b.Opts()...)...)
		require.NoError(t, err)
		defer session.Close()
		c.eventually(time.Minute, "it runs all", func() bool { return len(b.State().Active) == partitions })
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() {
			for ctx.Err() == nil {
				transaction <- struct{}{}
				err := session.Begin()
				time.Sleep(3 * time.Second)
				_, ended := session.End(t.Context(), kgo.TryCommit)
				if err = errors.Join(err, ended); err != nil {
					t.Error(err)
				}
				<-transaction
				for _, task := range copied(b.State().Learning) {
					b.Progress(task, 0) // what it ran when it lost its place, replayed
				}
				time.Sleep(time.Millisecond)
			}
		})
		w := c.start("b")
		c.eventually(time.Minute, "b has its half", func() bool { return len(w.owned()) == partitions/2 && len(b.State().Active) == partitions/2 })
		member, _ := session.Client().GroupMetadata()
		c.expelMember(member)
		c.eventually(time.Minute, "it has noticed", func() bool { return b.State().Lost })
		c.eventually(time.Minute, "it is back", func() bool { return len(w.owned()) == partitions/2 && len(b.State().Active) == partitions/2 })
		assert.Positive(t, lost.Load(), "OnChange was told")
		cancel()
		loop.Wait()
		assert.False(t, slices.ContainsFunc(b.State().Troubles, func(t franz.Trouble) bool { return t.Kind == franz.TroubleConfig }),
			"its callbacks around those of Opts are in order: %s", b.State().Trouble())
	})
}

// Every member's time in OnChange is part of everybody's hand-over: a task that has stopped starts in the next round, and a round
// waits for all.
func TestVirtualSlowOnChange(t *testing.T) {
	const slow = 700 * time.Millisecond
	bubble(t, func(c *cluster) {
		t := c.t
		quick := c.start("a")
		c.settled(time.Minute, 1)
		c.start("b", func(s *settings) {
			change := s.config.OnChange
			s.config.OnChange = func(st franz.State) {
				time.Sleep(slow)
				change(st)
			}
		})
		c.settled(time.Minute, 2)
		c.monitor.reset()
		before := quick.owned()
		c.start("c")
		c.settled(time.Minute, 3)
		moved := 0
		for _, task := range c.movedTasks() {
			if contains(before, task) { // from one that is quick to one that is
				moved++
				assert.InDelta(t, slow, c.monitor.paused[task], float64(shortly))
			}
		}
		assert.Positive(t, moved)
	})
}
