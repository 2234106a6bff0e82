package timeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

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
	before  map[assignor.TaskID]string // who ran what when it began
}

// started counts what it cost that a task starts again.
func (e *event) started(name string, task assignor.TaskID, stoppedAt map[assignor.TaskID]time.Time) {
	if at, paused := stoppedAt[task]; paused {
		e.longest = max(e.longest, time.Since(at))
	}
	delete(stoppedAt, task)
	if before := e.before[task]; before != "" && before != name {
		e.moved[task] = true
	}
}

// Act is an event to be played: what happens, and which instances the group has when it has come to rest.
type Act struct {
	Title   string
	Planned bool // nobody crashes, so no task may pause for long
	After   []string
	Happens func() error
}

// Play lets an event happen, waits until the group of so many tasks has come to rest, and writes what was seen. It fails where the group
// does not come to rest within a minute.
func (w *Watch) Play(ctx context.Context, out io.Writer, tasks int, act Act) error {
	fmt.Fprintf(out, "\n%6.1fs  --- %s\n", time.Since(w.begun).Seconds(), act.Title)
	w.begins(act)
	if err := act.Happens(); err != nil {
		return fmt.Errorf("%s: %w", act.Title, err)
	}
	for deadline := time.Now().Add(time.Minute); !w.Settled(tasks, act.After); {
		if time.Now().After(deadline) || ctx.Err() != nil {
			w.Table(out)
			return fmt.Errorf("%s: the group does not come to rest", act.Title)
		}
		pause(ctx, 20*time.Millisecond)
	}
	w.ends()
	pause(ctx, 300*time.Millisecond) // so that the table has what the instances say last
	w.Table(out)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (w *Watch) begins(act Act) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := map[assignor.TaskID]string{}
	for task, name := range w.owner { // order-free: copies into a map
		before[task] = name
	}
	w.event = &event{title: act.Title, planned: act.Planned, from: time.Now(), moved: map[assignor.TaskID]bool{}, before: before}
	w.event.atLeast = leastMoves(w.owner, act.After)
	w.stoppedAt = map[assignor.TaskID]time.Time{}
}

func (w *Watch) ends() {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.event
	w.event, w.past = nil, append(w.past, e)
	e.took = time.Since(e.from)
}

// leastMoves returns how many tasks any assignor has to move so that these instances end with equal shares, rounded: those of
// instances that are gone, and what the others have too many; or, if that is more, what some have too few.
func leastMoves(owner map[assignor.TaskID]string, after []string) int {
	have := map[string]int{}
	orphans, tooMany, tooFew := 0, 0, 0
	for _, name := range owner { // order-free: counts
		have[name]++
	}
	low, high := len(owner)/len(after), (len(owner)+len(after)-1)/len(after)
	for name, n := range have { // order-free: sums
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

// Err returns what must not have happened: a task that ran on two instances, or a planned event that paused one for longer than so long.
func (w *Watch) Err(pause time.Duration) error {
	var problems []error
	for _, what := range w.Twice() {
		problems = append(problems, errors.New(what))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.past {
		if e.planned && e.longest > pause {
			problems = append(problems, fmt.Errorf("%s: a task paused for %v, want at most %v", e.title, e.longest, pause))
		}
	}
	return errors.Join(problems...)
}
