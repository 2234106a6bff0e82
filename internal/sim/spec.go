package sim

import (
	"errors"
	"fmt"
	"math/rand"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Spec is a cluster, what it can do, and what happens to it.
type Spec struct {
	Title     string // the comment that the file opens with
	Seed      int64
	End       time.Duration // when the run ends at the latest
	Instances []Instance    // who is there from the beginning
	Tasks     []Tasks
	Config    assignor.Config // Topology is made of Tasks
	Costs     Costs
	Events    []Event // in order of At
	Variants  []Variant
}

// Instance is one host as it joins. Its name is S1, S2, ... in order of appearance.
type Instance struct {
	Capacity int32
	Zone     string
	Static   bool  // keeps its member id over a restart, so that the group waits for it until its session ends
	Restore  int64 // bytes a second it can restore with; 0: what Costs says
}

// Tasks is one subtopology.
type Tasks struct {
	ID         int32
	Partitions int32
	Stateless  bool
	Weight     int32
	MinSize    int64 // bytes of state; the partitions' sizes are spread evenly from MinSize to MaxSize, in a seeded order
	MaxSize    int64
	Write      int64 // bytes a second that a running task writes to its changelog
	Grow       int64 // bytes a second by which its state grows
	Unranked   bool  // the leader does not know which of them are cheap to restore
}

// Costs is what things take.
type Costs struct {
	Restore   int64         // bytes a second, of each instance
	Broker    int64         // bytes a second, of all restores together; 0: no limit
	Learners  bool          // an instance's standbys wait while it learns or restores
	Record    int64         // bytes of one record, the unit of lags
	Heartbeat time.Duration // a member hears of a round within this time
	Session   time.Duration // a crashed member is dropped after this time
	Poll      time.Duration // what a member takes to join once it knows
	Sync      time.Duration // from the last join until the answers have arrived
	Open      time.Duration // what a task takes to start where it has its state
	Probe     time.Duration // how often the warm-up protocol looks whether a copy has caught up
	Warmups   int           // how many copies it warms up at once
}

// Protocol is how a group is balanced.
type Protocol uint8

// The protocols: the assignor's own, and those it is compared with.
const (
	Learners          Protocol = iota // this library
	StopTheWorld                      // eager rebalancing: everybody stops everything in every round
	CooperativeSticky                 // incremental rebalancing: what moves stops first, and restores where it starts
	Warmup                            // KIP-441: few warm-up copies at once, checked at an interval
	numProtocols
)

var protocolNames = [numProtocols]string{"learners", "stop-the-world", "cooperative-sticky", "warm-up"}

// String returns the name that spec files use.
func (p Protocol) String() string {
	if p < numProtocols {
		return protocolNames[p]
	}
	return fmt.Sprintf("Protocol(%d)", uint8(p))
}

// Variant is one setting under which the events are played.
type Variant struct {
	Name     string
	Protocol Protocol
	Rejoin   assignor.RejoinMode
	Handover assignor.HandoverMode
	Static   bool            // every member is static
	Config   assignor.Config // the whole of it, but for the Topology
	Costs    Costs
}

// Kind is what an [Event] does.
type Kind uint8

// The kinds of events.
const (
	Start   Kind = iota // the group as it is at the beginning; no line of a file
	Add                 // Instances join
	Drain               // the named instances are told to leave
	Stay                // the named instances are told to stay after all
	Crash               // the named instances die, with or without their disks
	Restart             // the named instances stop and come back after Down, all at once
	Roll                // every instance restarts in its turn, Gap after the one before is back
	Flap                // the named instances crash and come back, Times times
	Swap                // Count new instances join, and the Count oldest are told to leave
	numKinds
)

var kindNames = [numKinds]string{"start", "add", "drain", "stay", "crash", "restart", "roll", "flap", "swap"}

// Phase is the part of a round in which a crash of the leader is to happen.
type Phase uint8

// The phases of a round; AnyPhase is at once.
const (
	AnyPhase Phase = iota
	JoinPhase
	SyncPhase
	LearnPhase
	numPhases
)

var phaseNames = [numPhases]string{"any", "join", "sync", "learn"}

// Event is something that happens to the cluster.
type Event struct {
	At        time.Duration
	Kind      Kind
	Label     string // the line of the file
	Names     []string
	Zone      string // with Crash: all instances of the zone
	Leader    bool   // with Crash: the leader
	Phase     Phase  // with Leader
	Instances []Instance
	Count     int
	Times     int
	Down      time.Duration
	Gap       time.Duration
	DiskLost  bool
}

// DefaultCosts are those of a spec that says nothing: Kafka's usual timeouts, and modest hosts.
var DefaultCosts = Costs{
	Restore: 50e6, Record: 1000, Heartbeat: 3 * time.Second, Session: 45 * time.Second, Poll: 100 * time.Millisecond,
	Sync: 300 * time.Millisecond, Open: 500 * time.Millisecond, Probe: 10 * time.Minute, Warmups: 2,
}

// Baselines are the three protocols that the assignor is compared with, under the config and the costs of a variant.
func Baselines(v Variant) []Variant {
	var all []Variant
	for p := StopTheWorld; p < numProtocols; p++ {
		v.Name, v.Protocol = p.String(), p
		all = append(all, v)
	}
	return all
}

// Validate reports every reason why the spec cannot be played.
func (s *Spec) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("sim: "+format, args...))
		}
	}
	check(len(s.Instances) > 0, "no instances")
	check(len(s.Tasks) > 0, "no subtopology")
	check(len(s.Variants) > 0, "no variant")
	check(s.End > 0, "the end is at %v, want later than 0", s.End)
	tasks := 0
	for _, t := range s.Tasks {
		check(t.Partitions > 0 && t.MinSize >= 0 && t.MaxSize >= t.MinSize && t.Write >= 0 && t.Grow >= 0,
			"subtopology %d: wants 1 or more partitions, sizes in order, and no negative rate", t.ID)
		tasks += int(t.Partitions)
	}
	check(tasks <= maxTasks, "%d tasks, want at most %d", tasks, maxTasks)
	for _, v := range s.Variants {
		v.Config.Topology = s.topology(nil)
		if err := v.Config.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("sim: variant %s: %w", v.Name, err))
		}
		c := v.Costs
		check(c.Restore > 0 && c.Broker >= 0 && c.Record > 0 && c.Warmups > 0, "variant %s: bandwidth, record and warmups want to be positive", v.Name)
		check(min(c.Heartbeat, c.Session, c.Poll, c.Sync, c.Open, c.Probe) > 0, "variant %s: every time wants to be positive", v.Name)
	}
	return errors.Join(problems...)
}

