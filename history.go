package assignor

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// history is the group and what the leader remembers of the last round.
//
// The memory is a help, never an authority: what members report comes first, and a leader that has lost its memory decides the
// same but for what no report can tell, which is who vanished, who is new, and what the last order to stop was for.
type history struct {
	group
	memory   memory
	seen     int32  // the greatest generation of the memory and the members
	unsure   []bool // by member: may have missed the last answer or be acting on it, so what it says it revoked may still run
	newcomer []bool // by instance: the memory does not know it; without memory nobody is one
}

// memory is the previous assignment by dense numbers. Without one, prev is nil and gen 0.
type memory struct {
	prev       *Assignment
	gen        int32
	instances  []remembered // those it knows, sorted by name
	instanceOf []int32      // of each of prev.Members, an index in instances
	present    []int32      // the member of each of prev.Members, none where it is gone
	lastRan    []int32      // by task of the topology, see lastRun; nil until somebody asks
	revokes    []revoke     // sorted by task, then member
}

// remembered is an instance that the memory knows.
type remembered struct {
	name    string
	present int32 // the instance of that name in this round, or none
	leaving bool  // all its members were leaving
	absent  time.Duration
}

// revoke is an order to stop that the last round gave. Its task may have left the topology since, so it has its name still.
type revoke struct {
	task   TaskID
	member int32 // index in prev.Members
}

// nobody in memory.lastRan: the memory does not know who ran the task.
const nobody = int32(-1 << 31)

// historySpace is the arrays that a history works in.
type historySpace struct{ rememberedRows arena[remembered] }

// begin makes the arrays ready for a round.
func (s *historySpace) begin() { s.rememberedRows.begin() }

// end forgets the names that the round was given.
func (s *historySpace) end() { clear(s.rememberedRows.block) }

// recall takes prev as the memory, unless a member reports a later generation: then what prev says is stale (R0.1).
//
//	memory 7, members report 7 7 6    the memory counts; who reports 6 may have missed 7 or be acting on it
//	memory 7, members report 8 7 7    there was a leader that this one knows nothing of: no memory
//
// A member that the memory does not know, or that reports generation 0, is not unsure: it was never told anything that it could
// have missed.
func recall(g group, prev *Assignment, s *historySpace) history {
	h := history{group: g}
	known := h.bools.zeros(len(h.members) + len(h.instances))
	h.unsure, h.newcomer = known[:len(h.members)], known[len(h.members):]
	for m := range h.members {
		h.seen = max(h.seen, h.members[m].gen)
	}
	if prev == nil || knownGeneration(prev.Generation) < h.seen {
		h.doubtBehind()
		return h
	}
	h.memory.prev = prev
	h.memory.gen = knownGeneration(prev.Generation)
	h.seen = h.memory.gen
	h.indexRemembered(s)
	h.rememberRevokes()
	for _, m := range h.memory.present {
		if m != none {
			gen := h.members[m].gen
			h.unsure[m] = gen != 0 && gen < h.memory.gen
		}
	}
	for i := range h.newcomer {
		h.newcomer[i] = true
	}
	for _, known := range h.memory.instances {
		if known.present != none {
			h.newcomer[known.present] = false
		}
	}
	return h
}

// doubtBehind is for a round without memory: members behind the newest generation may be about to run what they revoked.
func (h *history) doubtBehind() {
	for m := range h.members {
		h.unsure[m] = h.members[m].gen < h.seen
	}
}

