package franz

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// frozen is a subtopology of which the leader does not know how many tasks it has: its tasks stay as they are, while those of the
// others fail over, drain and grow.
type frozen struct {
	sub    int32
	counts []int32 // partitions of each of its topics, in the topics' order; 0 where the leader knows none
}

// describe returns a frozen subtopology as a trouble, in the same words on every member that has the same Topology.
func (t *topology) describe(f frozen) error {
	topics := t.topics[f.sub]
	if len(topics) != len(f.counts) {
		return fmt.Errorf("franz: subtopology %d stays as it is: its topics have %v partitions, 0 meaning that the leader knows none; "+
			"the leader's Topology is not this member's, which has %d topics there: give all members the same", f.sub, f.counts, len(topics))
	}
	var missing, each []string
	for i, topic := range topics {
		each = append(each, fmt.Sprintf("%s has %d", topic, f.counts[i]))
		if f.counts[i] <= 0 {
			missing = append(missing, topic)
		}
	}
	const stays = "franz: subtopology %d stays as it is, nobody takes its tasks over: "
	if len(missing) > 0 {
		return fmt.Errorf(stays+"the leader has no metadata of %s: create what is missing, let the client describe it, or take the "+
			"subtopology out of Topology", f.sub, strings.Join(missing, ", "))
	}
	return fmt.Errorf(stays+"its topics differ in partitions (%s): give them the same number", f.sub, strings.Join(each, ", "))
}

// known returns the topology as far as the numbers of partitions are known, and the subtopologies of which they are not.
func (t *topology) known(count func(topic string) int32) (sized []assignor.Subtopology, stuck []frozen) {
	for _, sub := range t.subs {
		var counts []int32
		for _, topic := range t.topics[sub.ID] {
			counts = append(counts, max(0, count(topic)))
		}
		n := slices.Max(counts)
		if n == 0 || slices.Min(counts) != n {
			stuck = append(stuck, frozen{sub.ID, counts})
			continue
		}
		sized = append(sized, sub.withPartitions(n))
	}
	return sized, stuck
}

// partitionsOf returns how many partitions a topic has: those that kgo counted, else, as long as its metadata are on their way,
// those that an earlier round knew. It is 0 where the topic is gone, and less than what kgo counted where the topic has been
// created anew with fewer: kgo keeps the partitions that were lost. The client may be nil.
func partitionsOf(client *kgo.Client, topic string, counted, before int32) int32 {
	n := counted
	if n <= 0 {
		n = max(0, before)
	}
	if client == nil {
		return n
	}
	if _, _, err := client.PartitionLeader(topic, math.MaxInt32); errors.Is(err, kerr.UnknownTopicOrPartition) {
		return 0
	}
	lost := func(p int) bool { // an error of the client's own: what the broker says of a partition is a kerr.Error
		_, _, err := client.PartitionLeader(topic, int32(p))
		var broker *kerr.Error
		return err != nil && !errors.As(err, &broker)
	}
	return int32(sort.Search(int(n), lost))
}

// sizes are the numbers of tasks of the subtopologies that a round decides on. Lists of tasks are sorted, so that it looks most of
// them up where it found the one before.
type sizes struct {
	of      map[int32]int32
	sub, n  int32 // the last one looked up
	decided bool
}

func sizesOf(topology []assignor.Subtopology) *sizes {
	s := &sizes{of: make(map[int32]int32, len(topology)), sub: -1}
	for _, sub := range topology {
		s.of[sub.ID] = sub.Partitions
	}
	return s
}

func (s *sizes) find(sub int32) (n int32, decided bool) {
	if sub != s.sub {
		s.sub = sub
		s.n, s.decided = s.of[sub]
	}
	return s.n, s.decided
}

// outside reports whether a task's subtopology is frozen, or unknown to this leader.
func (s *sizes) outside(task assignor.TaskID) bool {
	_, decided := s.find(task.Subtopology)
	return !decided
}

// ghost reports whether a task is of no partition that its topics have.
func (s *sizes) ghost(task assignor.TaskID) bool {
	n, decided := s.find(task.Subtopology)
	return decided && task.Partition >= n
}

