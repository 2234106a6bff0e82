package sim

import (
	"container/heap"
	"fmt"
	"math/rand"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// none is the instance of a task that nobody runs.
const none = -1

// run is one variant being played.
type run struct {
	spec      *Spec
	v         Variant
	config    assignor.Config
	rng       *rand.Rand
	now       time.Duration
	queue     queue
	instances []*instance // in order of appearance; who is gone stays
	tasks     []task
	number    map[assignor.TaskID]int
	group     group
	restoring []copyRef // the copies that are catching up
	rates     []int64   // of restoring, bytes a millisecond
	armed     *Event    // a crash of the leader that waits for its phase
	pending   int       // events of the spec that are not over
	meter     *meter
	err       error
}

// timer is something that will happen.
type timer struct {
	at  time.Duration
	seq int
	do  func()
}

// queue is a heap of timers: by time, those of one time in the order in which they were set.
type queue struct {
	timers []timer
	set    int
}

func (q *queue) Len() int { return len(q.timers) }
func (q *queue) Less(i, j int) bool {
	a, b := q.timers[i], q.timers[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (q *queue) Swap(i, j int) { q.timers[i], q.timers[j] = q.timers[j], q.timers[i] }
func (q *queue) Push(x any)    { q.timers = append(q.timers, x.(timer)) }
func (q *queue) Pop() any {
	last := len(q.timers) - 1
	t := q.timers[last]
	q.timers[last].do = nil
	q.timers = q.timers[:last]
	return t
}

// after does something later.
func (r *run) after(delay time.Duration, do func()) {
	heap.Push(&r.queue, timer{r.now + delay, r.queue.set, do})
	r.queue.set++
}

// fail ends the run: the first error counts.
func (r *run) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("sim: variant %s at %v: %w", r.v.Name, r.now, fmt.Errorf(format, args...))
	}
}

// Progress is told now and then how far a run has come; it may be nil.
type Progress func(now, end time.Duration, rounds int)

// Run plays the spec under one of its variants. It fails where an answer does not pass [assignor.Check], where a task would run
// twice, and where the group does not come to rest but calls round after round.
func Run(spec *Spec, v Variant, progress Progress) (*Result, error) {
	r := newRun(spec, v)
	r.settleAtStart()
	r.meter.begin(r, "start")
	r.schedule()
	for steps := 0; r.err == nil && r.step(); steps++ {
		if progress != nil && steps%1000 == 0 {
			progress(r.now, spec.End, r.meter.total.Rounds)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.meter.finish(r), nil
}

// RunAll plays the spec under all the variants, in their order.
func RunAll(spec *Spec, variants []Variant, progress func(variant string) Progress) ([]*Result, error) {
	var results []*Result
	for _, v := range variants {
		var tell Progress
		if progress != nil {
			tell = progress(v.Name)
		}
		result, err := Run(spec, v, tell)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

func newRun(spec *Spec, v Variant) *run {
	r := &run{spec: spec, v: v, config: v.Config, rng: rand.New(rand.NewSource(spec.Seed)), number: map[assignor.TaskID]int{}}
	sizes := spec.sizes()
	r.config.Topology = spec.topology(sizes)
	for _, kind := range spec.Tasks {
		for p := range kind.Partitions {
			id := assignor.TaskID{Subtopology: kind.ID, Partition: p}
			r.number[id] = len(r.tasks)
			r.tasks = append(r.tasks, newTask(id, kind, sizes[len(r.tasks)]))
		}
	}
	for _, in := range spec.Instances {
		r.addInstance(in)
	}
	r.meter = newMeter(r)
	return r
}

// step goes to the next thing that happens and lets it happen. It returns false when the run is over: nothing is left to
// happen, or everything has come to rest after the last event.
func (r *run) step() bool {
	next, catchUp := r.nextCatchUp()
	timed := r.queue.Len() > 0
	if timed && (!catchUp || r.queue.timers[0].at <= next) {
		next, catchUp = r.queue.timers[0].at, false
	} else if !catchUp {
		return false
	}
	if next > r.spec.End || r.pending == 0 && r.atRest() {
		return false
	}
	r.advance(next - r.now)
	if !catchUp {
		heap.Pop(&r.queue).(timer).do()
	}
	r.noteCaughtUp()
	r.meter.observe(r)
	return true
}

// atRest reports whether nothing will happen by itself any more: no round, nobody to wait for, every task on its place with
// its standbys.
func (r *run) atRest() bool {
	if r.group.phase != stable || len(r.group.ghosts) > 0 || len(r.restoring) > 0 || r.group.awaits {
		return false
	}
	for _, in := range r.instances {
		if in.comesBack || in.up && (in.leaving || len(in.told.Learners) > 0) {
			return false
		}
	}
	for t := range r.tasks {
		if r.tasks[t].state != running {
			return false
		}
	}
	return true
}
