package assignor

import "slices"

// findTasks collects the tasks that need a look: where standbys are configured all stateful ones but the whole ones, else those
// that have a copy or a learner.
func (s *standbys) findTasks() {
	if s.copyStart == nil && len(s.learned) == 0 && s.config.Standbys == 0 {
		return
	}
	if s.copyStart == nil && s.config.Standbys == 0 {
		s.copied = slices.Clone(s.learned)
		slices.Sort(s.copied)
		s.copied = slices.Compact(s.copied)
		return
	}
	lookForWhole := s.config.Standbys > 0 && len(s.config.SpreadTags) == 0 && !s.allLeave && s.copyStart != nil
	keeps := s.holdersThatStay()
	if lookForWhole {
		s.whole = make([]bool, s.topology.size())
	}
	for k, sub := range s.topology.subs {
		if sub.Stateless {
			continue
		}
		for t := s.topology.start[k]; t < s.topology.start[k+1]; t++ {
			switch {
			case lookForWhole && s.isWhole(t, keeps):
				s.whole[t] = true
			case s.config.Standbys > 0 || s.hasCopies(t) || s.learnerAt(t) != none:
				s.copied = append(s.copied, t)
			}
		}
	}
}

// holdersThatStay returns, by member, whether copies may stay with it.
func (s *standbys) holdersThatStay() []bool {
	keeps := make([]bool, len(s.members))
	for m := range s.members {
		keeps[m] = !s.members[m].leaving
	}
	return keeps
}

// isWhole reports whether the task stays with an owner that stays and has exactly the standbys it wants, on other instances that
// stay. It counts them.
func (s *standbys) isWhole(t int32, keeps []bool) bool {
	o := s.dest[t]
	first, end := s.copiesOf(t)
	if o < 0 || o != s.owner[t] || s.status[t] != placed || int(end-first) != s.config.Standbys || !keeps[o] || s.learnerAt(t) != none {
		return false
	}
	for c := first; c < end; c++ {
		m := s.copies[c].member
		if s.copies[c].learns || !keeps[m] || s.instanceBy[m] == s.instanceBy[o] || s.stopsOn(t, s.instanceBy[m]) {
			return false
		}
		for other := first; other < c; other++ {
			if s.holderInstance(other) == s.instanceBy[m] {
				return false
			}
		}
	}
	for c := first; c < end; c++ {
		s.count[s.holderInstance(c)]++
	}
	s.total += int64(end - first)
	return true
}

// makeRoom makes the arrays for tasks that are not whole.
func (s *standbys) makeRoom() {
	n := int(s.topology.size())
	s.keeps, s.wanted = make([]int32, n), make([]int32, n)
	s.kept = make([]int32, n*s.width)
}

// openWhole makes whole tasks like all others, for when their standbys are to be moved after all.
func (s *standbys) openWhole() {
	if s.whole == nil {
		return
	}
	if s.keeps == nil {
		s.makeRoom()
	}
	for t, whole := range s.whole {
		if whole {
			s.copied = append(s.copied, int32(t))
			s.wanted[t] = int32(s.width)
			s.eachState(int32(t), func(i int32) { s.put(int32(t), i) })
		}
	}
	slices.Sort(s.copied)
	s.whole, s.pairs = nil, nil // counted anew with the others
}

// eachState calls f for the instance of every copy of the task.
func (s *standbys) eachState(t int32, f func(i int32)) {
	for c, end := s.copiesOf(t); c < end; c++ {
		f(s.holderInstance(c))
	}
}
