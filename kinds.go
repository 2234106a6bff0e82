package assignor

import (
	"cmp"
	"slices"
)

// weight returns what a stateful task weighs in the units of its kind.
func (g *group) weight(t int32) int64 { return g.stateful.weights[g.classOf(&g.stateful, t)] }

// kind is the tasks that are levelled together: the stateful ones, or the stateless ones on top of them.
type kind struct {
	stateless bool
	weights   []int64 // the distinct weights of its tasks, the greatest first; equal weights count as 1
	classOf   []int32 // by subtopology, the index of its weight; none for those of the other kind
}

// classes sorts the subtopologies of one kind by weight.
func (g *group) classes(stateless bool) kind {
	k := kind{stateless: stateless, classOf: g.filled(len(g.topology.subs), none)}
	for _, sub := range g.topology.subs {
		if sub.Stateless == stateless && sub.Partitions > 0 {
			k.weights = append(k.weights, sub.weight())
		}
	}
	slices.Sort(k.weights)
	slices.Reverse(k.weights)
	k.weights = slices.Compact(k.weights)
	for s, sub := range g.topology.subs {
		if sub.Stateless == stateless && sub.Partitions > 0 {
			class, _ := slices.BinarySearchFunc(k.weights, sub.weight(), func(a, b int64) int { return cmp.Compare(b, a) })
			k.classOf[s] = int32(class)
		}
	}
	return k
}

// unit reports whether loads of this kind are counts of tasks.
func (k *kind) unit() bool { return len(k.weights) == 1 && k.weights[0] == 1 }

// kinds are the tasks of a topology as they are levelled.
type kinds struct {
	stateful      kind
	loads         kind // the stateful tasks in the units of statelessKind
	statelessKind kind
}

// indexKinds sorts the tasks into those that are levelled together.
func (g *group) indexKinds() kinds {
	weights := make([]int64, 0, len(g.topology.subs))
	for _, sub := range g.topology.subs {
		if sub.Partitions > 0 {
			weights = append(weights, sub.weight())
		}
	}
	slices.Sort(weights)
	oneWeight := len(slices.Compact(weights)) <= 1
	k := kinds{stateful: g.classes(false), loads: g.classes(false), statelessKind: g.classes(true)}
	k.stateful.count()
	if oneWeight {
		k.loads.count()
		k.statelessKind.count()
	}
	return k
}

// count makes loads of this kind counts, where it has one weight only.
func (k *kind) count() {
	if len(k.weights) == 1 {
		k.weights[0] = 1
	}
}

// counts holds one number for each class of a kind and each instance.
type counts struct {
	n         []int64
	instances int
}

func (g *group) newCounts(k *kind) counts {
	return counts{g.int64s.zeros(len(k.weights) * len(g.instances)), len(g.instances)}
}

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

func (c counts) clone() counts { return counts{slices.Clone(c.n), c.instances} }

func (g *group) classOf(k *kind, t int32) int32 { return k.classOf[g.topology.subOf(t)] }

// classOfSub returns the class of a subtopology among those of its own kind.
func (g *group) classOfSub(sub int32) int32 {
	if g.topology.subs[sub].Stateless {
		return g.statelessKind.classOf[sub]
	}
	return g.stateful.classOf[sub]
}

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
