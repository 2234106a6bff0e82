package assignor

import (
	"cmp"
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// picker takes tasks from one instance, one at a time: from its fullest member, there from the subtopology that the instance is
// furthest above its share of, there the cheapest to restore, and the smallest id (R5).
type picker struct {
	*round
	instance int32
	members  []pickMember
	groups   []pickGroup
	heaps    []level.Ranking // of groups, by member, then class of tasks
	classes  int
	less     func(a, b int32) bool
}

// pickMember is a member that has tasks to take; its heaps begin at first.
type pickMember struct {
	member int32
	first  int
}

// pickGroup is what is left of one member's tasks of one subtopology. excess may be out of date, but only too great.
type pickGroup struct {
	sub    int32
	tasks  []int32
	excess int64
}

// newPicker returns a picker of the tasks, which are ascending and which it may sort. There is one at a time: it uses the space of
// the one before.
func (r *round) newPicker(i int32, tasks []int32) *picker {
	r.countSpread()
	p := &r.picker
	if p.round == nil {
		p.round, p.less = r, p.lessGroup
		p.classes = max(len(r.stateful.weights), len(r.statelessKind.weights))
	}
	p.instance, p.members, p.groups, p.heaps = i, p.members[:0], p.groups[:0], p.heaps[:0]
	if len(r.instances[i].members) > 1 {
		slices.SortFunc(tasks, func(a, b int32) int {
			return cmp.Or(cmp.Compare(r.memberOf(a), r.memberOf(b)), cmp.Compare(a, b))
		})
	}
	for len(tasks) > 0 {
		n := r.groupLen(tasks)
		p.addGroup(tasks[:n])
		tasks = tasks[n:]
	}
	for k := range p.heaps {
		p.heaps[k].Init()
	}
	return p
}

// groupLen returns how many of the tasks, which are sorted by member, then id, have the member and the subtopology of the first.
func (p *plan) groupLen(tasks []int32) int {
	m, end := p.memberOf(tasks[0]), p.topology.start[p.topology.subOf(tasks[0])+1]
	alone := len(p.instances[p.at(tasks[0])].members) == 1
	n := 1
	for n < len(tasks) && tasks[n] < end && (alone || p.memberOf(tasks[n]) == m) {
		n++
	}
	return n
}

func (p *picker) addGroup(tasks []int32) {
	m, sub := p.memberOf(tasks[0]), p.topology.subOf(tasks[0])
	if p.topology.subs[sub].RestoreCost != nil {
		slices.SortFunc(tasks, func(a, b int32) int { return cmp.Or(cmp.Compare(p.cost(a), p.cost(b)), cmp.Compare(a, b)) })
	}
	if last := len(p.members) - 1; last < 0 || p.members[last].member != m {
		p.members = append(p.members, pickMember{m, len(p.heaps)})
		for range p.classes {
			p.addHeap()
		}
	}
	h := p.heap(&p.members[len(p.members)-1], p.classOfSub(sub))
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

func (p *picker) heap(pm *pickMember, class int32) *level.Ranking {
	return &p.heaps[pm.first+int(class)]
}

func (p *picker) lessGroup(a, b int32) bool {
	if p.groups[a].excess != p.groups[b].excess {
		return p.groups[a].excess > p.groups[b].excess
	}
	return p.groups[a].sub < p.groups[b].sub
}

// next takes the first task of a class that fits, none where the instance has no more. What does not fit is not asked for again.
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
			p.countMember(t, -1)
			p.spread.add(g.sub, p.instance, -1)
			g.excess = p.excess(p.instance, g.sub)
		}
		h.SettleTop(len(g.tasks) > 0)
		if taken {
			return t
		}
	}
}

func anyTask(int32) bool { return true }

// fullest returns the member with the most tasks for its capacity of those that have any of the class left.
func (p *picker) fullest(class int32) *pickMember {
	var best *pickMember
	for i := range p.members {
		pm := &p.members[i]
		if len(p.heap(pm, class).Items) == 0 {
			continue
		}
		if best == nil || p.fuller(pm.member, best.member) {
			best = pm
		}
	}
	return best
}

func (r *round) fuller(a, b int32) bool {
	return level.CompareRatios(int64(r.memberTasks[a]), r.members[a].capacity, int64(r.memberTasks[b]), r.members[b].capacity) > 0
}

// memberOf returns the member that a placed task is with, as far as that is decided before R8.
func (p *plan) memberOf(t int32) int32 {
	if m := p.dest[t]; m >= 0 {
		return m
	}
	return p.instances[p.at(t)].members[0]
}

// tasksOf returns, by instance and in id order, placed tasks of a kind: those that nobody learns and that are with an owner that runs
// them, and of the others those that admit accepts. have is how many there are on each; most is how many of a subtopology are wanted
// at most, the first ones, where they all cost the same to restore.
func (r *plan) tasksOf(k *kind, have counts, most []int32, admit func(t int32) bool) [][]int32 {
	lists := r.listsOf(have, most)
	quiet := r.learning == nil && r.stopped == nil
	left, leftOf := r.int32s.take(len(r.instances)), r.filled(len(r.instances), none) // of most, in which subtopology
	for s, class := range k.classOf {
		if class == none {
			continue
		}
		first, end := r.topology.start[s], r.topology.start[s+1]
		owner, status := r.owner[first:end], r.status[first:end]
		for p, m := range r.dest[first:end] {
			if status[p] != placed {
				continue
			}
			t := first + int32(p)
			i := r.at(t)
			if leftOf[i] != int32(s) {
				left[i], leftOf[i] = most[i], int32(s)
				if most[i] > 0 && r.topology.subs[s].RestoreCost != nil {
					left[i] = math.MaxInt32
				}
			}
			if left[i] > 0 && (quiet && m == owner[p] || admit(t)) {
				lists[i] = append(lists[i], t)
				left[i]--
			}
		}
	}
	return lists
}

// listsOf returns empty lists with room for what tasksOf puts into them.
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
