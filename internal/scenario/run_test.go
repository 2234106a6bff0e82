package scenario

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

const twoMembers = "group\nS1[T1, T2]\nS2[T3]\n----\n\n"

func TestRunComparesOutputs(t *testing.T) {
	text := twoMembers + "rebalance\n----\nS1(assigned: [T1, T2], revoked: [], learning: [])\nS2(assigned: [T3], revoked: [], learning: [])\n\n" +
		"assert stable\n----\nbad\n"
	result, err := run("f.txt", []byte(text), (&fake{}).library())
	require.NoError(t, err)
	require.Equal(t, []Failure{{Name: "f.txt", Line: 11, Step: "assert stable", Got: "ok", Want: "bad"}}, result.Failures)
	require.Equal(t, "f.txt:11: assert stable\ngot:\n  ok\nwant:\n  bad", result.Failures[0].String())
}

func TestRewriteReplacesOutputsOnly(t *testing.T) {
	text := "# head\n" + twoMembers + "# why\nassert owner T1=S1\n----\nold\nolder\n\nconfig standbys=-1\n----\n\nassert unowned none\n----\n# tail\n"
	result, err := run("f.txt", []byte(text), (&fake{}).library())
	require.NoError(t, err)
	require.Equal(t, "# head\n"+twoMembers+"# why\nassert owner T1=S1\n----\nok\n\nconfig standbys=-1\n----\n\nassert unowned none\n----\nok\n",
		string(result.Rewrite()))
	require.Len(t, result.Failures, 3)
	require.Equal(t, "the step fails, and its line does not end in !", result.Failures[1].Note)
}

func TestErrorSteps(t *testing.T) {
	result, err := run("f.txt", []byte("config standbys=-1!\n----\nerror: config:; standbys -1 is below 0\n\n"+
		"config standbys=1 !\n----\n\n"+twoMembers+"rebalance crash=(S1, S2)!\n----\nerror: assignor: no members\n\n"+
		"assert owner T1=S1\n----\nok\n"), (&fake{}).library())
	require.NoError(t, err)
	require.Len(t, result.Failures, 1)
	require.Equal(t, "f.txt:5: config standbys=1 ! (the step does not fail, and its line ends in !)\ngot:\n  (nothing)\nwant:\n  (nothing)",
		result.Failures[0].String())
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"dance\n----\n", "1: no directive dance"},
		{"topology a=b\n0 partitions=1\n----\n", "1: topology takes no arguments"},
		{"assert stable\nS1\n----\n", "2: assert takes no input lines"},
		{"group\n----\n", "1: group wants input lines"},
		{"config foo=1\n----\n", "1: config has no key foo"},
		{"config standbys=x\n----\n", `1: config standbys: "x" is no number`},
		{"config standbys=(1, 2)\n----\n", "1: standbys wants one value, as in standbys=x"},
		{"config mode=lazy\n----\n", `1: config mode: "lazy": want one of [conservative eager]`},
		{"config rejoinDelay=1\n----\n", `1: config rejoinDelay: time: missing unit in duration "1"`},
		{"topology\n0 partitions=1\n0 parts=2\n----\n", "3: subtopology 0: parts: want partitions, stateless, weight or cost"},
		{"topology\n0 partitions=5000000000\n----\n", "2: subtopology 0: partitions: 5000000000 is out of range"},
		{"topology\n0 cost=1,,2\n----\n", `2: subtopology 0: cost: "" is no number`},
		{"members\nS1 rack=a\n----\n", "2: member S1: rack: want instance, capacity, version, generation or tags"},
		{"members\nS1 tags=zone\n----\n", `2: member S1: tags: "zone": want key:value`},
		{"group\nS1[T1]\nS1[T2]\n----\n", "3: a second row of S1"},
		{"group\nS1[T1]\nS2[T1]\n----\n", "3: 0_0 is run by S1 already"},
		{"group\nS1[T2147483648]\n----\n", "2: no topology has a task 0_2147483647"},
		{"group\nS1[0_0, 1_0]\n----\n", "2: tasks of several subtopologies need a step `topology`"},
		{twoMembers + "rebalance crash=S9\n----\n", "6: S9 is not in the group"},
		{twoMembers + "rebalance join=S1\n----\n", "6: S1 has joined already"},
		{twoMembers + "rebalance leavingFor=3s\n----\n", "6: leavingFor: nobody is leaving"},
		{twoMembers + "rebalance ready=(S2[T1])\n----\n", "6: ready: S2 has no copy of 0_0"},
		{twoMembers + "rebalance ready=S2\n----\n", `6: rebalance ready: row "S2": want S1[T1, T2] or S1(assigned: [T1], revoked: [], learning: [])`},
		{twoMembers + "rebalance memory=old\n----\n", `6: rebalance memory: "old": want none or recovered`},
		{twoMembers + "rebalance jion=S3\n----\n", "6: rebalance jion: no such argument"},
		{twoMembers + "rebalance\nS3(assigned: [], revoked: [], learning: [])\n----\n", "7: S3 is not in the group: join=S3 lets it join"},
		{twoMembers + "rebalance\nS1[T1]\n----\n", "7: want a status row, as in S1(assigned: [T1], revoked: [], learning: [])"},
		{twoMembers + "settle min=1\n----\n", "6: settle has no argument min"},
		{twoMembers + "settle max=1001\n----\n", "6: settle max=1001: want 0 to 1000"},
		{twoMembers + "explain T1\n----\n", "6: there has been no group and no round yet"},
		{"assert stable\n----\n", "1: there has been no group and no round yet"},
		{twoMembers + "assert\n----\n", "6: assert wants balanced, stable, moves<=N, once, owner T1=S1, unowned none or missing=N"},
		{twoMembers + "assert owner stable\n----\n", "6: assert owner wants a task and a member, as in owner T1=S3"},
		{twoMembers + "assert unowned\n----\n", "6: assert unowned wants none or a list, as in unowned [T1, T2]"},
		{twoMembers + "assert moves<=x\n----\n", `6: "x" is no number`},
		{twoMembers + "assert pretty\n----\n", "6: assert has no form pretty"},
	} {
		_, err := run("f.txt", []byte(c.text), (&fake{}).library())
		require.EqualError(t, err, "f.txt:"+c.want, c.text)
	}
}

