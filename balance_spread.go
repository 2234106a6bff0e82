package assignor

// maxSpread bounds the table of instances x subtopologies (in cells) that keeps subtopologies spread. Beyond it, which takes
// thousands of each, tasks are dealt out in id order instead.
const maxSpread = 1 << 24

// spread counts, for each instance and subtopology, the tasks that the instance is planned to have. Without cells it counts
// nothing.
type spread struct {
	cells []int32
	subs  int
}

func (g *group) newSpread() spread {
	s := spread{subs: len(g.topology.subs)}
	if s.subs*len(g.instances) <= maxSpread {
		s.cells = g.int32s.zeros(s.subs * len(g.instances))
	}
	return s
}

// countSpread counts where every task is planned to be, when that is first asked for.
func (r *round) countSpread() {
	if r.spread.subs > 0 {
		return
	}
	r.spread = r.newSpread()
	for s := range r.topology.subs {
		first, end := r.topology.start[s], r.topology.start[s+1]
		status := r.status[first:end]
		for p, m := range r.dest[first:end] {
			switch {
			case status[p] != placed:
			case m >= 0 && r.learning == nil:
				r.spread.add(int32(s), r.instanceBy[m], 1)
			default:
				r.spread.add(int32(s), r.plannedAt(first+int32(p)), 1)
			}
		}
	}
}

func (s *spread) add(sub, i int32, n int32) {
	if s.cells != nil {
		s.cells[int(i)*s.subs+int(sub)] += n
	}
}

func (s *spread) move(sub, from, to int32) {
	s.add(sub, from, -1)
	s.add(sub, to, 1)
}

// excess returns by how much instance i is above its share of a subtopology, times the capacity of all that stay (R4). What
// leaves has no share.
func (r *round) excess(i, sub int32) int64 {
	if r.spread.cells == nil {
		return 0
	}
	share := int64(0)
	if r.instances[i].stays {
		share = int64(r.topology.subs[sub].Partitions) * r.instances[i].capacity
	}
	return int64(r.spread.cells[int(i)*r.spread.subs+int(sub)])*r.staying - share
}
