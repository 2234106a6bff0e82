package franz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assignmentOf returns what a member is sent that runs these tasks of the topic lines.
func assignmentOf(tasks ...assignor.TaskID) []byte {
	payload, err := assignor.MemberAssignment{Member: "m1", Version: assignor.CurrentVersion, Generation: 1, Active: tasks}.MarshalBinary()
	if err != nil {
		panic(err)
	}
	a := kmsg.ConsumerMemberAssignment{Version: 2, UserData: payload}
	for _, task := range tasks {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: "lines", Partitions: []int32{task.Partition}})
	}
	return a.AppendTo(nil)
}

// line is what a log has of one event: its level, its message and what the adapter says of it.
type line struct {
	Level    slog.Level
	Msg      string
	Assignor map[string]any
}

// number is n as a line has it.
func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// journal is a log. The service's logger has an instance of its own.
type journal struct{ bytes.Buffer }

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug})).With("instance", "of the service")
}

// lines returns what has been logged since the last call, and fails where a line has a key twice.
func (j *journal) lines(t *testing.T) []line {
	t.Helper()
	var lines []line
	for _, text := range strings.Split(strings.TrimSpace(j.String()), "\n") {
		require.NoError(t, uniqueKeys(json.NewDecoder(strings.NewReader(text))), text)
		var l line
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&l), text)
		lines = append(lines, l)
	}
	j.Reset()
	return lines
}

// at returns the lines of a level.
func at(lines []line, level slog.Level) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.Level != level })
}

