package franz_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// monitor sees which worker runs which task, from outside: no two at once, and how long each task paused.
type monitor struct {
	mu         sync.Mutex
	owner      map[assignor.TaskID]*worker
	stopped    map[assignor.TaskID]time.Time
	paused     map[assignor.TaskID]time.Duration // the longest since reset
	moved      map[assignor.TaskID]int           // to another worker, since reset
	last       map[assignor.TaskID]string
	rounds     int
	violations []string
}

func newMonitor() *monitor {
	m := &monitor{}
	m.owner, m.stopped, m.last = map[assignor.TaskID]*worker{}, map[assignor.TaskID]time.Time{}, map[assignor.TaskID]string{}
	m.reset()
	return m
}

// reset forgets pauses and moves.
func (m *monitor) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused, m.moved, m.rounds = map[assignor.TaskID]time.Duration{}, map[assignor.TaskID]int{}, 0
}

// start records that a worker runs a task. A worker that is out of the group without knowing it does not count as an owner: that is what fencing is for.
func (m *monitor) start(task assignor.TaskID, w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.owner[task]; o != nil && o != w && !o.cut.Load() && !o.zombie.Load() {
		m.violations = append(m.violations, fmt.Sprintf("%s runs on %s and on %s", task, o.name, w.name))
	}
	m.owner[task] = w
	if at, ok := m.stopped[task]; ok {
		m.paused[task] = max(m.paused[task], time.Since(at))
		delete(m.stopped, task)
	}
	if last := m.last[task]; last != "" && last != w.name {
		m.moved[task]++
	}
	m.last[task] = w.name
}

// stop records that a worker no longer runs a task.
func (m *monitor) stop(task assignor.TaskID, w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[task] == w {
		delete(m.owner, task)
		m.stopped[task] = time.Now()
	}
}

// violated returns the violations so far.
func (m *monitor) violated() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.violations)
}

// running returns how many tasks run, and how many each worker runs.
func (m *monitor) running() (int, map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	each := map[string]int{}
	for _, w := range m.owner {
		each[w.name]++
	}
	return len(m.owner), each
}

// pauses returns the tasks that paused since reset, and the longest pause.
func (m *monitor) pauses() (tasks []assignor.TaskID, longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for task, d := range m.paused {
		tasks, longest = append(tasks, task), max(longest, d)
	}
	for task, at := range m.stopped {
		tasks, longest = append(tasks, task), max(longest, time.Since(at))
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return slices.Compact(tasks), longest
}

// moves returns how many tasks changed worker since reset, and how often at most one did.
func (m *monitor) moves() (tasks, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.moved {
		tasks, most = tasks+1, max(most, n)
	}
	return tasks, most
}

// movedTasks returns the tasks that changed worker since reset.
func (c *cluster) movedTasks() []assignor.TaskID {
	m := c.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.moved))
}

func (m *monitor) isRunning(task assignor.TaskID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owner[task] != nil
}
