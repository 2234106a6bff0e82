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

// Replica is a copy of a task's state that is not, or not yet, the running one.
type Replica struct {
	Task TaskID
	Lag  int64         // records still to replay: 0 is caught up, UnknownLag (like any negative) where nobody knows
	For  time.Duration // how long it has been at it, on its holder's clock
}

// Member is what one member of the group reports when a round begins. A wrong report never fails the group: what cannot
// be (a task listed twice, a learner of a task the member runs itself) is resolved as section R0 of the design says.
type Member struct {
	ID         string        // unique and not empty; the leader fills it in, nobody knows its id when it joins
	Instance   string        // the process or host whose disk it shares; "" means: its own instance, named like ID
	Capacity   int32         // relative share of the load; below 1 means 1
	Version    uint8         // protocol it speaks; 0: this library's own (CurrentVersion); below LearnerVersion: no learners
	Generation int32         // the Assignment.Generation it last applied; 0 (or negative, or MaxInt32): none
	Leaving    bool          // told to scale down; an instance leaves when all its members do
	LeavingFor time.Duration // how long ago it was told to leave, on its own clock
	Tags       map[string]string
	Active     []TaskID    // running, or restoring in order to run; if restoring, listed in Standbys with its lag too
	Revoked    []TaskID    // ran until this round and stopped for a handover; may come straight back
	Learners   []Replica   // replaying in order to take over
	Standbys   []Replica   // standbys, and any other state left on its disk
	Memory     *Assignment // what a keeper got of the leader's memory, echoed; else nil. Assign does not read it, Recover does.
}

// MemberAssignment is what one member must do from now on. The task lists are sorted and share nothing with any input.
type MemberAssignment struct {
	Member, Instance string
	Leaving          bool     // as reported
	Version          uint8    // the member's own, as reported: its payload is written for it
	Generation       int32    // of the Assignment it belongs to
	FollowUp         bool     // as in the Assignment
	Active           []TaskID // run these
	Handover         []TaskID // subset of Active being learned elsewhere; HandoverMode says what to do with them
	Revoke           []TaskID // still running here, must stop now, then rejoin
	Learners         []TaskID // replay these in order to take them over; rejoin as RejoinMode says
	Standbys         []TaskID // keep these warm
}

// Assignment is one round's answer, and the leader's memory in the next.
type Assignment struct {
	Generation      int32              // greater than every generation seen
	Members         []MemberAssignment // sorted by Member
	Departed        []Departure        // vanished instances whose tasks wait for them (RejoinDelay), sorted by Instance
	FollowUp        bool               // somebody has something to revoke: all rejoin at once
	NextRebalance   time.Duration      // when the leader must call a round by itself (a drain or rejoin deadline, RevokeRetry); 0: never
	Moves           []Move             // every decision that is not "stays where it was", with its reason, sorted by Task
	MissingStandbys int                // standby copies that no instance could take (too few of them): no error, no follow-up
}

// Departure is an instance that vanished without leaving, and what waits for its return.
type Departure struct {
	Instance string
	Absent   time.Duration // as far as the leaders since know (Config.SincePrevious)
	Tasks    []TaskID
}

// Assign decides the next round. It is a pure function: same input, in any order of members, same output; it reads no
// clock, draws no random number, logs nothing, keeps nothing and changes none of its arguments.
//
// prevAssignment is the leader's memory: the last assignment that was delivered (a leader adopts its own answer when its
// own payload of that generation comes back); nil means it has none, and then no instance counts as a newcomer. Of the
// memory only Generation, Departed and each member's Member, Instance, Leaving, Active and Revoke are read.
//
// It fails only where no answer could be right: no members ([ErrNoMembers]), an invalid config ([ErrConfig]), an empty id
// or two members with one id ([ErrMember]). Then [Recover] gives an answer by which nobody gains a task.
//
// It costs O(tasks + copies + members log members), and O(n log n) in the n tasks that change hands.
func Assign(members []Member, prevAssignment *Assignment, config Config) (*Assignment, error) {
	return new(Assignor).Assign(members, prevAssignment, config)
}

// Assignor decides rounds as [Assign] does and keeps the memory that it works in from one round to the next, so that a round like an
// earlier one allocates little more than its answer. That takes a tenth to two fifths off the time of a round of 100 000 tasks
// (BenchmarkAssignor); a leader that calls a round now and then does not need it.
//
// The zero value is ready to use. Between rounds it keeps no reference to what it was given or what it returned, and nothing that
// could change an answer; it may be used for one group after another. It must not be copied after its first round, nor used by two
// goroutines at once.
type Assignor struct{ scratch scratch }

// Assign returns what [Assign] returns.
func (a *Assignor) Assign(members []Member, prevAssignment *Assignment, config Config) (*Assignment, error) {
	if err := errors.Join(validateMembers(members), config.Validate()); err != nil {
		return nil, err
	}
	a.scratch.begin()
	defer a.scratch.end()
	return decide(newRound(members, prevAssignment, config, &a.scratch)), nil
}

