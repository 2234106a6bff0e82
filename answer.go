package assignor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// lists collects the tasks of every list of every member: entries, and for the active ones only how many each member has, since
// they can be read off the plan.
type lists struct {
	entries [numLists][]entry
	active  []int32 // by member
}

// entry puts a task in a list of a member.
type entry struct{ task, member int32 }

// listSpace is the arrays that the lists are worked out in.
type listSpace struct {
	entries   arena[entry]
	newCopies arena[newCopy]
}

func (s *listSpace) begin() {
	s.entries.begin()
	s.newCopies.begin()
}

func (l *lists) add(which list, t, m int32) {
	l.entries[which] = append(l.entries[which], entry{t, m})
}

// sort puts the entries of a list in task order, where they are not.
func (l *lists) sort(which list) {
	order := func(a, b entry) int { return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.member, b.member)) }
	if entries := l.entries[which]; !slices.IsSortedFunc(entries, order) {
		slices.SortFunc(entries, order)
	}
}

// answer writes down what the round has decided, with the members' names and the tasks' ids.
func (r *round) answer() *Assignment {
	l := &lists{active: r.int32s.zeros(len(r.members))}
	r.listRunning(l)
	r.listCopies(l)
	r.noteActives()
	a := &Assignment{
		Generation:      r.generation(),
		Members:         make([]MemberAssignment, len(r.members)),
		Departed:        r.departures(),
		MissingStandbys: r.standbys.missing,
	}
	for m := range r.members {
		in := r.members[m].in
		a.Members[m] = MemberAssignment{
			Member: in.ID, Instance: in.instanceName(), Leaving: in.Leaving, Version: in.Version, Generation: a.Generation,
		}
	}
	r.writeLists(l, a.Members)
	r.setDeadlines(l, a)
	if !slices.IsSortedFunc(r.moves, Move.compare) {
		slices.SortFunc(r.moves, Move.compare)
	}
	if len(r.moves) > 0 {
		a.Moves = slices.Clip(r.moves)
	}
	return a
}

// generation returns the caller's generation where that is greater than every one seen, else one more than the greatest.
func (h *history) generation() int32 {
	if g := h.config.Generation; g > h.seen && g != math.MaxInt32 {
		return g
	}
	return h.seen + 1
}

// listRunning lists what members run, what they must stop and what others learn meanwhile.
func (p *plan) listRunning(l *lists) {
	active, owner, status := l.active, p.owner[:len(p.dest)], p.status[:len(p.dest)]
	for t, m := range p.dest {
		if m >= 0 && status[t] == placed && (m == owner[t] || !p.mustStop(int32(t))) {
			active[m]++
		} else {
			p.listWaiting(l, int32(t))
		}
	}
	slices.Sort(p.learned)
	for _, t := range slices.Compact(p.learned) {
		if p.learnerAt(t) != none && !p.waits(t) {
			l.add(handoverList, t, p.by(t))
		}
	}
	for t := p.topology.size(); t < int32(p.topology.all()); t++ {
		if p.status[t] != fenced {
			l.active[p.owner[t]]++
		}
	}
	for _, c := range p.revocations {
		l.add(revokeList, c.task, c.member)
	}
	l.sort(handoverList)
	l.sort(revokeList)
}

// listWaiting lists a task of the topology that runs nowhere in this round.
func (p *plan) listWaiting(l *lists, t int32) {
	switch {
	case p.status[t] == shed:
		p.revoke(l, t, none)
	case p.status[t] == placed:
		p.revoke(l, t, p.by(t))
	}
}

// revoke makes the owner of a task stop it; to is who will run it, none where the next round says.
func (p *plan) revoke(l *lists, t, to int32) {
	l.add(revokeList, t, p.owner[t])
	p.note(MoveRevoke, p.whyOf(t), t, p.owner[t], to)
}

// noteActives records the tasks that run on another member than before. The first placement of a task nobody held is no move.
func (p *plan) noteActives() {
	slices.Sort(p.moved)
	p.moves = slices.Grow(p.moves, len(p.moved))
	for _, t := range slices.Compact(p.moved) {
		if p.waits(t) {
			continue
		}
		from, held := p.formerOwner(t)
		if to := p.nameOf(p.by(t)); from != to && (held || p.hasCopies(t)) {
			p.moves = append(p.moves, Move{p.topology.id(t), from, to, MoveActive, p.whyOf(t)})
		}
	}
}

// formerOwner returns the id of the member that ran the task until now, "" where nobody knows it, and whether anybody did.
func (c *claims) formerOwner(t int32) (id string, held bool) {
	if o := c.owner[t]; o != none {
		return c.nameOf(o), true
	}
	if who := c.lastRun(t); who >= 0 {
		return c.memory.prev.Members[who].Member, true
	} else if who != nobody {
		return "", true
	}
	if revokes := c.lastRevokes(t); len(revokes) > 0 {
		return c.memory.prev.Members[revokes[0].member].Member, true
	}
	return "", false
}

