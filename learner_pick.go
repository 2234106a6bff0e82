package assignor

import (
	"cmp"
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// picker takes tasks from one instance, one at a time: from its fullest member, there from the subtopology that the instance is
// furthest above its share of, there the cheapest to restore, and the smallest id (R5.2).
//
//	S1, members a (5 tasks) and b (3), gives up two:
//	a has 0_0 0_1 0_2 1_0 1_1, the instance is 2 above its share of 0 and 1 above that of 1
//	takes 0_0: now a has four and the instance is 1 above its share of both
//	takes 0_1: a is still the fullest, of equal subtopologies the first
//
// The fullest member first, so that R8 has nothing to mend afterwards. A heap a member and class, of subtopologies, makes the
// next one cost O(log subtopologies).
type picker struct {
	*dealer
	memberTasks []int32 // by member: the tasks it has that nobody learns and that have not been taken
	instance    int32
	from        []pickMember
	groups      []pickGroup
	heaps       []level.Ranking // of groups, by member, then class of tasks
	less        func(a, b int32) bool
}

// pickMember is a member that has tasks to take; its heaps begin at first, one a class.
type pickMember struct {
	member int32
	first  int
}

// pickGroup is what is left of one member's tasks of one subtopology, in the order in which they are taken. excess may be out
// of date, but only too great: another member's task may have been taken since, and next looks again.
type pickGroup struct {
	sub    int32
	tasks  []int32
	excess int64
}

// start makes p take from instance i the tasks, which are ascending and which it may sort. It uses the space of the instance before.
func (p *picker) start(i int32, tasks []int32) {
	p.needSpread()
	if p.less == nil {
		p.less = p.lessGroup
	}
	p.instance, p.from, p.groups, p.heaps = i, p.from[:0], p.groups[:0], p.heaps[:0]
	if len(p.instances[i].members) > 1 {
		slices.SortFunc(tasks, func(a, b int32) int {
			return cmp.Or(cmp.Compare(p.memberOf(a), p.memberOf(b)), cmp.Compare(a, b))
		})
	}
	for len(tasks) > 0 {
		n := p.groupLen(tasks)
		p.addGroup(tasks[:n])
		tasks = tasks[n:]
	}
	for k := range p.heaps {
		p.heaps[k].Init()
	}
}

// groupLen returns how many of the tasks, which are sorted by member, then id, have the member and the subtopology of the
// first.
func (p *plan) groupLen(tasks []int32) int {
	m, end := p.memberOf(tasks[0]), p.topology.start[p.topology.subOf(tasks[0])+1]
	alone := len(p.instances[p.at(tasks[0])].members) == 1
	n := 1
	for n < len(tasks) && tasks[n] < end && (alone || p.memberOf(tasks[n]) == m) {
		n++
	}
	return n
}

// addGroup adds tasks of one member and one subtopology, the cheapest to restore first.
func (p *picker) addGroup(tasks []int32) {
	m, sub := p.memberOf(tasks[0]), p.topology.subOf(tasks[0])
	if p.topology.subs[sub].RestoreCost != nil {
		slices.SortFunc(tasks, func(a, b int32) int { return cmp.Or(cmp.Compare(p.cost(a), p.cost(b)), cmp.Compare(a, b)) })
	}
	if last := len(p.from) - 1; last < 0 || p.from[last].member != m {
		p.from = append(p.from, pickMember{m, len(p.heaps)})
		for range max(len(p.stateful.weights), len(p.statelessKind.weights)) {
			p.addHeap()
		}
	}
	h := p.heap(&p.from[len(p.from)-1], p.classOfSub(sub))
	h.Items = append(h.Items, int32(len(p.groups)))
	p.groups = append(p.groups, pickGroup{sub, tasks, p.excess(p.instance, sub)})
}

// addHeap adds an empty heap, in the space of an earlier picker's if there was one.
func (p *picker) addHeap() {
	if n := len(p.heaps); n < cap(p.heaps) {
		p.heaps = p.heaps[:n+1]
		p.heaps[n].Items = p.heaps[n].Items[:0]
	} else {
		p.heaps = append(p.heaps, level.Ranking{})
	}
	p.heaps[len(p.heaps)-1].Less = p.less
}

// heap returns the heap of a member's groups of a class.
func (p *picker) heap(pm *pickMember, class int32) *level.Ranking {
	return &p.heaps[pm.first+int(class)]
}

// lessGroup orders groups by how far the instance is above its share of their subtopology.
func (p *picker) lessGroup(a, b int32) bool {
	if p.groups[a].excess != p.groups[b].excess {
		return p.groups[a].excess > p.groups[b].excess
	}
	return p.groups[a].sub < p.groups[b].sub
}

// next takes the first task of a class that fits, none where the instance has no more. What does not fit is not asked for again.
//
// Excesses in the heap may be too great by now, never too small: the instance only gives up tasks. So the first group is looked at
// anew until it is first with what is true, which is cheaper than to keep all groups of all members up to date.
func (p *picker) next(class int32, fits func(t int32) bool) int32 {
	for {
		pm := p.fullest(class)
		if pm == nil {
			return none
		}
		h := p.heap(pm, class)
		g := &p.groups[h.Items[0]]
		for now := p.excess(p.instance, g.sub); now < g.excess; now = p.excess(p.instance, g.sub) {
			g.excess = now
			h.SettleTop(true)
			g = &p.groups[h.Items[0]]
		}
		t := g.tasks[0]
		g.tasks = g.tasks[1:]
		taken := fits(t)
		if taken {
			if m := p.by(t); m != none {
				p.memberTasks[m]--
			}
			p.spread.add(g.sub, p.instance, -1)
			g.excess = p.excess(p.instance, g.sub)
		}
		h.SettleTop(len(g.tasks) > 0)
		if taken {
			return t
		}
	}
}

// anyTask fits next where any task will do.
func anyTask(int32) bool { return true }

// fullest returns the member with the most tasks for its capacity of those that have any of the class left.
func (p *picker) fullest(class int32) *pickMember {
	var best *pickMember
	for i := range p.from {
		pm := &p.from[i]
		if len(p.heap(pm, class).Items) == 0 {
			continue
		}
		if best == nil || p.fuller(pm.member, best.member) {
			best = pm
		}
	}
	return best
}

// fuller reports whether member a has more tasks for its capacity than b.
func (p *picker) fuller(a, b int32) bool {
	return level.CompareRatios(int64(p.memberTasks[a]), p.members[a].capacity, int64(p.memberTasks[b]), p.members[b].capacity) > 0
}

// memberOf returns the member that a placed task is with, as far as that is decided before R8; else the first one of the instance,
// which only has to be the same in every round.
func (p *plan) memberOf(t int32) int32 {
	if m := p.by(t); m != none {
		return m
	}
	return p.instances[p.at(t)].members[0]
}

// tasksOf returns, by instance and in id order, placed tasks of a kind: those that nobody learns and that are with an owner
// that runs them, and of the others those that admit accepts. have is how many there are on each; most is how many of a
// subtopology are wanted at most, the first ones, where they all cost the same to restore.
//
// It is one pass over all tasks, in which most are seen to be wanted or not without a call.
func (p *plan) tasksOf(k *kind, have counts, most []int32, admit func(t int32) bool) [][]int32 {
	lists := p.listsOf(have, most)
	quiet := p.learning == nil && p.stopped == nil
	left, leftOf := p.int32s.take(len(p.instances)), p.filled(len(p.instances), none) // of most, in which subtopology
	for s, class := range k.classOf {
		if class == none {
			continue
		}
		first, end := p.topology.start[s], p.topology.start[s+1]
		owner, status := p.owner[first:end], p.status[first:end]
		for n, d := range p.dest[first:end] {
			if status[n] != decided {
				continue
			}
			t := first + int32(n)
			i := p.at(t)
			if leftOf[i] != int32(s) {
				left[i], leftOf[i] = most[i], int32(s)
				if most[i] > 0 && p.topology.subs[s].RestoreCost != nil {
					left[i] = math.MaxInt32
				}
			}
			if left[i] > 0 && (quiet && d == onMember(owner[n]) || admit(t)) {
				lists[i] = append(lists[i], t)
				left[i]--
			}
		}
	}
	return lists
}

// listsOf returns empty lists with room for what tasksOf puts into them. Where all tasks cost the same, only the first of each
// subtopology can be wanted.
func (g *group) listsOf(have counts, most []int32) [][]int32 {
	alike := !slices.ContainsFunc(g.topology.subs, func(sub Subtopology) bool { return sub.RestoreCost != nil })
	sizes, total := g.int32s.take(len(g.instances)), 0
	for i := range sizes {
		n := int64(have.tasks(i))
		if alike {
			n = min(n, int64(most[i])*int64(len(g.topology.subs)))
		}
		if most[i] == 0 {
			n = 0
		}
		sizes[i] = int32(n)
		total += int(n)
	}
	return cut(g.int32s.take(total), sizes)
}
