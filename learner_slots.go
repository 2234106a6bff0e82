package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// begun is the round in which every task has the learner that it has from now on.
type begun struct{ taught }

// slots deals out what MaxLearners leaves, one slot at a time (T2): the givers in turn, each to the receiver of the plan with the
// fewest learners at work.
//
//	the plan     S1 gives T1 T2, S2 gives T7 T8 T9 T10; S3 and S4 take three each
//	two slots    T7 from S2, which is the furthest above its target, to S3; then T8, to S4: S3 has a learner by now
//
// Who gives what, and how many tasks of each subtopology a receiver takes, stays as planned: so what waits is still the plan of the
// next round. Which tasks of a subtopology a receiver takes is open, but for those of which it has a copy.
//
// A heap of receivers a subtopology makes each slot cost O(subtopologies + log instances).
type slots struct {
	taught
	queues  []queue
	leaving []int32       // queues of leaving instances, the nearest deadline first
	others  level.Ranking // the other queues, the furthest above its target first
	wishes  []wish
	takers  []level.Ranking // by subtopology: wishes, the one with the fewest learners at work first
}

// queue is what one instance gives up and what waits for a slot.
type queue struct {
	giver  int32
	left   int           // starts that have not begun
	starts []start       // in the order of R5.2
	copies level.Ranking // starts from copies, the one with the fewest learners at work first
	pools  []pool
}

// pool is the starts of a queue that begin with nothing, of one subtopology, in order.
type pool struct {
	sub    int32
	starts []int32
}

// wish is how many tasks of a subtopology a receiver is still to take by the plan. busy is of when it was last looked at; learners only
// begin, so it is never too great.
type wish struct{ sub, to, left, busy int32 }

// dealSlots lets only as many of the new learners begin as MaxLearners leaves slots for (R5.4, T2). A copy that waits for one stays (T3).
func dealSlots(t taught) begun {
	starts := t.starts[:0]
	for _, s := range t.starts {
		if s.to = t.learnerAt(s.task); s.to != none {
			starts = append(starts, s)
		}
	}
	if len(starts) <= t.free {
		return begun{t}
	}
	s := newSlots(t, starts)
	for ; s.free > 0; s.free-- {
		s.begin(s.next(s.nextGiver()))
	}
	for k := range s.queues {
		q := &s.queues[k]
		for _, i := range q.copies.Items {
			s.waiting = append(s.waiting, q.starts[i].from)
		}
	}
	slices.Sort(s.waiting)
	return begun{t}
}

// newSlots returns the state in which none of the learners has begun.
func newSlots(t taught, starts []start) *slots {
	s := &slots{taught: t}
	for len(starts) > 0 {
		giver, n := s.at(starts[0].task), 1
		for n < len(starts) && s.at(starts[n].task) == giver {
			n++
		}
		if s.queues = append(s.queues, queue{giver: giver, left: n, starts: starts[:n]}); s.instances[giver].leaving {
			s.leaving = append(s.leaving, int32(len(s.queues))-1)
		} else {
			s.others.Items = append(s.others.Items, int32(len(s.queues))-1)
		}
		starts = starts[n:]
	}
	for k := range s.queues {
		s.fill(&s.queues[k])
	}
	s.rankTakers()
	s.others.Less = func(a, b int32) bool {
		return cmp.Or(cmp.Compare(s.above(b), s.above(a)), cmp.Compare(s.queues[a].giver, s.queues[b].giver)) < 0
	}
	s.others.Init()
	return s
}

// fill takes the learners of a queue back and ranks them.
func (s *slots) fill(q *queue) {
	var bare []int32
	for i := range q.starts {
		one := &q.starts[i]
		s.takeBack(*one)
		if one.from != none {
			one.busy = s.busy[one.to]
			q.copies.Items = append(q.copies.Items, int32(i))
			continue
		}
		bare = append(bare, int32(i))
		s.wishes = append(s.wishes, wish{s.topology.subOf(one.task), one.to, 1, s.busy[one.to]})
	}
	q.copies.Less = func(a, b int32) bool {
		return cmp.Or(cmp.Compare(q.starts[a].busy, q.starts[b].busy), cmp.Compare(a, b)) < 0
	}
	q.copies.Init()
	subOf := func(i int32) int32 { return s.topology.subOf(q.starts[i].task) }
	slices.SortStableFunc(bare, func(a, b int32) int { return cmp.Compare(subOf(a), subOf(b)) })
	for len(bare) > 0 {
		sub, n := subOf(bare[0]), 1
		for n < len(bare) && subOf(bare[n]) == sub {
			n++
		}
		q.pools = append(q.pools, pool{sub, bare[:n]})
		bare = bare[n:]
	}
}

