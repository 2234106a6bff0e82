package assignor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Move is one decision that is not "stays where it was", with its reason. From and To are member ids, "" is nobody.
// The first placement of a task that nobody held is no Move.
type Move struct {
	Task   TaskID   `json:"task"`
	From   string   `json:"from"`
	To     string   `json:"to"`
	Kind   MoveKind `json:"kind"`
	Reason Reason   `json:"reason"`
}

// MoveKind says what changes for the task of a [Move].
type MoveKind uint8

// The kinds of moves, and what From and To are.
const (
	MoveActive      MoveKind = iota // To runs the task from now on; From ran it last
	MoveRevoke                      // From must stop the task so that it can start elsewhere; To is who the plan gives it to, if it says
	MoveAwait                       // From has vanished, and the task waits for its instance
	MoveLearn                       // To starts to learn the task that From runs
	MoveStopLearn                   // From no longer learns the task
	MoveStandby                     // To starts to keep a standby
	MoveStopStandby                 // From no longer keeps a standby or the other state it reported
	numMoveKinds
)

var moveKindNames = [numMoveKinds]string{"active", "revoke", "await", "learn", "stop-learn", "standby", "stop-standby"}

// String returns the kind's name, such as "stop-learn", and "MoveKind(9)" for a value that is none.
func (k MoveKind) String() string { return enumName(moveKindNames[:], k, "MoveKind") }

// MarshalText returns what String returns, and an error for a value that is no kind.
func (k MoveKind) MarshalText() ([]byte, error) { return enumText(moveKindNames[:], k, "MoveKind") }

// UnmarshalText is the inverse of MarshalText.
func (k *MoveKind) UnmarshalText(text []byte) error {
	return parseEnum(moveKindNames[:], text, "MoveKind", k)
}

// Reason says why a [Move] was decided.
type Reason uint8

// The reasons, each with the rule of the design that it stands for.
const (
	ReasonNone            Reason = iota
	ReasonLearnerCaughtUp        // R1.1: the learner takes over
	ReasonInstanceBack           // R1.2, R7.5: its instance is back, under another member id or after an absence
	ReasonCopyCaughtUp           // R1.3: no owner, a copy that has caught up runs on
	ReasonHotOnLeaving           // R1.3: no owner, and the only caught-up copy is on a leaving instance
	ReasonBestCopy               // R1.4: no owner, the copy with the least to replay
	ReasonOrphan                 // R1.5: no owner and no copy, placed where there is room
	ReasonConflict               // R0.3: claimed by several members, or by one that may have missed the last answer
	ReasonRestoring              // R1.2: its owner is still restoring it while a copy elsewhere has caught up
	ReasonLeaving                // R5.1: its instance leaves
	ReasonDeadline               // R7.2: its instance leaves and is past its drain deadline
	ReasonNoLearners             // R5.6: its instance leaves and nobody that stays speaks LearnerVersion
	ReasonBalance                // R4.2: its owner has more than its share
	ReasonSiblings               // R8.1: evens out the members of one instance
	ReasonMemberLeaving          // R8.3: its member leaves, its instance stays
	ReasonAwaited                // R7.4: waits for its instance to come back
	ReasonUnneeded               // R3.2: the plan no longer needs this learner
	ReasonEnded                  // R3.3: the topology has no such task, or it has no state
	ReasonHolderLeaving          // R3.3, R6.7: the holder of the copy leaves
	ReasonHolderOwns             // R3.3: the holder's instance runs the task itself
	ReasonBetterLearner          // R3.3: another learner has the smaller lag
	ReasonTooFewStandbys         // R6.3: the task has too few standbys
	ReasonTooManyStandbys        // R6.2: the task has more copies than configured
	ReasonStandbyBalance         // R6.4, R6.5: evens out the standbys
	ReasonPreviousOwner          // R6.3: ran the task until now and keeps its state as a standby
	numReasons
)

var reasonNames = [numReasons]string{
	"no reason", "learner caught up", "back to its instance", "caught-up copy takes over",
	"only caught-up copy, on a leaving instance", "best copy there is", "orphan placed where there is room",
	"claimed by several members", "owner still restoring, caught-up copy elsewhere", "instance leaves", "past its drain deadline",
	"instance leaves, nobody speaks the learner protocol", "evens the load", "evens the members of the instance",
	"member leaves, instance stays", "waits for its instance", "no longer needed", "task has ended", "holder leaves",
	"holder runs the task", "another learner has the smaller lag", "too few standbys", "too many copies", "evens the standbys",
	"was the previous owner",
}

// String returns the reason in words: "learner caught up".
func (r Reason) String() string { return enumName(reasonNames[:], r, "Reason") }

// MarshalText returns what String returns, and an error for a value that is no reason.
func (r Reason) MarshalText() ([]byte, error) { return enumText(reasonNames[:], r, "Reason") }

// UnmarshalText is the inverse of MarshalText.
func (r *Reason) UnmarshalText(text []byte) error {
	return parseEnum(reasonNames[:], text, "Reason", r)
}

// String returns the move as one line: "0_3: S2 -> S4, learner caught up". Kinds other than MoveActive are named behind
// the members: "0_3: S2 -> S4 (learn), evens the load". Nobody prints as "nobody".
func (m Move) String() string {
	from, to := nameOrNobody(m.From), nameOrNobody(m.To)
	if m.Kind == MoveActive {
		return fmt.Sprintf("%v: %s -> %s, %v", m.Task, from, to, m.Reason)
	}
	return fmt.Sprintf("%v: %s -> %s (%v), %v", m.Task, from, to, m.Kind, m.Reason)
}

// compare orders moves by task, kind and names. Most differ in their task, so the names are not looked at (as cmp.Or would).
func (m Move) compare(other Move) int {
	if d := m.Task.Compare(other.Task); d != 0 {
		return d
	}
	return cmp.Or(cmp.Compare(m.Kind, other.Kind), cmp.Compare(m.From, other.From), cmp.Compare(m.To, other.To))
}

// nameOrNobody returns the member's id as a move shows it.
func nameOrNobody(member string) string {
	if member == "" {
		return "nobody"
	}
	return member
}

// enumName returns the name of a value, and "Kind(9)" for one that has none: what prints must not panic, and may be older than what it
// prints.
func enumName[E ~uint8](names []string, value E, kind string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(value))
}

// enumText returns the name of a value, and an error for one that has none: it would not be read again.
func enumText[E ~uint8](names []string, value E, kind string) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("assignor: %s(%d) has no text", kind, uint8(value))
	}
	return []byte(names[value]), nil
}

// parseEnum sets value to the one of that name. Its error lists the names, since whoever sees it has misspelt one in a file.
func parseEnum[E ~uint8](names []string, text []byte, kind string, value *E) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("assignor: no %s %q, want %s", kind, text, strings.Join(names, " or "))
	}
	*value = E(i)
	return nil
}
