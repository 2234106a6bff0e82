package assignor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// This is the first test to open: how Assign, Assignor and Recover are called, by example, and then what they promise of any call. What
// they decide is in the scenario files of testdata, a behaviour each.

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

// A leader that calls many rounds keeps an Assignor, which decides as Assign does and reuses the memory that it works in. Here it
// leads three rounds of a group in which S2 joins S1: S2 learns, S2 takes over, and nothing is left to do.
func ExampleAssignor() {
	var leader assignor.Assignor
	config := assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 2}}}
	members := []assignor.Member{{ID: "S1", Generation: 1, Active: []assignor.TaskID{{Partition: 0}, {Partition: 1}}}, {ID: "S2"}}
	memory := assignor.Recover(members)
	for range 3 {
		answer, err := leader.Assign(members, memory, config)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v\n%v\n", answer, answer.Moves)
		members, memory = obey(members, answer), answer
		for i := range members[1].Learners {
			members[1].Learners[i].Lag = 0 // S2 catches up before the next round
		}
	}
	// Output:
	// S1(assigned: [0_0, 0_1], revoked: [], learning: [])
	// S2(assigned: [], revoked: [], learning: [0_0])
	// [0_0: S1 -> S2 (learn), evens the load]
	// S1(assigned: [0_1], revoked: [], learning: [])
	// S2(assigned: [0_0], revoked: [], learning: [])
	// [0_0: S1 -> S2, learner caught up]
	// S1(assigned: [0_1], revoked: [], learning: [])
	// S2(assigned: [0_0], revoked: [], learning: [])
	// []
}

// TestAssignIsAFunction: whoever asks, in whatever order the members, their tasks and the subtopologies come, gets the same answer, and
// finds what it passed as it was.
func TestAssignIsAFunction(t *testing.T) {
	members := []assignor.Member{
		{ID: "S1", Generation: 4, Active: []assignor.TaskID{id(0, 0), id(0, 1), id(1, 0)}, Standbys: []assignor.Replica{{Task: id(0, 2)}}},
		{ID: "S2", Generation: 4, Active: []assignor.TaskID{id(0, 2), id(0, 3), id(1, 1)}, Standbys: []assignor.Replica{{Task: id(0, 0)}, {Task: id(0, 1)}}},
		{ID: "S3", Tags: map[string]string{"zone": "b"}},
	}
	config := assignor.Config{Standbys: 1, SpreadTags: []string{"zone"}, Topology: []assignor.Subtopology{{ID: 0, Partitions: 4}, {ID: 1, Partitions: 2, Stateless: true}}}
	memory := assignor.Recover(members)
	want, err := assignor.Assign(members, memory, config)
	require.NoError(t, err)
	require.NoError(t, assignor.Check(members, want, config))

	before := churn.CloneMembers(members)
	rng := rand.New(rand.NewPCG(1, 2))
	var leader assignor.Assignor
	for range 20 {
		shuffled, shuffledConfig := churn.ShuffleInput(rng, members, config)
		again, err := assignor.Assign(shuffled, memory, shuffledConfig)
		require.NoError(t, err)
		require.Equal(t, want, again)
		again, err = leader.Assign(shuffled, memory, shuffledConfig)
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	require.Equal(t, before, members)
}

// TestNoAnswer: Assign and Check refuse what has no right answer, and say whom it concerns.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		members []assignor.Member
		kind    error
		want    string
	}{
		{nil, assignor.ErrNoMembers, "assignor: no members"},
		{[]assignor.Member{{ID: "S1"}, {Instance: "h7"}}, assignor.ErrMember, `assignor: a member of the instance "h7" has no id`},
		{[]assignor.Member{{ID: "S1"}, {ID: "S2"}, {ID: "S1", Instance: "h"}}, assignor.ErrMember, "assignor: two members have the id S1"},
	} {
		a, err := assignor.Assign(c.members, nil, validConfig())
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, c.kind)
		require.Nil(t, a)
		require.EqualError(t, assignor.Check(c.members, &assignor.Assignment{}, validConfig()), c.want)
	}
}

// TestGeneration: the answer's generation is the caller's where that is new, else one more than the greatest that anybody has seen.
func TestGeneration(t *testing.T) {
	for _, c := range []struct{ reported, remembered, given, want int32 }{
		{0, 0, 0, 1},
		{7, 0, 0, 8},
		{7, 9, 0, 10},
		{9, 7, 9, 10},
		{7, 8, 30, 30},
		{-1, 0, -5, 1},
		{math.MaxInt32, 0, 0, 1},
		{3, math.MaxInt32, math.MaxInt32, 4},
	} {
		config := validConfig()
		config.Generation = c.given
		var memory *assignor.Assignment
		if c.remembered != 0 {
			memory = &assignor.Assignment{Generation: c.remembered}
		}
		a, err := assignor.Assign([]assignor.Member{{ID: "S1", Generation: c.reported}}, memory, config)
		require.NoError(t, err)
		require.Equal(t, c.want, a.Generation, "%+v", c)
		require.Equal(t, c.want, a.Members[0].Generation, "%+v", c)
	}
}
