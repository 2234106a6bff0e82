package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// standbys is the state of placeStandbys, and what it decides: which instances keep copies of each task. Members are a later
// step (chooseHolders), so copies are counted by instance here.
//
//	width 2    places  S2 S5 | S3 -  | -  -      by task, in no order
//	           taken   2     | 1     | 0
//	           wanted  2     | 2     | 1         the third has nowhere else to be
type standbys struct {
	*plan
	copied  []int32 // the tasks that have or should have a copy, ascending; not those that are whole
	width   int     // at most so many standbys a task
	places  []int32 // by task, width places each: the instances that keep a standby
	taken   []int32 // by task, how many of its places are taken
	wanted  []int32 // by task, how many standbys it can have; nil where none are configured
	count   []int64 // by instance, the standbys it keeps
	total   int64   // the standbys wanted in all
	lo, hi  []int64 // by instance, the fair range of count
	wholes  []int32 // by member, how many standbys of whole tasks it has, see findWhole; nil where none is looked for
	pairs   []int32 // by instance of the active task, then of its standby; nil until asked for, or where there are too many instances
	tags    tags
	shifted []bool  // by task, a standby goes elsewhere to even the load; nil where none does
	added   int     // standbys that tasks did not have
	missing int     // standbys that no instance can take
	extra   int     // copies too many that stay until others have caught up (T8)
	spare   []int32 // scratch: instances
}

// of returns the instances that keep a standby of the task. It is a view: whoever moves one while walking along it copies it
// first.
func (s *standbys) of(t int32) []int32 {
	if s.taken == nil {
		return nil
	}
	return s.places[int(t)*s.width:][:s.taken[t]]
}

// mayKeep reports whether instance i may keep a standby of the task beside those it has (I4, I5).
func (s *standbys) mayKeep(t, i int32) bool {
	return s.instances[i].stays && i != s.at(t) && i != s.learnerAt(t) && !slices.Contains(s.of(t), i) && !s.stopsOn(t, i)
}

// stopsOn reports whether a member of instance i runs the task, which it may not (R0.3), and has to stop it first.
func (s *standbys) stopsOn(t, i int32) bool {
	return slices.ContainsFunc(s.revocationsOf(t), func(c claim) bool { return s.members[c.member].instance == i })
}

// states calls f for every copy of the task on an instance that may keep a standby of it: what the previous owner has after a
// hand-over in this round, and those that members report.
func (s *standbys) states(t int32, f func(i int32, lag uint64, learns bool)) {
	if o := s.owner[t]; o != none && o != s.by(t) && s.mayKeep(t, s.members[o].instance) {
		f(s.members[o].instance, 0, false)
	}
	for c, end := s.copiesOf(t); c < end; c++ {
		if i := s.holderInstance(c); s.mayKeep(t, i) {
			f(i, s.replicas[c].lag, s.replicas[c].learns)
		}
	}
}

// wants returns how many standbys the task is to have.
func (s *standbys) wants(t int32) int32 {
	if s.wanted == nil {
		return 0
	}
	return s.wanted[t]
}

// put makes instance i keep a standby of the task, which has room for one. Its count is the caller's, because most callers have
// counted before they decide.
func (s *standbys) put(t, i int32) {
	s.places[int(t)*s.width+int(s.taken[t])] = i
	s.taken[t]++
	s.pair(t, i, 1)
}

// pair counts n standbys more of the tasks of one instance, the one that runs t, on instance i: if that fails, i is who gets
// its load.
func (s *standbys) pair(t, i, n int32) {
	if s.pairs != nil {
		s.pairs[int(s.at(t))*len(s.instances)+int(i)] += n
	}
}

// countPairs counts the pairs, when that is first asked for. It leaves them out where the table would be too large.
func (s *standbys) countPairs() {
	if s.pairs != nil || len(s.instances)*len(s.instances) > maxSpread {
		return
	}
	s.pairs = s.int32s.zeros(len(s.instances) * len(s.instances))
	for _, t := range s.copied {
		for _, i := range s.of(t) {
			s.pair(t, i, 1)
		}
	}
	for t := range s.topology.size() {
		if s.isWhole(t) {
			for _, c := range s.holdersOf(t) {
				s.pair(t, s.instanceBy[c.member()], 1)
			}
		}
	}
}

// paired returns how many standbys instance i keeps of the tasks of the one that runs t; 0 where that is not counted.
func (s *standbys) paired(t, i int32) int32 {
	if s.pairs == nil {
		return 0
	}
	return s.pairs[int(s.at(t))*len(s.instances)+int(i)]
}

// compareExcess orders instances by how far they are above their range, then above its lower end, then above their exact share.
func (s *standbys) compareExcess(a, b int32) int {
	above := func(i int32) int64 { return max(0, s.count[i]-s.hi[i]) }
	low := func(i int32) int64 { return s.count[i] - s.lo[i] }
	exact := func(i int32) int64 { return s.count[i]*s.staying - s.total*s.instances[i].capacity }
	return cmp.Or(cmp.Compare(above(a), above(b)), cmp.Compare(low(a), low(b)), cmp.Compare(exact(a), exact(b)))
}

// betterHolder reports whether a new standby of t goes to a rather than to b: to the one with fewer for its capacity, then to
// the one with fewer of the same owner's.
func (s *standbys) betterHolder(t, a, b int32) bool {
	return cmp.Or(s.compareCount(a, b), cmp.Compare(s.paired(t, a), s.paired(t, b)), cmp.Compare(a, b)) < 0
}

// compareCount orders instances by their standbys for their capacity.
func (s *standbys) compareCount(a, b int32) int {
	return level.CompareRatios(s.count[a], s.instances[a].capacity, s.count[b], s.instances[b].capacity)
}

// withoutPlace returns the instances of the task's standbys but that of place k, in the scratch space.
func (s *standbys) withoutPlace(t int32, k int) []int32 {
	s.spare = append(s.spare[:0], s.of(t)...)
	s.spare = slices.Delete(s.spare, k, k+1)
	return s.spare
}

// moveTo lets instance i keep the standby of place k, and counts that.
func (s *standbys) moveTo(t int32, k int, i int32) {
	if s.shifted == nil {
		s.shifted = make([]bool, len(s.taken))
	}
	s.shifted[t] = true
	place := &s.places[int(t)*s.width+k]
	s.count[*place]--
	s.pair(t, *place, -1)
	*place = i
	s.count[i]++
	s.pair(t, i, 1)
}

// lagAt returns how far the copy of the task on instance i is behind, where all that have caught up are equal. New ones are
// last; what the owner has is no copy, and not behind.
func (s *standbys) lagAt(t, i int32) uint64 {
	lag := uint64(unknownLag)
	for c, end := s.copiesOf(t); c < end; c++ {
		if s.holderInstance(c) == i {
			lag = min(lag, s.rank(c))
		}
	}
	if o := s.owner[t]; o != none && s.members[o].instance == i {
		lag = 0
	}
	return lag
}

// isWhole reports whether findWhole has found the task to be whole. Those that it passed over have been forgotten by holders.
func (s *standbys) isWhole(t int32) bool { return s.wholes != nil && s.holdersOf(t).named() }
