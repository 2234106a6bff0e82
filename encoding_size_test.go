package assignor_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// layout says who runs what in a group of a size test: of n tasks it returns the member that runs task i of the whole.
type layout struct {
	name  string
	owner func(rng *rand.Rand, i, n, members int) int
}

var (
	randomSpread     = layout{"random", func(rng *rand.Rand, _, _, members int) int { return rng.Intn(members) }}
	contiguousSpread = layout{"contiguous", func(_ *rand.Rand, i, n, members int) int { return int(int64(i) * int64(members) / int64(n)) }}
	roundRobinSpread = layout{"roundrobin", func(_ *rand.Rand, i, _, members int) int { return i % members }}
)

// spreadGroup returns a group whose members run the tasks of equal subtopologies. The contiguous spread gives each
// member one run a subtopology.
func spreadGroup(s layout, tasks, members, subtopologies int) *assignor.Assignment {
	a := &assignor.Assignment{Generation: 300, Members: make([]assignor.MemberAssignment, members)}
	for i := range a.Members {
		name := fmt.Sprintf("worker-%05d", i)
		a.Members[i] = assignor.MemberAssignment{Member: name, Instance: name, Version: assignor.CurrentVersion, Generation: 300}
	}
	rng := rand.New(rand.NewSource(1))
	for sub := range subtopologies {
		partitions := tasks / subtopologies
		for p := range partitions {
			ma := &a.Members[s.owner(rng, p, partitions, members)]
			ma.Active = append(ma.Active, id(int32(sub), int32(p)))
		}
	}
	return a
}

// groupBound is what the information in a group's active lists takes at least, each list coded alone, and what it is made of.
type groupBound struct {
	entropy      float64 // bytes
	sets, names  int     // pairs of a member and a subtopology that it has tasks of; bytes of names
	uvarints     int     // bytes of gaps as uvarints, with the subtopology and the count before them
	streams      int     // bytes of Kafka Streams' AssignmentInfo version 11 in the consumer protocol's assignment
	subscription int     // bytes of Kafka Streams' SubscriptionInfo version 11 in the consumer protocol's subscription
	plain        int     // bytes of 8 a task
}

// Kafka Streams' layouts, in bytes. A task takes 12 in an AssignmentInfo (subtopology, partition, length of the
// topology's name) and 4 in the partitions of the consumer protocol; in a SubscriptionInfo it takes 18 (the same but for a
// name's length of 2, and 8 for the offsets). Topics have names of 20 bytes.
const (
	streamsTask         = 12 + 4
	streamsMember       = 2 + 4 + 4 + 40 // version, topics, user data; versions, counts, error code, next rebalance
	streamsTopic        = 2 + 20 + 4
	streamsStandby      = 12 + 4 + 2 + 20 + 4 // its partitions with their topics
	streamsSubscription = 2 + 4 + 4 + 4 + 41  // version, topics, owned partitions, user data; versions, ids, endpoint, counts
	streamsSubscribed   = 2 + 20              // a topic
	streamsOffset       = 18
	streamsOwned        = 4
)

func boundOf(a *assignor.Assignment, partitions int) (b groupBound) {
	for i := range a.Members {
		b.names += len(a.Members[i].Member)
		b.streams += streamsMember
		b.subscription += streamsSubscription
		for tasks := a.Members[i].Active; len(tasks) > 0; {
			n := sameSubtopology(tasks)
			b.sets++
			b.entropy += log2Choose(partitions, n) / 8
			b.uvarints += uvarintBytes(tasks[:n])
			b.streams += streamsTopic + streamsTask*n
			b.subscription += streamsSubscribed + streamsTopic + (streamsOffset+streamsOwned)*n
			b.plain += 8 * n
			tasks = tasks[n:]
		}
	}
	return b
}

// sameSubtopology returns how many of the first tasks are of one subtopology.
func sameSubtopology(tasks []assignor.TaskID) int {
	n := 1
	for n < len(tasks) && tasks[n].Subtopology == tasks[0].Subtopology {
		n++
	}
	return n
}

func log2Choose(n, k int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return (lgamma(n) - lgamma(k) - lgamma(n-k)) / math.Ln2
}

func uvarintBytes(tasks []assignor.TaskID) int {
	b := binary.AppendUvarint(nil, uint64(tasks[0].Subtopology))
	b = binary.AppendUvarint(b, uint64(len(tasks)))
	last := int32(0)
	for _, t := range tasks {
		b = binary.AppendUvarint(b, uint64(t.Partition-last))
		last = t.Partition
	}
	return len(b)
}

