package timeline

import (
	"fmt"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Standing is how an instance stands, by its own word.
type Standing struct {
	Instance                  string
	Active, Learning, Standby []assignor.TaskID
	Leads, Leaving            bool
}

// Watch sees all instances of a group. It is used by several goroutines at once.
type Watch struct {
	mu        sync.Mutex
	begun     time.Time
	standing  map[string]Standing
	owner     map[assignor.TaskID]string
	stoppedAt map[assignor.TaskID]time.Time // since the event began
	spans     []span                        // who ran or learned what
	open      map[spanKey]int               // those that have not ended, by their place in spans
	rounds    []time.Time
	done      map[string]int
	twice     []string // tasks that two instances ran at a time
	event     *event   // nil between events
	past      []*event
}

// span is a time for which an instance ran or learned a task.
type span struct {
	spanKey
	from, to time.Time
}

type spanKey struct {
	task    assignor.TaskID
	name    string
	learner bool
}

// New returns a Watch whose time begins now.
func New() *Watch {
	return &Watch{
		begun: time.Now(), standing: map[string]Standing{}, owner: map[assignor.TaskID]string{}, open: map[spanKey]int{},
		done: map[string]int{}, stoppedAt: map[assignor.TaskID]time.Time{},
	}
}

// Started says that an instance runs a task.
func (w *Watch) Started(name string, task assignor.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.owner[task]; other != "" {
		w.twice = append(w.twice, fmt.Sprintf("%s ran on %s and on %s", task, other, name))
	}
	w.owner[task] = name
	w.begin(spanKey{task, name, false})
	if w.event != nil {
		w.event.started(name, task, w.stoppedAt)
	}
}

// Stopped says that an instance has stopped a task.
func (w *Watch) Stopped(name string, task assignor.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped(name, task)
}

func (w *Watch) stopped(name string, task assignor.TaskID) {
	if w.owner[task] == name {
		delete(w.owner, task)
		w.stoppedAt[task] = time.Now()
	}
	w.end(spanKey{task, name, false})
}

func (w *Watch) begin(k spanKey) {
	if _, open := w.open[k]; !open {
		w.open[k] = len(w.spans)
		w.spans = append(w.spans, span{spanKey: k, from: time.Now()})
	}
}

func (w *Watch) end(k spanKey) {
	if i, open := w.open[k]; open {
		w.spans[i].to = time.Now()
		delete(w.open, k)
	}
}

// Stands says how an instance stands now.
func (w *Watch) Stands(s Standing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.standing[s.Instance] = s
	learning := map[assignor.TaskID]bool{}
	for _, task := range s.Learning {
		learning[task] = true
		w.begin(spanKey{task, s.Instance, true})
	}
	for k := range w.open { // order-free: ends what has ended
		if k.learner && k.name == s.Instance && !learning[k.task] {
			w.end(k)
		}
	}
}

// Leader returns the instance that leads by its own word, "" where none does.
func (w *Watch) Leader() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range sortedNames(w.standing) {
		if w.standing[name].Leads {
			return name
		}
	}
	return ""
}

// Round says that a leader has decided a round.
func (w *Watch) Round() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds = append(w.rounds, time.Now())
	if w.event != nil {
		w.event.rounds++
	}
}

// Processed says that an instance has processed n records more.
func (w *Watch) Processed(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[name] += n
	if w.event != nil {
		w.event.records += n
	}
}

// Gone says that an instance has ended, and all that it ran.
func (w *Watch) Gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.standing, name)
	for k := range w.open { // order-free: ends what has ended
		switch {
		case k.name != name:
		case k.learner:
			w.end(k)
		default:
			w.stopped(name, k.task)
		}
	}
}

// Settled reports whether these instances run all tasks, as many each as the others but for one, and nobody learns.
func (w *Watch) Settled(tasks int, names []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	have := map[string]int{}
	for _, name := range w.owner { // order-free: counts
		have[name]++
	}
	for _, name := range names {
		if have[name] < tasks/len(names) || len(w.standing[name].Learning) > 0 {
			return false
		}
	}
	return len(w.owner) == tasks && len(have) == len(names)
}

// Twice returns what was seen of tasks that ran on two instances at a time.
func (w *Watch) Twice() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.twice...)
}
