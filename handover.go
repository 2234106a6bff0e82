package assignor

import "slices"

// HandoverMode is what an owner does with the tasks that others learn when a round begins.
type HandoverMode uint8

const (
	// OneRound, the zero value and the published design: it stops them and reports them as Revoked, so that a learner that
	// has caught up takes over in that very round; they pause in every round.
	OneRound HandoverMode = iota
	// TwoRounds: it runs on until told to Revoke. Nothing pauses before its turn; a hand-over takes one round more.
	TwoRounds
	numHandoverModes
)

var handoverModeNames = [numHandoverModes]string{"oneRound", "twoRounds"}

// String returns "oneRound" or "twoRounds".
func (m HandoverMode) String() string { return enumName(handoverModeNames[:], m, "HandoverMode") }

// MarshalText returns what String returns, and an error for a value that is no mode.
func (m HandoverMode) MarshalText() ([]byte, error) {
	return enumText(handoverModeNames[:], m, "HandoverMode")
}

// UnmarshalText is the inverse of MarshalText. An error names the modes that there are.
func (m *HandoverMode) UnmarshalText(text []byte) error {
	return parseEnum(handoverModeNames[:], text, "HandoverMode", m)
}

// Next returns what m, obeying ma, reports in the next round. Its Active is ma.Active; with OneRound the tasks of
// ma.Handover move to Revoked. A task of ma.Revoke is in neither, but its state is left as a copy. Copies that m had keep their
// lag and age, what m ran until now is a copy with lag 0, new ones have [UnknownLag]. A task that m was still restoring, or runs
// from a copy that had not caught up, stays in Standbys with its lag, as [Member.Active] says. Memory is nil: a keeper sets what
// came with ma.
//
// Next is idempotent (m.Next(ma, mode).Next(ma, mode) equals m.Next(ma, mode)), and the result shares nothing with m or ma.
// It costs O(n log n) in the tasks of m and ma.
func (m Member) Next(ma MemberAssignment, mode HandoverMode) Member {
	had := newCopySet(m.Standbys, m.Learners).withRun(m.Active, m.Revoked)
	next := m
	next.Memory = nil
	next.Tags = cloneTags(m.Tags)
	next.Generation = ma.Generation
	next.Active, next.Revoked = afterHandover(ma, mode)
	next.Learners = had.pick(ma.Learners)
	next.Standbys = had.pick(ma.Standbys)
	for _, task := range sortedTasks(ma.Revoke) {
		if r, ok := had.find(task); ok { // else m missed the answer that gave it the task, and has no state
			next.Standbys = append(next.Standbys, r)
		}
	}
	for _, task := range sortedTasks(ma.Active) {
		if r, ok := had.find(task); ok && r.Lag != 0 {
			next.Standbys = append(next.Standbys, r)
		}
	}
	slices.SortFunc(next.Standbys, func(a, b Replica) int { return a.Task.Compare(b.Task) })
	next.Standbys = slices.Clip(slices.CompactFunc(next.Standbys, func(a, b Replica) bool { return a.Task == b.Task }))
	return next
}

// afterHandover returns what an obedient member still runs when the next round begins, and what it has stopped for it.
//
//	told Active [T1, T2], Handover [T2]    OneRound: runs [T1], revoked [T2]    TwoRounds: runs [T1, T2], revoked []
func afterHandover(ma MemberAssignment, mode HandoverMode) (active, revoked []TaskID) {
	active = sortedTasks(ma.Active)
	if mode != OneRound || len(ma.Handover) == 0 {
		return active, nil
	}
	revoked = sortedTasks(ma.Handover)
	active = slices.DeleteFunc(active, func(t TaskID) bool {
		_, stopped := slices.BinarySearchFunc(revoked, t, TaskID.Compare)
		return stopped
	})
	return slices.Clip(active), revoked
}

// cloneTags returns tags of its own for a report that shares nothing with the one before.
func cloneTags(tags map[string]string) map[string]string {
	if tags == nil {
		return nil
	}
	clone := make(map[string]string, len(tags))
	for k, v := range tags { // order-free: copies into a map
		clone[k] = v
	}
	return clone
}

// copySet finds a member's copy by its task. Where one task is reported twice the smallest known lag counts: both lie on one disk, and
// the member replays from the better one.
type copySet []Replica

// newCopySet sorts copies by task. They are concatenated first, since a learner may be listed as a standby too.
func newCopySet(lists ...[]Replica) copySet {
	set := slices.Concat(lists...)
	slices.SortStableFunc(set, func(a, b Replica) int {
		if c := a.Task.Compare(b.Task); c != 0 {
			return c
		}
		return compareLags(a.Lag, b.Lag)
	})
	return slices.CompactFunc(set, func(a, b Replica) bool { return a.Task == b.Task })
}

// withRun adds the state of tasks that the member ran until now, as far as it is not listed as a copy that has yet to catch up.
func (s copySet) withRun(tasks ...[]TaskID) copySet {
	ran := slices.Clip(s)
	for _, task := range sortedTasks(slices.Concat(tasks...)) {
		if _, listed := s.find(task); !listed {
			ran = append(ran, Replica{Task: task})
		}
	}
	slices.SortFunc(ran, func(a, b Replica) int { return a.Task.Compare(b.Task) })
	return ran
}

// find returns the member's copy of a task. It costs O(log copies).
func (s copySet) find(task TaskID) (Replica, bool) {
	i, ok := slices.BinarySearchFunc(s, task, func(r Replica, t TaskID) int { return r.Task.Compare(t) })
	if !ok {
		return Replica{}, false
	}
	return s[i], true
}

// pick returns the copies of the given tasks, new ones with UnknownLag.
func (s copySet) pick(tasks []TaskID) []Replica {
	if len(tasks) == 0 {
		return nil
	}
	picked := make([]Replica, 0, len(tasks))
	for _, task := range sortedTasks(tasks) {
		r, ok := s.find(task)
		if !ok {
			r = Replica{Task: task, Lag: UnknownLag}
		}
		picked = append(picked, r)
	}
	return slices.Clip(picked)
}
