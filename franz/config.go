package franz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Protocol is the name under which the group's members offer this balancer, and what Kafka's tools show as the group's
// assignment strategy.
const Protocol = "incremental-assignor"

const (
	// DefaultBudget is what all metadata and assignments of a group may take together, in bytes: the broker keeps them in one
	// record, which it caps at 1 MiB by default (message.max.bytes), its own bookkeeping included.
	DefaultBudget = 900_000

	// DefaultDebounce is how long a member waits for more of its learners to catch up before it calls for a round.
	DefaultDebounce = time.Second

	// NoLag and NoDebounce ask for 0 where a field that is 0 means a default: Assignor.AcceptableLag, with which a copy counts as
	// caught up only when it has replayed everything, and Debounce.
	NoLag      int64         = -1
	NoDebounce time.Duration = -1

	// RackTag is the tag under which a member reports its [Config.Rack], for [assignor.Config.SpreadTags].
	RackTag = "rack"
)

// ErrConfig is what New returns for a [Config] that it refuses. Problems of the assignor's config match [assignor.ErrConfig] too.
var ErrConfig = errors.New("franz: invalid config")

// Subtopology is a part of the service that reads one set of co-partitioned topics. It has as many tasks as each of them has
// partitions, which the broker knows: task 2_5 is partition 5 of every topic of the subtopology 2.
type Subtopology struct {
	ID        int32
	Topics    []string // its source topics, at least one; the client consumes them all
	Stateless bool     // its tasks have no changelog: no learner, no standby
	Weight    int32    // load of one of its tasks; 0 means 1
}

// PartitionsFunc is the type of kgo's callbacks on partitions.
type PartitionsFunc func(context.Context, *kgo.Client, map[string][]int32)

// Config says what an instance is and how its group is balanced. Instance and Topology are required. All members of a group
// should have equal Topology and Assignor: any of them may lead.
type Config struct {
	// Instance names the process or host whose disk holds the local state. It is the same after a restart, and no other
	// member has it unless it shares that disk.
	Instance string
	Capacity int32             // relative share of the load; below 1 means 1
	Rack     string            // goes into the metadata, and into the Tags as RackTag unless they have one
	Tags     map[string]string // what copies of a task should differ in, and anything else that tools should see

	Topology []Subtopology

	// Assignor is how the leader decides. Topology, SincePrevious and Generation are the adapter's to set; an AcceptableLag of 0
	// means assignor.DefaultAcceptableLag, NoLag means 0.
	Assignor assignor.Config

	// RejoinMode says when a member with learners calls for a round.
	RejoinMode assignor.RejoinMode

	// OnChange gets the full desired state after each session, when the member has lost its place, and when the client leaves the
	// group; nil: the service asks State. When it returns, nothing may run that Active does not list: it waits for what is being
	// processed, and what is committed then is that. It is called from kgo's callbacks, one call at a time, before OnRevoked
	// or kgo's commit, before OnAssigned, and before any record of a new partition can be polled. Every member's next round waits for
	// the slowest OnChange of the group. Client.Close calls it too: do not hold a lock then that it takes. Where State.Lost is set,
	// the local state of State.Suspect is not to be trusted.
	//
	// With a transaction session it is called after OnRevoked and OnLost instead, and not when the client leaves: the session holds a
	// lock in those that the end of a transaction takes. It aborts a transaction that is under way then.
	OnChange func(State)

	// Local returns the copies that are on the disk already, with their lags where they are known. New calls it once. With it, an
	// active task of which there was no copy counts as restoring until Progress says that it has caught up.
	Local func() []assignor.Replica

	// OnAssigned, OnRevoked and OnLost are the service's own callbacks: the client's options must not set them, because those of
	// Opts take their place. They are called as kgo describes, after OnChange. Where OnRevoked is nil, what is committed in
	// its place depends on the client's options: with AutoCommitMarks what is marked, with BlockRebalanceOnPoll or GreedyAutoCommit what
	// has been polled, else nothing. Where OnLost is nil, OnRevoked is called for lost partitions.
	OnAssigned, OnRevoked, OnLost PartitionsFunc

	// Fallback are the balancers that the member offers after this one: those of the group before it is migrated, in the first of
	// two rolling restarts. Only cooperative ones.
	Fallback []kgo.GroupBalancer

	Budget   int           // bytes, see DefaultBudget; 0 means that
	Debounce time.Duration // see DefaultDebounce; 0 means that, NoDebounce means 0
	Logger   *slog.Logger  // gets everything in a group "assignor"; nil: slog.Default()
	Observer Observer      // nil: nobody
}

