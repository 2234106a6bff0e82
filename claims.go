package assignor

import (
	"cmp"
	"slices"
	"time"
)

// status is what the round has decided of a task so far.
type status uint8

const (
	placed   status = iota // dest runs it, at once or as soon as its owner has stopped
	unplaced               // an orphan, or not looked at yet
	fenced                 // several may run it: nobody does until all but its owner have stopped
	awaited                // waits for its instance to come back
	shed                   // its owner stops it, so that the next round can place it on the instance that the counts call for
)

// claim says that a member runs a task, or ran it until now.
type claim struct {
	task, member int32
	runs         bool
	certain      bool // it reports to run it, while other claims to run it say that it may
}

// memory is the previous assignment by dense numbers. Without one, gen is 0 and lastRan is nil.
type memory struct {
	prev     *Assignment
	gen      int32
	holders  []holder // the instances it knows, sorted by name
	holderOf []int32  // of each of prev.Members
	present  []int32  // the member of each of prev.Members, none where it is gone
	lastRan  []int32  // by task: who ran it, an index in prev.Members, or where it was awaited: ^(index in prev.Departed)
	revokes  []revoke // sorted by task, then member
}

// holder is an instance that the memory knows.
type holder struct {
	name    string
	present int32 // the instance of that name in this round, or none
	leaving bool  // all its members were leaving
	absent  time.Duration
}

// revoke is an order to stop that the last round gave.
type revoke struct {
	task   int32
	member int32 // index in prev.Members
}

// nobody in memory.lastRan: the memory does not know who ran the task.
const nobody = int32(-1 << 31)

// adoptMemory takes prev as the memory, unless a member reports a later generation: then what prev says is stale (R0).
func (r *round) adoptMemory(prev *Assignment) {
	for m := range r.members {
		r.seen = max(r.seen, r.members[m].gen)
	}
	if prev == nil || knownGeneration(prev.Generation) < r.seen {
		r.markUnsure(r.seen)
		return
	}
	r.memory.prev = prev
	r.memory.gen = knownGeneration(prev.Generation)
	r.seen = r.memory.gen
	r.indexHolders()
	for _, m := range r.memory.present {
		if m != none {
			mb := &r.members[m]
			mb.unsure = mb.gen != 0 && mb.gen < r.memory.gen
		}
	}
	for i := range r.instances {
		r.instances[i].newcomer = true
	}
	for _, h := range r.memory.holders {
		if h.present != none {
			r.instances[h.present].newcomer = false
		}
	}
}

// markUnsure is for a round without memory: members behind the newest generation may be about to run what they revoked.
func (r *round) markUnsure(newest int32) {
	for m := range r.members {
		r.members[m].unsure = r.members[m].gen < newest
	}
}

// indexHolders finds the instances that the memory knows. Most of the group is the same and in the same order, which makes this
// a walk along both.
func (r *round) indexHolders() {
	mem := &r.memory
	mem.holders = r.holderRows.take(len(mem.prev.Members) + len(mem.prev.Departed))[:0]
	for i := range mem.prev.Members {
		ma := &mem.prev.Members[i]
		mem.holders = append(mem.holders, holder{name: ma.instanceName(), leaving: ma.Leaving})
	}
	for i := range mem.prev.Departed {
		d := &mem.prev.Departed[i]
		absent := max(0, d.Absent) + max(0, r.config.SincePrevious)
		mem.holders = append(mem.holders, holder{name: d.Instance, absent: absent})
	}
	byName := func(a, b holder) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(mem.holders, byName) {
		slices.SortStableFunc(mem.holders, byName)
	}
	mem.holders = mergeHolders(mem.holders)
	next := int32(0)
	for i := range mem.holders {
		mem.holders[i].present = r.instanceNamed(mem.holders[i].name, next)
		next = max(next, mem.holders[i].present+1)
	}
	mem.holderOf = r.int32s.take(len(mem.prev.Members))
	mem.present = r.int32s.take(len(mem.prev.Members))
	nextHolder, nextMember := int32(0), int32(0)
	for i := range mem.prev.Members {
		ma := &mem.prev.Members[i]
		mem.holderOf[i] = r.holderNamed(ma.instanceName(), nextHolder)
		nextHolder = mem.holderOf[i] + 1
		mem.present[i] = r.memberNamed(ma.Member, nextMember)
		nextMember = max(nextMember, mem.present[i]+1)
	}
}

