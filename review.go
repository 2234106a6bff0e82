package assignor

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// due is the round in which it is decided when the next one must come.
type due struct {
	*standbys
	*lists
	departed []Departure   // as in the Assignment
	followUp bool          // at once
	next     time.Duration // where not at once, and nobody else calls for one before; 0: never
}

// soonest makes the next round come after at most this time.
func (d *due) soonest(after time.Duration) {
	if d.next == 0 || after < d.next {
		d.next = after
	}
}

// review makes the next round come where what this one left undone can get better by nothing but time, and nobody would call for a
// round when it has: standbys catch up in silence. A group that has settled has nothing of the kind.
func (d *due) review() {
	if len(d.departed) > 0 && d.anyCopies() {
		d.reviewAwaited()
	}
	if d.followUp {
		return // the next round comes before anything has caught up
	}
	d.reviewLearners()
	if d.extra > 0 {
		d.reviewCopies()
	}
}

// reviewAwaited makes the next round come soon where a task waits for its instance while somebody that stays has a copy of it (T5):
// soon enough for one that is nearly there, whose holder is no learner and calls for no round.
//
//	S1 vanished, RejoinDelay 5m, S2's copy of its T1 is 1 record behind    the next round after RevokeRetry
//	S1 vanished, RejoinDelay 5m, S2's copy of its T1 has just begun        after ReviewInterval
func (d *due) reviewAwaited() {
	near := uint64(level.Add(d.config.AcceptableLag, DefaultAcceptableLag))
	for t, s := range d.status[:d.topology.size()] {
		if s != awaited {
			continue
		}
		switch k := d.bestCopy(int32(t), d.staysAt, d.lessLag); {
		case k == none:
		case d.replicas[k].lag <= near:
			d.soonest(RevokeRetry)
		default:
			d.soonest(ReviewInterval)
		}
	}
}

// reviewLearners makes the next round come soon where a learner that has caught up goes on learning (T8). Its member calls for a round
// at once if it is alive; if it is not, nobody else would.
//
//	S2 has a standby of T1, caught up, and is to learn T1     the next round after RevokeRetry, and it hands over
//	S2 has been learning T1 for a while                       when S2 calls for a round
func (d *due) reviewLearners() {
	for _, e := range d.entries[learnerList] {
		if k := d.copyOf(e); k != none && d.caughtUp(k) {
			d.soonest(RevokeRetry)
			return
		}
	}
}

// reviewCopies makes the next round come where a copy too many stays until others of its task have caught up (R6.7, T8). The longer
// the youngest of those has been at it, the longer it may take still.
//
//	T1 wants one standby: S3 begins one, S2's stays until it has caught up    the next round after ReviewInterval
//	the same, and S3 has been at it for an hour                               after 15 minutes
//	the same, and S4 learns T2                                                when S4 calls for a round
//	the same, and S2 leaves and has nothing else                              after 15 minutes: somebody waits for the host
//
// While somebody learns, a round comes anyway, and one more would cost a pause of all that is being handed over (OneRound).
func (d *due) reviewCopies() {
	counts := func(entry) bool { return true }
	if d.somebodyLearns() {
		only := d.keepOnly()
		if only == nil {
			return
		}
		counts = func(e entry) bool { return only[d.instanceBy[e.member]] }
	}
	var lagging []entry
	for entries := d.entries[standbyList]; len(entries) > 0; {
		t, n := entries[0].task, 1
		for n < len(entries) && entries[n].task == t {
			n++
		}
		held := entries[:n]
		entries = entries[n:]
		if n == d.planned(t) || d.paused(t) || !slices.ContainsFunc(held, counts) {
			continue
		}
		for _, e := range held {
			k := d.copyOf(e)
			if k == none && d.owner[t] == e.member || k != none && d.caughtUp(k) { // what it ran until now has all there is
				continue
			}
			lagging = append(lagging, e)
			if k == none || len(lagging) == 1 && d.youngest(lagging) <= 4*ReviewInterval { // it has yet to begin, or is young
				d.soonest(ReviewInterval)
				return
			}
		}
	}
	if len(lagging) > 0 {
		d.soonest(max(ReviewInterval, d.youngest(lagging)/4))
	}
}

// planned returns how many copies of a task are kept beside its learner, those that are too many left out.
func (d *due) planned(t int32) int {
	held := d.of(t)
	if k := d.waitingCopy(t); k != none && !slices.Contains(held, d.holderInstance(k)) {
		return len(held) + 1
	}
	return len(held)
}

// somebodyLearns reports whether a learner is at work that is not late: its member calls for a round when it has caught up.
func (d *due) somebodyLearns() bool {
	return slices.ContainsFunc(d.entries[learnerList], func(e entry) bool {
		k := d.copyOf(e)
		return k == none || !d.replicas[k].expired
	})
}

// keepOnly returns, by instance, whether it leaves and has nothing but standbys, and nil where none does.
func (d *due) keepOnly() []bool {
	only := d.bools.take(len(d.instances))
	for i := range d.instances {
		only[i] = d.instances[i].leaving
	}
	for m, i := range d.instanceBy {
		only[i] = only[i] && d.active[m] == 0
	}
	for _, which := range []list{revokeList, learnerList} {
		for _, e := range d.entries[which] {
			only[d.instanceBy[e.member]] = false
		}
	}
	if !slices.Contains(only, true) {
		return nil
	}
	return only
}

// copyOf returns the copy of an entry, none where the member has yet to begin it.
func (d *due) copyOf(e entry) int32 {
	for k, end := d.copiesOf(e.task); k < end; k++ {
		if d.replicas[k].member == e.member {
			return k
		}
	}
	return none
}

// youngest returns for how long the youngest of these copies has been at it. Where a member reports one twice the longest time counts.
// It costs O(n log n) in the copies that their members report.
func (d *due) youngest(of []entry) time.Duration {
	slices.SortFunc(of, func(a, b entry) int { return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.task, b.task)) })
	ages := make([]time.Duration, len(of))
	for first, end := 0, 0; first < len(of); first = end {
		m := of[first].member
		for end < len(of) && of[end].member == m {
			end++
		}
		for _, reported := range [][]Replica{d.members[m].in.Learners, d.members[m].in.Standbys} {
			for i := range reported {
				at, ok := slices.BinarySearchFunc(of[first:end], reported[i].Task, func(e entry, id TaskID) int { return d.topology.id(e.task).Compare(id) })
				if ok {
					ages[first+at] = max(ages[first+at], reported[i].For)
				}
			}
		}
	}
	return slices.Min(ages)
}