// indexRemembered finds the instances that the memory knows. Most of the group is the same and in the same order, which makes
// this a walk along both: each name is looked for where the one before was found.
func (h *history) indexRemembered(s *historySpace) {
	mem := &h.memory
	mem.instances = s.rememberedRows.take(len(mem.prev.Members) + len(mem.prev.Departed))[:0]
	for i := range mem.prev.Members {
		ma := &mem.prev.Members[i]
		mem.instances = append(mem.instances, remembered{name: ma.instanceName(), leaving: ma.Leaving})
	}
	for i := range mem.prev.Departed {
		d := &mem.prev.Departed[i]
		absent := level.Add(max(0, d.Absent), max(0, h.config.SincePrevious))
		mem.instances = append(mem.instances, remembered{name: d.Instance, absent: absent})
	}
	byName := func(a, b remembered) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(mem.instances, byName) {
		slices.SortStableFunc(mem.instances, byName)
	}
	mem.instances = mergeRemembered(mem.instances)
	next := int32(0)
	for i := range mem.instances {
		mem.instances[i].present = h.instanceNamed(mem.instances[i].name, next)
		next = max(next, mem.instances[i].present+1)
	}
	mem.instanceOf = h.int32s.take(len(mem.prev.Members))
	mem.present = h.int32s.take(len(mem.prev.Members))
	nextInstance, nextMember := int32(0), int32(0)
	for i := range mem.prev.Members {
		ma := &mem.prev.Members[i]
		mem.instanceOf[i] = mem.named(ma.instanceName(), nextInstance)
		nextInstance = mem.instanceOf[i] + 1
		mem.present[i] = h.memberNamed(ma.Member, nextMember)
		nextMember = max(nextMember, mem.present[i]+1)
	}
}

// mergeRemembered makes one instance of each run of equal names. One that took part in the last round was present then, so its
// absence starts anew: stable order keeps it before its own departure.
func mergeRemembered(sorted []remembered) []remembered {
	merged := sorted[:0]
	for _, h := range sorted {
		if last := len(merged) - 1; last >= 0 && merged[last].name == h.name {
			merged[last].leaving = merged[last].leaving && h.leaving
			continue
		}
		merged = append(merged, h)
	}
	return merged
}

// named returns the number of an instance that the memory knows; guess is where it probably is.
func (mem *memory) named(name string, guess int32) int32 {
	if int(guess) < len(mem.instances) && mem.instances[guess].name == name {
		return guess
	}
	i, _ := slices.BinarySearchFunc(mem.instances, name, func(r remembered, name string) int { return cmp.Compare(r.name, name) })
	return int32(i)
}

// rememberRevokes collects what was to be stopped. Whom it was stopped for the memory does not say; handoverOrdered and
// stoppedOn find out by what else it says.
func (h *history) rememberRevokes() {
	mem := &h.memory
	for i := range mem.prev.Members {
		for _, id := range mem.prev.Members[i].Revoke {
			mem.revokes = append(mem.revokes, revoke{id, int32(i)})
		}
	}
	slices.SortFunc(mem.revokes, func(a, b revoke) int {
		return cmp.Or(a.task.Compare(b.task), cmp.Compare(a.member, b.member))
	})
}

// lastRun returns who ran a task in the last round: an index in prev.Members, or where the task was awaited ^(index in
// prev.Departed), or nobody.
func (h *history) lastRun(t int32) int32 {
	if h.memory.prev == nil {
		return nobody
	}
	if h.memory.lastRan == nil {
		h.rememberOwners()
	}
	return h.memory.lastRan[t]
}

// rememberOwners notes who ran each task of the topology in the last round. Most rounds never ask: every task has an owner.
func (h *history) rememberOwners() {
	mem := &h.memory
	mem.lastRan = h.filled(int(h.topology.size()), nobody)
	for i := range mem.prev.Members {
		h.rememberOwner(mem.prev.Members[i].Active, int32(i))
	}
	for i := range mem.prev.Departed {
		h.rememberOwner(mem.prev.Departed[i].Tasks, ^int32(i))
	}
}

// rememberOwner notes that who ran these tasks. The first to say so counts; a valid memory has each task once.
func (h *history) rememberOwner(ids []TaskID, who int32) {
	lastRan := h.memory.lastRan
	tasks := h.topology.cursor()
	for _, id := range ids {
		if t := tasks.number(id); t != none && lastRan[t] == nobody {
			lastRan[t] = who
		}
	}
}

// lastInstance returns the instance that the memory gave a task to, nil where it knows none.
func (h *history) lastInstance(t int32) *remembered {
	mem := &h.memory
	switch who := h.lastRun(t); {
	case who == nobody:
		return nil
	case who >= 0:
		return &mem.instances[mem.instanceOf[who]]
	default:
		return &mem.instances[mem.named(mem.prev.Departed[^who].Instance, 0)]
	}
}

