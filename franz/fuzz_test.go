package franz_test

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// source turns a fuzzer's bytes into what a group may send, most of which no member would. Behind the last byte all are 0.
type source struct{ data []byte }

func (s *source) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// number returns a small number, or one time in eight an extreme one.
func (s *source) number() int32 {
	b := s.byte()
	if b < 0xe0 {
		return int32(b % 8)
	}
	return []int32{math.MinInt32, -1, math.MaxInt32 - 1, math.MaxInt32, 1 << 20, 1 << 30, 100, 9}[b%8]
}

func (s *source) bool() bool { return s.byte()&1 == 1 }

// topics are those of the two subtopologies of the fuzzed Balancer, and one that it does not know.
var topics = []string{"lines", "left", "right", "other"}

func (s *source) topic() string { return topics[int(s.byte())%len(topics)] }

func (s *source) task() assignor.TaskID {
	return assignor.TaskID{Subtopology: s.number() % 4, Partition: s.number()}
}

func (s *source) tasks() []assignor.TaskID {
	tasks := make([]assignor.TaskID, s.byte()%5)
	for i := range tasks {
		tasks[i] = s.task()
	}
	return tasks
}

func (s *source) replicas() []assignor.Replica {
	replicas := make([]assignor.Replica, s.byte()%4)
	for i := range replicas {
		replicas[i] = assignor.Replica{Task: s.task(), Lag: int64(s.number()), For: time.Duration(s.number()) * time.Second}
	}
	return replicas
}

func (s *source) owned() map[string][]int32 {
	owned := map[string][]int32{}
	for range s.byte() % 4 {
		topic := s.topic()
		owned[topic] = append(owned[topic], s.number())
	}
	return owned
}

// member returns a report, of which not all need be possible.
func (s *source) member() assignor.Member {
	m := assignor.Member{
		Instance: string(rune('a' + s.byte()%4)), Capacity: s.number(), Version: s.byte() % 4, Generation: s.number(),
		Leaving: s.bool(), LeavingFor: time.Duration(s.number()) * time.Second,
		Active: s.tasks(), Revoked: s.tasks(), Learners: s.replicas(), Standbys: s.replicas(),
	}
	if s.byte()%4 == 0 {
		m.Memory = &assignor.Assignment{Generation: s.number(), Members: []assignor.MemberAssignment{
			{Member: "m1", Instance: "a", Active: s.tasks(), Revoke: s.tasks()}, {Member: "m9", Instance: "z", Active: s.tasks()},
		}}
	}
	return m
}

// metadata returns what a member joins with: a report, what it owns alone, or any bytes.
func (s *source) metadata() []byte {
	meta := kmsg.ConsumerMemberMetadata{Version: int16(s.byte() % 5), Topics: []string{s.topic()}, Generation: s.number()}
	for topic, ps := range s.owned() {
		meta.OwnedPartitions = append(meta.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic, Partitions: ps})
	}
	switch s.byte() % 4 {
	case 0:
		return s.bytes()
	case 1:
		meta.UserData = s.bytes()
	default:
		meta.UserData, _ = s.member().MarshalBinary() // none where there is no such report
	}
	return meta.AppendTo(nil)
}

func (s *source) bytes() []byte {
	n := min(int(s.byte()), len(s.data))
	b := s.data[:n]
	s.data = s.data[n:]
	return b
}

// group returns what the coordinator hands a leader: ids in any order, some twice or empty.
func (s *source) group() []kmsg.JoinGroupResponseMember {
	members := make([]kmsg.JoinGroupResponseMember, s.byte()%6)
	for i := range members {
		members[i] = kmsg.JoinGroupResponseMember{
			MemberID: []string{"m1", "m2", "m3", "m9", "", "m1"}[s.byte()%6], ProtocolMetadata: s.metadata(),
		}
	}
	return members
}

// counts returns the numbers of partitions that a leader knows; of most topics there are some.
func (s *source) counts() map[string]int32 {
	counts := map[string]int32{}
	for _, topic := range topics {
		switch b := s.byte(); {
		case b < 0x80:
			counts[topic] = 4
		case b < 0xf0:
			counts[topic] = s.number()
		}
	}
	return counts
}

// fuzzed returns a Balancer with one task set of one topic and one of two that are co-partitioned.
func fuzzed(t *testing.T, budget int) *franz.Balancer {
	t.Helper()
	config := valid()
	config.Topology = []franz.Subtopology{{ID: 0, Topics: topics[:1]}, {ID: 1, Topics: topics[1:3], Stateless: true}}
	config.Logger = slog.New(slog.DiscardHandler)
	config.Assignor.Standbys = 1
	config.Budget = budget
	b, err := franz.New(config)
	require.NoError(t, err)
	return b
}

