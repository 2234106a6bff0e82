package peers

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/incremental-rebalance/assignor"
)

// BenchmarkLeaderStepBytes sets the time to decode all members' reports and to encode all members' assignments against
// what franz-go's cooperative-sticky balancer takes for its own of the same group (its whole leader step less the decision
// itself), in one run: each round of the benchmark does both, one after the other. The library's encoding is
// [assignor.Assignment.Encode], memory included.
//
//	cd internal/peers && go test -run '^$' -bench LeaderStepBytes -count 5
func BenchmarkLeaderStepBytes(b *testing.B) {
	for _, spread := range []string{"roundrobin", "random", "contiguous"} {
		for _, c := range []struct{ tasks, members int }{{10_000, 100}, {100_000, 1000}} {
			b.Run(fmt.Sprintf("spread=%s/tasks=%d/members=%d", spread, c.tasks, c.members), func(b *testing.B) {
				benchmarkLeaderStepBytes(b, newGroup(spread, c.tasks, c.members, 10))
			})
		}
	}
}

func benchmarkLeaderStepBytes(b *testing.B, g *group) {
	b.Helper()
	ours, theirs := g.reports(b), g.joinMembers()
	answer := &assignor.Assignment{Generation: 2}
	for i, id := range g.ids {
		answer.Members = append(answer.Members, assignor.MemberAssignment{Member: id, Instance: id, Generation: 2, Active: g.tasks[i]})
	}
	var decode, encode, peer time.Duration
	members := make([]assignor.Member, len(ours))
	for b.Loop() {
		start := time.Now()
		var decoder assignor.ReportDecoder
		for i, data := range ours {
			var err error
			if members[i], err = decoder.Decode(data); err != nil {
				b.Fatal(err)
			}
		}
		decoded := time.Now()
		if _, err := answer.Encode(0); err != nil {
			b.Fatal(err)
		}
		encode += time.Since(decoded)
		decode += decoded.Sub(start)
		peer += franzBytes(b, theirs, g.topics)
	}
	n := float64(b.N) * float64(time.Millisecond)
	b.ReportMetric(float64(decode)/n, "ms-decode")
	b.ReportMetric(float64(encode)/n, "ms-encode")
	b.ReportMetric(float64(peer)/n, "ms-franz")
	b.ReportMetric(float64(decode)/float64(peer), "decode/franz")
	b.ReportMetric(float64(encode)/float64(peer), "encode/franz")
}

// franzBytes runs one leader step of franz-go and returns the time of all of it but the balancing.
func franzBytes(b *testing.B, members []kmsg.JoinGroupResponseMember, topics map[string]int32) time.Duration {
	b.Helper()
	start := time.Now()
	balancer, _, err := kgo.CooperativeStickyBalancer().MemberBalancer(members)
	if err != nil {
		b.Fatal(err)
	}
	decode := time.Since(start)
	plan, err := balancer.(*kgo.ConsumerBalancer).BalanceOrError(topics)
	if err != nil {
		b.Fatal(err)
	}
	start = time.Now()
	if len(plan.IntoSyncAssignment()) != len(members) {
		b.Fatal("some member got nothing")
	}
	return decode + time.Since(start)
}

// group says who runs what, in both libraries' terms.
type group struct {
	ids    []string
	tasks  [][]assignor.TaskID
	topics map[string]int32
	names  []string
}

func newGroup(spread string, tasks, members, topics int) *group {
	g := &group{tasks: make([][]assignor.TaskID, members), topics: map[string]int32{}}
	for i := range members {
		g.ids = append(g.ids, fmt.Sprintf("worker-%05d", i))
	}
	rng, partitions := rand.New(rand.NewSource(1)), tasks/topics
	for topic := range topics {
		g.names = append(g.names, fmt.Sprintf("topic-%02d", topic))
		g.topics[g.names[topic]] = int32(partitions)
		for p := range partitions {
			i := map[string]int{"roundrobin": p % members, "contiguous": p * members / partitions, "random": rng.Intn(members)}[spread]
			g.tasks[i] = append(g.tasks[i], assignor.TaskID{Subtopology: int32(topic), Partition: int32(p)})
		}
	}
	return g
}

func (g *group) reports(b *testing.B) (reports [][]byte) {
	b.Helper()
	for i, id := range g.ids {
		data, err := assignor.Member{ID: id, Instance: id, Generation: 1, Active: g.tasks[i]}.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		reports = append(reports, slices.Clone(data))
	}
	return reports
}

func (g *group) joinMembers() (members []kmsg.JoinGroupResponseMember) {
	for i, id := range g.ids {
		owned := map[string][]int32{}
		for _, t := range g.tasks[i] {
			name := g.names[t.Subtopology]
			owned[name] = append(owned[name], t.Partition)
		}
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = id
		member.ProtocolMetadata = kgo.CooperativeStickyBalancer().JoinGroupMetadata(g.names, owned, 1)
		members = append(members, member)
	}
	return members
}
