package assignor_test

import (
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var soak = flag.Int64("soak", 0, "how many random events TestSoak plays; 0: none. A million take some minutes.")

var soakSeed = flag.Int64("soakseed", -1, "the one seed that TestSoak plays: one that has failed")

// TestSoak is TestChurn for as long as one likes: the worlds of other seeds, one after the other, until there have been as many
// events as the flag says.
//
//	go test -run TestSoak -soak 1000000 -timeout 0 -v .
func TestSoak(t *testing.T) {
	if *soakSeed >= 0 {
		_, err := runSeed(uint64(*soakSeed), (*world).live)
		require.NoError(t, err)
		return
	}
	if *soak == 0 {
		t.Skip("-soak says how many events")
	}
	started := time.Now()
	var seeds, rounds, events, failed atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Add(1)
		go func() {
			defer group.Done()
			for events.Load() < *soak && failed.Load() < 3 {
				w, err := runSeed(uint64(churnSeeds+seeds.Add(1)), (*world).live)
				rounds.Add(int64(w.rounds))
				events.Add(w.countEvents())
				if err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	t.Logf("%d events, %d rounds, %d groups in %v", events.Load(), rounds.Load(), seeds.Load(), time.Since(started).Round(time.Second))
}

// live is the whole life of a group: many events and then none, and then one at a time.
func (w *world) live() {
	w.churn()
	s := w.settle()
	w.checkSettled(s.last)
	s.checkMoved()
	for range 2 {
		crash := w.disturbOnce()
		s = w.settle()
		w.checkSettled(s.last)
		s.checkMoved()
		s.checkStateless()
		speaks := slices.ContainsFunc(w.parties(), func(p *party) bool { return p.speaks })
		overdue := slices.ContainsFunc(w.instances(), w.excused)
		if s.base > 0 && !crash && speaks && !overdue {
			w.failf("the moves that one event takes do not begin with its round, but with round %d", s.base)
		}
	}
}

// countEvents returns how many events there have been.
func (w *world) countEvents() int64 {
	n := len(w.events)
	for i := range w.log {
		n += len(w.log[i].events)
	}
	return int64(n)
}
