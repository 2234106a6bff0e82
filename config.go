package assignor

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// UnknownLag is the [Replica.Lag] of a copy of which nobody knows how far it is behind. Every negative lag means the same.
const UnknownLag = -1

const (
	// DefaultAcceptableLag is what adapters use where the user sets no [Config.AcceptableLag], in records: the default of
	// Kafka Streams' acceptable.recovery.lag (KIP-441).
	DefaultAcceptableLag = 10_000

	// RevokeRetry is the [Assignment.NextRebalance] of a round that repeats an order to revoke: a member that cannot be
	// reached must not keep the others looping.
	RevokeRetry = 10 * time.Second

	// ReviewInterval is the [Assignment.NextRebalance] of a round whose answer can get better by nothing but time, as where a task
	// waits for its instance while somebody else replays its changelog, or a copy is kept until its replacement has caught up.
	ReviewInterval = time.Minute

	// CurrentVersion is the protocol that this library speaks ([Member.Version]), LearnerVersion the lowest one that knows
	// learners. A member of PayloadVersion or later runs what its payload lists, so that a leader whose bytes are short may leave
	// out what its client's own protocol says again (Kafka's: topics and partitions). Assign does not look at that.
	CurrentVersion = 3
	LearnerVersion = 2
	PayloadVersion = 3

	// MaxTasks bounds the tasks of one topology.
	MaxTasks = 1 << 20
)

// Assign fails with one of these, wrapped with the member or the field it concerns; test for them with errors.Is.
var (
	// ErrNoMembers: a group without members has nobody to assign to.
	ErrNoMembers = errors.New("assignor: no members")
	// ErrConfig: [Config.Validate] found at least one problem.
	ErrConfig = errors.New("assignor: invalid config")
	// ErrMember: a member without an id, or two members with one id.
	ErrMember = errors.New("assignor: invalid member")
)

// Subtopology is a group of tasks of one kind: the part of a topology that reads one set of co-partitioned topics.
type Subtopology struct {
	ID          int32
	Partitions  int32   // number of tasks: 0_0 to 0_<Partitions-1>; 0 is a subtopology without tasks
	Stateless   bool    // its tasks have no changelog: no learner, no standby, they move by stop and start
	Weight      int32   // load of one of its tasks; 0 means 1
	RestoreCost []int64 // per partition, what a replay costs (records or bytes), at least 0; nil: all equal. Ranks, never limits.
}

// Config is what the leader knows beside the members' reports. The zero value is valid but for the missing Topology.
type Config struct {
	Topology         []Subtopology
	Standbys         int           // copies beside the active one (num.standby.replicas); default 0
	MaxLearners      int           // learners at work in the whole group at once; 0: no limit
	AcceptableLag    int64         // a copy at most this many records behind counts as caught up; default 0, adapters: DefaultAcceptableLag
	LearnerTimeout   time.Duration // a learner at work longer than this frees its slot and holds nobody up; 0: never
	ScaleDownTimeout time.Duration // how long a leaving instance may take to drain; 0: for ever
	RejoinDelay      time.Duration // how long the tasks of a vanished instance wait for it to come back; 0: not at all
	ImbalancePercent int           // tolerated deviation, in percent of an instance's fair share, 0 to 100; 0: only rounding
	NewInstancesOnly bool          // balance by giving learners to newcomers only, and only in their first round
	SpreadTags       []string      // member tags whose values the copies of a task should differ in (rack, zone); KIP-708
	Generation       int32         // of this round, where the caller has one (the broker's); else, or if not greater than every
	// generation seen, the answer's is one more than the greatest
	SincePrevious time.Duration // time since this process computed or received prevAssignment; ages absences, 0 freezes them
}