func decide(r *round) *Assignment {
	r.readClaims()    // R0: who runs what
	r.readMemory()    // R0, R7: who ran the rest
	r.readCopies()    // who has state of what
	r.placeActives()  // R1.1 to R1.4, R7
	r.placeOrphans()  // R1.5
	r.levelLearners() // R3, R4
	r.startLearners() // R5
	r.moveStateless() // R4, R2
	r.chooseMembers() // R8
	r.placeStandbys() // R6
	return r.answer()
}

// round is one call of Assign: what came in, by dense numbers, and what is decided so far.
type round struct {
	*scratch
	config         Config
	topology       topology
	members        []member   // sorted by id
	instances      []instance // sorted by name
	allLeave       bool       // no instance stays, so all count as staying (R1)
	somebodySpeaks bool       // an instance that stays can learn
	staying        int64      // the capacity of the instances that stay
	numStaying     int32
	seen           int32 // the greatest generation of the memory and the members
	memory         memory
	stateful       kind
	loads          kind // the stateful tasks in the units of statelessKind
	statelessKind  kind

	// By task, foreign ones included.
	owner   []int32 // the member that runs it, or stopped it for this round; none where nobody claims it
	stopped []bool  // the owner has stopped it; nil where none has
	status  []status

	// By task of the topology. Those that are nil until something is in them are in plan.go.
	held               []int32 // who has copies of it, see heldBy; nil where there are none
	heldWidth          int
	copyStart, copyEnd []int32 // its copies are copies[copyStart:copyEnd]; nil until somebody asks for one
	copies             []replica
	restoring          []restoration // whether its owner is still restoring it; nil where none says so
	dest               []int32       // the member that runs it from now on, or onInstance; see at and by
	why                []Reason      // why dest is not where it was
	learning           []int32       // its learner, counted from 1 in learners, 0 for none; nil where nobody learns anything

	claimed     int            // tasks of the topology that have an owner
	contested   []claim        // claims on tasks that somebody else claims too
	foreign     []foreignClaim // claims on tasks that the topology does not have
	anyLearners bool           // some member reports a learner
	undecided   bool           // some task's member is not decided
	learners    []learner      // those of this round's plan
	learned     []int32        // the tasks that have or had a learner in this round's plan
	copied      []int32        // the tasks that have or should have a copy (from R6 on)
	moved       []int32        // the tasks that have a why
	instanceBy  []int32        // by member

	planned     []int64 // by instance: its stateful load once every learner has taken over (while R1 goes on)
	have        counts  // by class and instance: the stateful tasks it runs, or will (from R4 on)
	plan        counts  // the same once every learner has taken over
	target      counts  // the stateful tasks that each instance should have
	memberTasks []int32 // by member: the tasks it has that nobody learns (R5)
	spread      spread
	picker      picker
	orphans     []int32
	awaiting    bool    // some task is awaited: nothing is levelled (R7)
	revocations []claim // for conflicts (R0), in task order
	standbys    *standbys
	moves       []Move
}

// newRound numbers everything and adopts the memory.
func newRound(members []Member, prev *Assignment, config Config, s *scratch) *round {
	r := &round{scratch: s, config: config, topology: newTopology(config.Topology)}
	r.indexMembers(members)
	for i := range r.instances {
		if in := &r.instances[i]; in.stays {
			r.staying += in.capacity
			r.numStaying++
		}
	}
	r.indexKinds()
	r.adoptMemory(prev)
	return r
}

// Validate returns nil, or every problem of the config at once (errors.Join), each with its value and its bound; the result
// matches [ErrConfig]. It sets no defaults. A topology without subtopologies is a problem, a subtopology of 0 partitions is not.
func (c Config) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fault{ErrConfig, fmt.Sprintf(format, args...)})
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
		sub.validate(check)
	}
	check(tasks <= MaxTasks, "Config.Topology has %d tasks, want at most %d", tasks, MaxTasks)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		check(ids[i] != ids[i-1], "Config.Topology has two subtopologies with the ID %d, want one", ids[i])
	}
	return errors.Join(problems...)
}

func (s Subtopology) validate(check func(ok bool, format string, args ...any)) {
	check(s.ID >= 0, "subtopology %d: ID is %d, want at least 0", s.ID, s.ID)
	check(s.Partitions >= 0, "subtopology %d: Partitions is %d, want at least 0", s.ID, s.Partitions)
	check(s.Weight >= 0, "subtopology %d: Weight is %d, want at least 0", s.ID, s.Weight)
	check(s.RestoreCost == nil || len(s.RestoreCost) == int(max(0, s.Partitions)),
		"subtopology %d: RestoreCost has %d entries, want none or one for each of %d partitions", s.ID, len(s.RestoreCost), s.Partitions)
	for p, cost := range s.RestoreCost {
		check(cost >= 0, "subtopology %d: RestoreCost of partition %d is %d, want at least 0", s.ID, p, cost)
	}
}