// writeLists writes the members' lists.
func (r *round) writeLists(l *lists, members []MemberAssignment) {
	total := sum(l.active) + sum(r.standbys.holds)
	for which := range l.entries {
		total += len(l.entries[which])
	}
	w := &writer{topology: &r.topology, members: members, block: make([]TaskID, total), next: l.active}
	r.writeActive(w)
	for which := handoverList; which < standbyList; which++ {
		if len(l.entries[which]) > 0 {
			w.writeEntries(which, l.entries[which])
		}
	}
	if len(l.entries[standbyList]) > 0 || r.standbys.holds != nil {
		r.writeStandbys(w, l.entries[standbyList])
	}
	if len(r.topology.foreign) == 0 {
		return
	}
	for m := range members { // foreign tasks have the last numbers, but their ids may come first
		slices.SortFunc(members[m].Active, TaskID.Compare)
		slices.SortFunc(members[m].Revoke, TaskID.Compare)
	}
}

// writer writes lists of the members, one sort after the other, all into one block. Where each list goes on is in an array of its
// own, since those of the MemberAssignments are too far apart to stay in a processor's first cache: that takes a sixth off a quiet
// round (BenchmarkAssign, 100 000 tasks on 1 000 members).
type writer struct {
	topology *topology
	members  []MemberAssignment
	block    []TaskID
	written  int32
	next     []int32 // by member: how long its list will be; between open and close where in the block it goes on
}

// open makes room for lists as long as next says.
func (w *writer) open() (block []TaskID, next []int32) {
	at := w.written
	for m, n := range w.next {
		w.next[m] = at
		at += n
	}
	return w.block, w.next
}

// close makes the lists, views of the block with no room to grow into each other. Those that have nothing stay nil.
func (w *writer) close(which list) {
	for m, end := range w.next {
		if end > w.written {
			*w.members[m].list(which) = w.block[w.written:end:end]
			w.written = end
		}
	}
	clear(w.next)
}

// writeActive writes what members run, by subtopology, so that a task's id costs nothing.
func (r *plan) writeActive(w *writer) {
	block, next := w.open()
	for s := range r.topology.subs {
		first, end, sub := r.topology.start[s], r.topology.start[s+1], r.topology.subs[s].ID
		owner, status := r.owner[first:end], r.status[first:end]
		for p, m := range r.dest[first:end] {
			if m >= 0 && status[p] == placed && (m == owner[p] || !r.mustStop(first+int32(p))) {
				block[next[m]] = TaskID{sub, int32(p)}
				next[m]++
			}
		}
	}
	for t := r.topology.size(); t < int32(r.topology.all()); t++ {
		if m := r.owner[t]; r.status[t] != fenced {
			block[next[m]] = r.topology.id(t)
			next[m]++
		}
	}
	w.close(activeList)
}

// writeEntries writes one sort of lists.
func (w *writer) writeEntries(which list, entries []entry) {
	for _, e := range entries {
		w.next[e.member]++
	}
	block, next := w.open()
	for _, e := range entries {
		block[next[e.member]] = w.topology.id(e.task)
		next[e.member]++
	}
	w.close(which)
}

// writeStandbys writes the standbys of whole tasks and the entries, in task order.
func (r *round) writeStandbys(w *writer, entries []entry) {
	copy(w.next, r.standbys.holds)
	for _, e := range entries {
		w.next[e.member]++
	}
	block, next := w.open()
	someWhole := r.standbys.holds != nil
	for s := range r.topology.subs {
		first, end, sub := r.topology.start[s], r.topology.start[s+1], r.topology.subs[s].ID
		for t := first; t < end; t++ {
			if someWhole && r.held[int(t)*r.heldWidth] > 0 {
				for _, m := range r.heldBy(t) {
					block[next[m-1]] = TaskID{sub, t - first}
					next[m-1]++
				}
			}
			for ; len(entries) > 0 && entries[0].task == t; entries = entries[1:] {
				m := entries[0].member
				block[next[m]] = TaskID{sub, t - first}
				next[m]++
			}
		}
	}
	w.close(standbyList)
}

// setDeadlines says when the next round must come: at once where somebody has something new to stop (R2), else at the nearest
// deadline of a drain or a departure (R7), or when an order to stop is to be repeated.
func (h *history) setDeadlines(l *lists, a *Assignment) {
	for _, e := range l.entries[revokeList] {
		if h.revokedBefore(e.task, e.member) {
			a.NextRebalance = soonest(a.NextRebalance, RevokeRetry)
		} else {
			a.FollowUp = true
		}
	}
	for i := range h.instances {
		in := &h.instances[i]
		if in.leaving && !in.overdue && !in.stays && h.config.ScaleDownTimeout > 0 && h.holdsAnything(in, a.Members) {
			a.NextRebalance = soonest(a.NextRebalance, h.config.ScaleDownTimeout-in.leavingFor)
		}
	}
	for _, d := range a.Departed {
		a.NextRebalance = soonest(a.NextRebalance, h.config.RejoinDelay-d.Absent)
	}
	for m := range a.Members {
		a.Members[m].FollowUp = a.FollowUp
	}
}

func soonest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (g *group) holdsAnything(in *instance, members []MemberAssignment) bool {
	return slices.ContainsFunc(in.members, func(m int32) bool {
		ma := &members[m]
		return len(ma.Active)+len(ma.Revoke)+len(ma.Learners)+len(ma.Standbys) > 0
	})
}
