//go:build synctests

package franz_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	churnSeeds = flag.Int("churn", 200, "random lives of a group to go through")
	churnSeed  = flag.Uint64("seed", 1, "the first seed")
)

// Whatever joins, leaves, drains and dies: no task ever has two owners, what is not touched does not pause, and the group comes
// to rest after a bounded number of generations.
func TestVirtualChurn(t *testing.T) {
	for i := range *churnSeeds {
		seed := *churnSeed + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			bubble(t, func(c *cluster) {
				l := &life{cluster: c, rng: rand.New(rand.NewPCG(seed, 0)), seed: seed, touched: map[assignor.TaskID]time.Time{}}
				l.shape()
				for range 8 {
					l.step()
				}
				l.rest()
			})
		})
	}
}

// life is a random life of a group.
type life struct {
	*cluster
	rng     *rand.Rand
	seed    uint64
	change  func(*settings)
	named   int
	touched map[assignor.TaskID]time.Time // what an event may make pause, and when it happened
	history []string
}

// shape draws what holds for the whole life.
func (l *life) shape() {
	standbys, eager, fixed := l.rng.IntN(2), l.rng.IntN(2) == 0, l.rng.IntN(3) == 0
	l.change = func(s *settings) {
		s.config.Assignor.Standbys = standbys
		if eager {
			s.config.RejoinMode = assignor.Eager
		}
		if fixed {
			s.opts = append(s.opts, kgo.InstanceID(s.config.Instance))
		}
	}
	l.note("standbys=%d eager=%v static=%v", standbys, eager, fixed)
	l.join()
	l.settle(1)
}

func (l *life) note(format string, args ...any) {
	l.history = append(l.history, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

func (l *life) alive() []*worker {
	return slices.DeleteFunc(slices.Clone(l.workers), func(w *worker) bool { return w.dead.Load() })
}

func (l *life) join() {
	l.named++
	l.note("join %d", l.named)
	l.start(fmt.Sprint("i", l.named), l.change)
}

// step lets something happen, at any moment of what happened before.
func (l *life) step() {
	alive := l.alive()
	w := alive[l.rng.IntN(len(alive))]
	l.monitor.reset()
	switch kind := l.rng.IntN(5); {
	case len(alive) < 2 || kind == 0 && len(alive) < 5:
		l.join()
	case kind == 1:
		l.note("close %s", w.name)
		l.touch(w)
		w.close()
	case kind == 2:
		l.note("kill %s", w.name)
		l.touch(w)
		w.kill()
	case kind == 3:
		l.note("restart %s", w.name)
		l.touch(w)
		w.close()
		l.start(w.name, l.change)
	default:
		l.note("drain %s", w.name)
		l.touch(w)
		ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Minute)
		defer cancel()
		if err := w.balancer.Drain(ctx); err != nil && !errors.Is(err, franz.ErrNotJoined) {
			l.fail(err.Error())
		}
		w.close()
	}
	time.Sleep(time.Duration(l.rng.IntN(20_000)) * time.Millisecond)
	l.untouched()
}

// touch notes what a worker that is about to end runs and learns: it may pause.
func (l *life) touch(w *worker) {
	s := w.balancer.State()
	for _, task := range slices.Concat(s.Active, copied(s.Learning)) {
		l.touched[task] = time.Now()
	}
}

// untouched checks that no other task paused unless it moved. What an event touches may pause for as long as it takes to notice it.
func (l *life) untouched() {
	moved := l.movedTasks()
	tasks, _ := l.monitor.pauses()
	for _, task := range tasks {
		if time.Since(l.touched[task]) > time.Minute && !slices.Contains(moved, task) && l.monitor.isRunning(task) {
			l.fail(fmt.Sprintf("%s paused, and was not touched", task))
		}
	}
	if v := l.monitor.violated(); len(v) > 0 {
		l.fail(fmt.Sprint(v))
	}
}

// rest waits until the group has come to rest, and checks that it took no more generations than it may.
func (l *life) rest() {
	l.note("rest")
	l.monitor.reset()
	l.settle(len(l.alive()))
	bound := 4 + 3*partitions // at worst every task is handed over on its own: a learner, its hand-over, what follows
	if l.monitor.rounds > bound {
		l.fail(fmt.Sprintf("%d generations to come to rest, want at most %d", l.monitor.rounds, bound))
	}
	l.monitor.reset()
	time.Sleep(time.Minute)
	if tasks, _ := l.monitor.pauses(); len(tasks) > 0 {
		l.fail(fmt.Sprintf("at rest, and yet %v paused", tasks))
	}
}

func (l *life) settle(n int) {
	for range 6000 {
		if l.balanced(n)() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.fail("it does not come to rest")
}

func (l *life) fail(what string) {
	l.t.Helper()
	text := ""
	for _, line := range l.history {
		text += line + "\n"
	}
	require.Fail(l.t, what, "seed %d, run again with -tags synctests -run TestVirtualChurn -args -churn 1 -seed %d\n%s%s", l.seed, l.seed, text, l.rows())
}
