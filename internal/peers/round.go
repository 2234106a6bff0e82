package peers

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// A Round is one round of a case as one library decides it.
type Round struct {
	Decide func() error // what is timed
	Check  func() error // whether what is decided assigns every task
}

// Assign is the library's decision.
func Assign(in *measure.Input) (Round, error) {
	decide := func() error {
		_, err := in.Assign()
		return err
	}
	check := func() error {
		answer, err := in.Assign()
		if err != nil {
			return err
		}
		return assignor.Check(in.Members, answer, in.Config)
	}
	return Round{decide, check}, nil
}

// LeaderStep is all that a leader does in a round with the library: decode what the members report, decide, and encode what they
// get. The reports of those that keep the memory echo it; this leader knows it, as one does that has decided the last round.
func LeaderStep(in *measure.Input) (Round, error) {
	reports, err := reportsOf(in)
	if err != nil {
		return Round{}, err
	}
	step := func() ([]assignor.Member, [][]byte, error) {
		members := make([]assignor.Member, len(reports))
		var decoder assignor.ReportDecoder
		if in.Memory != nil {
			decoder.Known = in.Memory.Generation
		}
		for m, report := range reports {
			var err error
			if members[m], err = decoder.Decode(report); err != nil {
				return nil, nil, err
			}
			members[m].ID = in.Members[m].ID
		}
		answer, err := assignor.Assign(members, in.Memory, in.Config)
		if err != nil {
			return nil, nil, err
		}
		payloads, err := answer.Encode(0)
		return members, payloads, err
	}
	decide := func() error {
		_, _, err := step()
		return err
	}
	check := func() error {
		members, payloads, err := step()
		if err != nil {
			return err
		}
		answer := &assignor.Assignment{}
		for _, payload := range payloads {
			ma, _, err := assignor.Decode(payload)
			if err != nil {
				return err
			}
			answer.Members, answer.Generation = append(answer.Members, ma), ma.Generation
			answer.FollowUp = ma.FollowUp
		}
		return assignor.Check(members, answer, in.Config)
	}
	return Round{decide, check}, nil
}

// reportsOf returns what the members join with: without their ids, which the group gives them.
func reportsOf(in *measure.Input) ([][]byte, error) {
	memories := map[string]*assignor.Assignment{}
	if in.Memory != nil {
		payloads, err := in.Memory.Encode(0)
		if err != nil {
			return nil, err
		}
		for m, payload := range payloads {
			if _, memories[in.Memory.Members[m].Member], err = assignor.Decode(payload); err != nil {
				return nil, err
			}
		}
	}
	reports := make([][]byte, len(in.Members))
	for m, member := range in.Members {
		member.Memory = memories[member.ID]
		member.ID = ""
		var err error
		if reports[m], err = member.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// Plan is who gets which partitions, by member and topic.
type Plan map[string]map[string][]int32

// topicNames has the topic of each subtopology.
func topicNames(in *measure.Input) []string {
	names := make([]string, len(in.Config.Topology))
	for s := range names {
		names[s] = fmt.Sprintf("topic-%02d", s)
	}
	return names
}

// owned returns a member's tasks as partitions by topic.
func owned(member *assignor.Member, names []string) map[string][]int32 {
	topics := map[string][]int32{}
	for _, id := range member.Active {
		name := names[id.Subtopology]
		topics[name] = append(topics[name], id.Partition)
	}
	return topics
}

// adopt returns the group whose members run what the plan gives them.
func (p Plan) adopt(in *measure.Input) *measure.Input {
	next := &measure.Input{Config: in.Config}
	for _, member := range in.Members {
		member.Active = nil
		for s, name := range topicNames(in) {
			for _, partition := range p[member.ID][name] {
				member.Active = append(member.Active, assignor.TaskID{Subtopology: int32(s), Partition: partition})
			}
		}
		next.Members = append(next.Members, member)
	}
	return next
}

// check returns how many tasks the plan leaves to nobody. That two members have one is an error, and so is a complete plan by which
// one member has two tasks more than another.
func (p Plan) check(in *measure.Input) (missing int, err error) {
	seen := map[assignor.TaskID]bool{}
	fewest, most := len(seen), 0
	for i, member := range p.adopt(in).Members {
		for _, id := range member.Active {
			if seen[id] {
				return 0, fmt.Errorf("two members have %v", id)
			}
			seen[id] = true
		}
		most = max(most, len(member.Active))
		if i == 0 || len(member.Active) < fewest {
			fewest = len(member.Active)
		}
	}
	missing = -len(seen)
	for _, sub := range in.Config.Topology {
		missing += int(sub.Partitions)
	}
	if missing == 0 && most-fewest > 1 {
		err = fmt.Errorf("one member has %d tasks, another %d", fewest, most)
	}
	return missing, err
}
