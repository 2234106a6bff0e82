package assignor

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// shared is the round in which every task that is to run has a member, but those that a member of another instance has to stop first.
type shared struct{ *plan }

// chooseMembers decides which member of its instance runs each task (R8.1 to R8.3): every member keeps what it has, as far as that leaves
// those that stay at most one apart for their capacity; tasks that come to the instance fill up the members that have less.
//
//	instance X: a runs 5, b runs 1, one comes to X    a keeps 4, b gets the one that comes and one of a (stop, then start)
//
// It comes after the instances are decided: a change of member costs a pause and no replay, a change of instance a replay. So
// members never have a say in where a task is.
func chooseMembers(e evened) shared {
	p := e.plan
	if len(p.instances) < len(p.members) {
		p.shareAll()
	}
	if !p.anyMember {
		return shared{p}
	}
	for t, d := range p.dest { // of instances with one member
		if _, ok := d.member(); ok {
			continue
		}
		if i := d.instance(); i != none && p.status[t] == decided && !p.leavesInstance(int32(t)) {
			p.dest[t] = onMember(p.instances[i].members[0])
		}
	}
	return shared{p}
}

// shareAll decides the members of the instances that have several, one instance after the other, in the same space.
func (p *plan) shareAll() {
	tasks := p.tasksToShare()
	s := &siblings{plan: p}
	for i := range p.instances {
		if in := &p.instances[i]; len(in.members) > 1 {
			s.shareAmong(in, tasks[i])
		}
	}
}

// tasksToShare returns, by instance, the tasks that run from now on where several members share them. It takes two passes, one
// to count and one to write, so that the lists are cut from one block.
func (p *plan) tasksToShare() [][]int32 {
	count, total := p.int32s.zeros(len(p.instances)), 0
	eachTask := func(f func(t, i int32)) {
		for t := range p.topology.size() {
			if p.status[t] != decided || p.leavesInstance(t) {
				continue
			}
			if i := p.at(t); len(p.instances[i].members) > 1 {
				f(t, i)
			}
		}
	}
	eachTask(func(_, i int32) {
		count[i]++
		total++
	})
	tasks := cut(p.int32s.take(total), count)
	eachTask(func(t, i int32) { tasks[i] = append(tasks[i], t) })
	return tasks
}

// siblings are the members of one instance while its tasks are shared among them. One instance after the other uses the same
// space.
//
//	instance X: a runs T1 T2 T3, b leaves and runs T4, c is new; T5 comes to X
//	crew    a c
//	keep    a: T1 T2 T3, c: -
//	coming  T4 T5
//	target  a 3, c 2        five in all, at most one apart: a gives up nothing
type siblings struct {
	*plan
	crew   []int32   // those that may have tasks: the ones that do not leave, or all where the instance leaves
	keep   [][]int32 // the tasks that each of the crew has and keeps
	coming []int32   // the tasks that are yet to be given to one of the crew
	block  []int64   // scratch for the levelling
}

// shareAmong decides the member of each of the tasks, which the instance runs from now on. Those that others learn stay with
// their member and do not count: they are about to go, and to move them twice would be worse than to be uneven for a while.
//
// Where somebody is awaited, or the instance leaves, it is frozen: nobody gives up a task for evenness.
func (s *siblings) shareAmong(in *instance, tasks []int32) {
	s.crew, s.keep, s.coming = s.crew[:0], s.keep[:0], s.coming[:0]
	for _, m := range in.members {
		if in.leaving || !s.members[m].leaving {
			s.crew = append(s.crew, m)
			s.addKeep()
		}
	}
	for _, t := range tasks {
		if s.learnerAt(t) != none && s.by(t) != none {
			continue
		}
		if k, ok := s.keeper(t); ok {
			s.keep[k] = append(s.keep[k], t)
		} else {
			s.coming = append(s.coming, t)
		}
	}
	frozen := s.awaiting || in.leaving
	if len(s.coming) == 0 && (frozen || s.even()) {
		return
	}
	target := s.targets(frozen)
	s.release(target)
	s.settle(target)
}

// addKeep adds an empty list of tasks, in the space of an earlier one if there was any.
func (s *siblings) addKeep() {
	if n := len(s.keep); n < cap(s.keep) {
		s.keep = s.keep[:n+1]
		s.keep[n] = s.keep[n][:0]
	} else {
		s.keep = append(s.keep, nil)
	}
}

