package assignor

import (
	"errors"
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

	// CurrentVersion is the protocol that this library speaks, LearnerVersion the lowest one that knows learners
	// ([Member.Version]).
	CurrentVersion = 2
	LearnerVersion = 2

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
	NextRebalance   time.Duration      // when the leader must call a round by itself (a drain or rejoin deadline); 0: never
	Moves           []Move             // every decision that is not "stays where it was", with its reason, sorted by Task
	MissingStandbys int                // standby copies that no instance could take (too few of them): no error, no follow-up
}

// Departure is an instance that vanished without leaving, and what waits for its return.
type Departure struct {
	Instance string
	Absent   time.Duration // as far as the leaders since know (Config.SincePrevious)
	Tasks    []TaskID
}
