package assignor_test

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

var (
	soak     = flag.Int64("soak", 0, "how many random events TestSoak plays; 0: none. A million take some minutes.")
	soakSeed = flag.Int64("soakseed", -1, "the one seed that TestSoak plays: one that has failed")
)

const churnSeeds = 6000

// TestChurn runs random groups through random events before they come to rest, lets them settle, and then does so twice again
// after one event each. What is checked is in package churn.
func TestChurn(t *testing.T) {
	seeds := int64(churnSeeds)
	if testing.Short() {
		seeds /= 10
	}
	p := &player{t: t}
	p.play(0, func(played int64) bool { return played < seeds })
	t.Logf("%d seeds, %d rounds", seeds, p.rounds.Load())
}

// TestSoak is TestChurn for as long as one likes: the worlds of other seeds, one after the other, until there have been as many
// events as the flag says.
//
//	go test -run TestSoak -soak 1000000 -timeout 0 -v .
func TestSoak(t *testing.T) {
	if *soakSeed >= 0 {
		_, err := churn.Play(uint64(*soakSeed), decider(), assignor.Assign, (*churn.World).Live)
		require.NoError(t, err)
		return
	}
	if *soak == 0 {
		t.Skip("-soak says how many events")
	}
	started := time.Now()
	p := &player{t: t}
	p.play(churnSeeds+1, func(int64) bool { return p.events.Load() < *soak })
	t.Logf("%d events, %d rounds, %d groups in %v", p.events.Load(), p.rounds.Load(), p.seeds.Load(), time.Since(started).Round(time.Second))
}

// decider returns an Assignor's Assign, of whose arrays nothing is left to rely on from one round to the next.
func decider() churn.Assign {
	var a assignor.Assignor
	return func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
		a.Poison()
		return a.Assign(members, memory, config)
	}
}

// player plays seeds on two processors, and reports the first few that fail.
type player struct {
	t                             *testing.T
	seeds, rounds, events, failed atomic.Int64
}

// play plays the seeds from first on, while more says so of the number of those that have begun.
func (p *player) play(first int64, more func(begun int64) bool) {
	p.t.Helper()
	var group sync.WaitGroup
	for range 2 {
		group.Add(1)
		go func() {
			defer group.Done()
			for p.failed.Load() < 3 {
				begun := p.seeds.Add(1) - 1
				if !more(begun) {
					return
				}
				w, err := churn.Play(uint64(first+begun), decider(), assignor.Assign, (*churn.World).Live)
				p.rounds.Add(int64(w.Rounds))
				p.events.Add(w.Events())
				if err != nil {
					p.failed.Add(1)
					p.t.Error(err)
				}
			}
		}()
	}
	group.Wait()
}

// TestCorners lets the smallest and the most lopsided groups start, grow by one, and shrink by one: every answer is safe, the group
// settles within its bound, and then instances are in their ranges and standbys are whole.
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
	config := assignor.Config{Standbys: standbys}
	for k, weight := range weights {
		config.Topology = append(config.Topology, assignor.Subtopology{ID: int32(k), Partitions: tasks, Weight: weight})
	}
	w, err := churn.Play(seed, decider(), assignor.Assign, func(w *churn.World) {
		w.Start(config)
		for m := range members {
			w.Join(capacities[m%len(capacities)])
		}
		w.Settle()
		w.Join(capacities[members%len(capacities)])
		w.Settle().CheckMoved()
		w.LeaveFirst()
		w.Settle().CheckMoved()
	})
	require.NoError(t, err, "%d tasks, %d members, %d standbys, capacities %v, weights %v after %d rounds", tasks, members, standbys, capacities, weights, w.Rounds)
}
