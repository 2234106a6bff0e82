// Package paper has groups without a broker: their members are Balancers, which are called as kgo calls them, and it is the coordinator.
// It counts what a broker would write down. Tests and the table of limits use it.
package paper

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group is a group, and its last round. Nobody is told the generation: kgo would take it from the coordinator.
type Group struct {
	Config  franz.Config     // of each member, but for its Instance
	Counts  map[string]int32 // partitions by topic
	Members []*Member        // the first leads
	started int

	Joins   []kmsg.JoinGroupResponseMember
	Plan    []kmsg.SyncGroupRequestGroupAssignment
	Frames  []kmsg.ConsumerMemberAssignment // of the plan
	Answers []assignor.MemberAssignment     // as far as they have payloads
	Kept    int                             // copies of the memory
	Record  int                             // bytes of the record, at least: ids, metadata, assignments
}

// Member is a member of a group.
type Member struct {
	ID       string
	Balancer *franz.Balancer
	client   *kgo.Client
	kgo      kgo.GroupBalancer // what the client calls
	owned    map[string][]int32
}

// New returns a group that consumes topics with names of 20 bytes and as many partitions each. It has no members.
func New(topics, partitions int, config franz.Config) *Group {
	g := &Group{Config: config, Counts: map[string]int32{}}
	for i := range topics {
		topic := fmt.Sprintf("a-topic-number-%05d", i)
		g.Config.Topology = append(g.Config.Topology, franz.Subtopology{ID: int32(i), Topics: []string{topic}})
		g.Counts[topic] = int32(partitions)
	}
	return g
}

// Add adds members that own nothing. Their ids have 49 bytes, as those that a coordinator makes for a client with a name of 12.
func (g *Group) Add(n int) error {
	for range n {
		config := g.Config
		config.Instance = fmt.Sprintf("worker-%05d", g.started)
		b, err := franz.New(config)
		if err != nil {
			return err
		}
		m := &Member{ID: fmt.Sprintf("%s-%08x-1111-2222-3333-444444444444", config.Instance, g.started), Balancer: b}
		if err := m.open(); err != nil {
			return err
		}
		g.Members = append(g.Members, m)
		g.started++
	}
	return nil
}

// open makes a client with the balancer's options. It has no topics yet, as one that looks for them by an expression, and connects to
// nothing.
func (m *Member) open() (err error) {
	opts := append([]kgo.Opt{kgo.ConsumerGroup("paper"), kgo.ConsumeRegex()}, m.Balancer.Opts()...)
	if m.client, err = kgo.NewClient(opts...); err != nil {
		return err
	}
	balancers, ok := m.client.OptValue(kgo.Balancers).([]kgo.GroupBalancer)
	if !ok || len(balancers) == 0 {
		return errors.New("paper: the options have no balancer")
	}
	m.kgo = balancers[0]
	return nil
}

// Close ends all members.
func (g *Group) Close() {
	for len(g.Members) > 0 {
		g.Leave(0)
	}
}

// Deal has the members own all partitions, as many each, at random: as after a migration from another balancer.
func (g *Group) Deal() {
	type partition struct {
		topic string
		n     int32
	}
	var all []partition
	for _, sub := range g.Config.Topology {
		for n := range g.Counts[sub.Topics[0]] {
			all = append(all, partition{sub.Topics[0], n})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, p := range all {
		m := g.Members[i%len(g.Members)]
		if m.owned == nil {
			m.owned = map[string][]int32{}
		}
		m.owned[p.topic] = append(m.owned[p.topic], p.n)
	}
}

// Leave takes a member out, as the end of its session does.
func (g *Group) Leave(i int) {
	g.Members[i].client.Close()
	g.Members = slices.Delete(g.Members, i, i+1)
}

// Join has all members join, and the leader decide.
func (g *Group) Join() error {
	interests := make([]string, 0, len(g.Counts))
	for _, sub := range g.Config.Topology {
		interests = append(interests, sub.Topics...)
	}
	g.Joins = nil
	for _, m := range g.Members {
		metadata := m.kgo.JoinGroupMetadata(interests, m.owned, -1)
		g.Joins = append(g.Joins, kmsg.JoinGroupResponseMember{MemberID: m.ID, ProtocolMetadata: metadata})
	}
	return g.Decide(g.Members[0].kgo)
}

// Decide has a balancer decide the round that all have joined.
func (g *Group) Decide(b kgo.GroupBalancer) error {
	g.Record = 0
	for _, join := range g.Joins {
		g.Record += len(join.MemberID) + len(join.ProtocolMetadata)
	}
	balancer, _, err := b.MemberBalancer(g.Joins)
	if err != nil {
		return err
	}
	balancer.(kgo.GroupMemberBalancerInfo).SetBalanceInfo(kgo.BalanceInfo{Generation: -1, LeaderID: g.Members[0].ID})
	g.Plan = balancer.Balance(g.Counts).IntoSyncAssignment()
	g.Frames, g.Answers, g.Kept = make([]kmsg.ConsumerMemberAssignment, len(g.Plan)), nil, 0
	for i, sent := range g.Plan {
		g.Record += len(sent.MemberAssignment)
		if err := g.Frames[i].ReadFrom(sent.MemberAssignment); err != nil {
			return err
		}
		if len(g.Frames[i].UserData) == 0 {
			continue
		}
		ma, memory, err := assignor.Decode(g.Frames[i].UserData)
		if err != nil {
			return err
		}
		g.Answers = append(g.Answers, ma)
		if memory != nil {
			g.Kept++
		}
	}
	return nil
}

// Round is a round in which all goes well: everybody gets its part, and learners have caught up before the next one.
func (g *Group) Round() error {
	if err := g.Join(); err != nil {
		return err
	}
	answers := map[string][]byte{}
	for _, sent := range g.Plan {
		answers[sent.MemberID] = sent.MemberAssignment
	}
	for _, m := range g.Members {
		var err error
		if m.owned, err = m.kgo.ParseSyncAssignment(answers[m.ID]); err != nil {
			return err
		}
		for _, c := range m.Balancer.State().Learning {
			m.Balancer.Progress(c.Task, 0)
		}
	}
	return nil
}

// Running returns how many tasks run. That one has two owners is an error.
func (g *Group) Running() (int, error) {
	owner := map[assignor.TaskID]string{}
	for _, m := range g.Members {
		for _, task := range m.Balancer.State().Active {
			if owner[task] != "" {
				return 0, fmt.Errorf("paper: %v runs on %s and on %s", task, owner[task], m.ID)
			}
			owner[task] = m.ID
		}
	}
	return len(owner), nil
}

// Named reports whether the frames name the partitions.
func (g *Group) Named() bool {
	return slices.ContainsFunc(g.Frames, func(f kmsg.ConsumerMemberAssignment) bool { return len(f.Topics) > 0 })
}

// Trouble returns the text of the leader's trouble of a kind that lasts, "" where there is none.
func (g *Group) Trouble(kind franz.TroubleKind) string {
	for _, t := range g.Members[0].Balancer.State().Troubles {
		if t.Kind == kind && t.Lasts() {
			return t.Text
		}
	}
	return ""
}