// Validate returns nil, or every problem of the config at once (errors.Join), each with its value and its bound; the result
// matches [ErrConfig]. It sets no defaults. A topology without subtopologies is a problem, a subtopology of 0 partitions is not.
func (c Config) Validate() error {
	var problems []error
	fail := func(format string, args ...any) {
		problems = append(problems, fault{ErrConfig, fmt.Sprintf(format, args...)})
	}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			fail(format, args...)
		}
	}
	check(len(c.Topology) > 0, "Config.Topology has no subtopologies, want at least 1")
	check(c.Standbys >= 0, "Config.Standbys is %d, want at least 0", c.Standbys)
	check(c.MaxLearners >= 0, "Config.MaxLearners is %d, want at least 0", c.MaxLearners)
	check(c.AcceptableLag >= 0, "Config.AcceptableLag is %d, want at least 0", c.AcceptableLag)
	check(c.LearnerTimeout >= 0, "Config.LearnerTimeout is %v, want at least 0", c.LearnerTimeout)
	check(c.ScaleDownTimeout >= 0, "Config.ScaleDownTimeout is %v, want at least 0", c.ScaleDownTimeout)
	check(c.RejoinDelay >= 0, "Config.RejoinDelay is %v, want at least 0", c.RejoinDelay)
	check(c.ImbalancePercent >= 0 && c.ImbalancePercent <= 100, "Config.ImbalancePercent is %d, want 0 to 100", c.ImbalancePercent)
	check(c.SincePrevious >= 0, "Config.SincePrevious is %v, want at least 0", c.SincePrevious)
	check(!slices.Contains(c.SpreadTags, ""), "Config.SpreadTags has an empty tag, want names")
	tasks, ids := int64(0), make([]int32, 0, len(c.Topology))
	for _, sub := range c.Topology {
		tasks += max(0, int64(sub.Partitions))
		ids = append(ids, sub.ID)
		sub.validate(fail)
	}
	check(tasks <= MaxTasks, "Config.Topology has %d tasks, want at most %d", tasks, MaxTasks)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		check(ids[i] != ids[i-1], "Config.Topology has two subtopologies with the ID %d, want one", ids[i])
	}
	return errors.Join(problems...)
}

// validate calls fail for every problem. It asks first, since what a call is given costs memory even where nothing is wrong.
func (s Subtopology) validate(fail func(format string, args ...any)) {
	if s.ID < 0 {
		fail("subtopology %d: ID is %d, want at least 0", s.ID, s.ID)
	}
	if s.Partitions < 0 {
		fail("subtopology %d: Partitions is %d, want at least 0", s.ID, s.Partitions)
	}
	if s.Weight < 0 {
		fail("subtopology %d: Weight is %d, want at least 0", s.ID, s.Weight)
	}
	if s.RestoreCost != nil && len(s.RestoreCost) != int(max(0, s.Partitions)) {
		fail("subtopology %d: RestoreCost has %d entries, want none or one for each of %d partitions", s.ID, len(s.RestoreCost), s.Partitions)
	}
	for p, cost := range s.RestoreCost {
		if cost < 0 {
			fail("subtopology %d: RestoreCost of partition %d is %d, want at least 0", s.ID, p, cost)
		}
	}
}

// weight returns the load of one of its tasks.
func (s Subtopology) weight() int64 { return max(1, int64(s.Weight)) }

// cost returns what a replay of one of its tasks costs, 0 where all cost the same.
func (s Subtopology) cost(partition int32) int64 {
	if s.RestoreCost == nil {
		return 0
	}
	return s.RestoreCost[partition]
}

// fault is an error that says what is wrong in its own words and matches a sentinel.
type fault struct {
	kind error
	text string
}

// Error returns the text.
func (f fault) Error() string { return "assignor: " + f.text }

// Unwrap returns the sentinel.
func (f fault) Unwrap() error { return f.kind }

// caughtUp reports whether a reported lag is known and at most AcceptableLag.
func (c Config) caughtUp(lag int64) bool { return lag >= 0 && lag <= c.AcceptableLag }

// timedOut reports whether a learner has been at it for longer than LearnerTimeout.
func (c Config) timedOut(l Replica) bool { return c.LearnerTimeout > 0 && l.For > c.LearnerTimeout }

// validateMembers returns what makes an answer impossible: no members, an empty id, two members with one id.
func validateMembers(members []Member) error {
	if len(members) == 0 {
		return ErrNoMembers
	}
	sorted := true
	for i := range members {
		if members[i].ID == "" {
			return fault{ErrMember, fmt.Sprintf("a member of the instance %q has no id", members[i].Instance)}
		}
		sorted = sorted && (i == 0 || members[i-1].ID < members[i].ID)
	}
	if sorted {
		return nil
	}
	ids := make([]string, len(members))
	for i := range members {
		ids[i] = members[i].ID
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return fault{ErrMember, "two members have the id " + ids[i]}
		}
	}
	return nil
}
