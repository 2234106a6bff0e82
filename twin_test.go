package assignor_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
	"github.com/incremental-rebalance/assignor/internal/twin"
)

var twinSeed = flag.Uint64("twinseed", 0, "compare Assign with its twin on this seed only")

// TestTwinAgrees compares Assign with its naive twin, round by round, in random worlds.
func TestTwinAgrees(t *testing.T) {
	seeds := 6000
	if testing.Short() {
		seeds = 400
	}
	if *twinSeed > 0 {
		compareTwins(t, *twinSeed, &twinTally{})
		return
	}
	const shards = 4
	tally := &twinTally{}
	t.Run("seeds", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := shard + 1; seed <= seeds && !t.Failed(); seed += shards {
					compareTwins(t, uint64(seed), tally)
				}
			})
		}
	})
	t.Logf("%d seeds, %d rounds", seeds, tally.rounds)
	if !testing.Short() && !t.Failed() {
		tally.check(t)
	}
}

// TestTwinRefuses compares them on what has no answer.
func TestTwinRefuses(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		churn.Roam(seed, func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) *assignor.Assignment {
			in := twin.Input{Members: members, Memory: memory, Config: config}
			for range 1 + rng.IntN(2) {
				twinFaults[rng.IntN(len(twinFaults))](&in)
			}
			got, err := in.Answer()
			if diff := in.Difference(); diff != "" || err == nil {
				t.Errorf("seed %d: %v, %v: %s", seed, got, err, diff)
			}
			return nil
		})
	}
}

// twinFaults make an input one that has no answer.
var twinFaults = []func(in *twin.Input){
	func(in *twin.Input) { in.Members = nil },
	func(in *twin.Input) { in.Members = append(in.Members, assignor.Member{}) },
	func(in *twin.Input) {
		in.Members = slices.Concat(in.Members, in.Members, []assignor.Member{{ID: "a"}, {ID: "a"}})
	},
	func(in *twin.Input) { in.Config.Topology = nil },
	func(in *twin.Input) {
		in.Config.Topology = append(in.Config.Topology, assignor.Subtopology{ID: 77}, assignor.Subtopology{ID: 77})
	},
	func(in *twin.Input) {
		in.Config.Topology = append(in.Config.Topology, assignor.Subtopology{ID: 78, Partitions: assignor.MaxTasks + 1})
	},
	func(in *twin.Input) {
		in.Config.Topology = append(in.Config.Topology, assignor.Subtopology{ID: 79, RestoreCost: make([]int64, 1)})
	},
	func(in *twin.Input) { in.Config.Topology = append(in.Config.Topology, assignor.Subtopology{ID: -1}) },
	func(in *twin.Input) { in.Config.ImbalancePercent = 101 },
	func(in *twin.Input) { in.Config.SincePrevious = -1 },
	func(in *twin.Input) { in.Config.SpreadTags = []string{""} },
}

// twinTally counts what the worlds have shown.
type twinTally struct {
	sync.Mutex
	rounds  int
	reasons map[assignor.Reason]int
	kinds   map[assignor.MoveKind]int
}

func (c *twinTally) add(a *assignor.Assignment) {
	c.Lock()
	defer c.Unlock()
	c.rounds++
	if c.reasons == nil {
		c.reasons, c.kinds = map[assignor.Reason]int{}, map[assignor.MoveKind]int{}
	}
	for _, m := range a.Moves {
		c.reasons[m.Reason]++
		c.kinds[m.Kind]++
	}
}

// check reports reasons and kinds of moves that no world has led to: then the worlds are too narrow.
func (c *twinTally) check(t *testing.T) {
	t.Helper()
	for r := assignor.ReasonLearnerCaughtUp; r <= assignor.ReasonPreviousOwner; r++ {
		if c.reasons[r] < 20 {
			t.Errorf("only %d moves for the reason %q", c.reasons[r], r)
		}
	}
	for k := assignor.MoveActive; k <= assignor.MoveStopStandby; k++ {
		if c.kinds[k] < 20 {
			t.Errorf("only %d moves of the kind %q", c.kinds[k], k)
		}
	}
}

// compareTwins goes through the rounds of a wild world.
func compareTwins(t *testing.T, seed uint64, tally *twinTally) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	churn.Roam(seed, func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) *assignor.Assignment {
		got, err := twin.Input{Members: members, Memory: memory, Config: config}.Answer()
		in := twin.Input{Memory: memory}
		in.Members, in.Config = churn.ShuffleInput(rng, members, config) // nothing may depend on the order
		want, wantErr := twin.Assign(in.Members, in.Memory, in.Config)
		if diff := twin.Difference(got, err, want, wantErr); diff != "" || err != nil {
			small := in.Shrink()
			t.Errorf("seed %d: %s\n%s\nas small as can be: %s\n%s", seed, diff, in, small.Difference(), small)
			return nil
		}
		tally.add(got)
		return got
	})
}

// TestRecoverAgreesWithTwin: groups in which most tasks have one owner, in lists that are sorted, shuffled or given twice, with
// partitions numbered from 0, with gaps, far above or below what there is.
func TestRecoverAgreesWithTwin(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		members := recoverable(rng)
		require.Equal(t, twin.Recover(members), assignor.Recover(members), "seed %d", seed)
	}
}

// recoverable returns reports of a group of which some members are behind and some claim what others run.
func recoverable(rng *rand.Rand) []assignor.Member {
	members := make([]assignor.Member, 1+rng.IntN(8))
	for i := range members {
		members[i] = assignor.Member{ID: string(rune('a' + rng.IntN(10))), Generation: 5 + int32(rng.IntN(2))}
	}
	subs, partitions := []int32{0, 1, 2, 7, 1 << 20, -3}, []int32{0, 0, 0, 1000, math.MaxInt32 - 100, -50}
	for _, sub := range subs {
		first := partitions[rng.IntN(len(partitions))]
		for p := range int32(rng.IntN(40)) {
			task := assignor.TaskID{Subtopology: sub, Partition: first + p}
			for range 1 + rng.IntN(5)/4 {
				m := &members[rng.IntN(len(members))]
				if rng.IntN(6) == 0 {
					m.Revoked = append(m.Revoked, task)
					continue
				}
				m.Active = append(m.Active, task)
			}
		}
	}
	for i := range members {
		if active := members[i].Active; rng.IntN(3) == 0 {
			rng.Shuffle(len(active), func(a, b int) { active[a], active[b] = active[b], active[a] })
		}
	}
	return members
}