// maxTasks keeps a run within a few hundred megabytes.
const maxTasks = 20_000

// topology returns the subtopologies, with the costs of a replay where sizes has them.
func (s *Spec) topology(sizes []int64) []assignor.Subtopology {
	subs := make([]assignor.Subtopology, len(s.Tasks))
	for i, t := range s.Tasks {
		subs[i] = assignor.Subtopology{ID: t.ID, Partitions: t.Partitions, Stateless: t.Stateless, Weight: t.Weight}
		if n := int(t.Partitions); sizes != nil && !t.Stateless && !t.Unranked {
			subs[i].RestoreCost = sizes[:n:n]
		}
		if sizes != nil {
			sizes = sizes[t.Partitions:]
		}
	}
	return subs
}

// sizes returns the size of every task's state at the beginning, in the order of Tasks.
func (s *Spec) sizes() []int64 {
	rng := rand.New(rand.NewSource(s.Seed))
	var sizes []int64
	for _, t := range s.Tasks {
		for _, rank := range rng.Perm(int(t.Partitions)) {
			size := t.MinSize
			if t.Partitions > 1 {
				size += (t.MaxSize - t.MinSize) / int64(t.Partitions-1) * int64(rank)
			}
			if t.Stateless {
				size = 0
			}
			sizes = append(sizes, size)
		}
	}
	return sizes
}
