//go:build go1.24

package assignor_test

import (
	"fmt"
	"testing"

	"github.com/incremental-rebalance/assignor"
)

// benchGroup is a group of members with their memory in which task i is with member i mod members, in 10 subtopologies.
func benchGroup(tasks, members, standbys int) ([]assignor.Member, *assignor.Assignment, assignor.Config) {
	config := assignor.Config{Standbys: standbys}
	for s := range int32(10) {
		config.Topology = append(config.Topology, assignor.Subtopology{ID: s, Partitions: int32(tasks / 10)})
	}
	group := make([]assignor.Member, members)
	for m := range group {
		group[m] = assignor.Member{ID: fmt.Sprintf("worker-%05d", m), Generation: 1}
	}
	for i := range tasks {
		id := assignor.TaskID{Subtopology: int32(i % 10), Partition: int32(i / 10)}
		m := &group[i%members]
		m.Active = append(m.Active, id)
		for k := 1; k <= standbys; k++ {
			other := &group[(i+k*(1+i/members%max(1, members-1)))%members]
			if other != m {
				other.Standbys = append(other.Standbys, assignor.Replica{Task: id})
			}
		}
	}
	memory := assignor.Recover(group)
	return group, memory, config
}

var benchSizes = []struct{ tasks, members int }{{1e3, 10}, {1e4, 100}, {1e5, 1000}}

func BenchmarkAssign(b *testing.B) {
	for _, size := range benchSizes {
		for _, state := range []string{"cold", "steady", "join", "leave", "drain"} {
			for _, standbys := range []int{0, 1} {
				b.Run(fmt.Sprintf("members=%d/tasks=%d/state=%s/standbys=%d", size.members, size.tasks, state, standbys), func(b *testing.B) {
					group, memory, config := benchGroup(size.tasks, size.members, standbys)
					switch state {
					case "cold":
						memory = nil
						for m := range group {
							group[m].Active, group[m].Standbys, group[m].Generation = nil, nil, 0
						}
					case "join":
						group = append(group, assignor.Member{ID: "worker-99999"})
					case "leave":
						group = group[1:]
					case "drain":
						group[0].Leaving = true
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := assignor.Assign(group, memory, config); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
