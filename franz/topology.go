package franz

import (
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

// partitions returns the partitions of the tasks, which are sorted, by topic in order; tasks that no topic stands for have none.
// The topics of one subtopology share one array. It costs two allocations, however many tasks there are.
func (t *topology) partitions(tasks []assignor.TaskID) []kmsg.ConsumerMemberAssignmentTopic {
	n := 0
	t.eachSubtopology(tasks, func(names []string, _ []assignor.TaskID) { n += len(names) })
	topics, all := make([]kmsg.ConsumerMemberAssignmentTopic, 0, n), make([]int32, 0, len(tasks))
	t.eachSubtopology(tasks, func(names []string, tasks []assignor.TaskID) {
		first := len(all)
		for _, task := range tasks {
			all = append(all, task.Partition)
		}
		for _, name := range names {
			topics = append(topics, kmsg.ConsumerMemberAssignmentTopic{Topic: name, Partitions: all[first:len(all):len(all)]})
		}
	})
	slices.SortFunc(topics, func(a, b kmsg.ConsumerMemberAssignmentTopic) int { return strings.Compare(a.Topic, b.Topic) })
	return topics
}

// partitionBytes returns how many bytes partitions takes in an assignment of Kafka's consumer protocol: of each topic the length
// and the bytes of its name, a count, and 4 bytes a partition.
func (t *topology) partitionBytes(tasks []assignor.TaskID) int {
	n := 0
	t.eachSubtopology(tasks, func(names []string, tasks []assignor.TaskID) {
		for _, name := range names {
			n += 2 + len(name) + 4 + 4*len(tasks)
		}
	})
	return n
}

// eachSubtopology calls f with the topics and the tasks of each subtopology; sorted tasks are one call a subtopology.
func (t *topology) eachSubtopology(tasks []assignor.TaskID, f func(names []string, tasks []assignor.TaskID)) {
	for first, i := 0, 1; i <= len(tasks); i++ {
		if i == len(tasks) || tasks[i].Subtopology != tasks[first].Subtopology {
			f(t.topics[tasks[first].Subtopology], tasks[first:i])
			first = i
		}
	}
}

// unknown returns those of the tasks that no topic stands for.
func (t *topology) unknown(tasks []assignor.TaskID) (unknown []assignor.TaskID) {
	for _, task := range tasks {
		if !t.has(task) {
			unknown = append(unknown, task)
		}
	}
	return unknown
}

func (t *topology) has(task assignor.TaskID) bool {
	_, known := t.topics[task.Subtopology]
	return known
}

// complete adds the partitions of tasks to those that an assignment names. A leader whose Topology is not this member's leaves out
// what it knows no topic for, though it leaves the tasks where they run.
func (t *topology) complete(assigned map[string][]int32, tasks []assignor.TaskID) {
	for _, topic := range t.partitions(tasks) {
		all := slices.Concat(assigned[topic.Topic], topic.Partitions)
		slices.Sort(all)
		assigned[topic.Topic] = slices.Compact(all)
	}
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
