package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
)

// watch sees all instances of this process from outside: who runs what and since when, for the table, the checks and the picture.
type watch struct {
	mu        sync.Mutex
	begun     time.Time
	states    map[string]franz.State
	owner     map[assignor.TaskID]string
	spans     []span // who ran or learned what
	open      map[spanKey]int
	rounds    []time.Time
	done      map[string]int
	twice     []string // tasks that two instances ran at a time
	event     *event
	past      []*event
	stoppedAt map[assignor.TaskID]time.Time
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

// event is something that happens to the group, and what it costs.
type event struct {
	title   string
	planned bool
	from    time.Time
	took    time.Duration
	rounds  int
	moved   map[assignor.TaskID]bool
	atLeast int // tasks that any assignor would have to move
	longest time.Duration
	records int
	before  map[assignor.TaskID]string
}

func newWatch() *watch {
	return &watch{
		begun: time.Now(), states: map[string]franz.State{}, owner: map[assignor.TaskID]string{}, open: map[spanKey]int{},
		done: map[string]int{}, stoppedAt: map[assignor.TaskID]time.Time{},
	}
}

func (w *watch) started(name string, task assignor.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.owner[task]; other != "" {
		w.twice = append(w.twice, fmt.Sprintf("%s ran on %s and on %s", task, other, name))
	}
	w.owner[task] = name
	w.begin(spanKey{task, name, false})
	if w.event == nil {
		return
	}
	if at, paused := w.stoppedAt[task]; paused {
		w.event.longest = max(w.event.longest, time.Since(at))
	}
	delete(w.stoppedAt, task)
	if before := w.event.before[task]; before != "" && before != name {
		w.event.moved[task] = true
	}
}

func (w *watch) stopped(name string, task assignor.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner[task] == name {
		delete(w.owner, task)
		w.stoppedAt[task] = time.Now()
	}
	w.end(spanKey{task, name, false})
}

func (w *watch) begin(k spanKey) {
	if _, open := w.open[k]; !open {
		w.open[k] = len(w.spans)
		w.spans = append(w.spans, span{spanKey: k, from: time.Now()})
	}
}

func (w *watch) end(k spanKey) {
	if i, open := w.open[k]; open {
		w.spans[i].to = time.Now()
		delete(w.open, k)
	}
}

func (w *watch) session(s franz.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[s.Instance] = s
	learning := map[assignor.TaskID]bool{}
	for _, c := range s.Learning {
		learning[c.Task] = true
		w.begin(spanKey{c.Task, s.Instance, true})
	}
	for k := range w.open {
		if k.learner && k.name == s.Instance && !learning[k.task] {
			w.end(k)
		}
	}
}

func (w *watch) round(franz.Round) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds = append(w.rounds, time.Now())
	if w.event != nil {
		w.event.rounds++
	}
}

func (w *watch) processed(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[name] += n
	if w.event != nil {
		w.event.records += n
	}
}

// gone forgets an instance that has ended.
func (w *watch) gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.states, name)
	for k := range w.open {
		if k.name == name {
			w.end(k)
		}
	}
}

// begins starts an event after which the group has these instances.
func (w *watch) begins(title string, planned bool, after []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event = &event{title: title, planned: planned, from: time.Now(), moved: map[assignor.TaskID]bool{}, before: maps.Clone(w.owner)}
	w.event.atLeast = leastMoves(w.owner, after)
	clear(w.stoppedAt)
}

// leastMoves returns how many tasks any assignor has to move so that these instances end with equal shares, rounded: those of
// instances that are gone, and what the others have too many; or, if that is more, what some have too few.
func leastMoves(owner map[assignor.TaskID]string, after []string) int {
	have := map[string]int{}
	orphans, tooMany, tooFew := 0, 0, 0
	for _, name := range owner {
		have[name]++
	}
	low, high := len(owner)/len(after), (len(owner)+len(after)-1)/len(after)
	for name, n := range have {
		if !slices.Contains(after, name) {
			orphans += n
		}
	}
	for _, name := range after {
		tooMany += max(0, have[name]-high)
		tooFew += max(0, low-have[name])
	}
	return max(orphans+tooMany, tooFew)
}

// ends closes the event.
func (w *watch) ends() {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.event
	w.event, w.past = nil, append(w.past, e)
	e.took = time.Since(e.from)
}

// settled reports whether these instances run all tasks, as many each as the others but for one, and nobody learns.
func (w *watch) settled(tasks int, names []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	have := map[string]int{}
	for _, name := range w.owner {
		have[name]++
	}
	for _, name := range names {
		if have[name] < tasks/len(names) || len(w.states[name].Learning) > 0 {
			return false
		}
	}
	return len(w.owner) == tasks && len(have) == len(names)
}

// violations returns the tasks that have run twice at a time.
func (w *watch) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.twice)
}
