package assignor

import (
	"cmp"
	"slices"
)

// newHolder returns the instance that should keep a new standby of the task beside others: of those whose tags differ most, one
// with state on its disk, the smallest lag first, else the one with the fewest standbys for its capacity, then the one that keeps
// the fewest of the same owner's tasks.
func (s *standbys) newHolder(t int32, others []int32) int32 {
	best, least := none, 0
	for i := range int32(len(s.instances)) {
		if !s.mayKeep(t, i) {
			continue
		}
		n := s.conflicts(t, others, i)
		if best == none || n < least || n == least && s.betterHolder(t, i, best) {
			best, least = i, n
		}
	}
	if best == none {
		return none
	}
	if i := s.onDisk(t, func(i int32) bool { return s.conflicts(t, others, i) == least }); i != none {
		return i
	}
	return best
}

// onDisk returns the instance that has state of the task and may keep a standby of it, of those that ok admits the one with the
// smallest lag; none where there is none. State on a disk is a replay saved, so it comes before evenness.
func (s *standbys) onDisk(t int32, ok func(i int32) bool) int32 {
	best, least := none, uint64(0)
	s.states(t, func(i int32, lag uint64, _ bool) {
		if ok(i) && (best == none || lag < least) {
			best, least = i, lag
		}
	})
	return best
}

// improveTags moves standbys that share tag values with other copies of their task where they need not.
//
//	zones S1 a, S2 a, S3 b    T1 runs on S1, standby on S2: it goes to S3
//
// It comes before the counts are levelled, and levelling never makes tags differ less: to lose a zone is worse than to be
// uneven.
func (s *standbys) improveTags() {
	if len(s.config.SpreadTags) == 0 {
		return
	}
	s.countPairs()
	for _, t := range s.copied {
		if s.paused(t) {
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

// numberTags gives every value of every tag a number: its place among the values of that tag, so that equal values are equal
// numbers. A member without the tag has the value "". An instance has the tags of its member with the smallest id (R0).
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

// groupTags finds the instances with the same values of all tags, so that leastConflicts need not look at all of them.
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

// tagsOf returns the numbers of an instance's values, in the order of SpreadTags.
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

// sameTags returns how many values two instances share.
func (s *standbys) sameTags(a, b int32) int {
	n := 0
	for k, v := range s.tagsOf(a) {
		if s.tagsOf(b)[k] == v {
			n++
		}
	}
	return n
}
