package peers

import (
	"fmt"

	"github.com/IBM/sarama"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Sarama is the plan of sarama's sticky strategy.
func Sarama(in *measure.Input) (Round, error) {
	members, topics, err := saramaGroup(in)
	if err != nil {
		return Round{}, err
	}
	decide := func() error {
		_, err := sarama.NewBalanceStrategySticky().Plan(members, topics)
		return err
	}
	check := func() error {
		_, s, err := Planner(SaramaPlan).settle(in)
		if err == nil && s.Rounds > 1 {
			err = fmt.Errorf("it takes %d rounds", s.Rounds)
		}
		if err != nil {
			return fmt.Errorf("sarama: %w", err)
		}
		return nil
	}
	return Round{decide, check}, nil
}

// SaramaPlan is what the strategy decides.
func SaramaPlan(in *measure.Input) (Plan, error) {
	members, topics, err := saramaGroup(in)
	if err != nil {
		return nil, err
	}
	p, err := sarama.NewBalanceStrategySticky().Plan(members, topics)
	return Plan(p), err
}

// saramaGroup is a group in sarama's terms.
func saramaGroup(in *measure.Input) (map[string]sarama.ConsumerGroupMemberMetadata, map[string][]int32, error) {
	names := topicNames(in)
	topics := map[string][]int32{}
	for s, name := range names {
		for p := range in.Config.Topology[s].Partitions {
			topics[name] = append(topics[name], p)
		}
	}
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	for i := range in.Members {
		member := &in.Members[i]
		metadata := sarama.ConsumerGroupMemberMetadata{Topics: names}
		if len(member.Active) > 0 {
			var err error
			metadata.UserData, err = sarama.NewBalanceStrategySticky().AssignmentData(member.ID, owned(member, names), 1)
			if err != nil {
				return nil, nil, err
			}
		}
		members[member.ID] = metadata
	}
	return members, topics, nil
}
