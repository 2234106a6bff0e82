package leadtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/incremental-rebalance/assignor"
)

// Ledger is the ground truth: who runs which task, whatever anybody believes. It keeps the history, and the first time that two
// processes ran one task. The zero value is ready to use, by several goroutines at once. A process that stops a task says so when it
// has stopped, and one that starts it before it does.
type Ledger struct {
	mu      sync.Mutex
	runs    map[assignor.TaskID]string
	history []string
	err     error
}

// Note adds a line to the history.
func (l *Ledger) Note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(format, args...)
}

func (l *Ledger) note(format string, args ...any) {
	l.history = append(l.history, fmt.Sprintf(format, args...))
}

// Started records that a process starts to run a task. It is a fault where any process runs it.
func (l *Ledger) Started(process string, task assignor.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, runs := l.runs[task]; runs {
		l.fail("%s starts %v, which %s runs", process, task, other)
		return
	}
	if l.runs == nil {
		l.runs = map[assignor.TaskID]string{}
	}
	l.runs[task] = process
}

// Stopped records that a process has stopped a task. It is a fault where it does not run it.
func (l *Ledger) Stopped(process string, task assignor.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[task] != process {
		l.fail("%s stops %v, which %q runs", process, task, l.runs[task])
		return
	}
	delete(l.runs, task)
}

// Dead records that a process has ended, and all that it ran.
func (l *Ledger) Dead(process string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for task, runner := range l.runs { // order-free: deletes from the map
		if runner == process {
			delete(l.runs, task)
		}
	}
}

// Running returns what a process runs, sorted.
func (l *Ledger) Running(process string) []assignor.TaskID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tasks []assignor.TaskID
	for task, runner := range l.runs { // order-free: sorted below
		if runner == process {
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return tasks
}

// Runner returns the process that runs a task, "" where none does.
func (l *Ledger) Runner(task assignor.TaskID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[task]
}

// Fail records a fault. The first one stays.
func (l *Ledger) Fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(format, args...)
}

func (l *Ledger) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
		l.note("FAULT: %v", l.err)
	}
}

// Err returns the first fault, nil where there is none.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// History returns what has happened, a line or a row each.
func (l *Ledger) History() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.history, "\n") + "\n"
}
