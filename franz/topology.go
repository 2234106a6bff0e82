package franz

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topology is the config's, with its indexes. It never changes.
type topology struct {
	subs    []Subtopology
	byTopic map[string]int32 // the id of the subtopology that reads a topic
	topics  map[int32][]string
}

func newTopology(subs []Subtopology) topology {
	t := topology{subs: subs, byTopic: map[string]int32{}, topics: map[int32][]string{}}
	for _, sub := range subs {
		t.topics[sub.ID] = slices.Sorted(slices.Values(sub.Topics))
		for _, topic := range sub.Topics {
			t.byTopic[topic] = sub.ID
		}
	}
	return t
}

// sourceTopics returns every topic that a task reads.
func (t *topology) sourceTopics() map[string]struct{} {
	set := make(map[string]struct{}, len(t.byTopic))
	for topic := range t.byTopic {
		set[topic] = struct{}{}
	}
	return set
}

// tasks returns the tasks of which any partition is among these, sorted.
func (t *topology) tasks(partitions map[string][]int32) []assignor.TaskID {
	var tasks []assignor.TaskID
	for topic, ps := range partitions {
		sub, known := t.byTopic[topic]
		for _, p := range ps {
			if known && p >= 0 {
				tasks = append(tasks, assignor.TaskID{Subtopology: sub, Partition: p})
			}
		}
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return slices.Clip(slices.Compact(tasks))
}

// partitions returns the partitions of the tasks, by topic in order; tasks that no topic stands for have none.
func (t *topology) partitions(tasks []assignor.TaskID) []kmsg.ConsumerMemberAssignmentTopic {
	byTopic := map[string][]int32{}
	for _, task := range tasks {
		for _, topic := range t.topics[task.Subtopology] {
			byTopic[topic] = append(byTopic[topic], task.Partition)
		}
	}
	topics := make([]kmsg.ConsumerMemberAssignmentTopic, 0, len(byTopic))
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		topics = append(topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: byTopic[topic]})
	}
	return topics
}

// sized returns the topology with its numbers of partitions: those of counts, else those known from earlier rounds. It fails
// where a topic has none in either, and where co-partitioned topics disagree.
func (t *topology) sized(counts, known map[string]int32) ([]assignor.Subtopology, error) {
	sized := make([]assignor.Subtopology, 0, len(t.subs))
	var missing, unequal []string
	for _, sub := range t.subs {
		var each []string
		n := int32(-1)
		agree := true
		for _, topic := range t.topics[sub.ID] {
			c := cmp.Or(counts[topic], known[topic])
			if c <= 0 {
				missing = append(missing, topic)
			}
			agree = agree && (n < 0 || n == c)
			n = c
			each = append(each, fmt.Sprintf("%s has %d", topic, c))
		}
		if !agree {
			unequal = append(unequal, fmt.Sprintf("subtopology %d: %s", sub.ID, strings.Join(each, ", ")))
		}
		sized = append(sized, sub.withPartitions(n))
	}
	switch {
	case len(missing) > 0:
		return nil, fmt.Errorf("franz: no metadata yet of the topics %s", strings.Join(missing, ", "))
	case len(unequal) > 0:
		return nil, fmt.Errorf("franz: co-partitioned topics differ in partitions: %s", strings.Join(unequal, "; "))
	}
	return sized, nil
}

// remember keeps the counts that this round knew.
func remember(known, counts map[string]int32) {
	for topic, n := range counts {
		if n > 0 {
			known[topic] = n
		}
	}
}

func clonePartitions(m map[string][]int32) map[string][]int32 {
	c := make(map[string][]int32, len(m))
	for topic, ps := range m {
		c[topic] = slices.Clone(ps)
	}
	return c
}

func (t *topology) stateless(task assignor.TaskID) bool {
	return slices.ContainsFunc(t.subs, func(s Subtopology) bool { return s.ID == task.Subtopology && s.Stateless })
}
