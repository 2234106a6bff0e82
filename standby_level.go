package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// even levels the counts as R4.2 does. Where tags and the other copies do not let an instance come to its target, single moves
// that shrink the distances of all instances from their ranges make the best of it.
//
//	standbys S1 4, S2 1, S3 1    targets 2 2 2: S1 gives up two, those with the most to replay
//
// The targets start from what instances keep, so that as few standbys move as any plan can: each is a replay, even if nobody
// waits for it.
func (s *standbys) even() {
	target := s.targets()
	if slices.Equal(target, s.count) {
		return
	}
	s.openWhole()
	s.countPairs()
	tasks := s.tasksByHolder(func(i int32) bool { return s.count[i] > target[i] })
	for i := range s.instances {
		if s.count[i] > target[i] {
			s.shedStandbys(int32(i), tasks[i], target)
		}
	}
	for s.improve() {
	}
}

// improve moves standbys one by one, each from an instance above its range to one that is not above it, or to one below its
// range from one above the lower end of its own. It reports whether it moved any; then the next call may find more. Every move
// shrinks the summed distance from the ranges, so it ends.
//
//	range 2 to 3    S1 5, S2 3, S3 1: S1 gives one to S3 (a gain of 2), then one more if its tasks allow it
//
// It is for what levelling cannot do, because the instances that have too many and those that have too few share the wrong
// tasks.
func (s *standbys) improve() bool {
	short, open := false, false // some instance is below its range, some is not above it and has room
	for i := range s.instances {
		short = short || s.count[i] < s.lo[i]
		open = open || s.count[i] < s.hi[i]
	}
	tasks := s.tasksByHolder(func(i int32) bool { return s.count[i] > s.hi[i] && open || s.count[i] > s.lo[i] && short })
	var takers []int32
	moved := false
	for from := range tasks {
		if len(tasks[from]) == 0 {
			continue
		}
		takers = takers[:0]
		for i := range int32(len(s.instances)) {
			if s.gain(int32(from), i) > 0 {
				takers = append(takers, i)
			}
		}
		moved = s.improveFrom(int32(from), tasks[from], takers) || moved
	}
	return moved
}

// improveFrom moves standbys of tasks from one instance to takers, one each at most, as long as that is worth it.
func (s *standbys) improveFrom(from int32, tasks, takers []int32) (moved bool) {
	s.sortForShedding(from, tasks)
	for _, t := range tasks {
		k := slices.Index(s.of(t), from)
		if to := s.taker(t, k, takers, func(i int32) int64 { return s.gain(from, i) }); to != none {
			s.moveTo(t, k, to)
			moved = true
		}
	}
	return moved
}

// gain returns by how much the summed distance from the ranges shrinks if a standby goes from one instance to another.
func (s *standbys) gain(from, to int32) int64 {
	distance := func(i int32, n int64) int64 { return max(0, s.lo[i]-n, n-s.hi[i]) }
	return distance(from, s.count[from]) - distance(from, s.count[from]-1) + distance(to, s.count[to]) - distance(to, s.count[to]+1)
}

// targets returns how many standbys every instance should keep, by the same rule as tasks (internal/level). What the ranges do not
// hold stays where it is: First, Spill and Last are 0, so that nobody else takes it.
func (s *standbys) targets() []int64 {
	l := level.New(s.int64s.zeros(level.Columns*len(s.instances)), len(s.instances))
	for i := range s.instances {
		l.Capacity[i] = s.instances[i].capacity
		if s.instances[i].stays {
			l.Have[i], l.Low[i], l.High[i], l.Floor[i] = s.count[i], s.lo[i], s.hi[i], s.lo[i]
		}
	}
	l.Prefer = l.Have
	return l.Targets()
}

// tasksByHolder returns, for each instance that admit accepts, the tasks that it keeps standbys of, in id order. It takes two
// passes, one to count and one to write, so that the lists are cut from one block.
func (s *standbys) tasksByHolder(admit func(i int32) bool) [][]int32 {
	chosen, sizes, total := s.bools.take(len(s.instances)), s.int32s.zeros(len(s.instances)), 0
	for i := range chosen {
		chosen[i] = admit(int32(i))
	}
	for _, t := range s.copied {
		for _, i := range s.of(t) {
			if chosen[i] {
				sizes[i]++
				total++
			}
		}
	}
	lists := cut(s.int32s.take(total), sizes)
	for _, t := range s.copied {
		for _, i := range s.of(t) {
			if chosen[i] {
				lists[i] = append(lists[i], t)
			}
		}
	}
	return lists
}

// sortForShedding puts the standbys that an instance should give up first: those that have the most to replay, since least is
// lost with them, then those of the owners with the most standbys here.
func (s *standbys) sortForShedding(from int32, tasks []int32) {
	slices.SortFunc(tasks, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.lagAt(b, from), s.lagAt(a, from)), cmp.Compare(s.paired(b, from), s.paired(a, from)), cmp.Compare(a, b))
	})
}

// shedStandbys moves standbys from an instance to those below their target until it has come down to its own, or none of its
// standbys may go to any of them.
func (s *standbys) shedStandbys(from int32, tasks []int32, target []int64) {
	s.sortForShedding(from, tasks)
	takers := s.int32s.take(len(s.instances))[:0]
	for i := range int32(len(s.instances)) {
		if s.count[i] < target[i] {
			takers = append(takers, i)
		}
	}
	for _, t := range tasks {
		if s.count[from] <= target[from] {
			return
		}
		k := slices.Index(s.of(t), from)
		if to := s.taker(t, k, takers, func(i int32) int64 { return target[i] - s.count[i] }); to != none {
			s.moveTo(t, k, to)
		}
	}
}

// taker returns which of takers keeps the standby of place k from now on, none where no taker may: of those to which it is
// worth something, and by which the tags do not differ less, the one with the fewest for its capacity.
func (s *standbys) taker(t int32, k int, takers []int32, worth func(i int32) int64) int32 {
	best := none
	others := s.withoutPlace(t, k)
	bound := s.conflicts(t, others, s.of(t)[k])
	for _, i := range takers {
		if worth(i) > 0 && s.mayKeep(t, i) && s.conflicts(t, others, i) <= bound && (best == none || s.betterHolder(t, i, best)) {
			best = i
		}
	}
	return best
}
