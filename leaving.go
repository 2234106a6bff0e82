package assignor

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// mustGo reports whether tasks cannot wait on instance i for a learner because it leaves: the drain deadline has passed (R7.2),
// or nobody who stays can learn (R5.6). A stateless task never waits for a learner, so only the deadline makes it go before R4
// does.
func (g *group) mustGo(i int32, stateless bool) bool {
	in := &g.instances[i]
	return in.overdue || in.leaving && !g.allLeave && !g.somebodySpeaks && !stateless
}

// worthAwaiting reports whether a task waits for the instance that had it: one that vanished without leaving, until RejoinDelay
// has passed (R7). The memory may know of none.
//
//	S1 vanished, RejoinDelay 5m, absent 2m     its tasks wait, but for those with a caught-up copy elsewhere
//	S1 vanished, it was leaving                they do not: it had said that it would go
//	S1 vanished, absent 5m                     they do not any more
//
// Waiting is worth it because a restart is the common case, and takes less time than any replay.
func (g *group) worthAwaiting(h *remembered) bool {
	return h != nil && h.present == none && !h.leaving && h.absent < g.config.RejoinDelay
}

// drainTime returns how long instance i may still take to drain, and false where it does not leave, has no deadline or is past it.
func (g *group) drainTime(i int32) (left time.Duration, ok bool) {
	in := &g.instances[i]
	if !in.leaving || in.overdue || in.stays || g.config.ScaleDownTimeout <= 0 {
		return 0, false
	}
	return g.config.ScaleDownTimeout - in.leavingFor, true
}

// ScaleDown returns the instances to tell to leave so that target of those that stay are left: those with the least to move, by
// the weight of their active tasks, then by what those cost to restore, then the largest name. Instances that leave already do not
// count, a target below 1 means 1, and members of one instance leave together. The names come back sorted; there are none where
// no more than target stay. A task that the topology does not have weighs 1.
//
// It costs O(tasks log subtopologies + members log members).
func ScaleDown(members []Member, target int, config Config) []string {
	burdens := burdensOf(members, config)
	surplus := len(burdens) - max(1, target)
	if surplus <= 0 {
		return nil
	}
	slices.SortFunc(burdens, func(a, b burden) int {
		return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.cost, b.cost), cmp.Compare(b.instance, a.instance))
	})
	names := make([]string, surplus)
	for i := range names {
		names[i] = burdens[i].instance
	}
	slices.Sort(names)
	return names
}

// burden is what has to move if an instance leaves.
type burden struct {
	instance     string
	weight, cost int64
	leaving      bool
}

// burdensOf returns the burdens of the instances that stay, in name order. An instance with one member that does not leave
// stays.
func burdensOf(members []Member, config Config) []burden {
	burdens := make([]burden, len(members))
	t := newTopology(config.Topology)
	for i := range members {
		burdens[i] = members[i].burden(&t)
	}
	slices.SortFunc(burdens, func(a, b burden) int { return cmp.Compare(a.instance, b.instance) })
	merged := burdens[:0]
	for _, b := range burdens {
		last := len(merged) - 1
		if last < 0 || merged[last].instance != b.instance {
			merged = append(merged, b)
			continue
		}
		merged[last].weight = level.Add(merged[last].weight, b.weight)
		merged[last].cost = level.Add(merged[last].cost, b.cost)
		merged[last].leaving = merged[last].leaving && b.leaving
	}
	return slices.DeleteFunc(merged, func(b burden) bool { return b.leaving })
}

// burden adds up what a member runs, each task once: also what it has stopped for a hand-over that may yet come back.
func (m *Member) burden(topology *topology) burden {
	b := burden{instance: m.instanceName(), leaving: m.Leaving}
	for _, task := range sortedTasks(slices.Concat(m.Active, m.Revoked)) {
		weight, cost := int64(1), int64(0)
		if s := topology.subtopology(task.Subtopology); s != none && topology.own(task) != none {
			weight = topology.subs[s].weight()
			if costs := topology.subs[s].RestoreCost; int(task.Partition) < len(costs) { // no Validate has been here
				cost = max(0, costs[task.Partition])
			}
		}
		b.weight = level.Add(b.weight, weight)
		b.cost = level.Add(b.cost, cost)
	}
	return b
}
