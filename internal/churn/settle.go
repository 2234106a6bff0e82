package churn

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// Settling is a quiet continuation: everybody applies every answer, all copies catch up, and nothing else happens.
type Settling struct {
	*World
	rounds int
	last   *assignor.Assignment
	where  map[assignor.TaskID]string // the instance that has each stateful task, or will once its owner has stopped it
	moves  map[assignor.TaskID]int    // how often it has changed since the base
	base   int                        // the first round since which the leader has known everything and awaited nobody, -1 before
	fewest int64                      // the fewest moves that level what the base left
	began  map[assignor.TaskID]string // the instance that ran each stateless task before
	ran    map[assignor.TaskID]string // the instance that ran it last
	starts map[assignor.TaskID]int    // how often it has started on another instance
}

// Settle lets the group settle and holds the fixed point against what the design promises of it. It fails where that takes longer
// than it may (see limit).
func (w *World) Settle() *Settling {
	s := w.settle()
	w.checkSettled(s.last)
	return s
}

// settle plays rounds until an answer repeats the one before. Of the memory nothing is forgotten any more, no answer is missed, and the
// RejoinDelay passes with every round, so that nobody is awaited for long.
func (w *World) settle() *Settling {
	s := &Settling{World: w, base: -1, began: map[assignor.TaskID]string{}, ran: map[assignor.TaskID]string{}, starts: map[assignor.TaskID]int{}}
	for task, at := range w.last {
		if w.has(task) && w.stateless(task) {
			s.began[task], s.ran[task] = at.instance, at.instance
		}
	}
	for _, k := range w.workers {
		k.stuck = map[assignor.TaskID]bool{}
	}
	for ; ; s.rounds++ {
		w.config.SincePrevious = w.config.RejoinDelay // whoever is awaited does not come back
		certain := !slices.ContainsFunc(w.workers, func(k *worker) bool {
			behind := k.report.Generation != 0 && k.report.Generation < w.generation()
			return k.fresh != nil || behind || w.restoring(k)
		})
		before := s.last
		s.last = w.round(w.memory)
		s.follow(certain)
		w.deliver(s.last, func(*worker) string { return "applies" })
		if fixed(before, s.last) {
			return s
		}
		if s.rounds >= s.limit() {
			w.failf("L1: not settled after %d rounds, the base was round %d", s.rounds, s.base)
		}
		if !s.last.FollowUp { // else the next round comes at once
			w.catchUp()
		}
	}
}

// restoring reports whether a member runs a task that it has yet to catch up with. It may have to give it back (R1.2).
func (w *World) restoring(k *worker) bool {
	return slices.ContainsFunc(k.report.Standbys, func(c assignor.Replica) bool { return k.runs[c.Task] && !caughtUp(w.config, c.Lag) })
}

// generation returns that of the last answer, as far as it was ever delivered.
func (w *World) generation() int32 {
	if w.memory == nil {
		return 0
	}
	return w.memory.Generation
}

// limit returns after how many rounds the group must have settled. Of n tasks that have to move, one batch after the other is
// learned: MaxLearners of them, where Eager members call for rounds perhaps one by one. A batch takes a round in which it has
// caught up, and one that comes at once because tasks have to stop first (R2). Before that somebody may be awaited, tasks that
// several claim stop, what is ready is taken over; after that come tasks that change members, stateless tasks, and standbys,
// which are replaced once new ones have caught up, and last the round that changes nothing.
func (s *Settling) limit() int {
	const before, after = 5, 5
	if s.base < 0 {
		return before
	}
	n := int(s.fewest)
	if unit, _ := s.unit(); !unit || s.config.NewInstancesOnly {
		n = len(s.where) // no closed form says how many move
	}
	batch := max(1, n)
	switch {
	case s.rejoin == assignor.Eager:
		batch = 1
	case s.config.MaxLearners > 0:
		batch = s.config.MaxLearners
	}
	return s.base + 2*((n+batch-1)/batch) + after
}

// follow notes where the answer has every stateful task, and how many moves that took.
//
// It counts from the base on. Before it the leader may not know who runs what (certain says whether all reports are current), so that a
// task may come back to where nobody knew it was; while an instance is awaited nothing is levelled (R7.6), and where its tasks go is not
// known. If a report turns out to be old after all, the base is looked for anew.
func (s *Settling) follow(certain bool) {
	for i := range s.last.Members {
		for _, task := range s.last.Members[i].Active {
			if at := s.last.Members[i].Instance; s.has(task) && s.stateless(task) && s.ran[task] != at {
				s.starts[task]++
				s.ran[task] = at
			}
		}
	}
	where, whole := s.places()
	if !certain {
		s.base = -1
	}
	if s.base < 0 && certain && whole && len(s.last.Departed) == 0 {
		s.base, s.moves = s.rounds, map[assignor.TaskID]int{}
		s.fewest = s.statefulMoves(where)
	} else if s.base >= 0 {
		for task, at := range where {
			if at != s.where[task] {
				s.moves[task]++
			}
		}
	}
	s.where = where
}

