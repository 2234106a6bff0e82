package assignor_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// leader returns what the leader of the next round remembers.
func (w *world) leader() *assignor.Assignment {
	memory := w.memory
	w.rebuilt = false
	switch draw := w.rng.IntN(100); {
	case draw < 8:
		memory = nil
		w.event("a new leader remembers nothing")
	case draw < 16:
		if memory = assignor.Recover(w.reportsOf()); w.memory != nil && printAssignment(memory) != printAssignment(w.memory) {
			w.rebuilt = true
			w.hurry()
			memory = assignor.Recover(w.reportsOf())
		}
		w.event("a new leader recovers a memory, rebuilt: %v", w.rebuilt)
	case draw < 20 && len(w.older) > 0:
		memory = pick(w, w.older...)
		w.event("a former leader is back with generation %d", memory.Generation)
	}
	if w.rebuilt || memory == nil || w.memory == nil || memory.Generation != w.memory.Generation {
		w.hurry()
	}
	if w.chance(20) {
		memory = shuffleMemory(w.rng, memory)
		if memory != nil { // sorted again, as Assignment says, but with other arrays
			slices.SortFunc(memory.Members, func(a, b assignor.MemberAssignment) int { return strings.Compare(a.Member, b.Member) })
		}
	}
	return memory
}

func (w *world) reportsOf() []assignor.Member {
	members := make([]assignor.Member, len(w.workers))
	for i, k := range w.workers {
		members[i] = cloneMember(&k.report)
	}
	return members
}

// hurry makes members that were slow to apply the last answer report it after all, unless all it gave them is what they report
// anyway: a leader that does not know the last answer cannot know what else they run.
func (w *world) hurry() {
	newest := int32(0)
	for _, k := range w.workers {
		newest = max(newest, k.report.Generation)
	}
	for _, k := range w.workers {
		if k.fresh == nil {
			continue
		}
		known := w.memory != nil && newest == w.memory.Generation
		for task := range k.runs {
			known = known && (slices.Contains(k.report.Active, task) || slices.Contains(k.report.Revoked, task))
		}
		if !known {
			k.report, k.fresh = *k.fresh, nil
		}
	}
}

// churn runs the events of a seed.
func (w *world) churn() {
	tidy := w.seed%3 == 0 // nobody misses an answer
	speed := pick(w, 20, 60, 100)
	for n := 3 + w.rng.IntN(9); n > 0; n-- {
		a := w.round(w.leader())
		w.deliver(a, func(k *worker) string {
			switch draw := w.rng.IntN(100); {
			case tidy || draw < 90:
				return "applies"
			case draw < 95 || k.report.Generation == 0: // one without a generation counts as one that has just started (R0)
				return "misses"
			default:
				return "is slow to apply"
			}
		})
		w.pass(time.Duration(w.rng.IntN(20))*time.Second, speed)
		if w.chance(10) && len(w.workers) > 0 {
			w.stick(pick(w, w.workers...))
		}
		w.disturb()
	}
}

// stick keeps one copy from ever catching up.
func (w *world) stick(k *worker) {
	for _, copies := range [][]assignor.Replica{k.report.Learners, k.report.Standbys} {
		for i := range copies {
			if task := copies[i].Task; w.running()[task] && !k.runs[task] && w.chance(50) {
				k.stuck[task] = true
				copies[i].Lag = w.config.AcceptableLag + 1
			}
		}
	}
}

// runSeed runs one seed and returns what went wrong, with the rows.
func runSeed(seed uint64, run func(w *world)) (w *world, err error) {
	w = newWorld(seed)
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("seed %d: %s\n%s", seed, f.text, w.rows())
		default:
			err = fmt.Errorf("seed %d: panic: %v\n%s\n%s", seed, f, w.rows(), debug.Stack())
		}
	}()
	run(w)
	return w, nil
}

const churnSeeds = 6000

// TestChurn runs random groups through random events before they come to rest, lets them settle, and then does so twice again
// after one event each. Every answer is checked (checkAnswer), every state in which nothing moves any more (checkSettled), and
// what it took to get there (limit, checkMoved, checkStateless).
func TestChurn(t *testing.T) {
	runSeeds(t, churnSeeds, (*world).live)
}

// runSeeds runs seeds on all processors, and reports the first few that fail.
func runSeeds(t *testing.T, seeds int, run func(w *world)) {
	t.Helper()
	if testing.Short() {
		seeds /= 10
	}
	var next, rounds, failed atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				seed := next.Add(1) - 1
				if seed >= int64(seeds) || failed.Load() >= 3 {
					return
				}
				w, err := runSeed(uint64(seed), run)
				rounds.Add(int64(w.rounds))
				if err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	t.Logf("%d seeds, %d rounds", seeds, rounds.Load())
}