// Whatever members report, whatever is known of the topics: a leader never fails, each member has an answer, no task gets two
// owners, and nobody gains one by a repetition, nor one of a subtopology whose topics are not known or differ.
func FuzzLeader(f *testing.F) {
	// A generation that nobody can have, of the member whose id sorts last, and a topic without metadata.
	f.Add([]byte{2, 0, 3, 0, 1, 0, 2, 0, 0, 0, 0, 1, 2, 3, 3, 0, 0xe3, 1, 0, 1, 0, 1})
	f.Add([]byte("a group of members that report anything at all, and of which some are there twice or have no id"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		b := fuzzed(t, []int{franz.DefaultBudget, 1, 500, 900, 2000, franz.DefaultBudget}[s.byte()%6])
		known := map[string]int32{}
		var remembered []string // a member that missed an answer counts as running what it was given
		for range 3 {
			members, counts := s.group(), s.counts()
			for _, m := range members {
				remembered = append(remembered, memorized(m.ProtocolMetadata)...)
			}
			plan := round(t, b, members, counts)
			for topic, n := range counts {
				if n > 0 {
					known[topic] = n
				}
			}
			checkPlan(t, b, members, plan, append(decided(known), remembered...))
			remembered = append(remembered, given(t, plan)...)
			require.NotContains(t, b.State().Trouble(), "panic", "it is recovered, and there should be none")
			if len(plan) > 0 && s.bool() {
				_, err := b.GroupBalancer().ParseSyncAssignment(plan[0].MemberAssignment) // its own part of it
				require.NoError(t, err)
			}
		}
	})
}

func round(t *testing.T, b *franz.Balancer, members []kmsg.JoinGroupResponseMember, counts map[string]int32) []kmsg.SyncGroupRequestGroupAssignment {
	t.Helper()
	balancer, _, err := b.GroupBalancer().MemberBalancer(members)
	require.NoError(t, err)
	if len(members) > 0 {
		lead(balancer, members[0].MemberID)
	}
	return balancer.Balance(counts).IntoSyncAssignment()
}

// decided returns the prefixes of what may be given to somebody new, where these are the topics' partitions.
func decided(known map[string]int32) (prefixes []string) {
	if known[topics[0]] > 0 {
		prefixes = append(prefixes, "0_", topics[0]+"-")
	}
	if n := known[topics[1]]; n > 0 && n == known[topics[2]] {
		prefixes = append(prefixes, "1_", topics[1]+"-", topics[2]+"-")
	}
	return prefixes
}

// given returns what an answer gives, to whomever.
func given(t *testing.T, plan []kmsg.SyncGroupRequestGroupAssignment) (names []string) {
	t.Helper()
	for _, p := range plan {
		names = append(names, assigned(t, p.MemberAssignment)...)
	}
	return names
}

// memorized returns what the memory that a member echoes gives, to whomever.
func memorized(metadata []byte) (names []string) {
	var meta kmsg.ConsumerMemberMetadata
	var report assignor.Member
	if meta.ReadFrom(metadata) != nil || report.UnmarshalBinary(meta.UserData) != nil || report.Memory == nil {
		return nil
	}
	for _, ma := range report.Memory.Members {
		names = append(names, named(ma.Active)...)
	}
	return names
}

// checkPlan checks what holds for every answer.
func checkPlan(
	t *testing.T, b *franz.Balancer, members []kmsg.JoinGroupResponseMember, plan []kmsg.SyncGroupRequestGroupAssignment, decided []string,
) {
	t.Helper()
	ids := map[string][]byte{}
	for _, m := range slices.Backward(members) {
		if m.MemberID != "" {
			ids[m.MemberID] = m.ProtocolMetadata
		}
	}
	if len(ofKind(lasting(b), franz.TroubleRound)) > 0 {
		decided = nil
	}
	owner := map[string]string{}
	for _, p := range plan {
		metadata, known := ids[p.MemberID]
		require.True(t, known, "%q has no id, or two answers", p.MemberID)
		delete(ids, p.MemberID)
		for _, task := range assigned(t, p.MemberAssignment) {
			require.Empty(t, owner[task], "%s is given to %s too", task, p.MemberID)
			owner[task] = p.MemberID
			free := slices.ContainsFunc(decided, func(prefix string) bool { return strings.HasPrefix(task, prefix) })
			names, told := ran(metadata) // where it tells nothing, the memory speaks for it
			require.True(t, free || !told || slices.Contains(names, task), "%s gains %s, on which nobody can decide", p.MemberID, task)
		}
	}
	require.Empty(t, ids, "each member has an answer")
}

func lasting(b *franz.Balancer) []franz.Trouble {
	return slices.DeleteFunc(b.State().Troubles, func(t franz.Trouble) bool { return !t.Lasts() })
}

