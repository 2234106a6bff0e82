package peers

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Franz is the decision of franz-go's cooperative-sticky balancer: the members' metadata have been decoded before.
func Franz(in *measure.Input) (Round, error) {
	f := newFranz(in)
	balancer, err := f.decode()
	if err != nil {
		return Round{}, err
	}
	decide := func() error {
		_, err := balancer.BalanceOrError(f.topics)
		return err
	}
	return Round{decide, func() error { return checkFranz(in) }}, nil
}

// FranzLeader is its whole leader step: decode, balance, encode.
func FranzLeader(in *measure.Input) (Round, error) {
	f := newFranz(in)
	decide := func() error {
		balancer, err := f.decode()
		if err != nil {
			return err
		}
		balanced, err := balancer.BalanceOrError(f.topics)
		if err != nil {
			return err
		}
		if payloads := balanced.IntoSyncAssignment(); len(payloads) != len(in.Members) {
			return fmt.Errorf("franz-go: %d payloads for %d members", len(payloads), len(in.Members))
		}
		return nil
	}
	return Round{decide, func() error { return checkFranz(in) }}, nil
}

// franz is a group in franz-go's terms.
type franz struct {
	members []kmsg.JoinGroupResponseMember
	topics  map[string]int32
}

func newFranz(in *measure.Input) *franz {
	f := &franz{topics: map[string]int32{}}
	names := topicNames(in)
	for s, name := range names {
		f.topics[name] = in.Config.Topology[s].Partitions
	}
	for i := range in.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = in.Members[i].ID
		member.ProtocolMetadata = kgo.CooperativeStickyBalancer().JoinGroupMetadata(names, owned(&in.Members[i], names), 1)
		f.members = append(f.members, member)
	}
	return f
}

func (f *franz) decode() (*kgo.ConsumerBalancer, error) {
	balancer, _, err := kgo.CooperativeStickyBalancer().MemberBalancer(f.members)
	if err != nil {
		return nil, err
	}
	return balancer.(*kgo.ConsumerBalancer), nil
}

// FranzPlan is what cooperative-sticky decides. A partition that moves is nobody's at first.
func FranzPlan(in *measure.Input) (Plan, error) {
	f := newFranz(in)
	balancer, err := f.decode()
	if err != nil {
		return nil, err
	}
	balanced, err := balancer.BalanceOrError(f.topics)
	if err != nil {
		return nil, err
	}
	p := Plan{}
	for member, topics := range balanced.(*kgo.BalancePlan).AsMemberIDMap() {
		p[member] = topics
	}
	return p, nil
}

// checkFranz plays the two rounds that moving a partition takes.
func checkFranz(in *measure.Input) error {
	_, s, err := Planner(FranzPlan).settle(in)
	if err == nil && s.Rounds > 2 {
		err = fmt.Errorf("it takes %d rounds", s.Rounds)
	}
	if err != nil {
		return fmt.Errorf("franz-go: %w", err)
	}
	return nil
}
