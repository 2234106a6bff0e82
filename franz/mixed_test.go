package franz_test

import (
	"log/slog"
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// versions are the Topologies of a group while a new one is rolled out: one has gained what the other does not know.
var (
	small = []franz.Subtopology{{ID: 0, Topics: []string{"lines"}}}
	large = []franz.Subtopology{{ID: 0, Topics: []string{"lines"}}, {ID: 1, Topics: []string{"left", "right"}}}
)

func balancerOf(t *testing.T, topology []franz.Subtopology, change ...func(*franz.Config)) *franz.Balancer {
	t.Helper()
	config := valid()
	config.Topology = topology
	config.Logger = slog.New(slog.DiscardHandler)
	for _, f := range change {
		f(&config)
	}
	b, err := franz.New(config)
	require.NoError(t, err)
	return b
}

// mixed are the tasks that a member of the large Topology has, in a group that a member of the small one leads next.
var mixed = assignor.MemberAssignment{
	Member: "m1", Instance: "a", Generation: 5,
	Active:   []assignor.TaskID{{Partition: 0}, {Partition: 1}, {Subtopology: 1, Partition: 2}},
	Learners: []assignor.TaskID{{Subtopology: 1, Partition: 0}},
	Standbys: []assignor.TaskID{{Subtopology: 1, Partition: 1}},
}

// A leader whose Topology is older takes nothing of what it does not know from whoever runs it: tasks, partitions or copies, whether
// or not there is room for a payload.
func TestOlderLeaderTakesNothing(t *testing.T) {
	for name, change := range map[string]func(*franz.Config){
		"with a payload":  func(*franz.Config) {},
		"beyond a budget": func(c *franz.Config) { c.Budget = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			member := balancerOf(t, large)
			a := assignor.Assignment{Generation: 5, Members: []assignor.MemberAssignment{mixed}}
			payloads, err := a.Encode(0)
			require.NoError(t, err)
			first := kmsg.ConsumerMemberAssignment{Version: 2, UserData: payloads[0]}
			owned, err := member.GroupBalancer().ParseSyncAssignment(first.AppendTo(nil))
			require.NoError(t, err)
			want := map[string][]int32{"lines": {0, 1}, "left": {2}, "right": {2}}
			require.Equal(t, want, owned, "its own Topology knows the topics")
			before := member.State()

			leader := balancerOf(t, small, change)
			metadata := member.GroupBalancer().JoinGroupMetadata([]string{"lines", "left", "right"}, owned, 5)
			other := joined(t, "m2", assignor.Member{Instance: "b", Generation: 5, Active: []assignor.TaskID{{Partition: 2}, {Partition: 3}}})
			plan := round(t, leader, []kmsg.JoinGroupResponseMember{{MemberID: "m1", ProtocolMetadata: metadata}, other}, map[string]int32{"lines": 4})
			require.Len(t, plan, 2)
			assigned, err := member.GroupBalancer().ParseSyncAssignment(plan[0].MemberAssignment)
			require.NoError(t, err)
			assert.Equal(t, want, assigned)
			after := member.State()
			assert.Equal(t, before.Active, after.Active)
			assert.Equal(t, tasksIn(before.Learning), tasksIn(after.Learning))
			assert.Equal(t, tasksIn(before.Standby), tasksIn(after.Standby))
			assert.Empty(t, after.Trouble())
		})
	}
}

func tasksIn(copies []assignor.Replica) (tasks []assignor.TaskID) {
	for _, c := range copies {
		tasks = append(tasks, c.Task)
	}
	return tasks
}

// A member that is given what its Topology does not have says so, and keeps no copies of it.
func TestOlderMemberSaysWhatItCannotRun(t *testing.T) {
	member := balancerOf(t, small)
	a := assignor.Assignment{Generation: 5, Members: []assignor.MemberAssignment{mixed}}
	payloads, err := a.Encode(0)
	require.NoError(t, err)
	frame := kmsg.ConsumerMemberAssignment{Version: 2, UserData: payloads[0]}
	assigned, err := member.GroupBalancer().ParseSyncAssignment(frame.AppendTo(nil))
	require.NoError(t, err)
	assert.Equal(t, map[string][]int32{"lines": {0, 1}}, assigned)
	assert.Contains(t, member.State().Trouble(), "1 tasks, such as 1_2")
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(member.GroupBalancer().JoinGroupMetadata([]string{"lines"}, assigned, 5)))
	var report assignor.Member
	require.NoError(t, report.UnmarshalBinary(meta.UserData))
	assert.Empty(t, report.Learners)
	assert.Empty(t, report.Standbys, "the leader would go on counting on them")

	a.Members[0].Active = a.Members[0].Active[:2]
	payloads, err = a.Encode(0)
	require.NoError(t, err)
	frame.UserData = payloads[0]
	_, err = member.GroupBalancer().ParseSyncAssignment(frame.AppendTo(nil))
	require.NoError(t, err)
	assert.Empty(t, member.State().Trouble(), "over")
}