// places returns the instance of each stateful task, and whether that is known of all of them. A task that has to stop first is where it
// will start (R2.1), if the reason says that this is decided.
func (s *Settling) places() (where map[assignor.TaskID]string, whole bool) {
	where = s.placesOf(s.last)
	for _, m := range s.last.Moves {
		if m.Kind == assignor.MoveRevoke && s.has(m.Task) && !s.stateless(m.Task) {
			if m.Reason != assignor.ReasonLearnerCaughtUp && m.Reason != assignor.ReasonSiblings && m.Reason != assignor.ReasonMemberLeaving {
				return where, false // the next round decides it anew
			}
			where[m.Task] = s.worker(m.To).instance()
		}
	}
	return where, true
}

// checkStateless checks L1 and L2 for the stateless tasks of a group that had settled before one event: none starts on another
// instance twice, and as few do as the stateful tasks in their final places allow (one weight, not under NewInstancesOnly).
//
// Where they have several weights one may start twice (see CheckMoved).
func (s *Settling) checkStateless() {
	_, unit := s.unit()
	have := map[string]int64{}
	for _, instance := range s.began {
		have[instance]++
	}
	incoming := int64(len(s.began))
	var parties []levelled
	for _, p := range s.partiesOf(s.last) {
		if !p.leaving {
			parties = append(parties, levelled{p.capacity, have[p.name], p.stateful, true})
			incoming -= have[p.name]
		}
	}
	moved := int64(0)
	for task, n := range s.starts {
		moved += int64(n)
		if n > 2 || n > 1 && unit {
			s.failf("L1: %v, which has no state, has changed instance %d times", task, n)
		}
	}
	if !unit || s.config.NewInstancesOnly || len(parties) == 0 {
		return
	}
	if fewest := incoming + fewestMoves(parties, incoming, int64(s.config.ImbalancePercent)); moved != fewest {
		s.failf("L2: %d stateless tasks have moved, want %d", moved, fewest)
	}
}

// placesOf returns the instance that runs each stateful task.
func (w *World) placesOf(a *assignor.Assignment) map[assignor.TaskID]string {
	where := map[assignor.TaskID]string{}
	for i := range a.Members {
		for _, task := range a.Members[i].Active {
			if w.has(task) && !w.stateless(task) {
				where[task] = a.Members[i].Instance
			}
		}
	}
	return where
}

// CheckMoved checks L1 and L2: once the leader knew everything, no task has changed instance twice, and as few have as any plan
// could make do with (unit weights, not under NewInstancesOnly).
//
// Tasks of several weights are packed by a rule of thumb. Where learners come a few at a time, the packing is decided anew when
// some have landed, and may then put one of those elsewhere: it moves twice, but never more often.
func (s *Settling) CheckMoved() {
	unit, _ := s.unit()
	once, sum := 1, int64(0)
	if !unit && (s.config.MaxLearners > 0 || s.rejoin == assignor.Eager) {
		once = 2
	}
	for task, n := range s.moves {
		sum += int64(n)
		if n > once {
			s.failf("L1: %v has changed instance %d times since round %d", task, n, s.base)
		}
	}
	if unit && !s.config.NewInstancesOnly && sum != s.fewest {
		s.failf("L2: %d stateful tasks have moved since round %d, want %d", sum, s.base, s.fewest)
	}
}

// fixed reports whether an answer repeats the last one and decides nothing: then the next round has the same reports and the same
// memory, but for the generation, and so the same answer.
func fixed(before, a *assignor.Assignment) bool {
	if before == nil || a.FollowUp || len(a.Moves)+len(a.Departed) > 0 || len(before.Members) != len(a.Members) {
		return false
	}
	for i := range a.Members {
		was, is := &before.Members[i], &a.Members[i]
		if was.Member != is.Member || len(is.Learners)+len(is.Revoke) > 0 ||
			!slices.Equal(was.Active, is.Active) || !slices.Equal(was.Standbys, is.Standbys) || len(was.Learners)+len(was.Revoke) > 0 {
			return false
		}
	}
	return true
}

// catchUp makes all copies catch up, as far as members call for a round.
func (w *World) catchUp() {
	for _, k := range w.workers {
		CatchUp(&k.report, w.rejoin)
	}
}