// withDefaults returns a copy that shares nothing with c, defaults filled in.
func (c Config) withDefaults() Config {
	c.Topology = slices.Clone(c.Topology)
	for i := range c.Topology {
		c.Topology[i].Topics = slices.Clone(c.Topology[i].Topics)
	}
	c.Tags = maps.Clone(c.Tags)
	if _, ok := c.Tags[RackTag]; !ok && c.Rack != "" {
		if c.Tags == nil {
			c.Tags = map[string]string{}
		}
		c.Tags[RackTag] = c.Rack
	}
	c.Assignor.SpreadTags = slices.Clone(c.Assignor.SpreadTags)
	c.Fallback = slices.Clone(c.Fallback)
	c.Assignor.AcceptableLag = orDefault(c.Assignor.AcceptableLag, assignor.DefaultAcceptableLag, NoLag)
	c.Budget = cmp.Or(c.Budget, DefaultBudget)
	c.Debounce = orDefault(c.Debounce, DefaultDebounce, NoDebounce)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	// In a group of its own no key is there twice, whatever the service's logger adds to each line.
	c.Logger = c.Logger.WithGroup("assignor").With("instance", c.Instance)
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	return c
}

// topicName is what Kafka takes for the name of a topic.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// orDefault returns the value, or what stands for it: the default for 0, and 0 for none.
func orDefault[T int64 | time.Duration](value, otherwise, none T) T {
	switch value {
	case 0:
		return otherwise
	case none:
		return 0
	}
	return value
}

// settle is how long a member gives the others to hear of a round: Debounce, and where that is none, its default.
func (c *Config) settle() time.Duration { return cmp.Or(c.Debounce, DefaultDebounce) }

// validate returns every problem of a config with its defaults filled in (errors.Join).
func (c Config) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...)))
		}
	}
	check(c.Instance != "", "Instance is empty, want a name that is the same after a restart")
	check(c.Assignor.Topology == nil, "Assignor.Topology is set, want Topology: partitions come from the broker")
	check(c.Assignor.SincePrevious == 0, "Assignor.SincePrevious is %v, want 0: the adapter measures it", c.Assignor.SincePrevious)
	_, err := c.RejoinMode.MarshalText()
	check(err == nil, "RejoinMode is %v, want %v or %v", c.RejoinMode, assignor.Conservative, assignor.Eager)
	check(c.Assignor.Generation == 0, "Assignor.Generation is %d, want 0: the broker counts it", c.Assignor.Generation)
	check(c.Budget > 0, "Budget is %d bytes, want at least 1", c.Budget)
	check(c.Debounce >= 0, "Debounce is %v, want at least 0", c.Debounce)
	for _, f := range c.Fallback {
		if f == nil {
			check(false, "Fallback has a balancer that is nil")
			continue
		}
		check(f.IsCooperative(), "Fallback %s is not cooperative", f.ProtocolName())
		check(f.ProtocolName() != Protocol, "Fallback has this balancer itself")
	}
	seen := map[string]int32{}
	shape := c.Assignor
	shape.Topology, shape.SincePrevious = nil, 0 // which hides no other problem
	for _, sub := range c.Topology {
		check(len(sub.Topics) > 0, "subtopology %d has no topics, want at least 1", sub.ID)
		for _, topic := range sub.Topics {
			other, twice := seen[topic]
			check(topic != "", "subtopology %d has a topic without a name", sub.ID)
			check(topic == "" || topicName.MatchString(topic), "subtopology %d: %q cannot be the name of a topic; "+
				"list each topic that an expression stands for", sub.ID, topic)
			check(!twice, "topic %q is in the subtopologies %d and %d, want one", topic, other, sub.ID)
			seen[topic] = sub.ID
		}
		shape.Topology = append(shape.Topology, sub.withPartitions(0))
	}
	if err := shape.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w", ErrConfig, err))
	}
	return errors.Join(problems...)
}

func (s Subtopology) withPartitions(n int32) assignor.Subtopology {
	return assignor.Subtopology{ID: s.ID, Partitions: n, Stateless: s.Stateless, Weight: s.Weight}
}
