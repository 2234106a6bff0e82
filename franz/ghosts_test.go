//go:build synctests

package franz_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// paused fetches nothing: kfake refuses what is no longer there in no time, and kgo tries again in no time.
func (c *cluster) paused(name string, change ...func(*settings)) {
	c.start(name, change...).client.PauseFetchTopics(topic)
}

// A topic that is created anew with fewer partitions loses the tasks of those that are gone, whether its leader has seen the old one
// or not, and a drain ends.
func TestVirtualGhosts(t *testing.T) {
	for name, restarted := range map[string]bool{"the leader has seen it": false, "the leader has been restarted": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				standby := func(s *settings) { s.config.Assignor.Standbys = 1 }
				for _, name := range "abc" {
					c.paused(string(name), quickMetadata, standby)
				}
				c.settled(time.Minute, 3)
				time.Sleep(time.Minute)
				c.deleteTopic(topic)
				c.createTopic(topic, partitions/2)
				time.Sleep(time.Minute)
				require.Len(t, c.monitor.tasksOf(0), partitions, "nobody has called a round")
				if restarted {
					leader := c.leader()
					leader.close()
					c.paused(leader.name, quickMetadata, standby)
				} else {
					c.follower().client.ForceRebalance()
				}
				c.eventually(time.Minute, "the others are gone", func() bool { return len(c.monitor.tasksOf(0)) == partitions/2 })
				time.Sleep(time.Minute)
				for _, w := range alive(c) {
					for _, task := range tasksIn(append(w.balancer.State().Standby, w.balancer.State().Learning...)) {
						assert.Less(t, task.Partition, int32(partitions/2), "a copy of what is gone")
					}
					assert.Empty(t, w.balancer.State().Trouble())
				}
				require.NoError(t, c.follower().balancer.Drain(t.Context()))
				require.Empty(t, c.monitor.violated())
				assert.Len(t, c.monitor.tasksOf(0), partitions/2)
			})
		})
	}
}

// Tasks that a leader's metadata do not know stay at first, because the metadata may be old: until the leader has known for a while
// that there are none, and not where the topic turns out to have them.
func TestVirtualTasksBeyondTheCount(t *testing.T) {
	for _, test := range []struct {
		name  string
		wait  time.Duration
		count int32
		stays bool
	}{
		{"soon after", 9 * time.Second, 4, true},
		{"later", 11 * time.Second, 4, false},
		{"the metadata were old", 11 * time.Second, 6, true},
		{"of two there is one", 11 * time.Second, 5, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := balancerOf(t, small)
				first := assignor.Member{Instance: "a", Generation: 7, Active: []assignor.TaskID{{Partition: 0}, {Partition: 1}, {Partition: 5}}}
				second := assignor.Member{
					Instance: "b", Generation: 7, Active: []assignor.TaskID{{Partition: 2}, {Partition: 3}, {Partition: 4}},
					Standbys: []assignor.Replica{{Task: assignor.TaskID{Partition: 5}}},
				}
				members := []kmsg.JoinGroupResponseMember{joined(t, "m1", first), joined(t, "m2", second)}
				plan := round(t, b, members, map[string]int32{"lines": 4})
				assert.Contains(t, assigned(t, plan[0].MemberAssignment), "0_5")
				assert.Contains(t, assigned(t, plan[1].MemberAssignment), "0_4")
				assert.Contains(t, b.State().Trouble(), "have 4 partitions, and some member still has 0_5")
				time.Sleep(test.wait)
				plan = round(t, b, members, map[string]int32{"lines": test.count})
				names := given(t, plan)
				assert.Equal(t, test.stays, slices.Contains(names, "0_5"))
				assert.Equal(t, test.stays, slices.Contains(names, "lines-5"))
				assert.Equal(t, test.stays || test.count > 4, slices.Contains(names, "0_4"))
				assert.Subset(t, names, []string{"0_0", "0_1", "0_2", "0_3"})
			})
		})
	}
}

// A leader of an older Topology takes nothing of the new subtopology from those that run it.
func TestVirtualOlderTopologyLeads(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.createTopic("left", 4)
		c.createTopic("right", 4)
		older := c.start("old", func(s *settings) { s.config.Assignor.Standbys = 1 })
		c.settled(time.Minute, 1)
		for i := 0; i < 50 && !(older.balancer.Leader() && len(c.monitor.tasksOf(1)) > 0); i++ {
			if i > 0 { // until the old one leads those that run the new tasks
				for _, w := range alive(c) {
					if w.balancer.Leader() {
						w.kill()
						break
					}
				}
			}
			if older.dead.Load() {
				older = c.start("old", func(s *settings) { s.config.Assignor.Standbys = 1 })
			}
			c.start(fmt.Sprint("new", i), two)
			time.Sleep(time.Minute)
		}
		require.True(t, older.balancer.Leader())
		before := c.monitor.tasksOf(1)
		require.NotEmpty(t, before)
		c.monitor.reset()
		for range 5 {
			older.client.ForceRebalance()
			time.Sleep(time.Minute)
		}
		assert.Equal(t, before, c.monitor.tasksOf(1))
		for task := range before {
			assert.NotContains(t, pausedTasks(c), task)
		}
		require.Empty(t, c.monitor.violated())
	})
}
