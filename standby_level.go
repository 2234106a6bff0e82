package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// improveTags moves standbys that share tag values with other copies of their task where they need not.
func (s *standbys) improveTags() {
	if len(s.config.SpreadTags) == 0 {
		return
	}
	s.countPairs()
	for _, t := range s.copied {
		if s.waits(t) {
			continue
		}
		for k, i := range s.of(t) {
			others := s.withoutPlace(t, k)
			n := s.conflicts(t, others, i)
			if n == 0 || s.leastConflicts(t, others) >= n {
				continue
			}
			s.moveTo(t, k, s.newHolder(t, others))
		}
	}
}

// withoutPlace returns the instances of the task's standbys but that of place k, in the scratch space.
func (s *standbys) withoutPlace(t int32, k int) []int32 {
	s.spare = append(s.spare[:0], s.of(t)...)
	s.spare = slices.Delete(s.spare, k, k+1)
	return s.spare
}

// leastConflicts returns the fewest tag values that a standby beside others could share with them. It looks at one instance for
// each combination of values, so it is cheap where the tags are racks or zones.
func (s *standbys) leastConflicts(t int32, others []int32) int {
	least := len(s.config.SpreadTags) * (len(others) + 2)
	for g, leader := range s.groups {
		if leader != int32(g) {
			continue
		}
		for i := g; i < len(s.groups); i++ {
			if s.groups[i] == leader && s.mayKeep(t, int32(i)) {
				least = min(least, s.conflicts(t, others, int32(i)))
				break
			}
		}
	}
	return least
}

// moveTo lets instance i keep the standby of place k.
func (s *standbys) moveTo(t int32, k int, i int32) {
	if s.shifted == nil {
		s.shifted = make([]bool, len(s.keeps))
	}
	s.shifted[t] = true
	place := &s.kept[int(t)*s.width+k]
	s.count[*place]--
	s.pair(t, *place, -1)
	*place = i
	s.count[i]++
	s.pair(t, i, 1)
}

// even levels the counts as R4 does. Where tags and the other copies do not let an instance come to its target, single moves that
// shrink the distances of all instances from their ranges make the best of it.
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

// improve moves standbys one by one, each from an instance above its range to one that is not above it, or to one below its range
// from one above the lower end of its own. It reports whether it moved any.
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

// gain returns by how much the distances shrink if a standby goes from one instance to another.
func (s *standbys) gain(from, to int32) int64 {
	distance := func(i int32, n int64) int64 { return max(0, s.lo[i]-n, n-s.hi[i]) }
	return distance(from, s.count[from]) - distance(from, s.count[from]-1) + distance(to, s.count[to]) - distance(to, s.count[to]+1)
}

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

// tasksByHolder returns, for each instance that admit accepts, the tasks that it keeps standbys of.
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

// sortForShedding puts the standbys that an instance should give up first: those that have the most to replay, then those of the
// owners with the most standbys here.
func (s *standbys) sortForShedding(from int32, tasks []int32) {
	slices.SortFunc(tasks, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.lagAt(b, from), s.lagAt(a, from)), cmp.Compare(s.paired(b, from), s.paired(a, from)), cmp.Compare(a, b))
	})
}

// shedStandbys moves standbys from an instance to those below their target until it has come down to its own.
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

// lagAt returns how far the copy of the task on instance i is behind, where all that have caught up are equal. New ones are last.
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

// taker returns which of takers keeps the standby of place k from now on: the one with the fewest for its capacity of those to
// which it is worth something and by which the tags do not differ less.
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

// numberTags gives every value of every tag a number. A member without the tag has the value "".
func (s *standbys) numberTags() {
	n := len(s.config.SpreadTags)
	if n == 0 {
		return
	}
	s.tags = make([]int32, n*len(s.instances))
	for k, tag := range s.config.SpreadTags {
		values := make([]string, len(s.instances))
		for i := range s.instances {
			values[i] = s.members[s.instances[i].members[0]].in.Tags[tag]
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		for i, v := range values {
			number, _ := slices.BinarySearch(sorted, v)
			s.tags[i*n+k] = int32(number)
		}
	}
	s.groupTags()
}

// groupTags finds the instances with the same values.
func (s *standbys) groupTags() {
	s.groups = make([]int32, len(s.instances))
	order := make([]int32, len(s.instances))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(slices.Compare(s.tagsOf(a), s.tagsOf(b)), cmp.Compare(a, b))
	})
	for k, i := range order {
		s.groups[i] = i
		if k > 0 && slices.Equal(s.tagsOf(i), s.tagsOf(order[k-1])) {
			s.groups[i] = s.groups[order[k-1]]
		}
	}
}

func (s *standbys) tagsOf(i int32) []int32 {
	n := len(s.config.SpreadTags)
	return s.tags[int(i)*n:][:n]
}

// conflicts returns how many tag values a copy on instance i shares with the active task, its learner and the other copies.
func (s *standbys) conflicts(t int32, copies []int32, i int32) int {
	n := s.sameTags(i, s.at(t))
	if s.learnerAt(t) != none {
		n += s.sameTags(i, s.learnerAt(t))
	}
	for _, c := range copies {
		if c != i {
			n += s.sameTags(i, c)
		}
	}
	return n
}

func (s *standbys) sameTags(a, b int32) int {
	n := 0
	for k, v := range s.tagsOf(a) {
		if s.tagsOf(b)[k] == v {
			n++
		}
	}
	return n
}
