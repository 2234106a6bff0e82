package assignor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestCorners lets the smallest and the most lopsided groups start, grow by one, and shrink by one: every answer is safe, the group
// settles within its bound, and then instances are in their ranges and standbys are whole (see checkSettled).
func TestCorners(t *testing.T) {
	seed := uint64(0)
	for _, tasks := range []int32{0, 1, 2, 5, 100} {
		for _, members := range []int{1, 2, 5, 20} {
			for _, standbys := range []int{0, 1, 5} {
				for _, capacities := range [][]int32{{1}, {1, 1000}, {1000, 1, 1}} {
					for _, weights := range [][]int32{{1}, {1000, 1}, {0, 1000}} {
						if seed++; testing.Short() && seed%10 != 0 {
							continue
						}
						runCorner(t, seed, tasks, members, standbys, capacities, weights)
					}
				}
			}
		}
	}
}

func runCorner(t *testing.T, seed uint64, tasks int32, members, standbys int, capacities, weights []int32) {
	t.Helper()
	w, err := runSeed(seed, func(w *world) {
		w.workers, w.named, w.disks = nil, 0, map[string]diskState{}
		w.config = assignor.Config{Standbys: standbys}
		for k, weight := range weights {
			w.config.Topology = append(w.config.Topology, assignor.Subtopology{ID: int32(k), Partitions: tasks, Weight: weight})
		}
		add := func() {
			k := w.join(fmt.Sprintf("i%d", w.named))
			k.report.Capacity = capacities[w.named%len(capacities)]
		}
		for range members {
			add()
		}
		w.checkSettled(w.settle().last)
		add()
		s := w.settle()
		w.checkSettled(s.last)
		s.checkMoved()
		w.leave(w.workers[0])
		s = w.settle()
		w.checkSettled(s.last)
		s.checkMoved()
	})
	require.NoError(t, err, "%d tasks, %d members, %d standbys, capacities %v, weights %v after %d rounds", tasks, members, standbys, capacities, weights, w.rounds)
}

// TestStretches: tasks that are placed at once come in contiguous stretches of each subtopology, at a start and when they are learned,
// so that lists of them are short to write down.
func TestStretches(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := &group{t: t}
		for s := range int32(1 + rng.IntN(4)) {
			g.config.Topology = append(g.config.Topology, assignor.Subtopology{ID: s, Partitions: rng.Int32N(60)})
		}
		for i := range 1 + rng.IntN(8) {
			g.join(fmt.Sprintf("S%d", i))
		}
		g.settle()
		require.LessOrEqual(t, g.apart(), 1, "seed %d", seed)
		placed := map[assignor.TaskID]string{}
		for _, ma := range g.memory.Members {
			for _, task := range ma.Active {
				placed[task] = ma.Member
			}
		}
		requireStretches(t, placed)

		for i := range 1 + rng.IntN(3) {
			g.join(fmt.Sprintf("T%d", i))
		}
		a, err := assignor.Assign(g.members, g.memory, g.config)
		require.NoError(t, err)
		learned := map[assignor.TaskID]string{}
		for _, ma := range a.Members {
			for _, task := range ma.Learners {
				learned[task] = ma.Member
			}
		}
		requireStretches(t, learned)
	}
}

// requireStretches checks that the tasks of each subtopology, in id order, are with their members in id order.
func requireStretches(t *testing.T, with map[assignor.TaskID]string) {
	t.Helper()
	var tasks []assignor.TaskID
	for task := range with {
		tasks = append(tasks, task)
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	for i := 1; i < len(tasks); i++ {
		if tasks[i].Subtopology == tasks[i-1].Subtopology {
			require.LessOrEqual(t, with[tasks[i-1]], with[tasks[i]], "%v", with)
		}
	}
}
