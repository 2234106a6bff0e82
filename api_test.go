package assignor_test

import (
	"encoding"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// The public API as the design fixes it. A rename, a removal or a change of a type does not compile here; additions do.

var (
	_ func([]assignor.Member, *assignor.Assignment, assignor.Config) (*assignor.Assignment, error) = assignor.Assign
	_ func([]assignor.Member, *assignor.Assignment, assignor.Config) error                         = assignor.Check
	_ func([]assignor.Member) *assignor.Assignment                                                 = assignor.Recover
	_ func([]assignor.Member, int, assignor.Config) []string                                       = assignor.ScaleDown
	_ func(string) (assignor.TaskID, error)                                                        = assignor.ParseTaskID

	_ func(assignor.TaskID, assignor.TaskID) int                                              = assignor.TaskID.Compare
	_ func(assignor.Config) error                                                             = assignor.Config.Validate
	_ func(*assignor.Assignment, string) (assignor.MemberAssignment, bool)                    = (*assignor.Assignment).For
	_ func(*assignor.Assignment, assignor.TaskID) (string, bool)                              = (*assignor.Assignment).Owner
	_ func(assignor.RejoinMode, []assignor.Replica, assignor.Config) bool                     = assignor.RejoinMode.ShouldRejoin
	_ func(assignor.Member, assignor.MemberAssignment, assignor.HandoverMode) assignor.Member = assignor.Member.Next
)

// Added after the first release.
var (
	_ func(*assignor.Assignor, []assignor.Member, *assignor.Assignment, assignor.Config) (*assignor.Assignment, error) = (*assignor.Assignor).Assign
	_ func(*assignor.ReportDecoder, []byte) (assignor.Member, error)                                                   = (*assignor.ReportDecoder).Decode

	_ = assignor.ReportDecoder{Known: int32(0)}
)

var (
	_ func(*assignor.Assignment, int) ([][]byte, error)                     = (*assignor.Assignment).Encode
	_ func([]byte) (assignor.MemberAssignment, *assignor.Assignment, error) = assignor.Decode
	_                                                                       = []appendMarshaler{assignor.Member{}, assignor.MemberAssignment{}, &assignor.Assignment{}}
	_                                                                       = []encoding.BinaryUnmarshaler{&assignor.Member{}, &assignor.MemberAssignment{}, &assignor.Assignment{}}
)

// appendMarshaler is what all values have that go over the wire. (encoding.BinaryAppender is in Go 1.24 and later.)
type appendMarshaler interface {
	encoding.BinaryMarshaler
	AppendBinary(b []byte) ([]byte, error)
}

var (
	_ = []fmt.Stringer{assignor.Move{}, assignor.Member{}, assignor.MemberAssignment{}, &assignor.Assignment{}}

	_ encoding.TextUnmarshaler = (*assignor.TaskID)(nil)
)

// text is what task ids and all enums have.
type text interface {
	fmt.Stringer
	encoding.TextMarshaler
}

var _ = []text{assignor.TaskID{}, assignor.RejoinMode(0), assignor.HandoverMode(0), assignor.MoveKind(0), assignor.Reason(0)}

// Every field with its exact type: a conversion to a type that differs would not be assignable.
var (
	_ = assignor.TaskID{Subtopology: int32(0), Partition: int32(0)}

	_ = assignor.Subtopology{
		ID:          int32(0),
		Partitions:  int32(0),
		Stateless:   bool(false),
		Weight:      int32(0),
		RestoreCost: []int64(nil),
	}

	_ = assignor.Config{
		Topology:         []assignor.Subtopology(nil),
		Standbys:         int(0),
		MaxLearners:      int(0),
		AcceptableLag:    int64(0),
		LearnerTimeout:   time.Duration(0),
		ScaleDownTimeout: time.Duration(0),
		RejoinDelay:      time.Duration(0),
		ImbalancePercent: int(0),
		NewInstancesOnly: bool(false),
		SpreadTags:       []string(nil),
		Generation:       int32(0),
		SincePrevious:    time.Duration(0),
	}

	_ = assignor.Replica{Task: assignor.TaskID{}, Lag: int64(0), For: time.Duration(0)}

	_ = assignor.Member{
		ID:         string(""),
		Instance:   string(""),
		Capacity:   int32(0),
		Version:    uint8(0),
		Generation: int32(0),
		Leaving:    bool(false),
		LeavingFor: time.Duration(0),
		Tags:       map[string]string(nil),
		Active:     []assignor.TaskID(nil),
		Revoked:    []assignor.TaskID(nil),
		Learners:   []assignor.Replica(nil),
		Standbys:   []assignor.Replica(nil),
		Memory:     (*assignor.Assignment)(nil),
	}

	_ = assignor.MemberAssignment{
		Member:     string(""),
		Instance:   string(""),
		Leaving:    bool(false),
		Version:    uint8(0),
		Generation: int32(0),
		FollowUp:   bool(false),
		Active:     []assignor.TaskID(nil),
		Handover:   []assignor.TaskID(nil),
		Revoke:     []assignor.TaskID(nil),
		Learners:   []assignor.TaskID(nil),
		Standbys:   []assignor.TaskID(nil),
	}

	_ = assignor.Assignment{
		Generation:      int32(0),
		Members:         []assignor.MemberAssignment(nil),
		Departed:        []assignor.Departure(nil),
		FollowUp:        bool(false),
		NextRebalance:   time.Duration(0),
		Moves:           []assignor.Move(nil),
		MissingStandbys: int(0),
	}

	_ = assignor.Departure{Instance: string(""), Absent: time.Duration(0), Tasks: []assignor.TaskID(nil)}

	_ = assignor.Move{
		Task:   assignor.TaskID{},
		From:   string(""),
		To:     string(""),
		Kind:   assignor.MoveKind(0),
		Reason: assignor.Reason(0),
	}
)

// The constants that have no type of their own fit every type in which the API uses them.
const (
	_ int64 = assignor.UnknownLag
	_ int64 = assignor.DefaultAcceptableLag
	_ uint8 = assignor.CurrentVersion
	_ uint8 = assignor.LearnerVersion
	_ uint8 = assignor.PayloadVersion
	_ int32 = assignor.MaxTasks
)

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"UnknownLag", assignor.UnknownLag, -1},
		{"DefaultAcceptableLag", assignor.DefaultAcceptableLag, 10_000},
		{"RevokeRetry", assignor.RevokeRetry, 10 * time.Second},
		{"ReviewInterval", assignor.ReviewInterval, time.Minute},
		{"CurrentVersion", assignor.CurrentVersion, 3},
		{"LearnerVersion", assignor.LearnerVersion, 2},
		{"PayloadVersion", assignor.PayloadVersion, 3},
		{"MaxTasks", assignor.MaxTasks, 1 << 20},
		{"Conservative", assignor.Conservative, assignor.RejoinMode(0)},
		{"Eager", assignor.Eager, assignor.RejoinMode(1)},
		{"OneRound", assignor.OneRound, assignor.HandoverMode(0)},
		{"TwoRounds", assignor.TwoRounds, assignor.HandoverMode(1)},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestEnumTexts shows that every value has a text of its own, which reads back, and that what is no value has no text but still