// even reports whether each of the crew has its share already. Then there is nothing to do, as in most rounds. There is no tolerance
// as in R4: a task changes members without a replay.
func (s *siblings) even() bool {
	total, sum := int64(0), int64(0)
	for k, m := range s.crew {
		total += int64(len(s.keep[k]))
		sum += s.members[m].capacity
	}
	for k, m := range s.crew {
		lo, hi := level.Range(total, s.members[m].capacity, sum, 0)
		if n := int64(len(s.keep[k])); n < lo || n > hi {
			return false
		}
	}
	return true
}

// keeper returns the position among the crew of the member that has the task, and false where it only comes to the instance or
// where its member leaves.
func (s *siblings) keeper(t int32) (int, bool) {
	if o := s.owner[t]; o == none || o != s.by(t) {
		return 0, false
	}
	return slices.BinarySearch(s.crew, s.owner[t])
}

// targets returns how many tasks each of the crew should have; where it does not matter who has one more, rather those who hold
// copies of what is coming: they need not replay. Where it is frozen nobody gives up a task.
func (s *siblings) targets(frozen bool) []int64 {
	n := len(s.crew)
	s.block = slices.Grow(s.block[:0], (1+level.Columns)*n)[:(1+level.Columns)*n]
	clear(s.block)
	l := level.New(s.block[n:], n)
	l.Prefer, l.Incoming = s.block[:n], int64(len(s.coming))
	total, sum := l.Incoming, int64(0)
	for k, m := range s.crew {
		l.Capacity[k], l.Have[k] = s.members[m].capacity, int64(len(s.keep[k]))
		l.Prefer[k] = l.Have[k]
		total += l.Have[k]
		sum += l.Capacity[k]
	}
	for _, t := range s.coming {
		if k, ok := slices.BinarySearch(s.crew, s.by(t)); ok {
			l.Prefer[k]++
		}
	}
	for k, have := range l.Have {
		l.Low[k], l.High[k] = level.Range(total, l.Capacity[k], sum, 0)
		l.Floor[k] = l.Low[k]
		if frozen {
			l.Floor[k], l.First[k], l.Low[k], l.High[k] = have, max(l.Low[k], have), have, max(l.High[k], have)
		}
	}
	return l.Targets()
}

// release makes members give up what they have above their target: first what has stopped anyway, then stateless tasks, which
// start fastest.
func (s *siblings) release(target []int64) {
	for k := range s.crew {
		surplus := len(s.keep[k]) - int(target[k])
		if surplus <= 0 {
			continue
		}
		slices.SortFunc(s.keep[k], func(a, b int32) int {
			return cmp.Or(firstTrue(!s.running(a), !s.running(b)), firstTrue(s.stateless(a), s.stateless(b)), cmp.Compare(a, b))
		})
		for _, t := range s.keep[k][:surplus] {
			s.dest[t] = onInstance(s.at(t))
			s.setWhy(t, ReasonSiblings)
		}
		s.coming = append(s.coming, s.keep[k][:surplus]...)
		s.keep[k] = s.keep[k][surplus:]
	}
}

// firstTrue orders true before false.
func firstTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// settle gives the coming tasks, in id order, to the crew: first to the members that hold their copy, as far as those have
// room, then to the lightest with room. There is room for all of them: the targets count what is coming.
func (s *siblings) settle(target []int64) {
	count := make([]int64, len(s.crew))
	h := level.Ranking{Less: func(a, b int32) bool {
		ma, mb := s.crew[a], s.crew[b]
		return cmp.Or(level.CompareRatios(count[a], s.members[ma].capacity, count[b], s.members[mb].capacity), cmp.Compare(a, b)) < 0
	}}
	for k := range s.crew {
		count[k] = int64(len(s.keep[k]))
	}
	slices.Sort(s.coming)
	s.coming = slices.DeleteFunc(s.coming, func(t int32) bool {
		k, ok := slices.BinarySearch(s.crew, s.by(t))
		ok = ok && count[k] < target[k]
		if ok {
			count[k]++
		}
		return ok
	})
	for k := range s.crew {
		if count[k] < target[k] {
			h.Items = append(h.Items, int32(k))
		}
	}
	h.Init()
	for _, t := range s.coming {
		k := h.Items[0]
		if s.owner[t] != none && s.owner[t] == s.by(t) {
			s.setWhy(t, ReasonMemberLeaving)
		}
		s.dest[t] = onMember(s.crew[k])
		count[k]++
		h.SettleTop(count[k] < target[k])
	}
}
