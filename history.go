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
// It costs O(n) in the tasks that the members report, and O(n log n) where their lists are not sorted or partitions have numbers
// far above how many are reported.
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
	giveUndisputed(a.Members, known)
	return a
}

// giveUndisputed sets the Active of each row to the tasks of which the member of the same index has the only claim of the highest
// generation. A claim is a task that a member says it runs or ran until now.
//
// It takes two passes over the claims, one to find out who has each task and one to list them, so that nothing has to be sorted
// but lists that are not: to sort all claims took three quarters of what a leader did in a round.
func giveUndisputed(rows []MemberAssignment, members []*Member) {
	tasks := claimedTasks(members)
	holders, n := soleHolders(&tasks, members)
	block := make([]TaskID, 0, n)
	for m, mb := range members {
		cursor, first := tasks.cursor(), len(block)
		for _, list := range mb.claims() {
			for _, id := range list {
				if t := cursor.numberOfAny(id); holders[t] == int32(m)+1 {
					holders[t] = 0 // a member may claim a task twice
					block = append(block, id)
				}
			}
		}
		if given := block[first:len(block):len(block)]; len(given) > 0 {
			if !slices.IsSortedFunc(given, TaskID.Compare) {
				slices.SortFunc(given, TaskID.Compare)
			}
			rows[m].Active = given
		}
	}
}

// soleHolders returns, by task, the member with the only claim of the highest generation, counted from 1, and how many tasks have
// one. Where several claim a task in that generation, the number is negative.
func soleHolders(tasks *topology, members []*Member) (holders []int32, n int) {
	holders = make([]int32, tasks.all())
	for m, mb := range members {
		cursor, self, gen := tasks.cursor(), int32(m)+1, knownGeneration(mb.Generation)
		for _, list := range mb.claims() {
			for _, id := range list {
				h := &holders[cursor.numberOfAny(id)]
				other := max(*h, -*h)
				switch {
				case other == self:
				case other == 0 || knownGeneration(members[other-1].Generation) < gen:
					*h = self
				case knownGeneration(members[other-1].Generation) == gen:
					*h = -other
				}
			}
		}
	}
	for _, h := range holders {
		if h > 0 {
			n++
		}
	}
	return holders, n
}

// claims returns the lists of the tasks that m says it runs or ran until now.
func (m *Member) claims() [2][]TaskID { return [2][]TaskID{m.Active, m.Revoked} }

// sparse is how many numbers a subtopology may take for each claim on its tasks. Above that, as where somebody reports the partition
// MaxInt32, its tasks are numbered by sorting them.
const sparse = 8

// claimedTasks numbers the tasks that members claim: in arrays where the partitions of a subtopology are about as many as
// claims on them, as those of a broker are, else as foreign ones. It costs O(claims), and O(log claims) for each foreign one.
func claimedTasks(members []*Member) topology {
	t := newTopology(claimedSubtopologies(members))
	for _, m := range members {
		cursor := t.cursor()
		for _, list := range m.claims() {
			for _, id := range list {
				if cursor.number(id) == none {
					t.foreign = append(t.foreign, id)
				}
			}
		}
	}
	slices.SortFunc(t.foreign, TaskID.Compare)
	t.foreign = slices.Compact(t.foreign)
	return t
}

// claimedSubtopologies returns the subtopologies whose claimed tasks have small numbers, with as many partitions as are claimed.
func claimedSubtopologies(members []*Member) []Subtopology {
	type extent struct {
		claims int
		most   int32
	}
	extents := map[int32]*extent{}
	for _, m := range members {
		var e *extent
		last := none
		for _, list := range m.claims() {
			for _, id := range list {
				if e == nil || id.Subtopology != last { // lists are mostly sorted: few look-ups
					if e, last = extents[id.Subtopology], id.Subtopology; e == nil {
						e = &extent{}
						extents[last] = e
					}
				}
				e.claims++
				e.most = max(e.most, id.Partition)
			}
		}
	}
	subs := make([]Subtopology, 0, len(extents))
	for id, e := range extents { // order-free: newTopology sorts them
		if int(e.most) < sparse*e.claims {
			subs = append(subs, Subtopology{ID: id, Partitions: e.most + 1})
		}
	}
	return subs
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
