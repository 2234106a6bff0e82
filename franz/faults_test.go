//go:build synctests

package franz_test

import (
	"bytes"
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

// onJoin changes the metadata of joins.
func (c *cluster) onJoin(change func(*kmsg.JoinGroupRequest)) {
	c.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		change(req.(*kmsg.JoinGroupRequest))
		return nil, nil, false
	})
}

// likeABroker makes kfake treat a restarted static member as a real broker does: as long as it offers the same protocols, it
// gets its old assignment without a round, whatever its metadata say. kfake compares the metadata too.
func (c *cluster) likeABroker() {
	last := map[string][]byte{}
	c.onJoin(func(req *kmsg.JoinGroupRequest) {
		if req.InstanceID == nil {
			return
		}
		own := &req.Protocols[0].Metadata
		if old, known := last[*req.InstanceID]; known && req.MemberID == "" {
			*own = old
		}
		last[*req.InstanceID] = bytes.Clone(*own)
	})
}

func TestVirtualStaticRestart(t *testing.T) {
	for _, role := range []string{"leader", "follower"} {
		t.Run(role, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.likeABroker()
				c.group("abc", static)
				w := c.leader()
				if role == "follower" {
					w = c.follower()
				}
				owned := w.owned()
				time.Sleep(10 * time.Second)
				c.monitor.reset()
				epoch := c.GroupInfo(c.groupID).Epoch
				w.close()
				time.Sleep(2 * time.Second)
				again := c.start(w.name, static)
				c.settled(time.Minute, 3)
				time.Sleep(10 * time.Second)
				assert.Equal(t, owned, again.owned(), "it has back what it ran")
				assert.Equal(t, epoch, c.GroupInfo(c.groupID).Epoch, "without a round")
				assert.Equal(t, role == "leader", again.balancer.Leader())
				moved, _ := c.monitor.moves()
				assert.Zero(t, moved)
			})
		})
	}
}

// A static leader that restarts without its state gets its old assignment all the same. The reports imply another plan: the
// standbys that have caught up take over.
func TestVirtualStaticLeaderWithoutState(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.likeABroker()
		standby := func(s *settings) { s.config.Assignor.Standbys = 1 }
		c.group("abc", static, standby)
		time.Sleep(time.Minute)
		w := c.leader()
		owned := w.owned()
		epoch := c.GroupInfo(c.groupID).Epoch
		w.close()
		clear(c.disks[w.name].lag)
		c.disks[w.name].frozen = true
		again := c.start(w.name, static, standby)
		c.eventually(time.Minute, "others have taken over", func() bool {
			return again.sessions.Load() > 0 && !slices.ContainsFunc(again.owned(), func(task assignor.TaskID) bool { return contains(owned, task) })
		})
		require.Empty(t, c.monitor.violated())
		assert.Greater(t, c.GroupInfo(c.groupID).Epoch, epoch)
	})
}

// The deadline that a static leader has to keep is kept by its next incarnation.
func TestVirtualStaticLeaderKeepsDeadlines(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.likeABroker()
		workers := c.group("abcd", static, func(s *settings) { s.config.Assignor.ScaleDownTimeout = time.Minute })
		for _, w := range workers {
			w.stuck.Store(true)
		}
		leaving, told := c.follower(), time.Now()
		ended := make(chan error, 1)
		go func() { ended <- leaving.balancer.Drain(t.Context()) }()
		time.Sleep(20 * time.Second)
		leader := c.leader()
		leader.close()
		again := c.start(leader.name, static, func(s *settings) { s.config.Assignor.ScaleDownTimeout = time.Minute })
		again.stuck.Store(true)
		require.NoError(t, <-ended)
		assert.InDelta(t, time.Minute, time.Since(told), float64(5*time.Second))
	})
}

// Two rolling restarts lead from cooperative-sticky to this balancer: no task ever has two owners, and one restart never
// stops what the others run.
func TestVirtualMigration(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		plain := func(s *settings) { s.config.Fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()} }
		onlySticky := func(s *settings) { s.sticky = true; plain(s) }
		workers := []*worker{c.start("a", onlySticky), c.start("b", onlySticky), c.start("c", onlySticky)}
		c.settled(time.Minute, 3)
		for range 2 {
			for i, w := range workers {
				c.monitor.reset()
				owned := w.owned()
				w.close()
				c.settled(time.Minute, 2)
				tasks, _ := c.monitor.pauses()
				assert.Subset(t, append(owned, c.movedTasks()...), tasks, "only those of the one that restarts")
				workers[i] = c.start(w.name, plain)
				c.settled(time.Minute, 3)
			}
			plain = func(*settings) {}
		}
		assert.Equal(t, franz.Protocol, c.protocol())
	})
}

func TestVirtualMigrationFromEager(t *testing.T) { bubble(t, (*cluster).migrateFromEager) }

// garbled is user data that nobody can read.
var garbled = []byte("no report")

// A report that cannot be read costs its member nothing: it goes on with what it owns.
func TestVirtualGarbledReport(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		victim, _ := workers[1].client.GroupMetadata()
		c.onJoin(func(req *kmsg.JoinGroupRequest) {
			if req.MemberID != victim {
				return
			}
			var meta kmsg.ConsumerMemberMetadata
			require.NoError(t, meta.ReadFrom(req.Protocols[0].Metadata))
			meta.UserData = garbled
			req.Protocols[0].Metadata = meta.AppendTo(nil)
		})
		c.start("d")
		time.Sleep(time.Minute)
		assert.NotEmpty(t, workers[1].owned())
		require.Empty(t, c.monitor.violated())
		all, _ := c.monitor.running()
		assert.Equal(t, partitions, all)
		assert.Contains(t, c.leader().balancer.State().Trouble(), "report of member")
		_, longest := c.monitor.pauses()
		assert.Less(t, longest, shortly)
	})
}

