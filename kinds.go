package assignor

import (
	"cmp"
	"slices"
)

// kinds are the tasks of a topology as they are levelled: stateful ones first, then stateless ones on top of what those weigh
// (R4).
//
// A load is a number in the units of its kind. Where all tasks of a kind weigh the same that unit is one task, whatever the
// config says they weigh: then counts are exact and need no search (see unit). Stateful and stateless tasks are added up in one
// unit, so loads has the stateful tasks in that.
type kinds struct {
	stateful      kind
	loads         kind // the stateful tasks in the units of statelessKind
	statelessKind kind
}

// kinds sorts the tasks into those that are levelled together.
func (t *topology) kinds(s *scratch) kinds {
	weights := make([]int64, 0, len(t.subs))
	for _, sub := range t.subs {
		if sub.Partitions > 0 {
			weights = append(weights, sub.weight())
		}
	}
	slices.Sort(weights)
	oneWeight := len(slices.Compact(weights)) <= 1
	k := kinds{stateful: t.classes(false, s), loads: t.classes(false, s), statelessKind: t.classes(true, s)}
	k.stateful.count()
	if oneWeight {
		k.loads.count()
		k.statelessKind.count()
	}
	return k
}

// kind is the tasks that are levelled together: the stateful ones, or the stateless ones on top of them.
//
//	subtopology  0  weight 5      weights  5 2
//	             1  weight 2      classOf  0 1 none 0
//	             2  stateless
//	             3  weight 5
type kind struct {
	stateless bool
	weights   []int64 // the distinct weights of its tasks, the greatest first; equal weights count as 1
	classOf   []int32 // by subtopology, the index of its weight; none for those of the other kind
}

// classes sorts the subtopologies of one kind by weight. Those without a task have no class, so that they make no weight of
// their own.
func (t *topology) classes(stateless bool, s *scratch) kind {
	k := kind{stateless: stateless, classOf: s.filled(len(t.subs), none)}
	for _, sub := range t.subs {
		if sub.Stateless == stateless && sub.Partitions > 0 {
			k.weights = append(k.weights, sub.weight())
		}
	}
	slices.Sort(k.weights)
	slices.Reverse(k.weights)
	k.weights = slices.Compact(k.weights)
	for i, sub := range t.subs {
		if sub.Stateless == stateless && sub.Partitions > 0 {
			class, _ := slices.BinarySearchFunc(k.weights, sub.weight(), func(a, b int64) int { return cmp.Compare(b, a) })
			k.classOf[i] = int32(class)
		}
	}
	return k
}

// unit reports whether loads of this kind are counts of tasks. Then targets are exact (levelKind); else they are found by
// single moves (weighing).
func (k *kind) unit() bool { return len(k.weights) == 1 && k.weights[0] == 1 }

// count makes loads of this kind counts, where it has one weight only.
func (k *kind) count() {
	if len(k.weights) == 1 {
		k.weights[0] = 1
	}
}
