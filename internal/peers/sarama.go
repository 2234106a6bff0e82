package peers

import (
	"fmt"

	"github.com/IBM/sarama"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Sarama is the plan of sarama's sticky strategy.
func Sarama(in *measure.Input) (Round, error) {
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
				return Round{}, err
			}
		}
		members[member.ID] = metadata
	}
	decide := func() error {
		_, err := sarama.NewBalanceStrategySticky().Plan(members, topics)
		return err
	}
	check := func() error {
		p, err := sarama.NewBalanceStrategySticky().Plan(members, topics)
		if err != nil {
			return err
		}
		missing, err := plan(p).check(in)
		if err == nil && missing > 0 {
			err = fmt.Errorf("%d tasks are left to nobody", missing)
		}
		if err != nil {
			return fmt.Errorf("sarama: %w", err)
		}
		return nil
	}
	return Round{decide, check}, nil
}