// An assignment that cannot be read leaves a member what it has, and the next round mends it.
func TestVirtualGarbledAssignment(t *testing.T) {
	for name, garble := range map[string]func(kmsg.ConsumerMemberAssignment) []byte{
		"all":      func(kmsg.ConsumerMemberAssignment) []byte { return []byte{9} },
		"nothing":  func(kmsg.ConsumerMemberAssignment) []byte { return nil },
		"userdata": func(a kmsg.ConsumerMemberAssignment) []byte { a.UserData = garbled; return a.AppendTo(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				workers := c.group("abc")
				victim, _ := workers[1].client.GroupMetadata()
				times := 2
				c.ControlKey(int16(kmsg.SyncGroup), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
					c.KeepControl()
					req := kreq.(*kmsg.SyncGroupRequest)
					for i := range req.GroupAssignment {
						if g := &req.GroupAssignment[i]; g.MemberID == victim && times > 0 {
							times--
							var a kmsg.ConsumerMemberAssignment
							require.NoError(t, a.ReadFrom(g.MemberAssignment))
							g.MemberAssignment = garble(a)
						}
					}
					return nil, nil, false
				})
				owned := workers[1].owned()
				workers[2].client.ForceRebalance()
				c.eventually(time.Minute, "garbled twice", func() bool { return times == 0 })
				if name != "nothing" { // to a group of the consumer protocol, kfake sends an empty assignment instead of nothing
					assert.Equal(t, owned, workers[1].owned())
					assert.Positive(t, workers[1].troubles.Load())
				}
				c.settled(time.Minute, 3)
			})
		})
	}
}

// The group's record has a limit. Below it all goes well; what would exceed it is not sent, and what is goes on.
func TestVirtualRecordLimit(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		const limit = 4000
		budget := func(s *settings) { s.config.Budget = limit - 1000 }
		largest := 0
		joined := map[string]int{}
		c.onJoin(func(req *kmsg.JoinGroupRequest) { joined[req.MemberID] = len(req.Protocols[0].Metadata) })
		c.ControlKey(int16(kmsg.SyncGroup), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			req := kreq.(*kmsg.SyncGroupRequest)
			size := 0
			for _, g := range req.GroupAssignment {
				size += len(g.MemberAssignment) + len(g.MemberID) + joined[g.MemberID]
			}
			largest = max(largest, size)
			if size <= limit {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
			resp.ErrorCode = kerr.UnknownServerError.Code
			return resp, nil, true
		})
		c.group("ab", budget)
		for _, name := range "cdefghijklmn" {
			c.start(string(name), budget)
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Minute)
		require.Empty(t, c.monitor.violated())
		all, _ := c.monitor.running()
		assert.Equal(t, partitions, all, "everything runs on")
		assert.Less(t, largest, limit)
		assert.Contains(t, c.leader().balancer.State().Trouble(), "too large")
		assert.Zero(t, c.lostSessions())
		t.Logf("largest record: %d bytes", largest)
	})
}

func TestVirtualWithoutTopics(t *testing.T) {
	bubble(t, func(c *cluster) { c.withoutTopics() })
}

// Topics of one subtopology that differ in partitions leave everything as it is, until they agree again.
func TestVirtualCoPartitioned(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		const other = "lookups"
		c.createTopic(other, partitions)
		both := func(s *settings) {
			s.config.Topology = []franz.Subtopology{{Topics: []string{topic, other}}}
			s.opts = append(s.opts, kgo.ConsumeTopics(topic, other), kgo.MetadataMaxAge(10*time.Second), kgo.MetadataMinAge(time.Second))
		}
		c.group("ab", both)
		c.growTopic(other, partitions+4)
		c.eventually(time.Minute, "everybody says so", func() bool {
			return !slices.ContainsFunc(c.workers, func(w *worker) bool { return !strings.Contains(w.balancer.State().Trouble(), "lines has 8") })
		})
		tasks, _ := c.monitor.pauses()
		assert.Empty(t, tasks)
		c.growTopic(topic, partitions+4)
		c.eventually(2*time.Minute, "the new tasks run", func() bool {
			all, _ := c.monitor.running()
			return all == partitions+4
		})
		tasks, _ = c.monitor.pauses()
		assert.Empty(t, tasks)
		require.Empty(t, c.monitor.violated())
	})
}

// A topic that nobody has ever seen stops nothing, and the tasks of others go on to whoever is left.
func TestVirtualTopicMissing(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.group("ab")
		c.start("c", func(s *settings) {
			s.config.Topology = append(s.config.Topology, franz.Subtopology{ID: 1, Topics: []string{"later"}})
			s.opts = append(s.opts, kgo.ConsumeTopics(topic, "later"))
		})
		leader := c.leader()
		leader.close()
		time.Sleep(30 * time.Second)
		require.Empty(t, c.monitor.violated())
		all, _ := c.monitor.running()
		assert.Equal(t, partitions, all)
	})
}
