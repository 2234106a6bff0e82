package assignor

// RejoinMode says when a member that holds learners should call for a round. The published design leaves the choice open:
// one round for all learners of a member, or one for each.
type RejoinMode uint8

const (
	// Conservative, the zero value: when all its learners have caught up.
	Conservative RejoinMode = iota
	// Eager: when any of its learners has caught up.
	Eager
	numRejoinModes
)

var rejoinModeNames = [numRejoinModes]string{"conservative", "eager"}

// String returns "conservative" or "eager".
func (m RejoinMode) String() string { return enumName(rejoinModeNames[:], m, "RejoinMode") }

// MarshalText returns what String returns, and an error for a value that is no mode.
func (m RejoinMode) MarshalText() ([]byte, error) {
	return enumText(rejoinModeNames[:], m, "RejoinMode")
}

// UnmarshalText is the inverse of MarshalText. An error names the modes that there are.
func (m *RejoinMode) UnmarshalText(text []byte) error {
	return parseEnum(rejoinModeNames[:], text, "RejoinMode", m)
}

// ShouldRejoin reports whether a member that holds these learners should call for a round now: whether any of them has
// caught up (a known lag of at most config.AcceptableLag) and, with Conservative, none of the others is still worth waiting
// for. A learner that has been at it for longer than config.LearnerTimeout (where that is not 0) holds nobody up. Without
// learners, or while none has caught up, it is false.
func (m RejoinMode) ShouldRejoin(learners []Replica, config Config) bool {
	ready, awaited := false, false
	for _, l := range learners {
		switch {
		case config.caughtUp(l.Lag):
			ready = true
		case !config.timedOut(l):
			awaited = true
		}
	}
	return ready && (m == Eager || !awaited)
}
