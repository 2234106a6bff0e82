package assignor

import (
	"cmp"
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// kept is the round in which it is decided which instances have a copy of each task, and as what.
type kept struct{ *standbys }

// placeStandbys decides where the copies of every task that runs are kept (R6): as many as configured, each on another instance
// that stays, none with the active task or its learner.
//
//	countReported    what there is, before any goes: by this the loads are judged
//	keepReported     too many: one goes; the others keep their places
//	addMissing       too few: state on a disk first, then the instances with the fewest
//	improveTags      copies differ in their tags where they can
//	even             and the counts are levelled
//
// While somebody is awaited, or all leave, only the first two: whoever comes back brings its copies along. Copies that are to
// go although nothing has replaced them yet stay beside them (see extras).
func placeStandbys(r shared) kept {
	s := &standbys{plan: r.plan, width: min(r.config.Standbys, len(r.instances)), count: r.int64s.zeros(len(r.instances))}
	s.findTasks()
	s.tags = s.plan.numberTags()
	if len(s.copied) > 0 && s.width > 0 {
		s.makeRoom()
	}
	s.countReported()
	s.keepReported()
	if !s.allLeave && !s.awaiting && s.config.Standbys > 0 {
		s.addMissing()
		s.improveTags()
		s.even()
	}
	return kept{s}
}

// countReported counts the copies there are, before any goes, and what every task wants. The ranges are for what is wanted in all: what
// is too many is about to go, and what no instance can take is in nobody's share.
func (s *standbys) countReported() {
	for _, t := range s.copied {
		if s.paused(t) {
			s.countPaused(t)
			continue
		}
		reported := s.reported(t)
		wanted := min(int32(s.width), s.eligible(t))
		if s.allLeave {
			wanted = min(int32(s.width), int32(len(reported)))
		}
		if s.wanted != nil {
			s.wanted[t] = wanted
		}
		s.total += int64(wanted)
		s.miss(s.config.Standbys - int(wanted))
		for _, i := range reported {
			s.count[i]++
		}
	}
	s.lo, s.hi = s.int64s.zeros(len(s.instances)), s.int64s.zeros(len(s.instances))
	for i := range s.instances {
		if s.instances[i].stays {
			s.lo[i], s.hi[i] = level.Range(s.total, s.instances[i].capacity, s.staying, s.config.ImbalancePercent)
		}
	}
}

// miss counts standbys that no instance can take; a sum that an int does not hold is the greatest it does.
func (s *standbys) miss(n int) {
	s.missing = min(s.missing, math.MaxInt-n) + n
}

// countPaused counts the copies of a task that runs nowhere in this round: they stay what they are.
func (s *standbys) countPaused(t int32) {
	s.spare = s.eachPaused(t, s.pausedLearner(t), s.spare[:0], func(k int32, stays bool) {
		if stays {
			s.count[s.holderInstance(k)]++
			s.total++
		}
	})
}

// reported returns the instances that have a copy of the task and may keep it as a standby, in the scratch space.
func (s *standbys) reported(t int32) []int32 {
	s.spare = s.spare[:0]
	s.states(t, func(i int32, _ uint64, learns bool) {
		if !learns && !slices.Contains(s.spare, i) {
			s.spare = append(s.spare, i)
		}
	})
	return s.spare
}

// keepReported keeps the copies there are. Where a task has more than it wants, the one that shares most tag values with the
// other copies goes, then the one on the instance furthest above its share.
//
// Lags do not matter here: they are others in the next round, which then would let another copy go, while the first is on its
// way out.
func (s *standbys) keepReported() {
	for _, t := range s.copied {
		if s.paused(t) {
			continue
		}
		left := s.reported(t)
		for len(left) > int(s.wants(t)) {
			k := s.surplus(t, left)
			s.count[left[k]]--
			left = slices.Delete(left, k, k+1)
		}
		for _, i := range left {
			s.put(t, i)
		}
	}
}

// surplus returns the position of the copy that goes first (R6.2). The counts are those of all copies there are, but what has gone by
// now.
func (s *standbys) surplus(t int32, copies []int32) int {
	first := 0
	for k := 1; k < len(copies); k++ {
		a, b := copies[k], copies[first]
		if cmp.Or(cmp.Compare(s.conflicts(t, copies, b), s.conflicts(t, copies, a)), s.compareExcess(b, a), cmp.Compare(a, b)) < 0 {
			first = k
		}
	}
	return first
}

// needs returns how many standbys the task should be given now. While an owner that stays hands it over, one less than it
// wants: the owner will be that copy, and a replay is saved.
func (s *standbys) needs(t int32) int32 {
	if s.learnerAt(t) != none && s.instances[s.at(t)].stays {
		return min(s.wanted[t], int32(s.width)-1)
	}
	return s.wanted[t]
}

// addMissing gives tasks the standbys they lack, in passes, so that every task has one before any has two.
func (s *standbys) addMissing() {
	lacking := s.int32s.take(len(s.copied))[:0]
	for _, t := range s.copied {
		if !s.paused(t) && s.taken[t] < s.needs(t) {
			lacking = append(lacking, t)
		}
	}
	if len(lacking) == 0 {
		return
	}
	s.countPairs()
	lightest := lightest{s: s}
	for pass := range int32(s.width) {
		for _, t := range lacking {
			if s.taken[t] > pass || s.taken[t] >= s.needs(t) {
				continue
			}
			if i := lightest.newHolder(t); i != none {
				s.put(t, i)
				s.count[i]++
				s.added++
				lightest.took(i)
			}
		}
	}
}

// lightest are the instances with the fewest standbys for their capacity, in id order. Looking at them first makes a cold start
// cheap, in which every task gets a standby and most instances are equal.
type lightest struct {
	s         *standbys
	instances []int32 // ascending; all have the same count for their capacity. Empty: to be found anew
}

// took takes an instance that got a standby out of the lightest.
func (l *lightest) took(i int32) {
	if k, ok := slices.BinarySearch(l.instances, i); ok {
		l.instances = slices.Delete(l.instances, k, k+1)
	}
}

// find collects the lightest instances anew.
func (l *lightest) find() {
	for i := range int32(len(l.s.instances)) {
		if !l.s.instances[i].stays {
			continue
		}
		d := -1
		if len(l.instances) > 0 {
			d = l.s.compareCount(i, l.instances[0])
		}
		if d < 0 {
			l.instances = l.instances[:0]
		}
		if d <= 0 {
			l.instances = append(l.instances, i)
		}
	}
}

// newHolder returns what standbys.newHolder does. Without tags that is one that has state of the task, else one of the lightest if any
// of them may: the one that keeps the fewest standbys of the same owner's tasks.
func (l *lightest) newHolder(t int32) int32 {
	s := l.s
	if len(s.config.SpreadTags) > 0 {
		return s.newHolder(t, s.of(t))
	}
	if i := s.onDisk(t, func(int32) bool { return true }); i != none {
		return i
	}
	if len(l.instances) == 0 {
		l.find()
	}
	if i := l.leastPaired(t); i != none {
		return i
	}
	return s.newHolder(t, s.of(t))
}

// leastPaired returns which of the lightest keeps the fewest standbys of the same owner's tasks, none where none may.
func (l *lightest) leastPaired(t int32) int32 {
	s := l.s
	if s.pairs == nil {
		k := slices.IndexFunc(l.instances, func(i int32) bool { return s.mayKeep(t, i) })
		if k < 0 {
			return none
		}
		return l.instances[k]
	}
	best, least := none, int32(math.MaxInt32)
	row := s.pairs[int(s.at(t))*len(s.instances):]
	for _, i := range l.instances {
		if n := row[i]; n < least && s.mayKeep(t, i) {
			if best, least = i, n; n == 0 {
				break
			}
		}
	}
	return best
}

// eligible returns how many instances may keep a standby of the task. It may be less than configured: then the rest is missing,
// which is no error.
func (s *standbys) eligible(t int32) int32 {
	n := s.numStaying
	if s.instances[s.at(t)].stays {
		n--
	}
	if s.learnerAt(t) != none {
		n--
	}
	return max(0, n)
}

// extras calls f for every copy of a task that is to go but stays for now: one that has caught up, while fewer of the standbys
// that are kept have caught up than the task wants.
//
//	T1 wants one; S4 is to keep it and has nothing yet, S2 leaves and has caught up
//	S2 keeps its copy beside that of S4 until S4 has caught up
//
// Those on leaving instances are the last to be needed, and the first to go; past the drain deadline none stays.
func (s *standbys) extras(t int32, f func(member int32)) {
	hot := int32(0)
	for _, i := range s.of(t) {
		if s.lagAt(t, i) == 0 {
			hot++
		}
	}
	s.spare = append(s.spare[:0], s.of(t)...)
	if k := s.waitingCopy(t); k != none {
		s.spare = append(s.spare, s.holderInstance(k))
	}
	for _, leaving := range []bool{false, true} {
		s.eachHot(t, func(m int32) {
			i := s.members[m].instance
			in := &s.instances[i]
			if hot >= s.wants(t) || in.leaving != leaving || in.overdue || i == s.at(t) || i == s.learnerAt(t) || slices.Contains(s.spare, i) {
				return
			}
			s.spare = append(s.spare, i)
			hot++
			f(m)
		})
	}
}

// eachHot calls f for every member with a copy of the task that has caught up: what the previous owner has after a hand-over in
// this round, and what members report.
func (s *standbys) eachHot(t int32, f func(member int32)) {
	if o := s.owner[t]; o != none && o != s.by(t) {
		f(o)
	}
	for c, end := s.copiesOf(t); c < end; c++ {
		if s.caughtUp(c) {
			f(s.replicas[c].member)
		}
	}
}
