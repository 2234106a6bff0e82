package churn

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// leader returns what the leader of the next round remembers: four times in five the last answer, else nothing, what it makes of the
// reports, or an older answer, as a leader has that was cut off for a while and is elected again.
func (w *World) leader() *assignor.Assignment {
	memory := w.memory
	w.rebuilt = false
	switch draw := w.rng.IntN(100); {
	case draw < 8:
		memory = nil
		w.event("a new leader remembers nothing")
	case draw < 16:
		if memory = assignor.Recover(w.Reports()); w.memory != nil && printAssignment(memory) != printAssignment(w.memory) {
			w.rebuilt = true
			w.hurry()
			memory = assignor.Recover(w.Reports())
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
		memory = ShuffleMemory(w.rng, memory)
		if memory != nil { // sorted again, as Assignment says, but with other arrays
			slices.SortFunc(memory.Members, func(a, b assignor.MemberAssignment) int { return strings.Compare(a.Member, b.Member) })
		}
	}
	return memory
}

// Reports returns what the members will report.
func (w *World) Reports() []assignor.Member {
	members := make([]assignor.Member, len(w.workers))
	for i, k := range w.workers {
		members[i] = CloneMember(&k.report)
	}
	return members
}

// hurry makes members that were slow to apply the last answer report it after all, unless all it gave them is what they report
// anyway: a leader that does not know the last answer cannot know what else they run.
func (w *World) hurry() {
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

// Churn lets events happen round by round, several of them before the group comes to rest.
func (w *World) Churn() {
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

// stick keeps one copy from ever catching up, as a disk that is too slow does. The world lets go of it before it has to settle.
func (w *World) stick(k *worker) {
	for _, copies := range [][]assignor.Replica{k.report.Learners, k.report.Standbys} {
		for i := range copies {
			if task := copies[i].Task; w.running()[task] && !k.runs[task] && w.chance(50) {
				k.stuck[task] = true
				copies[i].Lag = w.config.AcceptableLag + 1
			}
		}
	}
}

// Play draws a world from a seed and lets it play: [World.Live], for most. It returns the world, and what went wrong with the seed and the last rounds.
// Every round is decided by assign, and by again with everything in another order, which must come to the same.
func Play(seed uint64, assign, again Assign, play func(w *World)) (w *World, err error) {
	w = newWorld(seed, assign, again)
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("seed %d: %s\n%s", seed, f.text, w.rows())
		default:
			err = fmt.Errorf("seed %d: panic: %v\n%s\n%s", seed, f, w.rows(), debug.Stack())
		}
	}()
	play(w)
	return w, nil
}

// Live is the whole life of a group: many events and then none, and then one at a time. After many it says little how many moves there
// were, since nobody knows where they began. After one, of a group that had settled, the fewest moves are known (L2), stateless ones
// too, and they begin at once unless somebody has to be awaited or to stop first.
func (w *World) Live() {
	w.Churn()
	s := w.Settle()
	s.CheckMoved()
	for range 2 {
		crash := w.disturbOnce()
		s = w.Settle()
		s.CheckMoved()
		s.checkStateless()
		speaks := slices.ContainsFunc(w.parties(), func(p *party) bool { return p.speaks })
		overdue := slices.ContainsFunc(w.instances(), w.excused)
		if s.base > 0 && !crash && speaks && !overdue {
			w.failf("the moves that one event takes do not begin with its round, but with round %d", s.base)
		}
	}
}

// Events returns how many events there have been.
func (w *World) Events() int64 {
	n := len(w.events)
	for i := range w.log {
		n += len(w.log[i].events)
	}
	return int64(n)
}