// rankTakers makes one wish of those of a receiver for a subtopology, and ranks them.
func (s *slots) rankTakers() {
	slices.SortFunc(s.wishes, func(a, b wish) int { return cmp.Or(cmp.Compare(a.sub, b.sub), cmp.Compare(a.to, b.to)) })
	merged := s.wishes[:0]
	for _, w := range s.wishes {
		if last := len(merged) - 1; last >= 0 && merged[last].sub == w.sub && merged[last].to == w.to {
			merged[last].left++
		} else {
			merged = append(merged, w)
		}
	}
	s.wishes, s.takers = merged, make([]level.Ranking, len(s.topology.subs))
	less := func(a, b int32) bool { return s.compareTakers(&s.wishes[a], &s.wishes[b]) < 0 }
	for i, w := range s.wishes {
		s.takers[w.sub].Items = append(s.takers[w.sub].Items, int32(i))
	}
	for sub := range s.takers {
		s.takers[sub].Less = less
		s.takers[sub].Init()
	}
}

// compareTakers orders receivers of tasks of which they have no copy: the fewest learners at work first, then R5.3.
func (s *slots) compareTakers(a, b *wish) int {
	group := func(i int32) int {
		if s.newcomer[i] {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.busy, b.busy), cmp.Compare(group(a.to), group(b.to)), cmp.Compare(a.to, b.to))
}

// takeBack makes nobody learn the task of a learner of the plan.
func (s *slots) takeBack(one start) {
	if s.endLearner(one.task); one.from != none { // what was pooled has been planned for nobody
		s.count(one, -1)
	}
	s.recount(one, -1)
}

// begin makes a receiver learn a task.
func (s *slots) begin(one start) {
	s.setLearner(one.task, one.to, one.from)
	s.count(one, 1)
	s.recount(one, 1)
	s.busy[one.to]++
}

// count counts a learner that begins (1) or is taken back (-1) in what is planned.
func (s *slots) count(one start, n int64) {
	on := s.planned.of(s.classOf(&s.stateful, one.task))
	on[one.to] += n
	on[s.at(one.task)] -= n
}

// recount does so in what pickers go by.
func (s *slots) recount(one start, n int32) {
	if m := s.by(one.task); m != none {
		s.memberTasks[m] -= n
	}
	sub := s.topology.subOf(one.task)
	s.spread.add(sub, s.at(one.task), -n)
	s.spread.add(sub, one.to, n)
}

// nextGiver returns who gives next: the leaving instance with the nearest deadline that has anything left, else the one furthest above its
// target. There is one.
func (s *slots) nextGiver() *queue {
	for len(s.leaving) > 0 {
		if q := &s.queues[s.leaving[0]]; q.left > 0 {
			return q
		}
		s.leaving = s.leaving[1:]
	}
	for {
		s.others.SettleTop(s.queues[s.others.Items[0]].left > 0) // it may have given one since
		if q := &s.queues[s.others.Items[0]]; q.left > 0 {
			return q
		}
	}
}

// above returns the weight of what the giver of a queue has beyond its target.
func (s *slots) above(k int32) int64 {
	sum, i := int64(0), s.queues[k].giver
	for class, w := range s.stateful.weights {
		sum += w * max(0, s.planned.of(int32(class))[i]-s.target.of(int32(class))[i])
	}
	return sum
}

// next takes a start out of a queue: the one whose receiver has the fewest learners at work, of equals one from a copy, of these the
// first by R5.2.
func (s *slots) next(q *queue) start {
	q.left--
	best, from := none, none // a wish, and the pool that it takes from
	for k := range q.pools {
		if p := &q.pools[k]; len(p.starts) > 0 {
			w := s.topWish(p.sub)
			if best == none || s.precedes(w, p, best, &q.pools[from]) {
				best, from = w, int32(k)
			}
		}
	}
	if i := s.topCopy(q); i != none && (best == none || q.starts[i].busy <= s.wishes[best].busy) {
		q.copies.SettleTop(false)
		return q.starts[i]
	}
	p, w := &q.pools[from], &s.wishes[best]
	one := q.starts[p.starts[0]]
	p.starts, one.to = p.starts[1:], w.to
	w.left--
	return one
}

// precedes reports whether a wish for a task of one pool comes before another's of another pool: that of the receiver which comes first, of
// one receiver that for the task which comes first by R5.2.
func (s *slots) precedes(a int32, from *pool, b int32, other *pool) bool {
	if d := s.compareTakers(&s.wishes[a], &s.wishes[b]); d != 0 {
		return d < 0
	}
	return from.starts[0] < other.starts[0]
}

// topWish returns the first wish for a subtopology of which somebody has something left to give, so there is one.
func (s *slots) topWish(sub int32) int32 {
	takers := &s.takers[sub]
	for {
		switch w := &s.wishes[takers.Items[0]]; {
		case w.left == 0:
			takers.SettleTop(false)
		case w.busy < s.busy[w.to]:
			w.busy = s.busy[w.to]
			takers.SettleTop(true)
		default:
			return takers.Items[0]
		}
	}
}

// topCopy returns the first start of a queue that is from a copy, none where there is none.
func (s *slots) topCopy(q *queue) int32 {
	for len(q.copies.Items) > 0 {
		one := &q.starts[q.copies.Items[0]]
		if one.busy == s.busy[one.to] {
			return q.copies.Items[0]
		}
		one.busy = s.busy[one.to]
		q.copies.SettleTop(true)
	}
	return none
}