// assigned returns what an answer gives: partitions and tasks.
func assigned(t *testing.T, data []byte) (names []string) {
	t.Helper()
	var ka kmsg.ConsumerMemberAssignment
	require.NoError(t, ka.ReadFrom(data))
	for _, topic := range ka.Topics {
		for _, p := range topic.Partitions {
			names = append(names, fmt.Sprint(topic.Topic, "-", p))
		}
	}
	if len(ka.UserData) == 0 {
		return names
	}
	ma, _, err := assignor.Decode(ka.UserData)
	require.NoError(t, err)
	for _, task := range ma.Active {
		names = append(names, task.String())
	}
	return names
}

// ran returns what a member runs or ran until now, named as assigned does, and whether its metadata tells.
func ran(metadata []byte) (names []string, told bool) {
	var meta kmsg.ConsumerMemberMetadata
	_ = meta.ReadFrom(metadata)
	for _, o := range meta.OwnedPartitions {
		for _, p := range o.Partitions {
			names = append(names, runsOf(o.Topic, p)...)
		}
	}
	told = len(meta.OwnedPartitions) > 0
	var report assignor.Member
	if report.UnmarshalBinary(meta.UserData) == nil {
		return named(append(report.Active, report.Revoked...)), true // what it has just stopped it may get back
	}
	return names, told
}

// named returns the names of tasks and of their partitions.
func named(tasks []assignor.TaskID) (names []string) {
	for _, task := range tasks {
		names = append(names, task.String())
		for _, topic := range map[int32][]string{0: topics[:1], 1: topics[1:3]}[task.Subtopology] {
			names = append(names, fmt.Sprint(topic, "-", task.Partition))
		}
	}
	return names
}

// runsOf returns the task of a partition, and all partitions of that task.
func runsOf(topic string, p int32) []string {
	switch topic {
	case topics[0]:
		return []string{fmt.Sprintf("0_%d", p), fmt.Sprint(topic, "-", p)}
	case topics[1], topics[2]:
		return []string{fmt.Sprintf("1_%d", p), fmt.Sprint(topics[1], "-", p), fmt.Sprint(topics[2], "-", p)}
	}
	return nil
}

// Whatever a member is assigned, in whatever order kgo and the service call: it never fails, and what it reports can be read.
func FuzzMember(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Add([]byte("calls of every kind, and assignments of every kind"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		b := fuzzed(t, franz.DefaultBudget)
		generation := s.number()
		for range 12 {
			call(t, b, s)
			var meta kmsg.ConsumerMemberMetadata
			require.NoError(t, meta.ReadFrom(b.GroupBalancer().JoinGroupMetadata(topics[:3], s.owned(), generation)))
			if len(meta.UserData) > 0 {
				var report assignor.Member
				require.NoError(t, report.UnmarshalBinary(meta.UserData))
			}
			require.Empty(t, ofKind(b.State().Troubles, franz.TroublePanic))
			require.NotContains(t, b.State().Trouble(), "panic")
		}
	})
}

// call does one of the things that kgo, a service or the group may do to a member.
func call(t *testing.T, b *franz.Balancer, s *source) {
	t.Helper()
	switch s.byte() % 10 {
	case 0:
		b.Assigned(nil)
	case 1:
		b.Lost(nil)
	case 5:
		b.Revoked(s.owned())
	case 2:
		b.Progress(s.task(), int64(s.number()))
	case 3:
		b.Broken(s.task(), int64(s.number()))
	case 4: // a static leader that restarts is not asked
		members := s.group()
		balancer, _, err := b.GroupBalancer().MemberBalancer(members)
		require.NoError(t, err)
		if len(members) > 0 {
			lead(balancer, members[0].MemberID)
		}
	default:
		_, err := b.GroupBalancer().ParseSyncAssignment(s.assignment())
		require.NoError(t, err)
	}
}

// assignment returns what a member may be assigned: a payload, partitions alone, or any bytes.
func (s *source) assignment() []byte {
	ka := kmsg.ConsumerMemberAssignment{Version: int16(s.byte() % 4)}
	notes := s.bytes()
	for topic, ps := range s.owned() {
		ka.Topics = append(ka.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: ps})
	}
	switch s.byte() % 4 {
	case 0:
		return s.bytes()
	case 1:
		ka.UserData = s.bytes()
	default:
		ma := assignor.MemberAssignment{
			Member: "m1", Generation: s.number(), Leaving: s.bool(), Active: s.tasks(), Handover: s.tasks(), Revoke: s.tasks(),
			Learners: s.tasks(), Standbys: s.tasks(),
		}
		a := assignor.Assignment{Generation: ma.Generation, Members: []assignor.MemberAssignment{ma}}
		if payloads, err := a.Encode(0); err == nil {
			ka.UserData = payloads[0]
		}
	}
	return append(ka.AppendTo(nil), notes...)
}
