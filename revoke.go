package assignor

import "slices"

// revoked is the round in which it is listed who runs what and who must stop what; the lists of copies are still empty.
type revoked struct {
	*standbys
	*lists
}

// stopFirst lists the tasks that their owners have to stop before they can start elsewhere (R2.1), what all members run meanwhile,
// and which of that others learn.
//
//	T1 owner S1, decided: S1                        Active of S1
//	T2 owner S1, decided: S2, still running         Revoke of S1, and S2 gets it in the next round
//	T3 owner S1, decided: S2, stopped already       Active of S2
//	T4 owner S1, shed, still running                Revoke of S1, and the next round says who gets it
//	T5 fenced                                       Revoke of all that may run it
func stopFirst(k kept, s *listSpace) revoked {
	r := revoked{k.standbys, &lists{space: s, active: k.int32s.zeros(len(k.members))}}
	p := r.plan
	active, owner, status := r.active, p.owner[:len(p.dest)], p.status[:len(p.dest)]
	for t, d := range p.dest {
		if m, ok := d.member(); ok && status[t] == decided && (m == owner[t] || !p.mustStop(int32(t))) {
			active[m]++
		} else {
			r.listPaused(int32(t))
		}
	}
	r.listHandovers()
	for t := r.topology.size(); t < int32(r.topology.all()); t++ {
		if r.status[t] != fenced {
			r.active[r.owner[t]]++
		}
	}
	for _, c := range r.revocations {
		r.add(revokeList, c.task, c.member)
	}
	r.sort(handoverList)
	r.sort(revokeList)
	return r
}

// listHandovers lists the active tasks that others learn.
func (r *revoked) listHandovers() {
	slices.Sort(r.learned)
	for _, t := range slices.Compact(r.learned) {
		if r.learnerAt(t) != none && !r.paused(t) {
			r.add(handoverList, t, r.by(t))
		}
	}
}

// listPaused lists a task of the topology that runs nowhere in this round, if its owner has to stop it. An awaited one has
// none, and a fenced one is in revocations.
func (r *revoked) listPaused(t int32) {
	switch r.status[t] {
	case shed:
		r.revoke(t, none)
	case decided:
		r.revoke(t, r.by(t))
	}
}

// revoke makes the owner of a task stop it; to is who will run it, none where the next round says.
func (r *revoked) revoke(t, to int32) {
	r.add(revokeList, t, r.owner[t])
	r.note(MoveRevoke, r.whyOf(t), t, r.owner[t], to)
}
