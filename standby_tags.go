package assignor

// newHolder returns the instance that should keep a new standby of the task beside others (R6.3, R6.5, R6.6): of those whose tags differ most, one
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
	for g, leader := range s.tags.groups {
		if leader != int32(g) {
			continue
		}
		for i := g; i < len(s.tags.groups); i++ {
			if s.tags.groups[i] == leader && s.mayKeep(t, int32(i)) {
				least = min(least, s.conflicts(t, others, int32(i)))
				break
			}
		}
	}
	return least
}

// conflicts returns how many tag values a copy on instance i shares with the active task, its learner and the other copies.
func (s *standbys) conflicts(t int32, copies []int32, i int32) int {
	n := s.tags.same(i, s.at(t))
	if s.learnerAt(t) != none {
		n += s.tags.same(i, s.learnerAt(t))
	}
	for _, c := range copies {
		if c != i {
			n += s.tags.same(i, c)
		}
	}
	return n
}
