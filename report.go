package assignor

import (
	"math"
	"slices"
	"time"
)

// Replica is a copy of a task's state that is not, or not yet, the running one.
type Replica struct {
	Task TaskID        `json:"task"`
	Lag  int64         `json:"lag"`          // records still to replay: 0 is caught up, UnknownLag (like any negative) where nobody knows
	For  time.Duration `json:"for,omitzero"` // how long it has been at it, on its holder's clock
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
	NextRebalance   time.Duration      // when the leader must call a round by itself (a deadline, RevokeRetry, ReviewInterval); 0: never
	Moves           []Move             // every decision that is not "stays where it was", with its reason, sorted by Task
	MissingStandbys int                // standby copies that no instance could take (too few of them): no error, no follow-up
}

// Departure is an instance that vanished without leaving, and what waits for its return.
type Departure struct {
	Instance string
	Absent   time.Duration // as far as the leaders since know (Config.SincePrevious)
	Tasks    []TaskID
}

// instanceName returns the instance that a member is on: its own, named like the member, where it says none.
func (m *Member) instanceName() string {
	if m.Instance == "" {
		return m.ID
	}
	return m.Instance
}

// instanceName returns the same of an answer.
func (ma *MemberAssignment) instanceName() string {
	if ma.Instance == "" {
		return ma.Member
	}
	return ma.Instance
}

// compareLags orders lags, the unknown ones last.
func compareLags(a, b int64) int {
	switch ua, ub := uint64(a), uint64(b); { // a negative lag becomes greater than every known one
	case a < 0 && b < 0, ua == ub:
		return 0
	case ua < ub:
		return -1
	default:
		return 1
	}
}

// knownGeneration returns g, or 0 (none) where g is no generation that a leader can have given. The greatest number is none of them: the
// next one could not be greater, and one wrong report would keep the group from ever having a next round.
func knownGeneration(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// claims returns the lists of the tasks that m says it runs or ran until now.
func (m *Member) claims() [2][]TaskID { return [2][]TaskID{m.Active, m.Revoked} }

// clone returns a copy of what is memory in an assignment.
func (a *Assignment) clone() *Assignment {
	c := *a
	c.Moves = slices.Clone(a.Moves)
	c.Members = slices.Clone(a.Members)
	for i := range c.Members {
		ma := &c.Members[i]
		for which := range numLists {
			*ma.list(which) = slices.Clip(slices.Clone(*ma.list(which)))
		}
	}
	c.Departed = slices.Clone(a.Departed)
	for i := range c.Departed {
		c.Departed[i].Tasks = slices.Clone(a.Departed[i].Tasks)
	}
	return &c
}

// list numbers the task lists of a MemberAssignment, in the order of its fields, for what is done to all of them alike.
type list int

const (
	activeList list = iota
	handoverList
	revokeList
	learnerList
	standbyList
	numLists
)

// list returns one of the task lists, to be read or set.
func (ma *MemberAssignment) list(which list) *[]TaskID {
	switch which {
	case activeList:
		return &ma.Active
	case handoverList:
		return &ma.Handover
	case revokeList:
		return &ma.Revoke
	case learnerList:
		return &ma.Learners
	default:
		return &ma.Standbys
	}
}
