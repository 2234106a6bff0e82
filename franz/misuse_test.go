//go:build synctests

package franz_test

import (
	"context"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What a service gets wrong silently: whatever the Balancer can see of it is among its troubles within a minute, and is over when it
// is.
func TestVirtualMisuse(t *testing.T) {
	ignored := func(context.Context, *kgo.Client, map[string][]int32) {}
	for _, test := range []struct {
		name  string
		kind  franz.TroubleKind
		text  string
		wrong func(*settings)
	}{
		{"own balancers", franz.TroubleConfig, "kgo.Balancers after Opts", func(s *settings) {
			s.late = []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}
		}},
		{"own callback when assigned", franz.TroubleConfig, "kgo.OnPartitionsAssigned after Opts", func(s *settings) {
			s.late = []kgo.Opt{kgo.OnPartitionsAssigned(ignored)}
		}},
		{"own callback when lost", franz.TroubleConfig, "kgo.OnPartitionsLost after Opts", func(s *settings) {
			s.late = []kgo.Opt{kgo.OnPartitionsLost(ignored)}
		}},
		{"own callback when revoked", franz.TroubleConfig, "kgo.OnPartitionsRevoked after Opts", func(s *settings) {
			s.late = []kgo.Opt{kgo.OnPartitionsRevoked(ignored)}
		}},
		{"a topic that is not consumed", franz.TroubleConfig, "does not consume extra of Topology", func(s *settings) {
			s.config.Topology = append(s.config.Topology, franz.Subtopology{ID: 1, Topics: []string{"extra"}})
		}},
		{"a topic in no subtopology", franz.TroubleConfig, "the client consumes extra, which no", func(s *settings) {
			s.opts = append(s.opts, kgo.ConsumeTopics(topic, "extra"))
		}},
		{"an expression that matches more", franz.TroubleConfig, "the client consumes extra, which no", func(s *settings) {
			s.opts = append(s.opts, kgo.ConsumeRegex(), kgo.ConsumeTopics(topic, "ext.*"))
		}},
		{"a topic that does not exist", franz.TroubleJoin, "has not asked to join the group for 1m0s", func(s *settings) {
			s.config.Topology = []franz.Subtopology{{Topics: []string{"nowhere"}}}
			s.opts = append(s.opts, kgo.ConsumeTopics("nowhere"))
		}},
		{"all is well", "", "", func(*settings) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.createTopic("extra", 2)
				w := c.start("a", func(s *settings) {
					test.wrong(s)
				})
				time.Sleep(patience + time.Second)
				lasts := lasting(w.balancer)
				if test.kind == "" {
					require.Empty(t, lasts)
					return
				}
				require.NotEmpty(t, ofKind(lasts, test.kind))
				assert.Contains(t, w.balancer.State().Trouble(), test.text)
				told := w.troubles.Load()
				for range 5 {
					w.client.ForceRebalance()
					time.Sleep(2 * time.Minute)
				}
				assert.Equal(t, told, w.troubles.Load(), "it is told once, not in every round")
			})
		})
	}
}

// patience is franz's: how long it waits before it complains.
const patience = time.Minute

// A topic that is made later ends the trouble of a member that could not join without it.
func TestVirtualJoinsLate(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.start("a", func(s *settings) {
			s.config.Topology = []franz.Subtopology{{Topics: []string{"later"}}}
			s.opts = []kgo.Opt{
				kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.net.DialContext), kgo.ConsumerGroup(c.groupID), kgo.ConsumeTopics("later"),
				kgo.DisableClientMetrics(),
			}
		})
		time.Sleep(2 * patience)
		require.Len(t, ofKind(lasting(w.balancer), franz.TroubleJoin), 1)
		c.createTopic("later", 4)
		c.eventually(10*time.Minute, "it runs all", func() bool { return len(w.owned()) == 4 })
		assert.Empty(t, lasting(w.balancer))
		assert.Len(t, ofKind(w.balancer.State().Troubles, franz.TroubleJoin), 1, "it is over, and listed")
	})
}

