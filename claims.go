package assignor

import (
	"cmp"
	"slices"
)

// claim says that a member runs a task, or ran it until now.
type claim struct {
	task, member int32
	runs         bool
	certain      bool // it reports to run it, while other claims to run it say that it may
}

// claims is who runs what, as far as members and memory say (R0.2, R0.3). From here on a task has one owner at most: the member that
// may go on with it, or whose state is the newest where nobody may.
//
//	S1 generation 7 Active T1, S2 generation 6 Active T1     owner S1, and S2 has to stop (a revocation)
//	S1 and S2 both generation 7, both Active T1              owner S1, fenced: both have to stop
//	S1 generation 7 Revoked T1, nobody else                  owner S1, stopped: it may move at once
type claims struct {
	history
	owner       []int32 // by task, foreign ones included: the member that runs it, or stopped it for this round; none where nobody claims it
	stopped     []bool  // by task: the owner has stopped it; nil where none has
	claimed     int     // tasks of the topology that have an owner
	fenced      []int32 // tasks that several may run: nobody does until all but the owner have stopped
	revocations []claim // who has to stop a task because somebody else claims it too, in task order
}

// eachClaim calls f for every task that a member runs or ran until now, in member order: what it reports, and for a member that
// may be acting on the last answer also what that gave it (R0.2). What such a member says that it stopped, it may have started
// again since; so it counts as running.
//
// certain says that the member reports to run the tasks, while others only may.
func (h *history) eachClaim(f func(ids []TaskID, member int32, run, certain bool)) {
	for m := range h.members {
		mb := &h.members[m]
		f(mb.in.Active, int32(m), true, true)
		f(mb.in.Revoked, int32(m), h.unsure[m], false)
	}
	if h.memory.prev == nil {
		return
	}
	for i, m := range h.memory.present {
		if m != none && h.unsure[m] {
			f(h.memory.prev.Members[i].Active, m, true, false)
		}
	}
}

// readClaims finds the owner of every task: the member with the highest generation of those that claim it (R0.3).
//
// It takes the first claimant for the owner and sets the others aside, since in nearly all rounds there are none: only
// contested tasks are sorted. It costs O(claims), and O(n log n) in the contested ones.
func readClaims(h history) claims {
	r := claimReader{claims: claims{history: h}}
	r.owner = r.filled(int(r.topology.size()), none)
	r.eachClaim(r.claimAll)
	if len(r.foreign) > 0 {
		r.claimForeign()
	}
	r.settleContested()
	return r.claims
}

// claimReader is the state of readClaims: the claims that are yet to be settled.
type claimReader struct {
	claims
	contested []claim        // claims on tasks that somebody else claims too
	foreign   []foreignClaim // claims on tasks that the topology does not have
}

// claimAll notes that a member runs these tasks, or ran them until now. It is where most of a quiet round's time goes.
func (r *claimReader) claimAll(ids []TaskID, m int32, run, certain bool) {
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
func (r *claimReader) claimUnknown(id TaskID, x claim) {
	if id.valid() {
		r.foreign = append(r.foreign, foreignClaim{id, x})
	}
}

// claimAgain notes a claim on a task that has one, or of a member that has stopped it. A member may claim a task twice; then it
// runs it if either says so.
func (r *claimReader) claimAgain(x claim) {
	switch r.owner[x.task] {
	case none:
		r.owner[x.task] = x.member
		r.claimed++
		r.setRunning(x.task, x.runs)
	case x.member:
		r.setRunning(x.task, x.runs || r.running(x.task))
	default:
		r.contested = append(r.contested, x)
	}
}

// foreignClaim is a claim on a task that the topology does not have: of a subtopology that has been removed, or one that this
// leader does not know yet.
type foreignClaim struct {
	id TaskID
	claim
}

// claimForeign numbers the foreign tasks behind those of the topology and notes the claims on them. They do not count as
// claimed: who wants to know whether all tasks have an owner means the topology's.
func (r *claimReader) claimForeign() {
	ids := make([]TaskID, len(r.foreign))
	for k, f := range r.foreign {
		ids[k] = f.id
	}
	r.topology.foreign = sortedTasks(ids)
	r.owner = append(r.owner, r.filled(len(r.topology.foreign), none)...)
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
// claimant, which readClaims has taken for the owner; nobody remembers whether that one was certain, so it is looked up.
func (r *claimReader) settleContested() {
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
func (c *claims) certainOwners() []bool {
	certain := c.bools.zeros(c.topology.all())
	c.eachClaim(func(ids []TaskID, m int32, _, sure bool) {
		if !sure {
			return
		}
		for _, id := range ids {
			if t := c.topology.number(id); t != none && c.owner[t] == m {
				certain[t] = true
			}
		}
	})
	return certain
}

// mergeClaims sorts the claims of one task, the highest generation first, and leaves one claim a member: it runs the task if
// any of its claims says so.
func (g *group) mergeClaims(claims []claim) []claim {
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(g.members[b.member].gen, g.members[a.member].gen), cmp.Compare(a.member, b.member))
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

// settleClaims names the owner of a task and makes every other member that runs it stop. An owner at the top that reports to
// run it goes on.
//
//	S1 gen 7 runs, S2 gen 6 runs       S1 goes on, S2 stops
//	S1 gen 7 runs, S2 gen 7 runs       both stop, and S1 owns it: it keeps the state, and starts in the next round
//	S1 gen 7 stopped, S2 gen 6 runs    both are told to stop; the next round decides, when it is sure that nobody runs it
//
// Where the owner has stopped, or may have, or where several at the top run the task, nobody runs it in this round, and the
// owner is told to stop too: it keeps the state, and two orders to stop one task are no handover (R1.1).
func (c *claims) settleClaims(t int32, claims []claim) {
	top := c.members[claims[0].member].gen
	owner, running, runningAtTop := claims[0], 0, 0
	for _, x := range claims {
		if !x.runs {
			continue
		}
		running++
		if c.members[x.member].gen != top {
			continue
		}
		if runningAtTop++; runningAtTop == 1 {
			owner = x
		}
	}
	c.owner[t] = owner.member
	c.setRunning(t, owner.runs)
	fence := running > 0 && runningAtTop != 1 || running > 1 && !owner.certain
	if fence {
		c.fenced = append(c.fenced, t)
	}
	for _, x := range claims {
		if x == owner && fence || x != owner && x.runs {
			c.revocations = append(c.revocations, claim{t, x.member, true, x.certain})
		}
	}
}

// revocationsOf returns who has to stop a task for a conflict. In nearly all rounds nobody has to stop any.
func (c *claims) revocationsOf(t int32) []claim {
	if len(c.revocations) == 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(c.revocations, t, func(x claim, t int32) int { return cmp.Compare(x.task, t) })
	end := first
	for end < len(c.revocations) && c.revocations[end].task == t {
		end++
	}
	return c.revocations[first:end]
}

// running reports whether the owner of a task has not stopped it.
func (c *claims) running(t int32) bool { return c.stopped == nil || !c.stopped[t] }

// setRunning notes whether the owner of a task still runs it. Nothing is stored as long as all owners do.
func (c *claims) setRunning(t int32, run bool) {
	if c.stopped == nil {
		if run {
			return
		}
		c.stopped = c.bools.zeros(c.topology.all())
	}
	c.stopped[t] = !run
}
