package measure

import "github.com/incremental-rebalance/assignor"

// Floor is the least that any assignor has to do: it marks the owner of every task, counts the tasks of every member, and writes
// them out in task order into one block. Every task must be active once.
func Floor(members []assignor.Member, topology []assignor.Subtopology) [][]assignor.TaskID {
	start := make([]int32, len(topology)+1)
	for s := range topology {
		start[s+1] = start[s] + topology[s].Partitions
	}
	owner := make([]int32, start[len(topology)])
	count := make([]int32, len(members))
	for m := range members {
		for _, id := range members[m].Active {
			if uint32(id.Subtopology) >= uint32(len(topology)) || uint32(id.Partition) >= uint32(topology[id.Subtopology].Partitions) {
				panic("measure: no such task")
			}
			t := start[id.Subtopology] + id.Partition
			if owner[t] != 0 {
				panic("measure: two owners")
			}
			owner[t] = int32(m) + 1
		}
	}
	for _, m := range owner {
		count[m-1]++
	}
	block := make([]assignor.TaskID, len(owner))
	lists := make([][]assignor.TaskID, len(members))
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
