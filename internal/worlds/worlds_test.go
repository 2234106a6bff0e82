package worlds

import (
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

var every = flag.Bool("every", false, "TestEveryState also visits the worlds that have millions of states")

// size says which runs visit a world.
type size int

const (
	quick size = iota // every run
	whole             // not with -short
	huge              // only with -every, and not to their end
)

// kinds are the tasks of the worlds.
var kinds = []struct {
	name                string
	stateful, stateless int32
}{{"three tasks with state", 3, 0}, {"two tasks with state and one without", 2, 1}, {"three tasks without state", 0, 3}, {"two tasks with state", 2, 0}}

// worldsOf returns the worlds of a size.
func worldsOf(want size) []*World {
	var list []*World
	add := func(is size, kind, standbys, budget int, deadlines bool, events uint8, mode assignor.HandoverMode, missed bool) {
		if is != want {
			return
		}
		k := kinds[kind]
		w := &World{Config: config(k.stateful, k.stateless, standbys, budget, deadlines), Mode: mode, Events: events, Missed: missed, Twin: true}
		w.Name = fmt.Sprintf("%s, standbys %d, budget %d, %v, %d events a round", k.name, standbys, budget, mode, events)
		if deadlines {
			w.Name += ", deadlines"
		}
		if missed {
			w.Name += ", missed answers"
		}
		list = append(list, w)
	}
	one, two := assignor.OneRound, assignor.TwoRounds
	for _, budget := range []int{0, 1} {
		for kind := range 2 {
			add(quick, kind, 0, budget, false, 2, one, false)
			add(quick, kind, 1, budget, false, 1, one, false)
			add(quick, kind, 1, budget, false, 1, two, false)
			add(whole, kind, 0, budget, false, 2, two, false)
			add(whole, kind, 0, budget, true, 1+uint8(budget), one, false)
			add(whole, kind, 0, budget, true, 1+uint8(budget), two, false)
			add(huge, kind, 1, budget, true, 2, one, false)
			add(huge, kind, 1, budget, true, 2, two, false)
			add(huge, kind, 0, budget, false, 1, one, true)
			add(huge, kind, 0, budget, false, 1, two, true)
		}
		add(whole, 1, 1, budget, true, 1, one, false)
		add(whole, 1, 1, budget, true, 1, two, false)
	}
	add(whole, 0, 1, 0, true, 1, one, false)
	add(whole, 3, 1, 0, true, 1, two, false)
	add(huge, 3, 1, 0, true, 2, one, false)
	add(huge, 3, 1, 0, true, 2, two, false)
	add(quick, 2, 0, 0, true, 2, one, false)
	add(quick, 2, 0, 0, true, 2, two, false)
	add(huge, 3, 1, 0, false, 1, one, true)
	add(huge, 3, 1, 0, false, 1, two, true)
	return list
}

// TestEveryState visits every state of the worlds and holds each against what the package comment says. It takes a minute of
// two cores, with -short ten seconds; with -every it also visits the nearest two million states of worlds that have more.
func TestEveryState(t *testing.T) {
	list := worldsOf(quick)
	if !testing.Short() {
		list = append(list, worldsOf(whole)...)
	}
	if *every {
		list = append(list, worldsOf(huge)...)
	}
	const most = 2_000_000
	var states atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for _, w := range list {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				e, err := Explore(w, most)
				require.NoError(t, err)
				states.Add(int64(len(e.Seen)))
				t.Logf("%d states", len(e.Seen))
			})
		}
	})
	if !t.Failed() {
		assert.Greater(t, states.Load(), int64(50_000))
	}
	t.Logf("%d worlds, %d states", len(list), states.Load())
}

// TestWrongAnswersAreFound puts mistakes in the place of the library: each is found, with the way to it.
func TestWrongAnswersAreFound(t *testing.T) {
	mistakes := map[string]struct {
		change func(a *assignor.Assignment, members []assignor.Member)
		want   string
		twin   bool // only the twin can see it
	}{
		"a task runs twice": {func(a *assignor.Assignment, _ []assignor.Member) {
			if len(a.Members) > 1 {
				active := append(slices.Clone(a.Members[0].Active), a.Members[1].Active...)
				slices.SortFunc(active, assignor.TaskID.Compare)
				a.Members[1].Active = active
			}
		}, "I1: 0_0 is active on S1 and S2", false},
		"a task is forgotten": {func(a *assignor.Assignment, _ []assignor.Member) {
			a.Members[0].Active, a.Members[0].Handover = nil, nil
		}, "I2: 0_0 is lost", false},
		"nobody ever learns": {func(a *assignor.Assignment, _ []assignor.Member) {
			for i := range a.Members {
				a.Members[i].Learners, a.Members[i].Handover = nil, nil
			}
		}, "does not come to rest", false},
		"a standby is dropped": {func(a *assignor.Assignment, _ []assignor.Member) {
			a.Members[0].Standbys = nil
		}, "standbys, want", false},
		"a move has another reason": {func(a *assignor.Assignment, _ []assignor.Member) {
			if len(a.Moves) > 0 {
				a.Moves[0].Reason = assignor.ReasonConflict
			}
		}, "the naive twin differs: Assign has", true},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			w := &World{Name: "test", Config: config(3, 0, 1, 0, false), Events: 1, Twin: mistake.twin}
			w.Assign = func(members []assignor.Member, memory *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
				a, err := assignor.Assign(members, memory, c)
				if err == nil {
					mistake.change(a, members)
				}
				return a, err
			}
			_, err := Explore(w, 10_000)
			require.ErrorContains(t, err, mistake.want)
			require.ErrorContains(t, err, "reached by")
		})
	}
}

// Renaming changes nothing but names.
func TestCanonical(t *testing.T) {
	w := &World{Config: config(2, 1, 1, 0, true)}
	var s State
	s.Memory, s.MemoryAge = true, 7
	s.Instances[0] = Instance{Present: true, Age: 7, Active: 0b001, Standbys: 0b010, Known: true, LastActive: 0b001}
	s.Instances[1] = Instance{Known: true, LastActive: 0b010, Awaited: 0b010}
	s.Instances[2] = Instance{Present: true, Age: 5, Active: 0b110, Known: true, LastActive: 0b110}
	var o State
	o.Memory, o.MemoryAge = true, 2
	o.Instances[2] = Instance{Present: true, Age: 2, Active: 0b010, Standbys: 0b001, Known: true, LastActive: 0b010}
	o.Instances[0] = Instance{Known: true, LastActive: 0b001, Awaited: 0b001}
	o.Instances[1] = Instance{Present: true, Age: 1, Active: 0b101, Known: true, LastActive: 0b101}
	assert.Equal(t, w.Canonical(s), w.Canonical(o), "S1 is S3, S2 is S1, S3 is S2, and the first two tasks have changed places")
	assert.Equal(t, w.Canonical(s), w.Canonical(w.Canonical(s)))
	o.Instances[1].Active = 0b110
	assert.NotEqual(t, w.Canonical(s), w.Canonical(o), "the third task has no state, so it is none of the others")
}
