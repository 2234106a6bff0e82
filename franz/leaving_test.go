//go:build synctests

package franz_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// post calls the HTTP interface of a worker, and returns the status.
func (w *worker) post(path string) int {
	answer := httptest.NewRecorder()
	w.balancer.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, nil))
	return answer.Code
}

// Where all leave there is nobody to hand over to. Each is told so within a round, and runs on; when somebody joins, the next drain
// goes through.
func TestVirtualDrainOfAll(t *testing.T) {
	for _, names := range []string{"a", "ab", "abc"} {
		t.Run(names, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				workers := c.group(names)
				begun := time.Now()
				var all sync.WaitGroup
				for _, w := range workers {
					all.Go(func() { assert.ErrorIs(t, w.balancer.Drain(t.Context()), franz.ErrAlone) })
				}
				all.Wait()
				assert.Less(t, time.Since(begun), 5*time.Second)
				c.settled(time.Minute, len(names))
				c.onlyMoved(0)
				for _, w := range workers {
					assert.True(t, w.balancer.State().Leaving)
				}
				x := c.start("x")
				c.eventually(time.Minute, "somebody is there", func() bool { return x.sessions.Load() > 0 })
				for _, w := range workers {
					all.Go(func() { assert.NoError(t, w.balancer.Drain(t.Context())) })
				}
				all.Wait()
				c.settled(time.Minute, 1)
				c.onlyMoved(partitions)
			})
		})
	}
}

// A drain from outside waits for somebody to hand over to, and says meanwhile that there is nobody.
func TestVirtualDrainOfAllInTheBackground(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("ab")
		for _, w := range workers {
			assert.Equal(t, http.StatusAccepted, w.post("/leave"))
		}
		time.Sleep(5 * time.Second)
		for _, w := range workers {
			assert.Contains(t, w.balancer.State().Trouble(), franz.ErrAlone.Error())
			assert.False(t, w.balancer.State().Left)
		}
		c.start("x")
		for _, w := range workers {
			<-w.balancer.Done()
			assert.True(t, w.balancer.State().Left)
			c.eventually(time.Second, "the trouble is over", func() bool { return w.balancer.State().Trouble() == "" })
		}
		c.settled(time.Minute, 1)
		c.onlyMoved(partitions)
	})
}

// One that stays after all is somebody to hand over to.
func TestVirtualStayAmongAllThatLeave(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("ab")
		for _, w := range workers {
			w.post("/leave")
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, http.StatusOK, workers[0].post("/stay"))
		<-workers[1].balancer.Done()
		c.settled(time.Minute, 1)
		assert.False(t, workers[0].balancer.State().Leaving)
		c.onlyMoved(partitions / 2)
	})
}

// While another balancer decides, which knows no leaving, a member that drains leaves as that balancer's members do: at once.
func TestVirtualDrainUnderTheFallback(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		sticky := func(s *settings) {
			s.config.Fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()}
			s.sticky = true
		}
		workers := c.group("ab", sticky)
		begun := time.Now()
		require.NoError(t, workers[0].balancer.Drain(t.Context()))
		assert.Less(t, time.Since(begun), 5*time.Second)
		s := workers[0].balancer.State()
		assert.True(t, s.Left)
		assert.Empty(t, s.Active)
		c.settled(time.Minute, 1)
		require.NoError(t, workers[1].balancer.Drain(t.Context()), "the last one too")
		assert.Empty(t, c.GroupInfo(c.groupID).Members)
	})
}

// A member that was never in the group has nothing to hand over.
func TestVirtualDrainBeforeTheJoin(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.start("a", func(s *settings) { s.opts = append(s.opts, kgo.SeedBrokers("nowhere:1")) })
		begun := time.Now()
		require.ErrorIs(t, w.balancer.Drain(t.Context()), franz.ErrNotJoined)
		assert.Zero(t, time.Since(begun))
		assert.False(t, w.balancer.State().Leaving)
	})
}

// Two drains at once, and one after them, end alike.
func TestVirtualDrainTwice(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.group("ab")[0]
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { assert.NoError(t, w.balancer.Drain(t.Context())) })
		}
		both.Wait()
		require.NoError(t, w.balancer.Drain(t.Context()), "it has left")
		c.settled(time.Minute, 1)
	})
}

// A drain that is given up goes on: the next call of Drain finds it where it is.
func TestVirtualDrainGivenUp(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		for _, w := range workers {
			w.stuck.Store(true)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, workers[0].balancer.Drain(ctx), context.DeadlineExceeded)
		assert.True(t, workers[0].balancer.State().Leaving)
		for _, w := range workers {
			w.stuck.Store(false)
		}
		require.NoError(t, workers[0].balancer.Drain(t.Context()))
		c.settled(time.Minute, 2)
		c.onlyMoved(3)
	})
}

// Stay is true as long as it can be kept: once the leave is on its way to the coordinator there is no way back, and Stay says so.
func TestVirtualStayDuringTheLeave(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.group("ab")[0]
		asked := make(chan bool, 1)
		c.ControlKey(int16(kmsg.LeaveGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
			asked <- w.balancer.Stay()
			return nil, nil, false
		})
		ended := make(chan error, 1)
		go func() { ended <- w.balancer.Drain(t.Context()) }()
		assert.False(t, <-asked)
		assert.True(t, w.balancer.State().Leaving)
		require.NoError(t, <-ended)
		assert.True(t, w.balancer.State().Left)
		assert.Equal(t, http.StatusConflict, w.post("/stay"))
		c.settled(time.Minute, 1)
	})
}