// uniqueKeys reads one JSON value and fails where an object in it has a key twice.
func uniqueKeys(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil || token != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if seen[key.(string)] {
			return errors.New("key twice: " + key.(string))
		}
		seen[key.(string)] = true
		if err := uniqueKeys(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// rounds keeps what an Observer is told of rounds.
type rounds struct {
	franz.NopObserver
	all []franz.Round
}

func (o *rounds) Balanced(r franz.Round) { o.all = append(o.all, r) }

// joins are members with their reports.
func joins(t *testing.T, members ...assignor.Member) []kmsg.JoinGroupResponseMember {
	t.Helper()
	var all []kmsg.JoinGroupResponseMember
	for _, m := range members {
		m.Version = assignor.CurrentVersion
		report, err := m.MarshalBinary()
		require.NoError(t, err)
		meta := kmsg.ConsumerMemberMetadata{Version: 3, Topics: []string{"lines"}, UserData: report}
		all = append(all, kmsg.JoinGroupResponseMember{MemberID: m.ID, ProtocolMetadata: meta.AppendTo(nil)})
	}
	return all
}

// play has a leader decide a round of four tasks and get its own part of it, as kgo has it.
func play(t *testing.T, b *franz.Balancer, members ...assignor.Member) {
	t.Helper()
	p := b.GroupBalancer()
	balancer, _, err := p.MemberBalancer(joins(t, members...))
	require.NoError(t, err)
	lead(balancer, members[0].ID)
	plan := balancer.Balance(map[string]int32{"lines": 4}).IntoSyncAssignment()
	i := slices.IndexFunc(plan, func(a kmsg.SyncGroupRequestGroupAssignment) bool { return a.MemberID == members[0].ID })
	_, err = p.ParseSyncAssignment(plan[i].MemberAssignment)
	require.NoError(t, err)
}

func taskRange(n int32) []assignor.TaskID {
	var tasks []assignor.TaskID
	for p := range n {
		tasks = append(tasks, assignor.TaskID{Partition: p})
	}
	return tasks
}

// A round is one line, its moves are lines for who debugs, and all of them, the State and the Observer name instances: the ids of
// members mean nothing to anybody.
func TestLogOfARound(t *testing.T) {
	var log journal
	o := &rounds{}
	config := valid()
	config.Logger, config.Observer, config.Assignor.Standbys = log.logger(), o, 2
	b, err := franz.New(config)
	require.NoError(t, err)
	play(t, b,
		assignor.Member{ID: "m1", Instance: "host-a", Generation: 1, Active: taskRange(4)},
		assignor.Member{ID: "m2", Instance: "host-b", Generation: 1})

	lines := log.lines(t)
	info := at(lines, slog.LevelInfo)
	require.Len(t, info, 1, "one line, not one a move: %v", info)
	assert.Equal(t, "round decided", info[0].Msg)
	r := o.all[0]
	assert.Equal(t, "a", info[0].Assignor["instance"])
	for key, want := range map[string]int{"members": 2, "tasks": 4, "moves": r.Moves, "learners": 2, "missingStandbys": 6} {
		assert.Equal(t, number(want), info[0].Assignor[key], key)
	}
	debug := at(lines, slog.LevelDebug)
	require.Len(t, debug, r.Moves)
	for _, l := range debug {
		assert.Equal(t, "task moves", l.Msg)
		assert.Equal(t, "host-b", l.Assignor["to"])
	}
	assert.Equal(t, map[assignor.Reason]int{assignor.ReasonBalance: 2, assignor.ReasonTooFewStandbys: 2}, r.Reasons)
	assert.Equal(t, 2, r.Learners)
	assert.Equal(t, 6, r.MissingStandbys)
	s := b.State()
	assert.Len(t, s.Moves, r.Moves)
	assert.Contains(t, s.Moves, assignor.Move{
		Task: assignor.TaskID{Partition: 0}, From: "host-a", To: "host-b", Kind: assignor.MoveLearn, Reason: assignor.ReasonBalance,
	})
	assert.Equal(t, 6, s.MissingStandbys)
	readsBack(t, s)
}

// An instance that is gone is named too: that is when somebody reads the log.
func TestLogOfAVanishedInstance(t *testing.T) {
	var log journal
	config := valid()
	config.Logger = log.logger()
	b, err := franz.New(config)
	require.NoError(t, err)
	play(t, b, assignor.Member{ID: "m1", Instance: "host-a"}, assignor.Member{ID: "m2", Instance: "host-b"})
	log.Reset()
	own := b.State().Active
	play(t, b, assignor.Member{ID: "m1", Instance: "host-a", Generation: b.State().Generation, Active: own})
	debug := at(log.lines(t), slog.LevelDebug)
	require.Len(t, debug, 2)
	for _, l := range debug {
		assert.Equal(t, "host-b", l.Assignor["from"])
		assert.Equal(t, "host-a", l.Assignor["to"])
		assert.Equal(t, assignor.ReasonOrphan.String(), l.Assignor["reason"])
	}
}

// Every event has a message of its own: a search for it finds it and nothing else.
func TestLogMessages(t *testing.T) {
	var log journal
	config := valid()
	config.Logger = log.logger()
	b, err := franz.New(config)
	require.NoError(t, err)
	one := func(do func()) line {
		do()
		lines := log.lines(t)
		require.Len(t, lines, 1)
		assert.Equal(t, "a", lines[0].Assignor["instance"])
		return lines[0]
	}
	parse := func(data []byte) {
		_, err := b.GroupBalancer().ParseSyncAssignment(data)
		require.NoError(t, err)
	}
	l := one(func() { parse([]byte{9}) })
	assert.Equal(t, line{slog.LevelWarn, "trouble", l.Assignor}, l)
	l = one(func() { parse(assignmentOf(assignor.TaskID{Partition: 1})) })
	assert.Equal(t, line{slog.LevelInfo, "trouble is over", l.Assignor}, l)
	l = one(func() { b.Assigned(nil) })
	assert.Equal(t, line{slog.LevelInfo, "session begun", l.Assignor}, l)
	assert.Equal(t, number(1), l.Assignor["active"])
	l = one(func() { b.Lost(nil) })
	assert.Equal(t, line{slog.LevelInfo, "place in the group lost", l.Assignor}, l)
	assert.Equal(t, number(0), l.Assignor["active"])
}

// A client that leaves it open what has been processed is told once that nothing is committed when a task moves.
func TestLogOfPlainAutocommit(t *testing.T) {
	for name, test := range map[string]struct {
		opt  kgo.Opt
		said bool
	}{
		"plain":          {kgo.AutoCommitInterval(time.Second), true},
		"marks":          {kgo.AutoCommitMarks(), false},
		"blocked polls":  {kgo.BlockRebalanceOnPoll(), false},
		"greedy":         {kgo.GreedyAutoCommit(), false},
		"none":           {kgo.DisableAutoCommit(), false},
		"in transaction": {kgo.TransactionalID("a"), false},
	} {
		var log journal
		config := valid()
		config.Logger = log.logger()
		b, err := franz.New(config)
		require.NoError(t, err)
		client, err := kgo.NewClient(append([]kgo.Opt{kgo.ConsumerGroup("g"), test.opt}, b.Opts()...)...)
		require.NoError(t, err)
		said := strings.Contains(log.String(), "nothing is committed when a task moves")
		client.Close()
		assert.Equal(t, test.said, said, name)
	}
}
