package assignor

import "slices"

// tally is what a plan gives each instance of one kind of tasks, counted. It is a value: a step that changes the plan and wants
// to know more counts again, or goes on counting in a copy of its own, which ends with it. So none is out of date.
//
//	S1 runs T1, T2, T3, of which S2 learns T3:   S1  S2
//	                                     have     3   0
//	                                     planned  2   1
//
// Tasks that are fenced or awaited count for nobody.
type tally struct {
	have    counts // what it runs, or will as soon as it may
	planned counts // what it has once every learner has taken over (R4.2)
}

// count returns the tally of one kind of tasks. It costs O(tasks).
func (p *plan) count(k *kind) tally {
	have := p.countTasks(k)
	if k.stateless {
		return tally{have, have}
	}
	planned := have.clone()
	for _, t := range p.learned {
		if i := p.learnerAt(t); i != none {
			on := planned.of(p.classOf(k, t))
			on[p.at(t)]--
			on[i]++
		}
	}
	return tally{have, planned}
}

// countTasks counts the tasks of one kind that have a place.
func (p *plan) countTasks(k *kind) counts {
	n := p.newCounts(k)
	for s, class := range k.classOf {
		if class == none {
			continue
		}
		first, end := p.topology.start[s], p.topology.start[s+1]
		on, status := n.of(class), p.status[first:end]
		for i, d := range p.dest[first:end] {
			m, ok := d.member()
			switch {
			case status[i] != decided:
			case ok:
				on[p.instanceBy[m]]++
			default:
				on[d.instance()]++
			}
		}
	}
	return n
}

// countMembers counts the tasks that every member has and that nobody learns. Those of which R8 decides who gets them do not count,
// nor do any where every instance has one member only: nobody asks then.
func (p *plan) countMembers() []int32 {
	n := p.int32s.zeros(len(p.members))
	if len(p.instances) == len(p.members) {
		return n
	}
	for t := range p.topology.size() {
		if m := p.by(t); m != none && p.status[t] == decided && p.learnerAt(t) == none {
			n[m]++
		}
	}
	return n
}

// counts holds one number for each class of a kind and each instance: a row of instances for each class.
type counts struct {
	n         []int64
	instances int
}

// newCounts returns zeros for the classes of a kind.
func (g *group) newCounts(k *kind) counts {
	return counts{g.int64s.zeros(len(k.weights) * len(g.instances)), len(g.instances)}
}

// of returns the row of a class.
func (c counts) of(class int32) []int64 {
	return c.n[int(class)*c.instances:][:c.instances]
}

// load returns the summed weight on instance i.
func (c counts) load(k *kind, i int) int64 {
	sum := int64(0)
	for class, w := range k.weights {
		sum += w * c.n[class*c.instances+i]
	}
	return sum
}

// tasks returns the number of tasks on instance i, of all classes.
func (c counts) tasks(i int) int {
	n := 0
	for ; i < len(c.n); i += c.instances {
		n += int(c.n[i])
	}
	return n
}

// clone returns a copy that shares nothing.
func (c counts) clone() counts { return counts{slices.Clone(c.n), c.instances} }

// demand is what there is to share out of one kind of tasks, and who may take more.
type demand struct {
	base      []int64          // by instance, load of the other kind; nil: nothing
	have      counts           // leaving instances included
	prefer    counts           // without counts: have
	incoming  []int64          // by class, tasks that have to go somewhere and are in nobody's have
	receives  func(i int) bool // may be raised to its fair share
	overflows func(i int) bool // may take what the others cannot
}

// total returns the load that is shared out among the instances that stay: that of all tasks of the kind but those that are
// fenced or awaited, and base.
func (g *group) total(k *kind, d demand) int64 {
	total := int64(0)
	for class, w := range k.weights {
		n := d.incoming[class]
		for _, have := range d.have.of(int32(class)) {
			n += have
		}
		total += n * w
	}
	for _, b := range d.base {
		total += b
	}
	return total
}

// maxSpread bounds the tables of instances x subtopologies, and of instances x instances, in cells. Beyond it, which takes
// thousands of each, tasks are dealt out in id order instead.
const maxSpread = 1 << 24

// spread counts, for each instance and subtopology, the tasks that the instance is planned to have. Without cells, where there would
// be too many, it counts nothing. The zero spread has not been counted yet.
type spread struct {
	cells []int32 // by instance, then subtopology
	subs  int
}

// countSpread counts where every task is planned to be. It costs O(tasks).
func (p *plan) countSpread() spread {
	n := spread{subs: len(p.topology.subs)}
	if n.subs*len(p.instances) <= maxSpread {
		n.cells = p.int32s.zeros(n.subs * len(p.instances))
	}
	for s := range p.topology.subs {
		first, end := p.topology.start[s], p.topology.start[s+1]
		status := p.status[first:end]
		for i, d := range p.dest[first:end] {
			m, ok := d.member()
			switch {
			case status[i] != decided:
			case ok && p.learning == nil:
				n.add(int32(s), p.instanceBy[m], 1)
			default:
				n.add(int32(s), p.plannedAt(first+int32(i)), 1)
			}
		}
	}
	return n
}

// add counts n tasks of a subtopology more on instance i.
func (s *spread) add(sub, i int32, n int32) {
	if s.cells != nil {
		s.cells[int(i)*s.subs+int(sub)] += n
	}
}

// move counts a task of a subtopology on another instance.
func (s *spread) move(sub, from, to int32) {
	s.add(sub, from, -1)
	s.add(sub, to, 1)
}