// mergeHolders makes one holder of each run of equal names. One that took part in the last round was present then, so its
// absence starts anew: stable order keeps it before its own departure.
func mergeHolders(sorted []holder) []holder {
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

func (ma *MemberAssignment) instanceName() string {
	if ma.Instance == "" {
		return ma.Member
	}
	return ma.Instance
}

// holderNamed returns the number of an instance that the memory knows; guess is where it probably is.
func (r *round) holderNamed(name string, guess int32) int32 {
	holders := r.memory.holders
	if int(guess) < len(holders) && holders[guess].name == name {
		return guess
	}
	h, _ := slices.BinarySearchFunc(holders, name, func(h holder, name string) int { return cmp.Compare(h.name, name) })
	return int32(h)
}

// eachClaim calls f for every task that a member runs or ran until now, in member order: what it reports, and for a member
// that may be acting on the last answer also what that gave it (R0).
// certain says that the member reports to run the tasks, while others may.
func (r *round) eachClaim(f func(ids []TaskID, member int32, run, certain bool)) {
	for m := range r.members {
		mb := &r.members[m]
		f(mb.in.Active, int32(m), true, true)
		f(mb.in.Revoked, int32(m), mb.unsure, false)
	}
	if r.memory.prev == nil {
		return
	}
	for i, m := range r.memory.present {
		if m != none && r.members[m].unsure {
			f(r.memory.prev.Members[i].Active, m, true, false)
		}
	}
}

// readClaims finds the owner of every task: the member with the highest generation of those that claim it (R0).
func (r *round) readClaims() {
	r.owner = r.filled(int(r.topology.size()), none)
	r.status = r.statuses.zeros(int(r.topology.size()))
	r.eachClaim(r.claimAll)
	if len(r.foreign) > 0 {
		r.claimForeign()
	}
	r.settleContested()
}

// claimAll notes that a member runs these tasks, or ran them until now. It is where most of a quiet round's time goes.
func (r *round) claimAll(ids []TaskID, m int32, run, certain bool) {
	owner, claimed := r.owner, 0
	tasks := r.topology.cursor()
	for _, id := range ids {
		switch t := tasks.number(id); {
		case t == none:
			r.claimUnknown(id, claim{none, m, run, certain})
		case run && owner[t] == none:
			owner[t] = m
			claimed++
		default:
			r.claimAgain(claim{t, m, run, certain})
		}
	}
	r.claimed += claimed
}

// claimUnknown notes a claim on a task that the topology does not have. Where no such task can be, nobody runs it.
func (r *round) claimUnknown(id TaskID, c claim) {
	if id.valid() {
		r.foreign = append(r.foreign, foreignClaim{id, c})
	}
}

// claimAgain notes a claim on a task that has one, or of a member that has stopped it.
func (r *round) claimAgain(c claim) {
	switch r.owner[c.task] {
	case none:
		r.owner[c.task] = c.member
		r.claimed++
		r.setRunning(c.task, c.runs)
	case c.member:
		r.setRunning(c.task, c.runs || r.running(c.task))
	default:
		r.contested = append(r.contested, c)
	}
}

// foreignClaim is a claim on a task that the topology does not have.
type foreignClaim struct {
	id TaskID
	claim
}

// claimForeign numbers the foreign tasks behind those of the topology and notes the claims on them.
func (r *round) claimForeign() {
	ids := make([]TaskID, len(r.foreign))
	for k, f := range r.foreign {
		ids[k] = f.id
	}
	r.topology.foreign = sortedTasks(ids)
	r.owner = append(r.owner, r.filled(len(r.topology.foreign), none)...)
	r.status = append(r.status, make([]status, len(r.topology.foreign))...)
	if r.stopped != nil {
		r.stopped = append(r.stopped, make([]bool, len(r.topology.foreign))...)
	}
	own := r.claimed
	for _, f := range r.foreign {
		f.task = r.topology.number(f.id)
		r.claimAgain(f.claim)
	}
	r.claimed = own
}

// settleContested decides the tasks that more than one member claims. The claims of a task start with that of its first
// claimant, which readClaims has taken for the owner.
func (r *round) settleContested() {
	contested := r.contested
	if len(contested) == 0 {
		return
	}
	certain := r.certainOwners()
	slices.SortFunc(contested, func(a, b claim) int { return cmp.Compare(a.task, b.task) })
	var claims []claim
	for i := 0; i < len(contested); {
		t := contested[i].task
		claims = append(claims[:0], claim{t, r.owner[t], r.running(t), certain[t]})
		for ; i < len(contested) && contested[i].task == t; i++ {
			claims = append(claims, contested[i])
		}
		r.settleClaims(t, r.mergeClaims(claims))
	}
}

// certainOwners returns, by task, whether its first claimant reports to run it. Only contested tasks ask.
func (r *round) certainOwners() []bool {
	certain := r.bools.zeros(r.topology.all())
	r.eachClaim(func(ids []TaskID, m int32, _, sure bool) {
		if !sure {
			return
		}
		for _, id := range ids {
			if t := r.topology.number(id); t != none && r.owner[t] == m {
				certain[t] = true
			}
		}
	})
	return certain
}

// mergeClaims sorts the claims of one task, the highest generation first, and leaves one claim a member.
func (r *round) mergeClaims(claims []claim) []claim {
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(r.members[b.member].gen, r.members[a.member].gen), cmp.Compare(a.member, b.member))
	})
	merged := claims[:0]
	for _, c := range claims {
		if last := len(merged) - 1; last >= 0 && merged[last].member == c.member {
			merged[last].runs = merged[last].runs || c.runs
			merged[last].certain = merged[last].certain || c.certain
			continue
		}
		merged = append(merged, c)
	}
	return merged
}

