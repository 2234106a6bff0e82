package franz_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// told keeps what an Observer is told of troubles.
type told struct {
	franz.NopObserver
	troubles []franz.Trouble
}

func (o *told) Trouble(t franz.Trouble) { o.troubles = append(o.troubles, t) }

// ofKind returns the troubles of one kind.
func ofKind(troubles []franz.Trouble, kind franz.TroubleKind) []franz.Trouble {
	return slices.DeleteFunc(slices.Clone(troubles), func(t franz.Trouble) bool { return t.Kind != kind })
}

// lead tells a leader what kgo tells it, of the generation that a Balancer without a client is in.
func lead(balancer kgo.GroupMemberBalancer, id string) {
	balancer.(kgo.GroupMemberBalancerInfo).SetBalanceInfo(kgo.BalanceInfo{Generation: -1, LeaderID: id})
}

// A trouble is told when it begins and when it is over, not with every round in between; State says which one is over.
func TestTroubleBeginsAndEnds(t *testing.T) {
	o := &told{}
	config := valid()
	config.Observer = o
	b, err := franz.New(config)
	require.NoError(t, err)
	parse := func(data []byte) {
		_, err := b.GroupBalancer().ParseSyncAssignment(data)
		require.NoError(t, err)
	}
	good := (&kmsg.ConsumerMemberAssignment{Version: 2}).AppendTo(nil)
	parse(good)
	require.Empty(t, o.troubles)
	assert.Empty(t, b.State().Troubles)

	parse([]byte{9})
	parse([]byte{9})
	parse([]byte{9, 9}) // the text differs, and it is told within a minute
	require.Len(t, o.troubles, 1)
	assert.Equal(t, franz.TroubleAssignment, o.troubles[0].Kind)
	assert.True(t, o.troubles[0].Lasts())
	assert.Contains(t, b.State().Trouble(), "assignment of 2 bytes cannot be read")

	parse(good)
	parse(good)
	require.Len(t, o.troubles, 2)
	assert.False(t, o.troubles[1].Lasts())
	assert.Equal(t, o.troubles[0].Since, o.troubles[1].Since)
	state := b.State()
	assert.Empty(t, state.Trouble())
	require.Len(t, state.Troubles, 1, "it is over, and still there to be read")
	assert.False(t, state.Troubles[0].Until.Before(state.Troubles[0].Since))

	parse([]byte{9})
	require.Len(t, o.troubles, 3, "it begins anew")
	require.Len(t, b.State().Troubles, 1, "one of its kind at a time")
	assert.True(t, b.State().Troubles[0].Lasts())
}

// What only a leader sees is over when another leads.
func TestTroubleOfALeaderEndsWithIt(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	balance := func(metadata ...[]byte) {
		var members []kmsg.JoinGroupResponseMember
		for i, m := range metadata {
			members = append(members, kmsg.JoinGroupResponseMember{MemberID: fmt.Sprint("m", i), ProtocolMetadata: m})
		}
		balancer, _, err := b.GroupBalancer().MemberBalancer(members)
		require.NoError(t, err)
		lead(balancer, "m0")
		balancer.Balance(map[string]int32{"lines": 4})
	}
	own := b.GroupBalancer().JoinGroupMetadata([]string{"lines"}, nil, -1)
	bad := []byte("no metadata")
	balance(own, bad, bad, bad, bad, bad)
	reports := ofKind(b.State().Troubles, franz.TroubleReport)
	require.Len(t, reports, 1)
	assert.Contains(t, reports[0].Text, "report of member m3")
	assert.NotContains(t, reports[0].Text, "m4", "a large group does not make a large text")
	assert.Contains(t, reports[0].Text, "and 2 more")

	balance(own)
	assert.Empty(t, b.State().Trouble(), "over with the next round that is without it")

	balance(own, bad)
	require.NotEmpty(t, b.State().Trouble())
	_, err = b.GroupBalancer().ParseSyncAssignment((&kmsg.ConsumerMemberAssignment{Version: 2}).AppendTo(nil))
	require.NoError(t, err)
	assert.NotEmpty(t, b.State().Trouble(), "its own round")
	_, err = b.GroupBalancer().ParseSyncAssignment((&kmsg.ConsumerMemberAssignment{Version: 2}).AppendTo(nil))
	require.NoError(t, err)
	assert.Empty(t, b.State().Trouble(), "the round of another")
}

// Generations that no leader gives, of whichever member: the round that cannot be decided repeats what is, for all of them.
func TestRepetitionOfAnyGeneration(t *testing.T) {
	for _, generation := range []int32{math.MinInt32, -1, 0, 1, math.MaxInt32 - 1, math.MaxInt32} {
		for _, id := range []string{"a", "m", "z"} {
			var members []kmsg.JoinGroupResponseMember
			for i, other := range []string{"z", "a", "m"} {
				report := assignor.Member{Generation: 7, Active: []assignor.TaskID{{Partition: int32(i)}}}
				if other == id {
					report.Generation = generation
				}
				members = append(members, joined(t, other, report))
			}
			// Nobody knows the topic; it has more partitions than there can be tasks.
			for _, counts := range []map[string]int32{nil, {"lines": 1 << 21}} {
				b, err := franz.New(valid())
				require.NoError(t, err)
				plan := round(t, b, members, counts)
				checkPlan(t, b, members, plan, nil)
				for _, p := range plan {
					assert.Len(t, assigned(t, p.MemberAssignment), 2, "generation %d of %s: %s keeps its task", generation, id, p.MemberID)
				}
			}
		}
	}
}

// joined returns what the coordinator hands a leader of a member that reports this.
func joined(t *testing.T, id string, report assignor.Member) kmsg.JoinGroupResponseMember {
	t.Helper()
	data, err := report.MarshalBinary()
	require.NoError(t, err)
	meta := kmsg.ConsumerMemberMetadata{Version: 3, UserData: data}
	return kmsg.JoinGroupResponseMember{MemberID: id, ProtocolMetadata: meta.AppendTo(nil)}
}

// What kgo gives up of which the member knows nothing, before its first session or after it has lost its place, is no trouble.
func TestGivenUpOutsideOfASession(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	some := map[string][]int32{"lines": {0}, "other": {1}}
	b.Revoked(some)
	b.Assigned(nil)
	b.Revoked(some)
	b.Lost(some)
	b.Revoked(some)
	assert.Empty(t, b.State().Troubles)
	assert.Empty(t, b.State().Active)
}
