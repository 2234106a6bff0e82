package assignor

import (
	"cmp"
	"slices"
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
	s.scratch = append(s.scratch[:0], s.of(t)...)
	s.scratch = slices.Delete(s.scratch, k, k+1)
	return s.scratch
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

// even levels the counts as R4 does, as far as tags and the other copies let it.
func (s *standbys) even() {
	target := s.targets()
	if slices.Equal(target, s.count) {
		return
	}
	s.openWhole()
	s.countPairs()
	tasks := s.tasksByHolder(target)
	for i := range s.instances {
		if s.count[i] > target[i] {
			s.shedStandbys(int32(i), tasks[i], target)
		}
	}
}

func (s *standbys) targets() []int64 {
	l := newLevelling(len(s.instances))
	for i := range s.instances {
		l.capacity[i] = s.instances[i].capacity
		if s.instances[i].stays {
			l.have[i], l.lo[i], l.hi[i], l.floor[i] = s.count[i], s.lo[i], s.hi[i], s.lo[i]
		}
	}
	l.prefer = l.have
	return l.targets()
}

// tasksByHolder returns, for each instance above its target, the tasks that it keeps standbys of.
func (s *standbys) tasksByHolder(target []int64) [][]int32 {
	lists := make([][]int32, len(s.instances))
	for _, t := range s.copied {
		for _, i := range s.of(t) {
			if s.count[i] > target[i] {
				lists[i] = append(lists[i], t)
			}
		}
	}
	return lists
}

// shedStandbys moves standbys from an instance to those below their target until it has come down to its own: first those that
// have the most to replay, then those of the owners with the most standbys here.
func (s *standbys) shedStandbys(from int32, tasks []int32, target []int64) {
	slices.SortFunc(tasks, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.lagAt(b, from), s.lagAt(a, from)), cmp.Compare(s.paired(b, from), s.paired(a, from)), cmp.Compare(a, b))
	})
	for _, t := range tasks {
		if s.count[from] <= target[from] {
			return
		}
		k := slices.Index(s.of(t), from)
		if to := s.takerBelow(t, k, target); to != none {
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

// takerBelow returns the instance below its target that takes the standby of place k without making the tags differ less.
func (s *standbys) takerBelow(t int32, k int, target []int64) int32 {
	best := none
	others := s.withoutPlace(t, k)
	bound := s.conflicts(t, others, s.of(t)[k])
	for i := range int32(len(s.instances)) {
		if s.count[i] < target[i] && s.mayKeep(t, i) && s.conflicts(t, others, i) <= bound && (best == none || s.betterHolder(t, i, best)) {
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
