package franz_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func valid() franz.Config {
	return franz.Config{Instance: "a", Topology: []franz.Subtopology{{Topics: []string{"lines"}}}}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*franz.Config){
		"Instance is empty":                                       func(c *franz.Config) { c.Instance = "" },
		"Assignor.Topology is set":                                func(c *franz.Config) { c.Assignor.Topology = []assignor.Subtopology{{Partitions: 1}} },
		"Assignor.SincePrevious is 1s":                            func(c *franz.Config) { c.Assignor.SincePrevious = time.Second },
		"Assignor.Generation is 3":                                func(c *franz.Config) { c.Assignor.Generation = 3 },
		"Budget is -1 bytes":                                      func(c *franz.Config) { c.Budget = -1 },
		"RejoinMode is RejoinMode(9), want conservative or eager": func(c *franz.Config) { c.RejoinMode = 9 },
		"Fallback has a balancer that is nil":                     func(c *franz.Config) { c.Fallback = []kgo.GroupBalancer{nil} },
		"Debounce is -1s":                                         func(c *franz.Config) { c.Debounce = -time.Second },
		"Config.Standbys is -1":                                   func(c *franz.Config) { c.Assignor.Standbys = -1 },
		"has no subtopologies":                                    func(c *franz.Config) { c.Topology = nil },
		"subtopology 0 has no topics":                             func(c *franz.Config) { c.Topology[0].Topics = nil },
		"a topic without a name":                                  func(c *franz.Config) { c.Topology[0].Topics = []string{""} },
		`topic "lines" is in the subtopolog`:                      func(c *franz.Config) { c.Topology[0].Topics = []string{"lines", "lines"} },
		"Fallback range is not cooperative":                       func(c *franz.Config) { c.Fallback = []kgo.GroupBalancer{kgo.RangeBalancer()} },
		`"lines-.*" cannot be the name of`:                        func(c *franz.Config) { c.Topology[0].Topics = []string{"lines-.*"} },
	} {
		config := valid()
		change(&config)
		_, err := franz.New(config)
		require.ErrorIs(t, err, franz.ErrConfig)
		require.ErrorContains(t, err, want)
	}
	_, err := franz.New(franz.Config{})
	require.ErrorContains(t, err, "Instance is empty")
	require.ErrorContains(t, err, "has no subtopologies", "every problem at once")
	_, err = franz.New(franz.Config{RejoinMode: 9, Assignor: assignor.Config{
		Topology: []assignor.Subtopology{{ID: -1}}, SincePrevious: -1, Standbys: -1, AcceptableLag: -2,
	}})
	for _, want := range []string{"Instance", "RejoinMode", "Assignor.Topology", "SincePrevious", "Standbys", "AcceptableLag", "no subtopologies"} {
		require.ErrorContains(t, err, want, "one problem hides no other")
	}
	assert.NotContains(t, err.Error(), "subtopology -1", "of what must not be set nothing else is wrong")
}

// Nobody but kgo calls what kgo calls: it would count as a join, or as a session.
func TestProtocolIsHidden(t *testing.T) {
	for _, method := range []string{"ProtocolName", "IsCooperative", "JoinGroupMetadata", "ParseSyncAssignment", "MemberBalancer"} {
		_, exported := reflect.TypeFor[*franz.Balancer]().MethodByName(method)
		assert.False(t, exported, method)
	}
}

// However often a join asks, it gets the same bytes, a ConsumerMemberMetadata that anybody can read.
func TestMetadata(t *testing.T) {
	config := valid()
	config.Rack = "r1"
	config.Local = func() []assignor.Replica { return []assignor.Replica{{Task: assignor.TaskID{Partition: 3}, Lag: 7}} }
	b, err := franz.New(config)
	require.NoError(t, err)
	p := b.GroupBalancer()
	assert.Equal(t, franz.Protocol, p.ProtocolName())
	assert.True(t, p.IsCooperative())
	first := p.JoinGroupMetadata([]string{"lines"}, map[string][]int32{"lines": {1, 2}}, 5)
	state := b.State()
	for range 3 {
		time.Sleep(time.Millisecond) // ages must not show
		assert.Equal(t, first, p.JoinGroupMetadata([]string{"lines"}, map[string][]int32{"lines": {1, 2}}, 5))
	}
	assert.Equal(t, state, b.State())
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(first))
	assert.Equal(t, int16(3), meta.Version)
	assert.Equal(t, []string{"lines"}, meta.Topics)
	assert.Empty(t, meta.OwnedPartitions, "the report has them")
	assert.Equal(t, int32(-2-5), meta.Generation, "it has not applied the answer of generation 5")
	assert.Equal(t, "r1", *meta.Rack)
	var report assignor.Member
	require.NoError(t, report.UnmarshalBinary(meta.UserData))
	assert.Equal(t, "a", report.Instance)
	assert.Equal(t, []assignor.TaskID{{Partition: 1}, {Partition: 2}}, report.Active)
	assert.Equal(t, []assignor.Replica{{Task: assignor.TaskID{Partition: 3}, Lag: 7}}, report.Standbys)
	assert.Equal(t, map[string]string{franz.RackTag: "r1"}, report.Tags)
	assert.Zero(t, report.Generation, "it has not applied anything")
}

// Bytes of any kind never make the balancer fail: kgo would take everything away from the member.
func FuzzAnyBytes(f *testing.F) {
	b, err := franz.New(valid())
	require.NoError(f, err)
	f.Add(b.GroupBalancer().JoinGroupMetadata([]string{"lines"}, nil, -1))
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 5, 'l', 'i', 'n', 'e', 's', 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := franz.New(valid())
		require.NoError(t, err)
		p := b.GroupBalancer()
		_, err = p.ParseSyncAssignment(data)
		require.NoError(t, err)
		own := p.JoinGroupMetadata([]string{"lines"}, map[string][]int32{"lines": {0}}, 1)
		members := []kmsg.JoinGroupResponseMember{
			{MemberID: "m1", ProtocolMetadata: own}, {MemberID: "m2", ProtocolMetadata: data}, {MemberID: "m2"}, {},
		}
		balancer, topics, err := p.MemberBalancer(members)
		require.NoError(t, err)
		assert.Contains(t, topics, "lines")
		plan := balancer.Balance(map[string]int32{"lines": 4}).IntoSyncAssignment()
		require.Len(t, plan, 2)
		for _, part := range plan {
			var a kmsg.ConsumerMemberAssignment
			require.NoError(t, a.ReadFrom(part.MemberAssignment))
		}
	})
}

// Where the plan and even the repetition are beyond the budget, the members get their partitions and nothing else.
func TestBeyondAnyBudget(t *testing.T) {
	config := valid()
	config.Budget = 1
	b, err := franz.New(config)
	require.NoError(t, err)
	p := b.GroupBalancer()
	members := []kmsg.JoinGroupResponseMember{
		{MemberID: "m1", ProtocolMetadata: p.JoinGroupMetadata([]string{"lines"}, map[string][]int32{"lines": {0, 2}}, 1)},
	}
	balancer, _, err := p.MemberBalancer(members)
	require.NoError(t, err)
	lead(balancer, "m1")
	plan := balancer.Balance(map[string]int32{"lines": 4}).IntoSyncAssignment()
	require.Len(t, plan, 1)
	assigned, err := p.ParseSyncAssignment(plan[0].MemberAssignment)
	require.NoError(t, err)
	assert.Equal(t, map[string][]int32{"lines": {0, 2}}, assigned, "what it had, and nothing that nobody may run")
	assert.Contains(t, b.State().Trouble(), "too large")
}
