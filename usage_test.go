package assignor_test

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
)

// The README shows what stands between the two marks; go test ./internal/figures -rewrite copies it there.
func Example() {
	// usage
	config := assignor.Config{
		Topology: []assignor.Subtopology{{ID: 0, Partitions: 4}}, // tasks 0_0 to 0_3
		Standbys: 1,
	}
	// What the members report when the round begins. worker-3 is new.
	task := func(p int32) assignor.TaskID { return assignor.TaskID{Subtopology: 0, Partition: p} }
	warm := func(p int32) assignor.Replica { return assignor.Replica{Task: task(p)} } // lag 0
	members := []assignor.Member{
		{ID: "worker-1", Instance: "host-a", Generation: 7,
			Active:   []assignor.TaskID{task(0), task(1)},
			Standbys: []assignor.Replica{warm(2), warm(3)}},
		{ID: "worker-2", Instance: "host-b", Generation: 7,
			Active:   []assignor.TaskID{task(2), task(3)},
			Standbys: []assignor.Replica{warm(0), warm(1)}},
		{ID: "worker-3", Instance: "host-c"},
	}
	memory := assignor.Recover(members) // or the last answer that was delivered
	answer, err := assignor.Assign(members, memory, config)
	if err != nil {
		answer = assignor.Recover(members) // by which nobody gains a task
	}
	for _, told := range answer.Members {
		fmt.Println(told) // run Active, stop Revoke, replay Learners, keep Standbys warm
	}
	for _, move := range answer.Moves {
		fmt.Println(move) // what changes, and why
	}
	// end of usage

	// Output:
	// worker-1(assigned: [0_0, 0_1], revoked: [], learning: [], standby: [0_2, 0_3])
	// worker-2(assigned: [0_2, 0_3], revoked: [], learning: [], standby: [0_0, 0_1])
	// worker-3(assigned: [], revoked: [], learning: [0_0], standby: [0_2])
	// 0_0: worker-1 -> worker-3 (learn), evens the load
	// 0_2: nobody -> worker-3 (standby), evens the standbys
}
