package peers

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/incremental-rebalance/assignor"
	adapter "github.com/incremental-rebalance/assignor/franz"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Adapter is the whole leader step of the library's adapter for franz-go, by the calls that kgo makes: it reads the metadata of
// all joins, decides, and writes the assignments, with the frames of Kafka's consumer protocol around both. The leader has
// decided the last round, and so knows the memory.
func Adapter(in *measure.Input) (Round, error) {
	balancer, err := newAdapter(in)
	if err != nil {
		return Round{}, err
	}
	joins, err := joinsOf(in)
	if err != nil {
		return Round{}, err
	}
	counts := map[string]int32{}
	for s, name := range topicNames(in) {
		counts[name] = in.Config.Topology[s].Partitions
	}
	step := func() ([]kmsg.SyncGroupRequestGroupAssignment, error) {
		round, _, err := balancer.MemberBalancer(joins)
		if err != nil {
			return nil, err
		}
		return round.Balance(counts).IntoSyncAssignment(), nil
	}
	decide := func() error {
		_, err := step()
		return err
	}
	check := func() error {
		sent, err := step()
		if err != nil {
			return err
		}
		return checkAdapter(in, sent)
	}
	return Round{decide, check}, nil
}

// newAdapter returns the balancer of a member that leads, with what the last round's leader knows.
func newAdapter(in *measure.Input) (kgo.GroupBalancer, error) {
	config := adapter.Config{
		Instance: "leader", Assignor: in.Config, Logger: slog.New(slog.DiscardHandler),
		Budget: 1 << 30, // franz-go's own leader minds no limit
	}
	config.Assignor.Topology = nil
	for s, name := range topicNames(in) {
		config.Topology = append(config.Topology, adapter.Subtopology{ID: in.Config.Topology[s].ID, Topics: []string{name}})
	}
	b, err := asKgoSeesIt(config)
	if err != nil || in.Memory == nil {
		return b, err
	}
	payloads, err := in.Memory.Encode(1 << 30)
	if err != nil {
		return nil, err
	}
	for _, payload := range payloads {
		if _, memory, err := assignor.Decode(payload); err != nil || memory == nil {
			continue
		}
		frame := kmsg.ConsumerMemberAssignment{Version: 2, UserData: payload}
		_, err := b.ParseSyncAssignment(frame.AppendTo(nil))
		return b, err
	}
	return nil, errors.New("adapter: nobody keeps the memory")
}

// asKgoSeesIt returns the group balancer that a client of the adapter gets. The client has no topics, and
// connects to nothing.
func asKgoSeesIt(config adapter.Config) (kgo.GroupBalancer, error) {
	b, err := adapter.New(config)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.ConsumerGroup("peers")}, b.Opts()...)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	balancers, ok := client.OptValue(kgo.Balancers).([]kgo.GroupBalancer)
	if !ok || len(balancers) == 0 {
		return nil, errors.New("adapter: its options have no balancer")
	}
	return balancers[0], nil
}

// joinsOf returns the members as the coordinator lists them to the leader.
func joinsOf(in *measure.Input) ([]kmsg.JoinGroupResponseMember, error) {
	reports, err := reportsOf(in)
	if err != nil {
		return nil, err
	}
	joins := make([]kmsg.JoinGroupResponseMember, len(reports))
	for m, report := range reports {
		meta := kmsg.ConsumerMemberMetadata{Version: 3, Topics: topicNames(in), UserData: report, Generation: 1}
		joins[m].MemberID, joins[m].ProtocolMetadata = in.Members[m].ID, meta.AppendTo(nil)
	}
	return joins, nil
}

// checkAdapter checks what was sent: a safe answer, of which the partitions are those of the tasks.
func checkAdapter(in *measure.Input, sent []kmsg.SyncGroupRequestGroupAssignment) error {
	answer, names := &assignor.Assignment{}, topicNames(in)
	for _, s := range sent {
		var frame kmsg.ConsumerMemberAssignment
		if err := frame.ReadFrom(s.MemberAssignment); err != nil {
			return err
		}
		ma, _, err := assignor.Decode(frame.UserData)
		if err != nil {
			return err
		}
		answer.Members, answer.Generation, answer.FollowUp = append(answer.Members, ma), ma.Generation, ma.FollowUp
		partitions := 0
		for _, t := range frame.Topics {
			partitions += len(t.Partitions)
		}
		if want := owned(&assignor.Member{Active: ma.Active}, names); partitions != len(ma.Active) || len(want) != len(frame.Topics) {
			return fmt.Errorf("adapter: %s gets %d partitions of %d topics for %d tasks", ma.Member, partitions, len(frame.Topics), len(ma.Active))
		}
	}
	return assignor.Check(in.Members, answer, in.Config)
}
