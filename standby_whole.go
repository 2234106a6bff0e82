package assignor

import "slices"

// findTasks collects the tasks that need a look: where standbys are configured all stateful ones but the whole ones, else those
// that have a copy or a learner. It does not look for whole ones where tags have to differ, as that takes a look at every task,
// or where all leave, as then what is there stays.
func (s *standbys) findTasks() {
	if !s.anyCopies() && s.config.Standbys == 0 {
		s.copied = slices.Clone(s.learned)
		slices.Sort(s.copied)
		s.copied = slices.Compact(s.copied)
		return
	}
	if s.anyCopies() && s.config.Standbys > 0 && s.config.Standbys <= maxWhole && len(s.config.SpreadTags) == 0 && !s.allLeave {
		s.findWhole()
		return
	}
	p, copied, all := s.plan, s.copied, s.config.Standbys > 0
	if all {
		copied = s.int32s.take(int(s.topology.size()))[:0]
	}
	for k, sub := range s.topology.subs {
		first, end := s.topology.start[k], s.topology.start[k+1]
		for t := first; t < end && !sub.Stateless; t++ {
			if all || p.hasCopies(t) || p.learnerAt(t) != none {
				copied = append(copied, t)
			}
		}
	}
	s.copied = copied
}

// findWhole finds the tasks that stay with an owner that stays and have exactly the standbys they want, on other instances that
// stay, and counts those.
//
//	one standby wanted; T1 runs on S1 and goes on, S2 reports a copy    whole
//	T2 runs on S1, S2 leaves and reports a copy                         not: the copy has to go
//	T3 runs on S1 and is learned by S3, S2 reports a copy               not: the learner is a copy too
//	T4 runs on S1, and nobody reports a copy                            not: one is missing
//
// They are whole: nothing is to be decided of them, so they are in no array of this step and cost a
// look each. In a quiet round that is all of them, and the step takes a third of the time that it would.
//
// Of the others, holders only know from here on how many copies there are, which is how isWhole tells them apart.
func (s *standbys) findWhole() {
	s.wholes = s.int32s.zeros(len(s.members))
	homes := s.homes()
	p, quiet := s.plan, s.learning == nil && len(s.revocations) == 0
	for k, sub := range p.topology.subs {
		if sub.Stateless {
			continue
		}
		first, end := s.topology.start[k], s.topology.start[k+1]
		owner, status := s.owner[first:end], s.status[first:end]
		for i, d := range s.dest[first:end] {
			t := first + int32(i)
			held := p.holdersOf(t)
			o, ok := d.member()
			if !ok || o != owner[i] || status[i] != decided || !apart(held, homes, homes[o]) || !quiet && s.changes(t) {
				held.forget()
				s.copied = append(s.copied, t)
				continue
			}
			for _, c := range held {
				s.wholes[c.member()]++
			}
		}
	}
	for m, n := range s.wholes {
		s.count[s.instanceBy[m]] += int64(n)
		s.total += int64(n)
	}
}

// homes returns, by member, its instance if copies may stay with it, else none: a leaving member passes its copies on (R8.3), so
// its tasks are not whole.
func (s *standbys) homes() []int32 {
	homes := s.int32s.clone(s.instanceBy)
	for m := range s.members {
		if s.members[m].leaving {
			homes[m] = none
		}
	}
	return homes
}

// apart reports whether held are members that copies may stay with, no two of them on one instance and none on the instance at,
// which stays.
func apart(held holders, homes []int32, at int32) bool {
	if at == none {
		return false
	}
	for k, c := range held {
		m := c.member()
		if m < 0 || homes[m] == none || homes[m] == at {
			return false
		}
		for _, other := range held[:k] {
			if homes[other.member()] == homes[m] {
				return false
			}
		}
	}
	return true
}

// changes reports whether somebody is to learn the task or has to stop it, so that it is not whole.
func (s *standbys) changes(t int32) bool {
	return s.learnerAt(t) != none || len(s.revocationsOf(t)) > 0
}

// makeRoom makes the arrays for tasks that are not whole. In a round in which all are, nobody does.
func (s *standbys) makeRoom() {
	n := int(s.topology.size())
	s.taken, s.wanted = s.int32s.zeros(n), s.int32s.zeros(n)
	s.places = s.int32s.take(n * s.width)
}

// openWhole makes whole tasks like all others, for when their standbys are to be moved after all: the counts have to be
// levelled, and a standby of a whole task may be the one that goes.
func (s *standbys) openWhole() {
	if s.wholes == nil {
		return
	}
	if s.taken == nil {
		s.makeRoom()
	}
	s.copied = append(s.int32s.take(len(s.copied) + sum(s.wholes)/s.width)[:0], s.copied...)
	for t := range s.topology.size() {
		if !s.isWhole(t) {
			continue
		}
		held := s.holdersOf(t)
		s.copied = append(s.copied, t)
		s.wanted[t] = int32(s.width)
		for _, c := range held {
			s.put(t, s.instanceBy[c.member()])
		}
		held.forget()
	}
	slices.Sort(s.copied)
	s.wholes, s.pairs = nil, nil // counted anew with the others
}
