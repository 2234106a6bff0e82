package assignor

import (
	"cmp"
	"slices"
	"time"
)

// status is what the round has decided of a task so far.
type status uint8

const (
	unplaced status = iota
	placed          // dest runs it, at once or as soon as its owner has stopped
	fenced          // several may run it: nobody does until all but its owner have stopped
	awaited         // waits for its instance to come back
	shed            // its owner stops it, so that the next round can place it on the instance that the counts call for
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
	for i := range r.memory.prev.Members {
		if m := r.memberNamed(prev.Members[i].Member); m != none {
			mb := &r.members[m]
			mb.unsure = mb.gen != 0 && mb.gen < r.memory.gen
		}
	}
	for i := range r.instances {
		_, known := r.holderNamed(r.instances[i].name)
		r.instances[i].newcomer = !known
	}
}

// markUnsure is for a round without memory: members behind the newest generation may be about to run what they revoked.
func (r *round) markUnsure(newest int32) {
	for m := range r.members {
		r.members[m].unsure = r.members[m].gen < newest
	}
}

func (r *round) indexHolders() {
	mem := &r.memory
	for i := range mem.prev.Members {
		ma := &mem.prev.Members[i]
		mem.holders = append(mem.holders, holder{name: ma.instanceName(), leaving: ma.Leaving})
	}
	for i := range mem.prev.Departed {
		d := &mem.prev.Departed[i]
		absent := max(0, d.Absent) + max(0, r.config.SincePrevious)
		mem.holders = append(mem.holders, holder{name: d.Instance, absent: absent})
	}
	slices.SortStableFunc(mem.holders, func(a, b holder) int { return cmp.Compare(a.name, b.name) })
	mem.holders = mergeHolders(mem.holders)
	for i := range mem.holders {
		mem.holders[i].present = r.instanceNamed(mem.holders[i].name)
	}
	mem.holderOf = make([]int32, len(mem.prev.Members))
	for i := range mem.prev.Members {
		mem.holderOf[i], _ = r.holderNamed(mem.prev.Members[i].instanceName())
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

func (r *round) holderNamed(name string) (int32, bool) {
	h, ok := slices.BinarySearchFunc(r.memory.holders, name, func(h holder, name string) int { return cmp.Compare(h.name, name) })
	return int32(h), ok
}

// findForeignTasks numbers the tasks that members run and the topology does not have.
func (r *round) findForeignTasks() {
	var foreign []TaskID
	r.eachClaim(func(id TaskID, _ claim) {
		if r.topology.number(id) == none {
			foreign = append(foreign, id)
		}
	})
	r.topology.foreign = sortedTasks(foreign)
}

// eachClaim calls f for every task that a member runs or ran until now, in member order: what it reports, and for a member
// that may be acting on the last answer also what that gave it (R0). The number of the task is not set.
func (r *round) eachClaim(f func(id TaskID, c claim)) {
	for m := range r.members {
		mb := &r.members[m]
		for _, id := range mb.in.Active {
			f(id, claim{none, int32(m), true, true})
		}
		for _, id := range mb.in.Revoked {
			f(id, claim{none, int32(m), mb.unsure, false})
		}
	}
	if r.memory.prev == nil {
		return
	}
	for i := range r.memory.prev.Members {
		ma := &r.memory.prev.Members[i]
		m := r.memberNamed(ma.Member)
		if m == none || !r.members[m].unsure {
			continue
		}
		for _, id := range ma.Active {
			f(id, claim{none, m, true, false})
		}
	}
}

// readClaims finds the owner of every task: the member with the highest generation of those that claim it (R0).
func (r *round) readClaims() {
	n := r.topology.all()
	r.owner = filled(n, none)
	r.running = make([]bool, n)
	r.status = make([]status, n)
	certain := make([]bool, n)
	var contested []claim
	r.eachClaim(func(id TaskID, c claim) {
		t := r.topology.number(id)
		switch r.owner[t] {
		case none:
			r.owner[t], r.running[t], certain[t] = c.member, c.runs, c.certain
		case c.member:
			r.running[t], certain[t] = r.running[t] || c.runs, certain[t] || c.certain
		default:
			c.task = t
			contested = append(contested, c)
		}
	})
	r.settleContested(contested, certain)
}

// settleContested decides the tasks that more than one member claims. The claims of a task start with that of its first
// claimant, which readClaims has taken for the owner; certain is of that one.
func (r *round) settleContested(contested []claim, certain []bool) {
	slices.SortFunc(contested, func(a, b claim) int { return cmp.Compare(a.task, b.task) })
	var claims []claim
	for i := 0; i < len(contested); {
		t := contested[i].task
		claims = append(claims[:0], claim{t, r.owner[t], r.running[t], certain[t]})
		for ; i < len(contested) && contested[i].task == t; i++ {
			claims = append(claims, contested[i])
		}
		r.settleClaims(t, r.mergeClaims(claims))
	}
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
	r.owner[t], r.running[t] = owner.member, owner.runs
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

// readMemory finds who ran each task in the last round, for the tasks that nobody claims, and what was to be stopped.
func (r *round) readMemory() {
	mem := &r.memory
	if mem.prev == nil {
		return
	}
	for i := range mem.prev.Members {
		for _, id := range mem.prev.Members[i].Active {
			r.rememberOwner(id, int32(i))
		}
		for _, id := range mem.prev.Members[i].Revoke {
			if t := r.topology.number(id); t != none {
				mem.revokes = append(mem.revokes, revoke{t, int32(i)})
			}
		}
	}
	for i := range mem.prev.Departed {
		for _, id := range mem.prev.Departed[i].Tasks {
			r.rememberOwner(id, ^int32(i))
		}
	}
	slices.SortFunc(mem.revokes, func(a, b revoke) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.member, b.member))
	})
}

func (r *round) rememberOwner(id TaskID, who int32) {
	t := r.topology.number(id)
	if t == none || t >= r.topology.size() {
		return
	}
	mem := &r.memory
	if mem.lastRan == nil {
		mem.lastRan = filled(int(r.topology.size()), nobody)
	}
	if mem.lastRan[t] == nobody {
		mem.lastRan[t] = who
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
		h, _ := r.holderNamed(mem.prev.Departed[^who].Instance)
		return &mem.holders[h]
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
