package assignor

import (
	"cmp"
	"math"
	"slices"
)

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

func sortedTasks(tasks []TaskID) []TaskID {
	if len(tasks) == 0 {
		return nil
	}
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, TaskID.Compare)
	return slices.Clip(slices.Compact(sorted))
}

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

// copySet finds a member's copy by its task. Where one task is reported twice the smallest known lag counts.
type copySet []Replica

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

// knownGeneration returns g, or 0 (none) where g is no generation that a leader can have given.
func knownGeneration(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// Recover returns the memory of a new leader: the newest Memory that a member echoes, unless a member reports a later generation
// than that, else one rebuilt from what the members report. In a rebuilt one, who has a generation is known (the others are
// newcomers), each task is with the member that claims it in the highest generation (with nobody where several do), and absences
// are lost.
//
// It is also a safe answer where [Assign] fails, in that nobody gains a task by it. Members without an id are left out, and of
// several with one id the first in the order of the argument counts. The result shares nothing with members and is never nil.
// It costs O(n log n) in the tasks that the members report.
func Recover(members []Member) *Assignment {
	newest := int32(0)
	var echoed *Assignment
	for i := range members {
		newest = max(newest, knownGeneration(members[i].Generation))
		if mem := members[i].Memory; mem != nil && (echoed == nil || knownGeneration(mem.Generation) > knownGeneration(echoed.Generation)) {
			echoed = mem
		}
	}
	if echoed != nil && knownGeneration(echoed.Generation) >= newest {
		return echoed.clone()
	}
	return rebuild(members, newest)
}

// rebuild makes a memory of what the members report.
func rebuild(members []Member, newest int32) *Assignment {
	known := make([]*Member, 0, len(members))
	for i := range members {
		if m := &members[i]; m.ID != "" {
			known = append(known, m)
		}
	}
	slices.SortStableFunc(known, func(a, b *Member) int { return cmp.Compare(a.ID, b.ID) })
	known = slices.CompactFunc(known, func(a, b *Member) bool { return a.ID == b.ID })
	known = slices.DeleteFunc(known, func(m *Member) bool { return knownGeneration(m.Generation) == 0 })
	a := &Assignment{Generation: newest, Members: make([]MemberAssignment, len(known))}
	for i, m := range known {
		a.Members[i] = MemberAssignment{
			Member: m.ID, Instance: m.instanceName(), Leaving: m.Leaving, Version: m.Version, Generation: newest,
		}
	}
	for _, c := range undisputed(known) {
		ma := &a.Members[c.member]
		ma.Active = append(ma.Active, c.task)
	}
	for i := range a.Members {
		a.Members[i].Active = slices.Clip(a.Members[i].Active)
	}
	return a
}

// report is a task that a member says it runs or ran until now.
type report struct {
	task   TaskID
	gen    int32
	member int
}

// undisputed returns, in task order, the claims of the highest generation for each task, but for tasks that several claim there.
func undisputed(members []*Member) []report {
	var claims []report
	for i, m := range members {
		for _, task := range sortedTasks(slices.Concat(m.Active, m.Revoked)) {
			claims = append(claims, report{task, knownGeneration(m.Generation), i})
		}
	}
	slices.SortFunc(claims, func(a, b report) int {
		return cmp.Or(a.task.Compare(b.task), cmp.Compare(b.gen, a.gen), cmp.Compare(a.member, b.member))
	})
	won := make([]report, 0, len(claims))
	for i, c := range claims {
		first := i == 0 || claims[i-1].task != c.task
		tied := i+1 < len(claims) && claims[i+1].task == c.task && claims[i+1].gen == c.gen
		if first && !tied {
			won = append(won, c)
		}
	}
	return won
}

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
