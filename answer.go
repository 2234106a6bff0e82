package assignor

import (
	"math"
	"slices"
)

// answer writes down what the round has decided, with the members' names and the tasks' ids. It decides nothing: whatever could
// be otherwise has been decided by a step. Nothing in it is shared with the arguments or with what an Assignor keeps: an answer is
// its caller's, who may keep it for ever. It costs O(tasks + members), and O(moves log moves) where these are not in order.
func answer(d due) *Assignment {
	d.noteActives()
	a := &Assignment{
		Generation:      d.generation(),
		Members:         make([]MemberAssignment, len(d.members)),
		Departed:        d.departed,
		FollowUp:        d.followUp,
		NextRebalance:   d.next,
		MissingStandbys: d.missing,
	}
	for m := range d.members {
		in := d.members[m].in
		a.Members[m] = MemberAssignment{
			Member: in.ID, Instance: in.instanceName(), Leaving: in.Leaving, Version: in.Version, Generation: a.Generation, FollowUp: a.FollowUp,
		}
	}
	d.writeLists(a.Members)
	if !slices.IsSortedFunc(d.moves, Move.compare) {
		slices.SortFunc(d.moves, Move.compare)
	}
	if len(d.moves) > 0 {
		a.Moves = slices.Clip(d.moves)
	}
	return a
}

// generation returns the caller's generation where that is greater than every one seen, else one more than the greatest. So no
// answer has a generation that a member has seen, whatever the broker does with its own.
func (h *history) generation() int32 {
	if g := h.config.Generation; g > h.seen && g != math.MaxInt32 {
		return g
	}
	return h.seen + 1
}

// noteActives records the tasks that run on another member than before. The first placement of a task nobody held is no move:
// it would say "from nobody, because there was nobody". Where there is a copy somebody must have had the task, even if no
// report says who.
func (p *plan) noteActives() {
	slices.Sort(p.moved)
	p.moves = slices.Grow(p.moves, len(p.moved))
	for _, t := range slices.Compact(p.moved) {
		if p.paused(t) {
			continue
		}
		from, held := p.formerOwner(t)
		if to := p.nameOf(p.by(t)); from != to && (held || p.hasCopies(t)) {
			p.moves = append(p.moves, Move{p.topology.id(t), from, to, MoveActive, p.whyOf(t)})
		}
	}
}

// formerOwner returns the id of the member that ran the task until now, "" where nobody knows it, and whether anybody did.
// Reports come first, then who ran it in the last round, then who had to stop it there.
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

// writeLists writes the members' lists, all into one block: an allocation for all of them, and not one for each.
func (d due) writeLists(members []MemberAssignment) {
	total := sum(d.active) + sum(d.wholes)
	for which := range d.entries {
		total += len(d.entries[which])
	}
	w := &writer{due: d, members: members, block: make([]TaskID, total), next: d.int32s.take(len(members))}
	w.writeActive()
	for which := handoverList; which < standbyList; which++ {
		if len(d.entries[which]) > 0 {
			w.writeEntries(which)
		}
	}
	if len(d.entries[standbyList]) > 0 || d.wholes != nil {
		w.writeStandbys()
	}
	if len(d.topology.foreign) == 0 {
		return
	}
	for m := range members { // foreign tasks have the last numbers, but their ids may come first
		slices.SortFunc(members[m].Active, TaskID.Compare)
		slices.SortFunc(members[m].Revoke, TaskID.Compare)
	}
}

// writer writes lists of the members, one sort after the other, all into one block:
//
//	S1 Active | S2 Active | S3 Active | S1 Handover | S2 Revoke ...
//
// Where each list goes on is in an array of its own, since those of the MemberAssignments are too far apart to stay in a
// processor's first cache: that takes a sixth off a quiet round (BenchmarkAssign, 100 000 tasks on 1 000 members).
type writer struct {
	due
	members []MemberAssignment
	block   []TaskID // all lists, one behind the other
	written int32    // how much of it is lists already; open counts from here
	next    []int32  // by member: where in the block its list goes on
}

// open makes room for lists of these lengths, by member; where there are entries, for each of them too. It returns the block,
// and by member where its list begins in it: whoever writes keeps them in registers.
func (w *writer) open(lengths []int32, entries []entry) (block []TaskID, next []int32) {
	if clear(w.next); lengths != nil {
		copy(w.next, lengths)
	}
	for _, e := range entries {
		w.next[e.member]++
	}
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
}

// writeActive writes what members run, by subtopology, so that a task's id costs nothing. A task that its owner has to stop first is in
// nobody's Active (I1), and one that nobody may start yet neither; what the topology does not have stays with its owner (R0.5).
func (w *writer) writeActive() {
	block, next := w.open(w.active, nil)
	for s := range w.topology.subs {
		first, end, sub := w.topology.start[s], w.topology.start[s+1], w.topology.subs[s].ID
		owner, status := w.owner[first:end], w.status[first:end]
		for p, d := range w.dest[first:end] {
			if m, ok := d.member(); ok && status[p] == decided && (m == owner[p] || !w.mustStop(first+int32(p))) {
				block[next[m]] = TaskID{sub, int32(p)}
				next[m]++
			}
		}
	}
	for t := w.topology.size(); t < int32(w.topology.all()); t++ {
		if m := w.owner[t]; w.status[t] != fenced {
			block[next[m]] = w.topology.id(t)
			next[m]++
		}
	}
	w.close(activeList)
}

// writeEntries writes one sort of lists from its entries, which are in task order, so that the lists come out sorted (I6). Few tasks are
// in them: it takes each task's id from the topology.
func (w *writer) writeEntries(which list) {
	entries := w.entries[which]
	block, next := w.open(nil, entries)
	for _, e := range entries {
		block[next[e.member]] = w.topology.id(e.task)
		next[e.member]++
	}
	w.close(which)
}

// writeStandbys writes the standbys of whole tasks, which are in no list, and the entries, which are those of all others: both
// in task order, so one walk merges them.
func (w *writer) writeStandbys() {
	entries := w.entries[standbyList]
	block, next := w.open(w.wholes, entries)
	for s := range w.topology.subs {
		first, end, sub := w.topology.start[s], w.topology.start[s+1], w.topology.subs[s].ID
		for t := first; t < end; t++ {
			if w.isWhole(t) {
				for _, c := range w.holdersOf(t) {
					block[next[c.member()]] = TaskID{sub, t - first}
					next[c.member()]++
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