func TestBrokenPromisesAreFaults(t *testing.T) {
	text := []byte(twoMembers + "rebalance\n----\n")
	t.Run("check", func(t *testing.T) {
		lib := (&fake{}).library()
		lib.check = func([]assignor.Member, *assignor.Assignment, assignor.Config) error {
			return errors.New("S1 is broken")
		}
		_, err := run("f.txt", text, lib)
		require.ErrorContains(t, err, "f.txt:6: assignor.Check: S1 is broken")
	})
	t.Run("order", func(t *testing.T) {
		n := int32(0)
		lib := (&fake{assign: func(m []assignor.Member, a *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
			answer, err := assignFake(m, a, c)
			answer.Generation += n
			n++
			return answer, err
		}}).library()
		_, err := run("f.txt", text, lib)
		require.ErrorContains(t, err, "f.txt:6: assignor.Assign depends on the order of its input")
	})
	t.Run("arguments", func(t *testing.T) {
		lib := (&fake{assign: func(m []assignor.Member, a *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
			m[0].Active[0].Partition++
			return assignFake(m, a, c)
		}}).library()
		_, err := run("f.txt", text, lib)
		require.ErrorContains(t, err, "f.txt:6: assignor.Assign changed its arguments")
	})
	t.Run("round trip", func(t *testing.T) {
		lib := (&fake{}).library()
		lib.roundTrip = func(m []assignor.Member, a *assignor.Assignment) ([]assignor.Member, *assignor.Assignment, error) {
			return m[1:], a, nil
		}
		_, err := run("f.txt", text, lib)
		require.ErrorContains(t, err, "f.txt:6: assignor.Assign depends on the order of its input")
		lib.roundTrip = func([]assignor.Member, *assignor.Assignment) ([]assignor.Member, *assignor.Assignment, error) {
			return nil, nil, errors.New("too large")
		}
		_, err = run("f.txt", text, lib)
		require.EqualError(t, err, "f.txt:6: encoding round trip: too large")
	})
}

func TestConfigReachesAssign(t *testing.T) {
	f := &fake{}
	runFake(t, f, "config standbys=1 maxLearners=2 acceptableLag=3 learnerTimeout=4s scaleDownTimeout=5s rejoinDelay=6s imbalance=7 "+
		"newInstancesOnly=true spreadTags=zone,rack\n----\n\nconfig standbys=2 imbalance=0\n----\n\n"+
		"topology\n0 partitions=3 weight=2 cost=3,1,1\n7 partitions=1 stateless\n----\n\n"+twoMembers+"rebalance since=8s\n----\n\nrebalance\n----\n")
	want := assignor.Config{
		Topology: []assignor.Subtopology{
			{ID: 0, Partitions: 3, Weight: 2, RestoreCost: []int64{3, 1, 1}}, {ID: 7, Partitions: 1, Stateless: true},
		},
		Standbys: 2, MaxLearners: 2, AcceptableLag: 3, LearnerTimeout: 4 * time.Second, ScaleDownTimeout: 5 * time.Second,
		RejoinDelay: 6 * time.Second, NewInstancesOnly: true, SpreadTags: []string{"zone", "rack"}, SincePrevious: 8 * time.Second,
	}
	require.Equal(t, want, f.calls[0].config)
	want.SincePrevious = 0
	require.Equal(t, want, f.calls[1].config, "since= is of one round")
}
