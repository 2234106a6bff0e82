package assignor_test

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
)

// twoInstances is a group of two members that run two tasks each, and the answer that made it so.
func twoInstances() ([]assignor.Member, *assignor.Assignment, assignor.Config) {
	config := assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 4}}}
	members := []assignor.Member{{ID: "S1"}, {ID: "S2"}}
	answer, err := assignor.Assign(members, nil, config)
	if err != nil {
		panic(err)
	}
	return obey(members, answer), answer, config
}

// obey returns what the members report in the next round if they did what the answer says and nobody has caught up yet.
func obey(members []assignor.Member, answer *assignor.Assignment) []assignor.Member {
	next := make([]assignor.Member, len(members))
	for i, m := range members {
		told, _ := answer.For(m.ID)
		next[i] = m.Next(told, assignor.OneRound)
	}
	return next
}

// A member joins. It learns the task that it is to run; when it has caught up, the task changes hands.
func ExampleAssign() {
	members, memory, config := twoInstances()

	members = append(members, assignor.Member{ID: "S3"})
	answer, _ := assignor.Assign(members, memory, config)
	fmt.Println(answer)

	members = obey(members, answer)
	members[2].Learners[0].Lag = 0 // S3 has replayed the changelog and calls for a round
	answer, _ = assignor.Assign(members, answer, config)
	fmt.Println(answer)
	for _, move := range answer.Moves {
		fmt.Println(move)
	}
	// Output:
	// S1(assigned: [0_0, 0_1], revoked: [], learning: [])
	// S2(assigned: [0_2, 0_3], revoked: [], learning: [])
	// S3(assigned: [], revoked: [], learning: [0_0])
	// S1(assigned: [0_1], revoked: [], learning: [])
	// S2(assigned: [0_2, 0_3], revoked: [], learning: [])
	// S3(assigned: [0_0], revoked: [], learning: [])
	// 0_0: S1 -> S3, learner caught up
}

// An instance is told to leave. It runs its tasks until the others have learned them, and may stop when its lists are empty.
func ExampleAssign_drain() {
	members, memory, config := twoInstances()

	for _, instance := range assignor.ScaleDown(members, 1, config) {
		for i := range members {
			members[i].Leaving = members[i].ID == instance
		}
	}
	answer, _ := assignor.Assign(members, memory, config)
	fmt.Println(answer)

	members = obey(members, answer)
	for i := range members[0].Learners {
		members[0].Learners[i].Lag = 0
	}
	answer, _ = assignor.Assign(members, answer, config)
	fmt.Println(answer)
	// Output:
	// S1(assigned: [0_0, 0_1], revoked: [], learning: [0_2, 0_3])
	// S2(assigned: [0_2, 0_3], revoked: [], learning: [])
	// S1(assigned: [0_0, 0_1, 0_2, 0_3], revoked: [], learning: [])
	// S2(assigned: [], revoked: [], learning: [])
}

// The leader dies while a member joins. The next leader rebuilds the memory from the reports, so it knows who is new, and goes on.
func ExampleRecover() {
	members, _, config := twoInstances()
	config.NewInstancesOnly = true

	members = append(members[1:], assignor.Member{ID: "S3"}) // S1 is gone, and its memory with it
	memory := assignor.Recover(members)
	answer, _ := assignor.Assign(members, memory, config)
	fmt.Println(answer)
	// Output:
	// S2(assigned: [0_2, 0_3], revoked: [], learning: [])
	// S3(assigned: [0_0, 0_1], revoked: [], learning: [])
}