// prints.
func TestEnumTexts(t *testing.T) {
	t.Run("RejoinMode", func(t *testing.T) { testEnum[assignor.RejoinMode](t, assignor.Eager) })
	t.Run("HandoverMode", func(t *testing.T) { testEnum[assignor.HandoverMode](t, assignor.TwoRounds) })
	t.Run("MoveKind", func(t *testing.T) { testEnum[assignor.MoveKind](t, assignor.MoveStopStandby) })
	t.Run("Reason", func(t *testing.T) { testEnum[assignor.Reason](t, assignor.ReasonPreviousOwner) })
}

// testEnum checks an enum with all values from 0 to last, and perhaps more.
func testEnum[E interface {
	~uint8
	text
}, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, last E) {
	t.Helper()
	taken := map[string]bool{}
	ended := false
	for i := range 256 {
		value := E(i)
		marshaled, err := value.MarshalText()
		if err == nil && (ended || string(marshaled) != value.String()) || err != nil && value <= last {
			t.Errorf("value %d marshals as %q, %v and prints as %q", i, marshaled, err, value)
		}
		back := E(255)
		if err == nil && (P(&back).UnmarshalText(marshaled) != nil || back != value) {
			t.Errorf("value %d marshals as %q, which reads back as %v", i, marshaled, back)
		}
		ended = err != nil
		if value.String() == "" || taken[value.String()] {
			t.Errorf("value %d prints as %q, which is empty or taken", i, value)
		}
		taken[value.String()] = true
	}
	kept := last
	err := P(&kept).UnmarshalText([]byte("whim"))
	if err == nil || !strings.Contains(err.Error(), last.String()) || kept != last {
		t.Errorf("no value reads as %v, with the error %v that does not name those that there are", kept, err)
	}
}

func TestSentinels(t *testing.T) {
	sentinels := []error{assignor.ErrNoMembers, assignor.ErrConfig, assignor.ErrMember}
	for i, a := range sentinels {
		for j, b := range sentinels {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("errors.Is(%q, %q) is %v", a, b, i != j)
			}
		}
	}
}
