package franz_test

import (
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// placed is a member that has been given tasks of the topic lines, and what its service was told last.
type placed struct {
	*franz.Balancer
	t    *testing.T
	told franz.State
}

func place(t *testing.T) *placed {
	t.Helper()
	p := &placed{t: t}
	config := valid()
	config.Topology = []franz.Subtopology{{ID: 0, Topics: []string{topic}}}
	config.OnChange = func(s franz.State) { p.told = s }
	var err error
	p.Balancer, err = franz.New(config)
	require.NoError(t, err)
	return p
}

// give begins a session with these partitions and this answer.
func (p *placed) give(ma assignor.MemberAssignment) {
	p.t.Helper()
	data, err := ma.MarshalBinary()
	require.NoError(p.t, err)
	p.session(data, ma.Active)
}

// session begins a session with these partitions and bytes that may be no answer.
func (p *placed) session(data []byte, active []assignor.TaskID) {
	p.t.Helper()
	p.report()
	frame := kmsg.ConsumerMemberAssignment{Version: 2, UserData: data}
	if len(active) > 0 {
		frame.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: numbers(active)}}
	}
	_, err := p.GroupBalancer().ParseSyncAssignment(frame.AppendTo(nil))
	require.NoError(p.t, err)
	p.Assigned(nil)
}

func numbers(tasks []assignor.TaskID) (partitions []int32) {
	for _, task := range tasks {
		partitions = append(partitions, task.Partition)
	}
	return partitions
}

// report returns what the member reports in its next join.
func (p *placed) report() assignor.Member {
	p.t.Helper()
	owned := map[string][]int32{}
	if active := p.State().Active; len(active) > 0 {
		owned[topic] = numbers(active)
	}
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(p.t, meta.ReadFrom(p.GroupBalancer().JoinGroupMetadata([]string{topic}, owned, 1)))
	var m assignor.Member
	require.NoError(p.t, m.UnmarshalBinary(meta.UserData))
	return m
}

func taskList(partitions ...int32) []assignor.TaskID {
	tasks := []assignor.TaskID{}
	for _, p := range partitions {
		tasks = append(tasks, assignor.TaskID{Partition: p})
	}
	return tasks
}

// What a member ran when it lost its place is worth nothing until somebody says what it is worth: others have run those tasks
// since, and its own state may hold writes that are void.
func TestLostStateIsSuspect(t *testing.T) {
	p := place(t)
	p.give(assignor.MemberAssignment{Generation: 3, Active: taskList(0, 1), Learners: taskList(2), Standbys: taskList(3)})
	p.Progress(assignor.TaskID{Partition: 2}, 5)
	p.Progress(assignor.TaskID{Partition: 3}, 0)

	for range 2 { // it may be told twice
		p.Lost(nil)
		assert.True(t, p.told.Lost)
		assert.Empty(t, p.told.Active)
		assert.Equal(t, taskList(0, 1), p.told.Suspect)
		assert.Equal(t, taskList(2), copied(p.told.Learning), "a copy holds what the changelog has, and is as good as before")
		assert.Equal(t, taskList(3), copied(p.told.Standby))
	}
	m := p.report()
	assert.Zero(t, m.Generation, "it acts on no answer")
	assert.Empty(t, m.Active)
	require.Equal(t, taskList(0, 1, 3), copied(m.Standbys))
	assert.Equal(t, []int64{assignor.UnknownLag, assignor.UnknownLag, 0}, []int64{m.Standbys[0].Lag, m.Standbys[1].Lag, m.Standbys[2].Lag})
	assert.Equal(t, int64(5), m.Learners[0].Lag)

	p.give(assignor.MemberAssignment{Generation: 9, Active: taskList(0), Standbys: taskList(1)})
	assert.False(t, p.told.Lost)
	assert.Equal(t, taskList(0, 1), p.told.Suspect, "that it is back says nothing of its state")
	assert.Equal(t, taskList(0), copied(p.told.Restores))
	p.Progress(assignor.TaskID{Partition: 0}, assignor.UnknownLag)
	assert.Equal(t, taskList(0, 1), p.State().Suspect)
	p.Progress(assignor.TaskID{Partition: 0}, 70_000)
	assert.Equal(t, taskList(1), p.State().Suspect)
	assert.Equal(t, taskList(0), copied(p.State().Restores), "it is known now how far it is")
	p.Progress(assignor.TaskID{Partition: 0}, 0)
	assert.Empty(t, p.State().Restores)
	p.Progress(assignor.TaskID{Partition: 1}, 0)
	assert.Empty(t, p.State().Suspect)
}

// A member that comes back into a session which tells it nothing is in the group again, and still acts on no answer: the one from
// before it lost its place is not its last word any more.
func TestLostAndBackWithoutAnAnswer(t *testing.T) {
	for name, data := range map[string][]byte{"nothing was sent": nil, "it cannot be read": {0xff, 1}} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			p.give(assignor.MemberAssignment{Generation: 3, Active: taskList(0, 1)})
			assert.Equal(t, int32(3), p.report().Generation)
			p.Lost(nil)
			p.session(data, taskList(1))
			assert.False(t, p.told.Lost)
			assert.Equal(t, taskList(1), p.told.Active)
			m := p.report()
			assert.Zero(t, m.Generation)
			assert.Equal(t, taskList(1), m.Active)
			require.Equal(t, taskList(0, 1), copied(m.Standbys), "both are suspect")
			assert.Equal(t, int64(assignor.UnknownLag), m.Standbys[0].Lag)
			assert.Equal(t, int64(assignor.UnknownLag), m.Standbys[1].Lag)
		})
	}
}

// kgo drops everything without a word where the coordinator does not know the member any more: that is a loss too.
func TestLostWithoutACallback(t *testing.T) {
	p := place(t)
	p.give(assignor.MemberAssignment{Generation: 3, Active: taskList(0)})
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(p.GroupBalancer().JoinGroupMetadata([]string{topic}, nil, -1)))
	var m assignor.Member
	require.NoError(t, m.UnmarshalBinary(meta.UserData))
	require.Len(t, m.Standbys, 1)
	assert.Equal(t, int64(assignor.UnknownLag), m.Standbys[0].Lag)
	assert.Equal(t, taskList(0), p.State().Suspect)
}

// A stateless task has no state that could be suspect.
func TestLostStatelessTask(t *testing.T) {
	p := place(t)
	config := valid()
	config.Topology = []franz.Subtopology{{ID: 0, Topics: []string{topic}, Stateless: true}}
	var err error
	p.Balancer, err = franz.New(config)
	require.NoError(t, err)
	p.give(assignor.MemberAssignment{Generation: 3, Active: taskList(0)})
	p.Lost(nil)
	assert.Empty(t, p.State().Suspect)
	assert.Empty(t, p.report().Standbys)
}

// An active task that is said to have lost its state, and to have nothing left to replay, runs.
func TestBrokenAndRestored(t *testing.T) {
	p := place(t)
	p.give(assignor.MemberAssignment{Generation: 3, Active: taskList(0)})
	assert.True(t, p.Broken(assignor.TaskID{Partition: 0}, 70_000))
	assert.Equal(t, taskList(0), copied(p.State().Restores))
	assert.True(t, p.Broken(assignor.TaskID{Partition: 0}, 0))
	assert.Empty(t, p.State().Restores)
}
