package franz_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// paper is a group without a broker: its members' Balancers are called as kgo calls them, and the test is the coordinator. It counts
// what a broker would write down.
type paper struct {
	t       *testing.T
	config  franz.Config
	counts  map[string]int32
	members []*paperMember // the first leads
	started int

	joins   []kmsg.JoinGroupResponseMember // of the last round
	plan    []kmsg.SyncGroupRequestGroupAssignment
	frames  []kmsg.ConsumerMemberAssignment
	answers []assignor.MemberAssignment // as far as there are payloads
	kept    int                         // copies of the memory
	record  int                         // bytes that the broker notes, at least: ids, metadata, assignments
}

type paperMember struct {
	id    string
	b     *franz.Balancer
	owned map[string][]int32
}

// newPaper returns a group that consumes topics of 20 bytes with as many partitions each, and has no members yet.
func newPaper(t *testing.T, topics, partitions int, change func(*franz.Config)) *paper {
	t.Helper()
	p := &paper{t: t, counts: map[string]int32{}}
	p.config = franz.Config{Logger: slog.New(slog.DiscardHandler)}
	for i := range topics {
		topic := fmt.Sprintf("a-topic-number-%05d", i)
		p.config.Topology = append(p.config.Topology, franz.Subtopology{ID: int32(i), Topics: []string{topic}})
		p.counts[topic] = int32(partitions)
	}
	change(&p.config)
	return p
}

// add adds members that own nothing. Their ids have 49 bytes, as those of a client with a name of 12 have.
func (p *paper) add(n int) {
	p.t.Helper()
	for range n {
		config := p.config
		config.Instance = fmt.Sprintf("worker-%05d", p.started)
		b, err := franz.New(config)
		require.NoError(p.t, err)
		id := fmt.Sprintf("%s-%08x-1111-2222-3333-444444444444", config.Instance, p.started)
		p.members = append(p.members, &paperMember{id: id, b: b})
		p.started++
	}
}

// deal has the members own all partitions, as many each, at random: as after a migration from another balancer.
func (p *paper) deal() {
	var all []struct {
		topic     string
		partition int32
	}
	for _, sub := range p.config.Topology {
		for partition := range p.counts[sub.Topics[0]] {
			all = append(all, struct {
				topic     string
				partition int32
			}{sub.Topics[0], partition})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, tp := range all {
		m := p.members[i%len(p.members)]
		if m.owned == nil {
			m.owned = map[string][]int32{}
		}
		m.owned[tp.topic] = append(m.owned[tp.topic], tp.partition)
	}
}

// leave takes a member out, as a session timeout does.
func (p *paper) leave(i int) { p.members = slices.Delete(p.members, i, i+1) }

// join has all members join, and the leader decide.
func (p *paper) join() {
	p.t.Helper()
	interests := make([]string, 0, len(p.counts))
	for _, sub := range p.config.Topology {
		interests = append(interests, sub.Topics...)
	}
	slices.Sort(interests)
	p.joins = nil
	for _, m := range p.members {
		metadata := m.b.GroupBalancer().JoinGroupMetadata(interests, m.owned, -1)
		p.joins = append(p.joins, kmsg.JoinGroupResponseMember{MemberID: m.id, ProtocolMetadata: metadata})
	}
	p.decide(p.members[0].b)
}

// decide has a member decide the round that all have joined.
func (p *paper) decide(b *franz.Balancer) {
	p.t.Helper()
	p.record = 0
	for _, join := range p.joins {
		p.record += len(join.MemberID) + len(join.ProtocolMetadata)
	}
	balancer, _, err := b.GroupBalancer().MemberBalancer(p.joins)
	require.NoError(p.t, err)
	balancer.(kgo.GroupMemberBalancerInfo).SetBalanceInfo(kgo.BalanceInfo{Generation: -1, LeaderID: p.members[0].id})
	p.plan = balancer.Balance(p.counts).IntoSyncAssignment()
	p.frames, p.answers, p.kept = make([]kmsg.ConsumerMemberAssignment, len(p.plan)), nil, 0
	for i, sent := range p.plan {
		p.record += len(sent.MemberAssignment)
		require.NoError(p.t, p.frames[i].ReadFrom(sent.MemberAssignment))
		if len(p.frames[i].UserData) == 0 {
			continue
		}
		ma, memory, err := assignor.Decode(p.frames[i].UserData)
		require.NoError(p.t, err)
		p.answers = append(p.answers, ma)
		if memory != nil {
			p.kept++
		}
	}
}

// round is a round in which all goes well: everybody gets its part, and learners have caught up before the next one.
func (p *paper) round() {
	p.t.Helper()
	p.join()
	answers := map[string][]byte{}
	for _, sent := range p.plan {
		answers[sent.MemberID] = sent.MemberAssignment
	}
	for _, m := range p.members {
		var err error
		m.owned, err = m.b.GroupBalancer().ParseSyncAssignment(answers[m.id])
		require.NoError(p.t, err)
		for _, c := range m.b.State().Learning {
			m.b.Progress(c.Task, 0)
		}
	}
}

// running returns how many tasks run, and checks that none has two owners.
func (p *paper) running() int {
	p.t.Helper()
	owner := map[assignor.TaskID]string{}
	for _, m := range p.members {
		for _, task := range m.b.State().Active {
			require.Empty(p.t, owner[task], "%v runs twice", task)
			owner[task] = m.id
		}
	}
	return len(owner)
}

// named reports whether the frames name the partitions.
func (p *paper) named() bool {
	return slices.ContainsFunc(p.frames, func(f kmsg.ConsumerMemberAssignment) bool { return len(f.Topics) > 0 })
}

// trouble returns the leader's troubles of a kind that last.
func (p *paper) trouble(kind franz.TroubleKind) string {
	for _, t := range lasting(p.members[0].b) {
		if t.Kind == kind {
			return t.Text
		}
	}
	return ""
}
