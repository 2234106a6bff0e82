package assignor_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// Check is what every other test relies on, so it must find each thing that can be wrong. The group: A runs 0_0 and 0_1 and what
// has no state, 1_0; B runs 0_2, backs up 0_0 and learns 0_1; C and D share the host c, which leaves, and C runs 0_3; E speaks version 1.
func checkedGroup() ([]assignor.Member, *assignor.Assignment, assignor.Config) {
	members := []assignor.Member{
		{ID: "A", Generation: 3, Active: []assignor.TaskID{id(0, 0), id(0, 1), id(1, 0)}},
		{ID: "B", Generation: 3, Active: []assignor.TaskID{id(0, 2)}, Learners: []assignor.Replica{{Task: id(0, 1), Lag: 9}}, Standbys: []assignor.Replica{{Task: id(0, 0)}}},
		{ID: "C", Instance: "c", Generation: 3, Leaving: true, Active: []assignor.TaskID{id(0, 3)}},
		{ID: "D", Instance: "c", Generation: 3, Leaving: true},
		{ID: "E", Generation: 3, Version: 1},
	}
	config := assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 4}, {ID: 1, Partitions: 1, Stateless: true}}, Standbys: 1}
	answer := &assignor.Assignment{Generation: 4, Members: []assignor.MemberAssignment{
		{Member: "A", Active: []assignor.TaskID{id(0, 0), id(0, 1), id(1, 0)}, Handover: []assignor.TaskID{id(0, 1)}},
		{Member: "B", Active: []assignor.TaskID{id(0, 2)}, Learners: []assignor.TaskID{id(0, 1)}, Standbys: []assignor.TaskID{id(0, 0)}},
		{Member: "C", Active: []assignor.TaskID{id(0, 3)}},
		{Member: "D"},
		{Member: "E"},
	}}
	return members, answer, config
}

func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		damage func(a, b, c, d, e *assignor.MemberAssignment)
		want   string // the first violation of several
	}{
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&b.Active, id(0, 0)) }, "I1: 0_0 is active on A and B"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { drop(&a.Active, id(0, 0)); add(&b.Active, id(0, 0)) },
			"I1: 0_0 is active on B while A may still run it"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { drop(&a.Active, id(0, 0)); add(&b.Revoke, id(0, 0)) },
			"I1: A runs 0_0, may not go on and is not told to stop"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&a.Revoke, id(0, 0)) }, "I1: A is to run and to stop 0_0"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { drop(&b.Active, id(0, 2)) }, "I2: 0_2 is lost: nobody runs it, and it waits for nobody"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&d.Learners, id(0, 1)) }, "I3: 0_1 is learned by B and D"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&d.Learners, id(0, 3)); c.Handover = c.Active }, "I3: D learns 0_3, which C runs on the same instance"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&b.Learners, id(1, 0)) }, "I3: B learns 1_0, which has no state"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { a.Handover = nil }, "I3: A: Handover does not say whether 0_1 is being learned"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&a.Handover, id(0, 0)) }, "I3: A: Handover does not say whether 0_0 is being learned"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&a.Standbys, id(0, 0)) }, "I4: A has a standby of 0_0, which A has on the same instance"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&b.Standbys, id(0, 1)) }, "I4: B has a standby of 0_1, which B has on the same instance"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&c.Standbys, id(0, 2)); add(&d.Standbys, id(0, 2)) },
			"I4: D has a standby of 0_2, which C has on the same instance"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&e.Standbys, id(1, 0)) }, "I4: E has a standby of 1_0, which has no state"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&e.Learners, id(0, 2)); b.Handover = b.Active }, "I5: E learns 0_2, but speaks version 1 only"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&d.Standbys, id(0, 0)) }, "I5: D leaves and is handed 0_0"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&e.Active, id(7, 7)) }, "I6: E: runs 7_7, which the topology does not have and it did not run"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { add(&e.Standbys, id(0, 4)) }, "I6: E: has a copy of 0_4, which the topology does not have"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { slices.Reverse(a.Active) }, "I6: A: Active is not sorted or has a task twice: [1_0 0_1 0_0]"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { b.Standbys = []assignor.TaskID{id(0, 0), id(0, 0)} },
			"I6: B: Standbys is not sorted or has a task twice: [0_0 0_0]"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { a.Handover = []assignor.TaskID{id(0, 2)} }, "I6: A: 0_2 is in Handover, but not in Active"},
		{func(a, b, c, d, e *assignor.MemberAssignment) { a.Member = "B" }, `I6: answer 0 is to "B", want "A"`},
	} {
		members, answer, config := checkedGroup()
		require.NoError(t, assignor.Check(members, answer, config))
		c.damage(&answer.Members[0], &answer.Members[1], &answer.Members[2], &answer.Members[3], &answer.Members[4])
		require.ErrorContains(t, assignor.Check(members, answer, config), "assignor: "+c.want)
	}
}

// TestCheckFindsOutside looks at what concerns no list of a member, and at what the reports make of it.
func TestCheckFindsOutside(t *testing.T) {
	members, answer, config := checkedGroup()
	require.NoError(t, assignor.Check(members, answer, config))
	require.EqualError(t, assignor.Check(members, nil, config), "assignor: no assignment")

	old := *answer
	old.Generation = 3
	require.EqualError(t, assignor.Check(members, &old, config), "assignor: I6: the generation 3 is not greater than 3, which a member has reported")
	short := *answer
	short.Members = answer.Members[:4]
	require.EqualError(t, assignor.Check(members, &short, config), "assignor: I6: 4 answers to 5 members")
	waits := *answer
	waits.Departed = []assignor.Departure{{Instance: "z", Tasks: []assignor.TaskID{id(0, 0)}}}
	require.EqualError(t, assignor.Check(members, &waits, config), "assignor: I2: 0_0 waits for an instance and is somewhere else too")

	impossible := *answer
	impossible.Members = slices.Clone(answer.Members)
	members[4].Active, impossible.Members[4].Active = []assignor.TaskID{id(0, -1)}, []assignor.TaskID{id(0, -1)}
	require.EqualError(t, assignor.Check(members, &impossible, config), "assignor: I6: E: runs 0_-1, which the topology does not have and it did not run")
	require.NoError(t, assignor.Check(members, answer, config), "what nobody can run need not be stopped")

	// Of two that claim a task, one that reports it in the higher generation may go on. One that may have started it may not.
	members[4].Generation, members[4].Active = 2, []assignor.TaskID{id(0, 0)}
	answer.Members[4].Revoke = []assignor.TaskID{id(0, 0)}
	require.NoError(t, assignor.Check(members, answer, config))
	members[4].Generation = 3
	require.ErrorContains(t, assignor.Check(members, answer, config), "I1: 0_0 is active on A while E may still run it")
}

// TestCheckJoinsAll: one error for each violation.
func TestCheckJoinsAll(t *testing.T) {
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 3}}}
	err := assignor.Check([]assignor.Member{{ID: "A"}}, &assignor.Assignment{Generation: 1, Members: []assignor.MemberAssignment{{Member: "A"}}}, config)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), 3)
}

// add and drop change a sorted list, which they replace by another.
func add(list *[]assignor.TaskID, task assignor.TaskID) {
	*list = append(slices.Clone(*list), task)
	slices.SortFunc(*list, assignor.TaskID.Compare)
}

func drop(list *[]assignor.TaskID, task assignor.TaskID) {
	*list = slices.DeleteFunc(slices.Clone(*list), func(t assignor.TaskID) bool { return t == task })
}