// settleClaims names the owner of a task and makes every other member that runs it stop. An owner at the top that reports to run
// it goes on; where it has stopped, or may have, or where several at the top run it, nobody runs it in this round, and the owner
// is told to stop too: it keeps the state, and two orders to stop one task are no handover (R1.1).
func (r *round) settleClaims(t int32, claims []claim) {
	top := r.members[claims[0].member].gen
	owner, running, runningAtTop := claims[0], 0, 0
	for _, c := range claims {
		if !c.runs {
			continue
		}
		running++
		if r.members[c.member].gen != top {
			continue
		}
		if runningAtTop++; runningAtTop == 1 {
			owner = c
		}
	}
	r.owner[t] = owner.member
	r.setRunning(t, owner.runs)
	if running > 0 && runningAtTop != 1 || running > 1 && !owner.certain {
		r.status[t] = fenced
	}
	for _, c := range claims {
		if c == owner && r.status[t] == fenced || c != owner && c.runs {
			r.revocations = append(r.revocations, claim{t, c.member, true, c.certain})
			r.note(MoveRevoke, ReasonConflict, t, c.member, none)
		}
	}
}

// revocationsOf returns who has to stop a task for a conflict.
func (r *round) revocationsOf(t int32) []claim {
	if len(r.revocations) == 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(r.revocations, t, func(c claim, t int32) int { return cmp.Compare(c.task, t) })
	end := first
	for end < len(r.revocations) && r.revocations[end].task == t {
		end++
	}
	return r.revocations[first:end]
}

// readMemory finds who ran each task in the last round, for the tasks that nobody claims, and what was to be stopped (and for whom:
// see handoverOrdered).
func (r *round) readMemory() {
	mem := &r.memory
	if mem.prev == nil {
		return
	}
	for i := range mem.prev.Members {
		for _, id := range mem.prev.Members[i].Revoke {
			if t := r.topology.number(id); t != none {
				mem.revokes = append(mem.revokes, revoke{t, int32(i)})
			}
		}
	}
	if r.claimed < int(r.topology.size()) || len(mem.revokes) > 0 {
		r.rememberOwners()
	}
	slices.SortFunc(mem.revokes, func(a, b revoke) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.member, b.member))
	})
}

// rememberOwners notes who ran each task of the topology in the last round.
func (r *round) rememberOwners() {
	mem := &r.memory
	mem.lastRan = r.filled(int(r.topology.size()), nobody)
	for i := range mem.prev.Members {
		r.rememberOwner(mem.prev.Members[i].Active, int32(i))
	}
	for i := range mem.prev.Departed {
		r.rememberOwner(mem.prev.Departed[i].Tasks, ^int32(i))
	}
}

func (r *round) rememberOwner(ids []TaskID, who int32) {
	lastRan := r.memory.lastRan
	tasks := r.topology.cursor()
	for _, id := range ids {
		if t := tasks.number(id); t != none && lastRan[t] == nobody {
			lastRan[t] = who
		}
	}
}

// lastRun returns who ran a task in the last round (an index in prev.Members, ^index in prev.Departed, or nobody).
func (r *round) lastRun(t int32) int32 {
	if r.memory.lastRan == nil {
		return nobody
	}
	return r.memory.lastRan[t]
}

// lastHolder returns the instance that the memory gave a task to, nil where it knows none.
func (r *round) lastHolder(t int32) *holder {
	mem := &r.memory
	switch who := r.lastRun(t); {
	case who == nobody:
		return nil
	case who >= 0:
		return &mem.holders[mem.holderOf[who]]
	default:
		return &mem.holders[r.holderNamed(mem.prev.Departed[^who].Instance, 0)]
	}
}

// lastRevokes returns the orders of the last round to stop a task.
func (r *round) lastRevokes(t int32) []revoke {
	revokes := r.memory.revokes
	if len(revokes) == 0 {
		return nil
	}
	byTask := func(rv revoke, t int32) int { return cmp.Compare(rv.task, t) }
	first, _ := slices.BinarySearchFunc(revokes, t, byTask)
	end := first
	for end < len(revokes) && revokes[end].task == t {
		end++
	}
	return revokes[first:end]
}

// revokedBefore reports whether the last round ordered the member to stop the task already (R2).
func (r *round) revokedBefore(t, m int32) bool {
	for _, rv := range r.lastRevokes(t) {
		if r.memory.prev.Members[rv.member].Member == r.members[m].in.ID {
			return true
		}
	}
	return false
}