// A Balancer stays with its first client; a second one is a trouble until it is closed.
func TestVirtualTwoClients(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.start("a")
		c.settled(time.Minute, 1)
		opts := []kgo.Opt{
			kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.net.DialContext), kgo.ConsumerGroup("another"), kgo.ConsumeTopics("nowhere"),
			kgo.DisableClientMetrics(),
		}
		second, err := kgo.NewClient(append(opts, w.balancer.Opts()...)...)
		require.NoError(t, err)
		assert.Contains(t, w.balancer.State().Trouble(), "second client")
		second.Close()
		assert.Empty(t, w.balancer.State().Trouble())
		w.client.ForceRebalance()
		time.Sleep(time.Minute)
		assert.True(t, w.balancer.Leader(), "the first one goes on")
	})
}

// A learner of which nobody says how far it is, or which stays where it is, is a trouble after a minute, or LearnerTimeout.
func TestVirtualLearnerWithoutProgress(t *testing.T) {
	for name, test := range map[string]struct {
		timeout, after time.Duration
		lag            int64 // said once, in the beginning; -1: never
	}{
		"never a word":           {0, time.Minute, -1},
		"it stays where it is":   {0, time.Minute, 50_000},
		"a shorter timeout":      {20 * time.Second, 20 * time.Second, -1},
		"a timeout of two hours": {2 * time.Hour, time.Minute, -1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				with := func(s *settings) { s.config.Assignor.LearnerTimeout = test.timeout }
				c.group("a", with)
				w := c.start("b", with)
				w.stuck.Store(true)
				c.eventually(10*time.Second, "it learns", func() bool { return len(w.balancer.State().Learning) == partitions/2 })
				begun := time.Now()
				if test.lag >= 0 {
					for _, task := range tasksIn(w.balancer.State().Learning) {
						w.balancer.Progress(task, test.lag)
					}
				}
				time.Sleep(test.after - time.Second)
				assert.Empty(t, lasting(w.balancer))
				c.eventually(3*time.Second, "it says so", func() bool {
					return len(ofKind(lasting(w.balancer), franz.TroubleLearner)) == 1
				})
				assert.InDelta(t, test.after, time.Since(begun), float64(3*time.Second))
				assert.Contains(t, w.balancer.State().Trouble(), "call Progress")
				w.stuck.Store(false)
				c.settled(time.Minute, 2)
				c.eventually(2*time.Minute, "it is over", func() bool { return len(lasting(w.balancer)) == 0 })
			})
		})
	}
}

// What a member is given of a topic that its client does not consume it does not run: kgo gives that up without a word, and the group
// would let another run it too.
func TestVirtualUnreadTopicHasOneOwner(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.createTopic("left", 4)
		c.createTopic("right", 4)
		c.start("a", two)
		c.start("b", two, func(s *settings) { s.opts = append(s.opts, kgo.ConsumeTopics("left", "right")) })
		c.start("c", two)
		for range 5 {
			time.Sleep(time.Minute)
			c.follower().client.ForceRebalance()
			require.Empty(t, c.monitor.violated())
		}
		assert.Zero(t, outside(c.workers[1].owned(), 1))
		assert.Contains(t, c.workers[1].balancer.State().Trouble(), "does not consume lines of Topology")
		c.workers[1].kill()
		c.eventually(time.Minute, "those that consume it run it", func() bool { return len(c.monitor.tasksOf(0)) == partitions })
		require.Empty(t, c.monitor.violated())
	})
}

// A member that a group refuses, because the others do not offer this balancer, says so once, and what to do.
func TestVirtualRefusedMember(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		both := func(s *settings) { s.config.Fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()} }
		other := c.start("a", func(s *settings) { s.sticky = true; both(s) })
		c.settled(time.Minute, 1)
		w := c.start("b")
		time.Sleep(10 * time.Minute)
		assert.Contains(t, w.balancer.State().Trouble(), "migrate it in two rolling restarts")
		assert.LessOrEqual(t, w.troubles.Load(), int32(2), "it has no place, and has not joined")
		other.kill()
		c.settled(10*time.Minute, 1)
		assert.Empty(t, w.balancer.State().Trouble())
	})
}
