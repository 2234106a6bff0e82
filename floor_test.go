//go:build go1.24

package assignor_test

import (
	"fmt"
	"testing"

	"github.com/incremental-rebalance/assignor"
)

// BenchmarkFloor is what any assignor has to do at least: mark the owner of every task, count the tasks of every member, and
// write the answer out in task order into one block. Divide the figures of BenchmarkAssign by it.
func BenchmarkFloor(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("members=%d/tasks=%d", size.members, size.tasks), func(b *testing.B) {
			group, _, config := benchGroup(size.tasks, size.members, 0)
			b.ReportAllocs()
			for b.Loop() {
				if got := floor(group, config.Topology); len(got) != size.members {
					b.Fatal("lost a member")
				}
			}
		})
	}
}

func floor(group []assignor.Member, topology []assignor.Subtopology) [][]assignor.TaskID {
	start := make([]int32, len(topology)+1)
	for s := range topology {
		start[s+1] = start[s] + topology[s].Partitions
	}
	owner := make([]int32, start[len(topology)])
	count := make([]int32, len(group))
	for m := range group {
		for _, id := range group[m].Active {
			if uint32(id.Subtopology) >= uint32(len(topology)) || uint32(id.Partition) >= uint32(topology[id.Subtopology].Partitions) {
				panic("no such task")
			}
			t := start[id.Subtopology] + id.Partition
			if owner[t] != 0 {
				panic("two owners")
			}
			owner[t] = int32(m) + 1
		}
	}
	for _, m := range owner {
		count[m-1]++
	}
	block := make([]assignor.TaskID, len(owner))
	lists := make([][]assignor.TaskID, len(group))
	for m, n := range count {
		lists[m], block = block[:0:n], block[n:]
	}
	for s := range topology {
		for t := start[s]; t < start[s+1]; t++ {
			m := owner[t] - 1
			lists[m] = append(lists[m], assignor.TaskID{Subtopology: topology[s].ID, Partition: t - start[s]})
		}
	}
	return lists
}
