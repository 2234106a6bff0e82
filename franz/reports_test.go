package franz_test

import (
	"fmt"
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A report that cannot be encoded leaves the metadata with what the member owns, as Kafka's own clients have it.
func TestMetadataWithoutReport(t *testing.T) {
	config := valid()
	config.Local = func() []assignor.Replica { return []assignor.Replica{{Task: assignor.TaskID{Partition: -3}}} }
	b, err := franz.New(config)
	require.NoError(t, err)
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(b.GroupBalancer().JoinGroupMetadata([]string{"lines"}, map[string][]int32{"lines": {1, 2}}, 5)))
	assert.Equal(t, []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "lines", Partitions: []int32{1, 2}}}, meta.OwnedPartitions)
	assert.Equal(t, int32(5), meta.Generation)
	assert.Contains(t, b.State().Trouble(), "cannot be encoded")
}

// A fallback's own metadata lists what the member owns, whatever this balancer's does.
func TestMetadataOfTheFallback(t *testing.T) {
	config := valid()
	config.Fallback = []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()}
	b, err := franz.New(config)
	require.NoError(t, err)
	owned := map[string][]int32{"lines": {1, 2}}
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(b.Fallbacks()[0].JoinGroupMetadata([]string{"lines"}, owned, 5)))
	assert.Equal(t, []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "lines", Partitions: []int32{1, 2}}}, meta.OwnedPartitions)
}

// listed returns a member as the coordinator lists it to a leader: with a report, or with bytes that are none.
func listed(id string, report *assignor.Member, applied int32, owned ...int32) kmsg.JoinGroupResponseMember {
	meta := kmsg.ConsumerMemberMetadata{Version: 3, Topics: []string{"lines"}, Generation: applied, UserData: []byte("no report")}
	if report != nil {
		data, err := report.MarshalBinary()
		if err != nil {
			panic(err)
		}
		meta.UserData = data
	}
	if len(owned) > 0 {
		meta.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "lines", Partitions: owned}}
	}
	return kmsg.JoinGroupResponseMember{MemberID: id, ProtocolMetadata: meta.AppendTo(nil)}
}

// A member whose report cannot be read, and whose metadata does not list what it owns, counts as running what it was given last:
// nobody else gets that, whether the leader knows it or a keeper echoes it, and it goes on.
func TestUnreadableReport(t *testing.T) {
	task := func(p ...int32) (tasks []assignor.TaskID) {
		for _, p := range p {
			tasks = append(tasks, assignor.TaskID{Partition: p})
		}
		return tasks
	}
	memory := &assignor.Assignment{Generation: 7, Members: []assignor.MemberAssignment{
		{Member: "m1", Instance: "a", Generation: 7, Active: task(0, 1)},
		{Member: "m2", Instance: "b", Generation: 7, Active: task(2), Revoke: task(3)},
	}}
	for name, c := range map[string]struct {
		applied int32
		owned   []int32
		goesOn  []int32 // with these: m2 runs them and nobody else gets them
		stopped bool    // what m2 was to stop is free
	}{
		"it has applied the last answer":         {applied: 7, goesOn: []int32{2}, stopped: true},
		"it has missed it":                       {applied: -2 - 7, goesOn: []int32{2}},
		"nobody knows":                           {applied: -1, goesOn: []int32{2}},
		"its generation is one that nobody gave": {applied: 99, goesOn: []int32{2}},
		"its metadata lists what it owns":        {applied: 7, owned: []int32{2, 3}, goesOn: []int32{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, leads := range []string{"m1", "m0"} { // m0 is new, and has the memory from m1's echo alone
				b, err := franz.New(valid())
				require.NoError(t, err)
				m1 := &assignor.Member{Instance: "a", Version: assignor.CurrentVersion, Generation: 7, Active: task(0, 1), Memory: memory}
				members := []kmsg.JoinGroupResponseMember{listed("m1", m1, 7), listed("m2", nil, c.applied, c.owned...)}
				if leads == "m0" {
					members = append(members, listed("m0", &assignor.Member{Instance: "c", Version: assignor.CurrentVersion}, -1))
				}
				balancer, _, err := b.GroupBalancer().MemberBalancer(members)
				require.NoError(t, err)
				lead(balancer, leads)
				got := map[int32]string{}
				for _, sent := range balancer.Balance(map[string]int32{"lines": 4}).IntoSyncAssignment() {
					var frame kmsg.ConsumerMemberAssignment
					require.NoError(t, frame.ReadFrom(sent.MemberAssignment))
					for _, topic := range frame.Topics {
						for _, p := range topic.Partitions {
							require.Empty(t, got[p])
							got[p] = sent.MemberID
						}
					}
				}
				for _, p := range c.goesOn {
					assert.Equal(t, "m2", got[p], fmt.Sprint("partition ", p))
				}
				switch {
				case !c.stopped:
					assert.Contains(t, []string{"", "m2"}, got[3], "m2 may still run it")
				case leads == "m0":
					assert.Equal(t, "m0", got[3], "m2 has stopped it, and m0 has nothing")
				}
			}
		})
	}
}

// A keeper echoes the memory that came with its last assignment. One that is told nothing drops it: what does not fit into the
// group's record because of echoes would never fit.
func TestKeeperDropsItsEcho(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	p := b.GroupBalancer()
	a := &assignor.Assignment{Generation: 3, Members: []assignor.MemberAssignment{{Member: "m1", Instance: "a", Generation: 3}}}
	payloads, err := a.Encode(0)
	require.NoError(t, err)
	echoed := func(assignment []byte) bool {
		_, err := p.ParseSyncAssignment(assignment)
		require.NoError(t, err)
		var meta kmsg.ConsumerMemberMetadata
		require.NoError(t, meta.ReadFrom(p.JoinGroupMetadata([]string{"lines"}, nil, 3)))
		var report assignor.Member
		require.NoError(t, report.UnmarshalBinary(meta.UserData))
		return report.Memory != nil
	}
	kept := (&kmsg.ConsumerMemberAssignment{Version: 2, UserData: payloads[0]}).AppendTo(nil)
	assert.True(t, echoed(kept))
	assert.True(t, echoed(kept))
	assert.False(t, echoed((&kmsg.ConsumerMemberAssignment{Version: 2}).AppendTo(nil)), "no user data")
	assert.True(t, echoed(kept))
	assert.False(t, echoed([]byte{9}), "bytes that are no assignment")
}

// What a payload lists runs, where the frame around it names no topics.
func TestAssignmentWithoutTopics(t *testing.T) {
	config := valid()
	config.Topology = []franz.Subtopology{{ID: 0, Topics: []string{"lines"}}, {ID: 1, Topics: []string{"left", "right"}}}
	b, err := franz.New(config)
	require.NoError(t, err)
	ma := assignor.MemberAssignment{Member: "m1", Generation: 3, Active: []assignor.TaskID{{Partition: 2}, {Subtopology: 1}, {Subtopology: 1, Partition: 4}}}
	data, err := ma.MarshalBinary()
	require.NoError(t, err)
	got, err := b.GroupBalancer().ParseSyncAssignment((&kmsg.ConsumerMemberAssignment{Version: 2, UserData: data}).AppendTo(nil))
	require.NoError(t, err)
	assert.Equal(t, map[string][]int32{"lines": {2}, "left": {0, 4}, "right": {0, 4}}, got)
	assert.Equal(t, ma.Active, b.State().Active)
}