// payloadBytes returns the size of a group's payloads without any memory.
func payloadBytes(tb testing.TB, a *assignor.Assignment) int {
	tb.Helper()
	payloads, err := a.EncodeMembers()
	require.NoError(tb, err)
	return size(payloads)
}

func TestSizeOfRandomSpread(t *testing.T) {
	const members = 1000
	for _, subtopologies := range []int{1, 10} {
		for _, tasks := range []int{1000, 3000, 10_000, 30_000, 100_000, 400_000, 700_000} {
			a := spreadGroup(randomSpread, tasks, members, subtopologies)
			bound := boundOf(a, tasks/subtopologies)
			allowed := 1.15*bound.entropy + 8*members + 3*float64(bound.sets) + float64(bound.names)
			assert.LessOrEqual(t, float64(payloadBytes(t, a)), allowed, "%d tasks, %d subtopologies", tasks, subtopologies)
		}
	}
}

func TestRandomSpreadUnderOneMegabyte(t *testing.T) {
	a := spreadGroup(randomSpread, 650_000, 1000, 10)
	payloads, err := a.Encode(0)
	require.NoError(t, err)
	assert.LessOrEqual(t, size(payloads), assignor.MaxPayload)
	for i, payload := range payloads {
		ma, _, err := assignor.Decode(payload)
		require.NoError(t, err)
		require.Equal(t, a.Members[i], ma)
	}
}

// A run, or a stride, in each of the subtopologies costs at most 8 bytes, names included, and a member's own bytes at most 8 more.
func TestSizeOfRegularSpreads(t *testing.T) {
	const members = 1000
	for _, s := range []layout{contiguousSpread, roundRobinSpread} {
		for _, tasks := range []int{10_000, 100_000, 1_000_000} {
			few := payloadBytes(t, spreadGroup(s, tasks, members, 1))
			assert.LessOrEqual(t, few, members*(8+8+len("worker-00001")), "%s: %d tasks", s.name, tasks)
			many := payloadBytes(t, spreadGroup(s, tasks, members, 10))
			assert.LessOrEqual(t, many, members*10*8, "%s: %d tasks in 10 subtopologies", s.name, tasks)
		}
	}
}

// standbyGroup returns what the members of a group report and get: tasks spread at random, one standby each, learners on a
// tenth, and one lag in ten that is not 0.
func standbyGroup(tasks, members, subtopologies int) (reports []assignor.Member, a *assignor.Assignment) {
	a = spreadGroup(randomSpread, tasks, members, subtopologies)
	rng := rand.New(rand.NewSource(2))
	lag := func() int64 { return max(0, rng.Int63n(100_000)-90_000) * int64(rng.Intn(100)+1) }
	reports = make([]assignor.Member, members)
	for i, ma := range a.Members {
		reports[i] = assignor.Member{ID: ma.Member, Instance: ma.Instance, Capacity: 1, Version: ma.Version, Generation: ma.Generation, Active: ma.Active}
	}
	for sub := range subtopologies {
		for p := range tasks / subtopologies {
			task := id(int32(sub), int32(p))
			i := rng.Intn(members)
			a.Members[i].Standbys = append(a.Members[i].Standbys, task)
			reports[i].Standbys = append(reports[i].Standbys, assignor.Replica{Task: task, Lag: lag()})
			if rng.Intn(10) == 0 {
				i = rng.Intn(members)
				a.Members[i].Learners = append(a.Members[i].Learners, task)
				reports[i].Learners = append(reports[i].Learners, assignor.Replica{Task: task, Lag: lag(), For: 30 * time.Second})
			}
		}
	}
	return reports, a
}

// streamsBytes is what Kafka Streams takes for the same group; its warm-ups are standbys.
func streamsBytes(a *assignor.Assignment, partitions int) int {
	b := boundOf(a, partitions)
	n := b.streams + b.subscription
	for i := range a.Members {
		n += (len(a.Members[i].Standbys) + len(a.Members[i].Learners)) * (streamsStandby + streamsOffset)
	}
	return n
}

// All that is stored of a group: Kafka Streams takes more than 1 MB for it.
func TestSizeOfReportsAndAssignments(t *testing.T) {
	for _, subtopologies := range []int{1, 10} {
		reports, a := standbyGroup(10_000, 100, subtopologies)
		reported := 0
		for _, m := range reports {
			data, err := m.MarshalBinary()
			require.NoError(t, err)
			reported += len(data)
		}
		assigned := payloadBytes(t, a)
		t.Logf("%d subtopologies: reports %d + assignments %d = %d bytes; Kafka Streams: %d",
			subtopologies, reported, assigned, reported+assigned, streamsBytes(a, 10_000/subtopologies))
		assert.Less(t, reported+assigned, 80_000)
	}
}
