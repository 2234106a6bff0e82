package scenario

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// load is what an instance runs, counted once for the stateful tasks and once for all of them.
type load struct {
	instance string
	capacity int64
	stays    bool
	stateful int64
	all      int64
}

// imbalances returns a line for every staying instance whose load is out of the range of section R4 of the design, which is
// computed here a second time, from its wording and not from the library's code. Tasks that run nowhere in this answer
// (they are being fenced, handed over or awaited) count for nobody. Where every instance leaves, all count as staying.
func imbalances(members []assignor.Member, a *assignor.Assignment, config assignor.Config) []string {
	loads := loadsOf(members)
	addTasks(loads, members, a, config.Topology)
	var lines []string
	lines = append(lines, outOfRange(loads, config, "stateful load", func(l load) int64 { return l.stateful })...)
	if slices.ContainsFunc(config.Topology, func(s assignor.Subtopology) bool { return s.Stateless }) {
		lines = append(lines, outOfRange(loads, config, "load", func(l load) int64 { return l.all })...)
	}
	return lines
}

// loadsOf returns the instances without any load yet, in natural order of their names.
func loadsOf(members []assignor.Member) []load {
	var loads []load
	anyStays := false
	for _, m := range members {
		i := slices.IndexFunc(loads, func(l load) bool { return l.instance == instanceOf(m) })
		if i < 0 {
			i = len(loads)
			loads = append(loads, load{instance: instanceOf(m)})
		}
		loads[i].capacity += int64(max(m.Capacity, 1))
		loads[i].stays = loads[i].stays || !m.Leaving // an instance leaves when all its members do
		anyStays = anyStays || !m.Leaving
	}
	for i := range loads {
		loads[i].stays = loads[i].stays || !anyStays
	}
	slices.SortFunc(loads, func(a, b load) int { return naturalCompare(a.instance, b.instance) })
	return loads
}

func addTasks(loads []load, members []assignor.Member, a *assignor.Assignment, topology []assignor.Subtopology) {
	for _, m := range members {
		ma, _ := a.For(m.ID)
		i := slices.IndexFunc(loads, func(l load) bool { return l.instance == instanceOf(m) })
		for _, task := range ma.Active {
			sub, ok := subtopologyOf(task, topology)
			if !ok {
				continue
			}
			weight := int64(max(sub.Weight, 1))
			loads[i].all += weight
			if !sub.Stateless {
				loads[i].stateful += weight
			}
		}
	}
}

// subtopologyOf returns the subtopology that has the task, and false where none has it.
func subtopologyOf(task assignor.TaskID, topology []assignor.Subtopology) (assignor.Subtopology, bool) {
	for _, sub := range topology {
		if sub.ID == task.Subtopology {
			return sub, task.Partition >= 0 && task.Partition < sub.Partitions
		}
	}
	return assignor.Subtopology{}, false
}

// outOfRange returns a line for every staying instance out of its range.
func outOfRange(loads []load, config assignor.Config, what string, of func(load) int64) []string {
	var total, capacity int64
	for _, l := range loads {
		total += of(l)
		if l.stays {
			capacity += l.capacity
		}
	}
	var lines []string
	for _, l := range loads {
		if !l.stays {
			continue
		}
		low, high := fairRange(total, l.capacity, capacity, int64(config.ImbalancePercent))
		if n := of(l); n < low || n > high {
			lines = append(lines, fmt.Sprintf("balanced: %s has a %s of %d, not %d to %d", l.instance, what, n, low, high))
		}
	}
	return lines
}

// fairRange returns floor(E x (1 - p)), but at least 1 where E is 1 or more, and ceil(E x (1 + p)), where p is percent/100
// and E = total x own / all is the fair share of an instance with the capacity own. No product overflows.
func fairRange(total, own, all, percent int64) (low, high int64) {
	share := new(big.Int).Mul(big.NewInt(total), big.NewInt(own))
	hundred := new(big.Int).Mul(big.NewInt(100), big.NewInt(all))
	part := func(percent int64) (quotient, rest *big.Int) {
		product := new(big.Int).Mul(share, big.NewInt(percent))
		return product.QuoRem(product, hundred, new(big.Int))
	}
	floor, _ := part(100 - percent)
	ceil, rest := part(100 + percent)
	low, high = floor.Int64(), ceil.Int64()
	if rest.Sign() > 0 {
		high++
	}
	if share.Cmp(big.NewInt(all)) >= 0 {
		low = max(low, 1)
	}
	return low, high
}