// A drain that its context ends while the leave is on its way does not end the leave: the member is out in the end, and says so.
func TestVirtualDrainGivenUpDuringTheLeave(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.group("ab")[0]
		ctx, giveUp := context.WithCancel(t.Context())
		c.ControlKey(int16(kmsg.LeaveGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
			giveUp()
			return nil, nil, false
		})
		require.ErrorIs(t, w.balancer.Drain(ctx), context.Canceled)
		<-w.balancer.Done()
		s := w.balancer.State()
		assert.True(t, s.Left)
		assert.Empty(t, s.Active)
		require.NoError(t, w.balancer.Drain(t.Context()))
		c.settled(time.Minute, 1)
	})
}

// A member that loses its place while it drains goes on draining when it is back.
func TestVirtualLostDuringADrain(t *testing.T) {
	for name, change := range map[string][]func(*settings){"dynamic": nil, "static": {static}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.group("abc", change...)
				w := c.follower()
				for _, other := range c.workers {
					other.stuck.Store(true)
				}
				ended := make(chan error, 1)
				go func() { ended <- w.balancer.Drain(t.Context()) }()
				time.Sleep(5 * time.Second)
				w.zombie.Store(true)
				w.cutOff()
				c.eventually(time.Minute, "it is out", func() bool { return w.balancer.State().Lost })
				assert.True(t, w.balancer.State().Leaving)
				assert.NotEmpty(t, w.balancer.State().Suspect)
				w.mend()
				for _, other := range c.workers {
					other.stuck.Store(false)
				}
				require.NoError(t, <-ended)
				c.settled(time.Minute, 2)
			})
		})
	}
}

// The client may be closed while a drain goes on.
func TestVirtualCloseDuringADrain(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("abc")
		for _, w := range workers {
			w.stuck.Store(true)
		}
		ended := make(chan error, 1)
		go func() { ended <- workers[0].balancer.Drain(t.Context()) }()
		time.Sleep(5 * time.Second)
		workers[0].close()
		require.ErrorIs(t, <-ended, kgo.ErrClientClosed)
		s := workers[0].balancer.State()
		assert.True(t, s.Closed)
		assert.Empty(t, s.Active)
		assert.Empty(t, s.Handover)
	})
}

// A drain from outside that has failed can be asked for again.
func TestVirtualLeaveAgain(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.group("ab", static)[0]
		refuse := true
		c.ControlKey(int16(kmsg.LeaveGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if !refuse {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
			resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
			return resp, nil, true
		})
		w.post("/leave")
		c.eventually(time.Minute, "it has failed", func() bool { return w.balancer.State().Trouble() != "" })
		refuse = false
		w.post("/leave")
		<-w.balancer.Done()
		c.eventually(time.Second, "the trouble is over", func() bool { return w.balancer.State().Trouble() == "" })
		assert.Len(t, c.GroupInfo(c.groupID).Members, 1)
	})
}

// Who is told to leave, to stay and to leave again, without a moment in between, leaves.
func TestVirtualLeaveStayLeave(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		w := c.group("ab")[0]
		for range 3 {
			assert.Equal(t, http.StatusAccepted, w.post("/leave"))
			assert.Equal(t, http.StatusOK, w.post("/stay"))
		}
		assert.Equal(t, http.StatusAccepted, w.post("/leave"))
		<-w.balancer.Done()
		c.settled(time.Minute, 1)
		assert.Empty(t, w.balancer.State().Trouble())
	})
}

// Whenever Stay comes, its answer is what becomes of the member: true, and it is in the group and runs tasks; false, and it is out.
func TestVirtualStayAtAnyTime(t *testing.T) {
	for wait := time.Duration(0); wait < 3*time.Second; wait += 100 * time.Millisecond {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				w := c.group("ab")[0]
				ended := make(chan error, 1)
				go func() { ended <- w.balancer.Drain(t.Context()) }()
				time.Sleep(wait)
				if w.balancer.Stay() {
					require.ErrorIs(t, <-ended, franz.ErrStays)
					c.settled(time.Minute, 2)
				} else {
					require.NoError(t, <-ended)
					c.settled(time.Minute, 1)
					assert.Len(t, c.GroupInfo(c.groupID).Members, 1)
				}
			})
		})
	}
}

// When all members of a static group have restarted one after the other, the leader last, everybody else has an id that it has
// never seen. It still calls for no round: nothing has changed.
func TestVirtualStaticRollingRestart(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.likeABroker()
		c.group("abc", static)
		time.Sleep(10 * time.Second)
		epoch, leader := c.GroupInfo(c.groupID).Epoch, c.leader()
		restart := func(w *worker) *worker {
			w.close()
			time.Sleep(time.Second)
			again := c.start(w.name, static)
			c.settled(time.Minute, 3)
			return again
		}
		for _, w := range c.workers[:3] {
			if w != leader {
				restart(w)
			}
		}
		leader = restart(leader)
		time.Sleep(10 * time.Second)
		assert.True(t, leader.balancer.Leader())
		assert.Equal(t, epoch, c.GroupInfo(c.groupID).Epoch, "without a round")
	})
}

// A client that is closed runs nothing, and State says so.
func TestVirtualClosed(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		workers := c.group("ab")
		assert.False(t, workers[0].balancer.State().Closed)
		workers[0].close()
		s := workers[0].balancer.State()
		assert.True(t, s.Closed)
		assert.Empty(t, s.Active)
		workers[1].kill() // it has no connection to say goodbye by
		s = workers[1].balancer.State()
		assert.True(t, s.Closed)
		assert.Empty(t, s.Active)
	})
}
