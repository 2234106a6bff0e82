//go:build synctests

package franz_test

import (
	"sync"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counter is a service whose tasks count what was ever written to them, and write all the time. The state of a task is the count,
// and up to where in the ledger it goes; what it writes itself a task takes for valid.
type counter struct {
	*worker
	ledger *ledger
	states map[assignor.TaskID]*countState
}

type countState struct {
	applied, count int
	runs           bool // it has replayed to the end, and counts what it writes
}

// ledger is the changelogs: who wrote, and whether it counts.
type ledger struct {
	mu      sync.Mutex
	entries map[assignor.TaskID][]bool
	void    int
}

// write appends what a worker writes, and returns the place behind it. It is void where another runs the task: that one's fence is
// in the ledger already.
func (j *ledger) write(task assignor.TaskID, w *worker) int {
	void := w.c.monitor.ownedByAnother(task, w)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[task] = append(j.entries[task], !void)
	if void {
		j.void++
	}
	return len(j.entries[task])
}

func (m *monitor) ownedByAnother(task assignor.TaskID, w *worker) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owner[task] != nil && m.owner[task] != w
}

// replay applies to a state what it has not applied yet.
func (j *ledger) replay(task assignor.TaskID, s *countState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, valid := range j.entries[task][s.applied:] {
		s.applied++
		if valid {
			s.count++
		}
	}
}

func (j *ledger) valid(task assignor.TaskID) int {
	s := &countState{}
	j.replay(task, s)
	return s.count
}

// startCounter starts a worker that is a counter.
func (c *cluster) startCounter(name string, j *ledger) *counter {
	n := &counter{ledger: j, states: map[assignor.TaskID]*countState{}}
	n.worker = c.start(name, func(s *settings) {
		s.config.Local = nil
		inner := s.config.OnChange
		s.config.OnChange = func(state franz.State) {
			inner(state)
			n.follow(state)
		}
	})
	n.stuck.Store(true) // it replays by itself
	n.done.Add(1)
	go n.work()
	return n
}

// follow throws away what is suspect, and replays what is to be learned or run.
func (n *counter) follow(s franz.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, task := range s.Suspect {
		delete(n.states, task)
	}
	for _, task := range append(copied(s.Learning), s.Active...) {
		if n.states[task] == nil {
			n.states[task] = &countState{}
		}
	}
	for task, state := range n.states {
		state.runs = state.runs && contains(s.Active, task)
	}
}

// work writes to what it runs, and replays what it learns or restores, ten times a second.
func (n *counter) work() {
	defer n.done.Done()
	for ticker := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-n.ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
		}
		s := n.balancer.State()
		for _, task := range append(copied(s.Learning), copied(s.Restores)...) {
			n.mu.Lock()
			if state := n.states[task]; state != nil {
				n.ledger.replay(task, state)
			}
			n.mu.Unlock()
			n.balancer.Progress(task, 0)
		}
		n.mu.Lock()
		for task := range n.runs {
			state := n.states[task]
			if state == nil || contains(copied(s.Restores), task) {
				continue
			}
			if !state.runs {
				n.ledger.replay(task, state)
				state.runs = true
			}
			state.applied = n.ledger.write(task, n.worker)
			state.count++
		}
		n.mu.Unlock()
	}
}

// A zombie writes to tasks that others own by now, and its own state has what it wrote. When it is back and gets tasks again, nothing
// of that counts, and nothing that counts is missing: what it ran when it lost its place was thrown away.
func TestVirtualZombieComesBackWithVoidWrites(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		j := &ledger{entries: map[assignor.TaskID][]bool{}}
		counters := map[string]*counter{}
		for i, name := range []string{"a", "b", "c"} {
			counters[name] = c.startCounter(name, j)
			c.settled(time.Minute, i+1)
		}
		zombie := counters[c.follower().name]
		zombie.zombie.Store(true)
		gate := make(chan struct{})
		zombie.block.Store(&gate) // it is told, and does not stop
		zombie.cutOff()
		c.eventually(time.Minute, "the others run all", func() bool {
			_, each := c.monitor.running()
			return each[zombie.name] == 0
		})
		time.Sleep(5 * time.Second)
		zombie.block.Store(nil)
		close(gate)
		zombie.mend()
		c.settled(time.Minute, 3)
		time.Sleep(10 * time.Second)
		require.Positive(t, j.void, "the zombie wrote")
		for name, n := range counters {
			n.mu.Lock()
			for task := range n.runs {
				assert.Equal(t, j.valid(task), n.states[task].count, "%v on %s", task, name)
			}
			n.mu.Unlock()
		}
	})
}
