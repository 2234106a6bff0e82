package assignor_test

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/incremental-rebalance/assignor"
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
		want, wantErr := naiveAssign(w.members, w.memory, w.config)
		if diff := twinDifference(got, err, want, wantErr); diff != "" || err == nil {
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
		got, err := twinInput{members, w.memory, w.config}.answer()
		w.shuffle(members)
		in := twinInput{members, w.memory, w.config}
		want, wantErr := naiveAssign(members, w.memory, w.config)
		if diff := twinDifference(got, err, want, wantErr); diff != "" || err != nil {
			small := in.shrink()
			t.Errorf("seed %d, round %d: %s\n%s\nas small as can be: %s\n%s", seed, round, diff, in.report(), small.difference(), small.report())
			return
		}
		tally.add(got)
		w.next(got)
	}
}

// twinDifference returns the first difference between two answers, "" where they are equal.
func twinDifference(got *assignor.Assignment, err error, want *assignor.Assignment, wantErr error) string {
	for _, kind := range []error{assignor.ErrNoMembers, assignor.ErrConfig, assignor.ErrMember} {
		if errors.Is(err, kind) != errors.Is(wantErr, kind) {
			return fmt.Sprintf("the errors are %v and %v", err, wantErr)
		}
	}
	if (err == nil) != (wantErr == nil) || (got == nil) != (want == nil) {
		return fmt.Sprintf("the errors are %v and %v", err, wantErr)
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	a, b := strings.Split(twinAnswer(got), "\n"), strings.Split(twinAnswer(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("Assign has %q, its twin %q", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("Assign also has %q, its twin %q", a[min(len(a), len(b)):], b[min(len(a), len(b)):])
	}
	return "they differ in what is not printed: nil and empty lists"
}

// twinAnswer prints everything that an answer says, a line each.
func twinAnswer(a *assignor.Assignment) string {
	if a == nil {
		return "no answer"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d, missing standbys %d, follow-up %v, next %v\n", a.Generation, a.MissingStandbys, a.FollowUp, a.NextRebalance)
	for _, ma := range a.Members {
		fmt.Fprintf(&b, "%v handover=%v instance=%s leaving=%v version=%d generation=%d follow-up=%v\n",
			ma, ma.Handover, ma.Instance, ma.Leaving, ma.Version, ma.Generation, ma.FollowUp)
	}
	for _, d := range a.Departed {
		fmt.Fprintf(&b, "departed: %s%v absent for %v\n", d.Instance, d.Tasks, d.Absent)
	}
	moves := slices.Clone(a.Moves)
	for _, m := range moves {
		fmt.Fprintf(&b, "%v\n", m)
	}
	return b.String()
}