// lastRevokes returns the orders of the last round to stop a task.
func (h *history) lastRevokes(t int32) []revoke {
	revokes := h.memory.revokes
	if len(revokes) == 0 {
		return nil
	}
	id := h.topology.id(t)
	first, _ := slices.BinarySearchFunc(revokes, id, func(rv revoke, id TaskID) int { return rv.task.Compare(id) })
	end := first
	for end < len(revokes) && revokes[end].task == id {
		end++
	}
	return revokes[first:end]
}

// stoppedOn returns the instance that the last round told to stop the task, none where that instance has gone or leaves, or
// where several were told: that was a conflict, and says nothing of where the task should be.
func (h *history) stoppedOn(t int32) int32 {
	revokes := h.lastRevokes(t)
	if len(revokes) != 1 {
		return none
	}
	i := h.memory.instances[h.memory.instanceOf[revokes[0].member]].present
	if i == none || !h.instances[i].stays {
		return none
	}
	return i
}

// revokedBefore reports whether the last round ordered the member to stop the task already (R2.3).
func (h *history) revokedBefore(t, m int32) bool {
	for _, rv := range h.lastRevokes(t) {
		if h.memory.prev.Members[rv.member].Member == h.members[m].in.ID {
			return true
		}
	}
	return false
}

// Recover returns the memory of a new leader: the newest Memory that a member echoes, unless a member knows of a later generation
// than that, else one rebuilt from what the members report. A Memory that is newer than its carrier's own Generation is not taken,
// since its carrier has not acted on that answer, and perhaps nobody has; that there was such a generation counts all the same. In
// a rebuilt one, who has a generation is known (the others are newcomers), each task is with the member that claims it in the
// highest generation (with nobody where several do), and absences are lost.
//
// It is also a safe answer where [Assign] fails, in that nobody gains a task by it. Members without an id are left out, and of
// several with one id the first in the order of the argument counts. The result shares nothing with members and is never nil.
// It costs O(n) in the tasks that the members report, and O(n log n) where their lists are not sorted or partitions have numbers
// far above how many are reported.
func Recover(members []Member) *Assignment {
	newest := int32(0)
	var echoed *Assignment
	for i := range members {
		carrier := knownGeneration(members[i].Generation)
		newest = max(newest, carrier)
		mem := members[i].Memory
		if mem == nil {
			continue
		}
		gen := knownGeneration(mem.Generation)
		newest = max(newest, gen)
		if gen <= carrier && (echoed == nil || gen > knownGeneration(echoed.Generation)) {
			echoed = mem
		}
	}
	if echoed != nil && knownGeneration(echoed.Generation) >= newest {
		return echoed.clone()
	}
	return rebuild(members, newest)
}

// rebuild makes a memory of what the members report.
//
//	S1 generation 7 runs T1 T2    S2 generation 6 runs T2 T3    S3 none
//	S1: T1 T2                     S2: T3                        not in it, so a newcomer
//
// Revokes are not in it, since nobody reports an order to stop but by having obeyed; nor is anybody who is not there.
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
	owners, n := soleOwners(&tasks, members)
	block := make([]TaskID, 0, n)
	for m, mb := range members {
		cursor, first := tasks.cursor(), len(block)
		for _, list := range mb.claims() {
			for _, id := range list {
				if t := cursor.numberOfAny(id); owners[t] == int32(m)+1 {
					owners[t] = 0 // a member may claim a task twice
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

// soleOwners returns, by task, the member with the only claim of the highest generation, counted from 1, and how many tasks have
// one. Where several claim a task in that generation, the number is negative.
func soleOwners(tasks *topology, members []*Member) (owners []int32, n int) {
	owners = make([]int32, tasks.all())
	for m, mb := range members {
		cursor, self, gen := tasks.cursor(), int32(m)+1, knownGeneration(mb.Generation)
		for _, list := range mb.claims() {
			for _, id := range list {
				h := &owners[cursor.numberOfAny(id)]
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
	for _, h := range owners {
		if h > 0 {
			n++
		}
	}
	return owners, n
}

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
