package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func TestGroupIsTheStableState(t *testing.T) {
	f := &fake{}
	runFake(t, f, "members\nS1 instance=h1 version=1\n----\n\ngroup\nS10[]\nS1[T2, T1]\nS2(assigned: [T4], revoked: [], learning: [], standby: [T1 lag=5])\n----\n\nrebalance\n----\n")
	c := f.calls[0]
	require.Equal(t, []assignor.Subtopology{{ID: 0, Partitions: 4}}, c.config.Topology)
	require.Equal(t, &assignor.Assignment{Generation: 1, Members: []assignor.MemberAssignment{
		{Member: "S1", Instance: "h1", Version: 1, Generation: 1, Active: []assignor.TaskID{task(0, 0), task(0, 1)}},
		{Member: "S10", Instance: "S10", Generation: 1},
		{Member: "S2", Instance: "S2", Generation: 1, Active: []assignor.TaskID{task(0, 3)}, Standbys: []assignor.TaskID{task(0, 0)}},
	}}, c.memory)
	require.Equal(t, []assignor.Member{
		{ID: "S1", Instance: "h1", Version: 1, Generation: 1, Active: []assignor.TaskID{task(0, 0), task(0, 1)}},
		{ID: "S2", Generation: 1, Active: []assignor.TaskID{task(0, 3)}, Standbys: []assignor.Replica{{Task: task(0, 0), Lag: 5}}},
		{ID: "S10", Generation: 1},
	}, c.members)
}

func TestGenerations(t *testing.T) {
	f := &fake{}
	runFake(t, f, twoMembers+"rebalance join=S3\n----\n\nmembers\nS1 generation=1\n----\n\nrebalance\n----\n\nrebalance\n----\n")
	require.Equal(t, int32(0), f.calls[0].member(t, "S3").Generation, "a joiner has none")
	require.Equal(t, int32(2), f.calls[1].member(t, "S3").Generation)
	require.Equal(t, int32(1), f.calls[1].member(t, "S1").Generation, "as declared")
	require.Equal(t, int32(3), f.calls[2].member(t, "S1").Generation, "and only once")
	require.Equal(t, int32(3), f.calls[2].memory.Generation)
}

func TestRowsReplaceReports(t *testing.T) {
	f := &fake{}
	runFake(t, f, twoMembers+"rebalance join=S3 ready=(S3[T1, T3])\nS1(assigned: [T2], revoked: [T1], learning: [])\n"+
		"S3(assigned: [], revoked: [], learning: [T1 lag=100, T2], standby: [T3])\n----\n")
	c := f.calls[0]
	require.Equal(t, assignor.Member{ID: "S1", Generation: 1, Active: []assignor.TaskID{task(0, 1)}, Revoked: []assignor.TaskID{task(0, 0)}}, c.member(t, "S1"))
	require.Equal(t, assignor.Member{ID: "S2", Generation: 1, Active: []assignor.TaskID{task(0, 2)}}, c.member(t, "S2"), "no row: obeys")
	require.Equal(t, assignor.Member{
		ID: "S3", Learners: []assignor.Replica{{Task: task(0, 0)}, {Task: task(0, 1), Lag: -1}}, Standbys: []assignor.Replica{{Task: task(0, 2)}},
	}, c.member(t, "S3"))
}

func TestReadyEndsARestore(t *testing.T) {
	f := &fake{}
	runFake(t, f, "group\nS1(assigned: [T1], revoked: [], learning: [], standby: [T1 lag=9])\n----\n\nrebalance\n----\n\nrebalance ready=S1[T1]\n----\n")
	require.Equal(t, []assignor.Replica{{Task: task(0, 0), Lag: 9}}, f.calls[0].member(t, "S1").Standbys)
	require.Empty(t, f.calls[1].member(t, "S1").Standbys)
}

func TestWhoTakesPart(t *testing.T) {
	row := func(id string) string { return id + "(assigned: [], revoked: [], learning: [])\n" }
	members := "topology\n0 partitions=1\n----\n\nmembers\nS1\nS2\n----\n\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"all declared, and all that rows name", members + "rebalance\n" + row("S3") + "----\n", []string{"S1", "S2", "S3"}},
		{"join says who", members + "rebalance join=S2\n----\n", []string{"S2"}},
		{"crash", twoMembers + "rebalance crash=S1\n----\n", []string{"S2"}},
		{"crash and join: a restart", twoMembers + "rebalance crash=S1 join=S1\n----\n", []string{"S1", "S2"}},
		{"a row of a declared member", twoMembers + "members\nS4\n----\n\nrebalance\n" + row("S4") + "----\n", []string{"S1", "S2", "S4"}},
		{"a declaration alone", twoMembers + "members\nS4\n----\n\nrebalance\n----\n", []string{"S1", "S2"}},
		{"an instance by its name", "members\nS1 instance=h\nS2 instance=h\n----\n\n" + twoMembers + "rebalance join=S3 crash=h\n----\n", []string{"S3"}},
	} {
		f := &fake{}
		runFake(t, f, c.text)
		var got []string
		for _, m := range f.calls[0].members {
			got = append(got, m.ID)
		}
		require.Equal(t, c.want, got, c.name)
	}
	f := &fake{}
	runFake(t, f, twoMembers+"rebalance crash=S1 join=S1\n----\n")
	require.Equal(t, assignor.Member{ID: "S1"}, f.calls[0].member(t, "S1"), "a restart loses all it had")
}

func TestLeavingLastsUntilStaying(t *testing.T) {
	f := &fake{}
	runFake(t, f, twoMembers+"rebalance leaving=(S1, S2) leavingFor=45s\n----\n\nrebalance staying=S1\n----\n\nrebalance leavingFor=50s\n----\n")
	leaving := func(call int, id string) (bool, time.Duration) {
		m := f.calls[call].member(t, id)
		return m.Leaving, m.LeavingFor
	}
	for _, c := range []struct {
		call int
		id   string
		yes  bool
		long time.Duration
	}{
		{0, "S1", true, 45 * time.Second}, {0, "S2", true, 45 * time.Second},
		{1, "S1", false, 0}, {1, "S2", true, 45 * time.Second},
		{2, "S1", false, 0}, {2, "S2", true, 50 * time.Second},
	} {
		yes, long := leaving(c.call, c.id)
		require.Equal(t, c.yes, yes, c)
		require.Equal(t, c.long, long, c)
	}
}

func TestMemory(t *testing.T) {
	f := &fake{}
	runFake(t, f, twoMembers+"rebalance\n----\n\nrebalance memory=none\n----\n\nrebalance\n----\n\nrebalance memory=recovered\n----\n")
	require.Equal(t, int32(1), f.calls[0].memory.Generation)
	require.Nil(t, f.calls[1].memory)
	require.Equal(t, int32(3), f.calls[2].memory.Generation, "a leader without memory has one from its first answer on")
	require.Equal(t, int32(77), f.calls[3].memory.Generation, "what Recover gave")
}

func TestHandoverModes(t *testing.T) {
	for mode, want := range map[string]string{
		"oneRound":  "S1(assigned: [0_1], revoked: [0_0], learning: [])",
		"twoRounds": "S1(assigned: [0_0, 0_1], revoked: [], learning: [])",
	} {
		f := &fake{}
		runFake(t, f, "config handover="+mode+"\n----\n\nmembers\nS2 version=9\n----\n\n"+twoMembers+"rebalance\n----\n\nrebalance\n----\n")
		require.Equal(t, want, f.calls[1].member(t, "S1").String(), mode)
	}
}