// hold gives the members of an answer the copies back that they have of tasks outside of it: the assignor, which leaves such tasks
// where they run, would drop them. Those of members that leave go, so that they can leave.
func (s *sizes) hold(a *assignor.Assignment, reports []assignor.Member) {
	learned := map[assignor.TaskID]bool{}
	for i := range reports {
		m := &reports[i]
		k, known := indexOf(a, m.ID)
		if !known || m.Leaving {
			continue
		}
		ma := &a.Members[k]
		learners := s.copiesOutside(m.Learners)
		for _, r := range learners {
			learned[r.Task] = true
		}
		ma.Learners = addTasks(ma.Learners, tasksOf(learners, ma.Active))
		ma.Standbys = addTasks(ma.Standbys, tasksOf(s.copiesOutside(m.Standbys), ma.Active))
	}
	for i := range a.Members {
		if len(learned) == 0 {
			break
		}
		ma := &a.Members[i]
		ma.Handover = addTasks(ma.Handover, slices.DeleteFunc(slices.Clone(ma.Active), func(t assignor.TaskID) bool { return !learned[t] }))
	}
	a.Moves = slices.DeleteFunc(a.Moves, func(m assignor.Move) bool { return m.Reason == assignor.ReasonEnded && s.outside(m.Task) })
}

// copiesOutside returns those of tasks that are outside.
func (s *sizes) copiesOutside(copies []assignor.Replica) (outside []assignor.Replica) {
	for _, c := range copies {
		if s.outside(c.Task) {
			outside = append(outside, c)
		}
	}
	return outside
}

// addTasks returns both lists as one, sorted.
func addTasks(tasks, more []assignor.TaskID) []assignor.TaskID {
	if len(more) == 0 {
		return tasks
	}
	all := slices.Concat(tasks, more)
	slices.SortFunc(all, assignor.TaskID.Compare)
	return slices.Clip(slices.Compact(all))
}

// ghostGrace is how long a leader must have known that tasks have no partition before it takes them away. A leader whose metadata
// are old does not know the newest partitions of a topic: it asks for new ones, and the round is called again meanwhile.
const ghostGrace = assignor.RevokeRetry

// withoutGhosts returns the reports without the tasks and copies that have had no partition for longer than ghostGrace, and what there is to
// say of younger ones, by subtopology. The Balancer's lock is held.
func (b *Balancer) withoutGhosts(reports []assignor.Member, s *sizes, now time.Time) (without []assignor.Member, young found) {
	seen := map[int32]time.Time{}
	young = found{}
	for i := range reports {
		eachTask(&reports[i], func(task assignor.TaskID) {
			if !s.ghost(task) {
				return
			}
			if _, known := seen[task.Subtopology]; !known {
				seen[task.Subtopology] = now
				young[fmt.Sprint("subtopology ", task.Subtopology)] = fmt.Errorf("franz: the topics of subtopology %d have %d partitions, and "+
					"some member still has %s: if they were created anew with fewer, such tasks are taken away after %v, and kgo reads them "+
					"once the clients are restarted", task.Subtopology, s.of[task.Subtopology], task, ghostGrace)
			}
		})
	}
	old := map[int32]bool{}
	for sub := range seen {
		if since, known := b.ghosts[sub]; known {
			seen[sub] = since
		}
		if old[sub] = now.Sub(seen[sub]) >= ghostGrace; old[sub] {
			delete(young, fmt.Sprint("subtopology ", sub))
		}
	}
	b.ghosts = seen
	if len(young) > 0 && b.client != nil {
		b.client.ForceMetadataRefresh()
	}
	if len(seen) == 0 {
		return reports, nil
	}
	gone := func(task assignor.TaskID) bool { return s.ghost(task) && old[task.Subtopology] }
	without = slices.Clone(reports)
	for i := range without {
		m := &without[i]
		m.Active, m.Revoked = withoutTasks(m.Active, gone), withoutTasks(m.Revoked, gone)
		m.Learners, m.Standbys = withoutCopies(m.Learners, gone), withoutCopies(m.Standbys, gone)
	}
	return without, young
}

// eachTask calls f for every task that a report mentions.
func eachTask(m *assignor.Member, f func(assignor.TaskID)) {
	for _, tasks := range [][]assignor.TaskID{m.Active, m.Revoked} {
		for _, task := range tasks {
			f(task)
		}
	}
	for _, copies := range [][]assignor.Replica{m.Learners, m.Standbys} {
		for _, c := range copies {
			f(c.Task)
		}
	}
}

func withoutTasks(tasks []assignor.TaskID, gone func(assignor.TaskID) bool) []assignor.TaskID {
	return slices.DeleteFunc(slices.Clone(tasks), gone)
}

func withoutCopies(copies []assignor.Replica, gone func(assignor.TaskID) bool) []assignor.Replica {
	return slices.DeleteFunc(slices.Clone(copies), func(c assignor.Replica) bool { return gone(c.Task) })
}
