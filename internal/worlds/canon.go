package worlds

import (
	"cmp"
	"slices"
)

// Canonical returns the same state under the names that make it the least of all that differ only in names: of instances, of tasks
// of one subtopology, and of generations, which count by their order alone.
func (w *World) Canonical(s State) State {
	s.rankAges()
	if w.orders == nil {
		w.orders = w.taskOrders()
	}
	var best State
	var least [numInstances]key
	for n, order := range w.orders {
		renamed := s
		var keys [numInstances]key
		for i := range renamed.Instances {
			in := &renamed.Instances[i]
			in.rename(&order)
			keys[i] = in.key()
		}
		for i := 1; i < numInstances; i++ {
			for k := i; k > 0 && keys[k].less(&keys[k-1]); k-- {
				keys[k], keys[k-1] = keys[k-1], keys[k]
				renamed.Instances[k], renamed.Instances[k-1] = renamed.Instances[k-1], renamed.Instances[k]
			}
		}
		if n == 0 || slices.CompareFunc(keys[:], least[:], func(a, b key) int { return a.compare(&b) }) < 0 {
			best, least = renamed, keys
		}
	}
	return best
}

// rankAges numbers the generations anew: 1 for the oldest that anybody has.
func (s *State) rankAges() {
	ages := [numInstances + 1]*uint8{&s.MemoryAge}
	for i := range s.Instances {
		ages[i+1] = &s.Instances[i].Age
	}
	var ranks [len(ages)]uint8
	for i, a := range ages {
		for k, b := range ages {
			older := *b > 0 && *b < *a
			for _, c := range ages[:k] {
				older = older && *c != *b // each generation counts once
			}
			if older {
				ranks[i]++
			}
		}
		if *a > 0 {
			ranks[i]++
		}
	}
	for i, a := range ages {
		*a = ranks[i]
	}
}

func (in *Instance) masks() [10]*mask {
	return [...]*mask{&in.Active, &in.Revoked, &in.Learners, &in.HotLearners, &in.Standbys, &in.HotStandbys, &in.Behind, &in.LastActive, &in.LastStop, &in.Awaited}
}

// renaming maps every set of tasks to the same set under other names.
type renaming [1 << numTasks]mask

func (in *Instance) rename(to *renaming) {
	for _, m := range in.masks() {
		*m = to[*m]
	}
}

// key is all that an instance is, for comparison; those that are there come first.
type key [2]uint64

func (in *Instance) key() key {
	var k key
	for i, flag := range [...]bool{!in.Present, in.Leaving, in.Overdue, in.Known, in.KnownLeaving, in.Late} {
		if flag {
			k[0] |= 1 << (63 - i)
		}
	}
	masks := in.masks()
	for i, m := range masks[:8] {
		k[0] |= uint64(*m) << (3 * i)
	}
	for i, m := range masks[8:] {
		k[1] |= uint64(*m) << (3 * i)
	}
	k[1] |= uint64(in.Age) << 8
	return k
}

func (k *key) compare(o *key) int { return cmp.Or(cmp.Compare(k[0], o[0]), cmp.Compare(k[1], o[1])) }

func (k *key) less(o *key) bool { return k.compare(o) < 0 }

// permutations returns every order of 0 to n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return all
}

// taskOrders returns the renamings that keep each task in its subtopology.
func (w *World) taskOrders() []renaming {
	orders := [][]int{{}}
	for _, sub := range w.Config.Topology {
		var longer [][]int
		for _, head := range orders {
			for _, p := range permutations(int(sub.Partitions)) {
				order := slices.Clone(head)
				for _, t := range p {
					order = append(order, len(head)+t)
				}
				longer = append(longer, order)
			}
		}
		orders = longer
	}
	renamings := make([]renaming, len(orders))
	for n, order := range orders {
		for m := range renamings[n] {
			for t, to := range order {
				renamings[n][m] |= mask(m) >> t & 1 << to
			}
		}
	}
	return renamings
}
