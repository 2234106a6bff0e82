package assignor_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/incremental-rebalance/assignor"
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
		w := newTwinWorld(seed)
		faults := []func(){
			func() { w.members = nil },
			func() { w.someMember().ID = "" },
			func() { w.members = append(w.members, *w.someMember()) },
			func() { w.config.Topology = nil },
			func() { w.config.Topology = append(w.config.Topology, w.config.Topology[0]) },
			func() { w.config.Topology[0].Partitions = assignor.MaxTasks + 1 },
			func() { w.config.Topology[0].RestoreCost = make([]int64, w.config.Topology[0].Partitions+1) },
			func() { w.config.Topology[0].ID = -1 },
			func() { w.config.ImbalancePercent = 101 },
			func() { w.config.SincePrevious = -1 },
			func() { w.config.SpreadTags = []string{""} },
		}
		for range 1 + w.IntN(2) {
			k := w.IntN(len(faults))
			faults[k]()
			faults = slices.Delete(faults, k, k+1)
			if len(w.members) == 0 || len(w.config.Topology) == 0 {
				break
			}
		}
		got, err := assignor.Assign(w.members, w.memory, w.config)
		want, wantErr := twin.Assign(w.members, w.memory, w.config)
		if diff := twin.Difference(got, err, want, wantErr); diff != "" || err == nil {
			t.Errorf("seed %d: %v, %v: %s", seed, err, wantErr, diff)
		}
	}
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

func compareTwins(t *testing.T, seed uint64, tally *twinTally) {
	t.Helper()
	w := newTwinWorld(seed)
	for round := range 1 + w.IntN(10) {
		members := w.reports()
		got, err := twin.Input{Members: members, Memory: w.memory, Config: w.config}.Answer()
		w.shuffle(members)
		in := twin.Input{Members: members, Memory: w.memory, Config: w.config}
		want, wantErr := twin.Assign(members, w.memory, w.config)
		if diff := twin.Difference(got, err, want, wantErr); diff != "" || err != nil {
			small := in.Shrink()
			t.Errorf("seed %d, round %d: %s\n%s\nas small as can be: %s\n%s", seed, round, diff, in, small.Difference(), small)
			return
		}
		tally.add(got)
		w.next(got)
	}
}
