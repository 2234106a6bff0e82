package twin

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// chooseMembers is R8: who of an instance runs what. Tasks that another instance has yet to stop are for the next round.
func (n *round) chooseMembers() {
	for _, h := range n.hosts {
		var tasks []taskID
		for _, t := range n.tasks {
			if n.at[t] == h && n.placed(t) && !(n.runs(t) && n.host(n.owner[t]) != h) {
				tasks = append(tasks, t)
			}
		}
		if len(n.crews[h]) > 1 {
			n.shareAmong(h, tasks)
			continue
		}
		for _, t := range tasks {
			n.by[t] = n.crews[h][0]
		}
	}
}

// shareAmong evens the tasks out among the members that do not leave (R8.1, R8.3). What others learn stays with its member and does not
// count. Of what a member has too much, first goes what it has stopped already, then what has no state: neither stops anything.
func (n *round) shareAmong(host string, tasks []taskID) {
	crew := slices.DeleteFunc(slices.Clone(n.crews[host]), func(m string) bool { return n.members[m].Leaving && !n.leaves(host) })
	keep := map[string][]taskID{}
	var coming []taskID
	for _, t := range tasks {
		switch o := n.owner[t]; {
		case n.learner[t] != "" && n.by[t] != "":
		case o != "" && o == n.by[t] && slices.Contains(crew, o):
			keep[o] = append(keep[o], t)
		default:
			coming = append(coming, t)
		}
	}
	target := n.crewTargets(crew, keep, coming, n.awaiting() || n.leaves(host))
	for _, m := range crew {
		slices.SortStableFunc(keep[m], func(a, b taskID) int { // what gives way first
			return cmp.Or(trueFirst(!n.runs(a), !n.runs(b)), trueFirst(n.stateless(a), n.stateless(b)))
		})
		for int64(len(keep[m])) > target[m] {
			t := keep[m][0]
			keep[m], coming = keep[m][1:], append(coming, t)
			n.by[t], n.why[t] = "", assignor.ReasonSiblings
		}
	}
	n.giveOut(crew, keep, coming, target)
}

// giveOut gives tasks that come to an instance, or that a member of it has too much, to the crew: in id order, first to the members that
// hold their copies, as far as those have room, then each to the lightest with room.
func (n *round) giveOut(crew []string, keep map[string][]taskID, coming []taskID, target map[string]int64) {
	slices.SortFunc(coming, taskID.Compare)
	coming = slices.DeleteFunc(coming, func(t taskID) bool {
		m := n.by[t]
		fits := slices.Contains(crew, m) && int64(len(keep[m])) < target[m]
		if fits {
			keep[m] = append(keep[m], t)
		}
		return fits
	})
	for _, t := range coming {
		m, _ := firstOf(crew, func(m string) bool { return int64(len(keep[m])) < target[m] }, func(a, b string) int {
			return cmp.Compare(int64(len(keep[a]))*int64(n.members[b].Capacity), int64(len(keep[b]))*int64(n.members[a].Capacity))
		})
		if n.owner[t] != "" && n.owner[t] == n.by[t] {
			n.why[t] = assignor.ReasonMemberLeaving
		}
		n.by[t], keep[m] = m, append(keep[m], t)
	}
}

// crewTargets returns how many tasks each member of an instance should have (R8.1), rather more for those who hold copies of what is
// coming. Tasks are counted, whatever they weigh: members share a machine, and to even them out costs a stop each.
//
//	a has 3, b has 0, one comes    a 2, b 2: a gives up one
//	the same, frozen               a 3, b 1
//
// Where it is frozen, nobody gives up a task.
func (n *round) crewTargets(crew []string, keep map[string][]taskID, coming []taskID, frozen bool) map[string]int64 {
	total, sum := int64(len(coming)), int64(0)
	for _, m := range crew {
		total += int64(len(keep[m]))
		sum += int64(n.members[m].Capacity)
	}
	var parts []part
	for _, m := range crew {
		p := part{name: m, capacity: int64(n.members[m].Capacity), have: int64(len(keep[m]))}
		p.prefer = p.have
		for _, t := range coming {
			if n.by[t] == m {
				p.prefer++
			}
		}
		p.lo, p.hi = fairRange(total, p.capacity, sum, 0)
		if frozen {
			raise := max(p.lo, p.have)
			p.lo, p.hi = p.have, max(p.hi, p.have)
			p.raises = []int64{raise}
		}
		p.floor = p.lo
		p.raises = append(p.raises, p.hi, p.have)
		parts = append(parts, p)
	}
	return targetsOf(parts, int64(len(coming)))
}

// answer writes down what is decided, sorted (I6).
func (n *round) answer() *assignor.Assignment {
	lists := map[string]*assignor.MemberAssignment{}
	for _, id := range n.ids {
		m := n.members[id]
		lists[id] = &assignor.MemberAssignment{Member: id, Instance: m.Instance, Leaving: m.Leaving, Version: m.Version}
	}
	n.listRunning(lists)
	n.listCopies(lists)
	a := &assignor.Assignment{Generation: n.generation(), MissingStandbys: n.missingStandbys()}
	a.FollowUp, a.NextRebalance = n.deadlines(lists)
	for _, id := range n.ids {
		ma := lists[id]
		ma.Generation, ma.FollowUp = a.Generation, a.FollowUp
		for _, list := range [][]taskID{ma.Active, ma.Handover, ma.Revoke, ma.Learners, ma.Standbys} {
			slices.SortFunc(list, taskID.Compare)
		}
		a.Members = append(a.Members, *ma)
	}
	a.Departed = n.departed()
	a.Moves = n.moves
	slices.SortFunc(a.Moves, func(x, y assignor.Move) int {
		return cmp.Or(x.Task.Compare(y.Task), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	return a
}

// generation is the caller's where that is new, else one more than the newest that anybody has seen.
func (n *round) generation() int32 {
	seen := n.newest
	if n.memory != nil {
		seen = max(seen, knownGeneration(n.memory.Generation))
	}
	if g := n.config.Generation; g > seen && g != math.MaxInt32 {
		return g
	}
	return seen + 1
}

// departed lists the instances that some task waits for, and no others (R7.4).
func (n *round) departed() []assignor.Departure {
	var hosts []string
	for _, h := range n.awaited {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	var departed []assignor.Departure
	for _, h := range slices.Compact(hosts) {
		absent, _ := n.absence(h)
		d := assignor.Departure{Instance: h, Absent: absent}
		for _, t := range n.tasks {
			if n.awaited[t] == h {
				d.Tasks = append(d.Tasks, t)
			}
		}
		departed = append(departed, d)
	}
	return departed
}

// deadlines says whether all must rejoin at once (R2.3), and else when the next round must come: when an order to stop is repeated (R2.3),
// an instance has to be drained (R7.2), or nobody is awaited any more (R7.4). The nearest counts (R7.7).
func (n *round) deadlines(lists map[string]*assignor.MemberAssignment) (followUp bool, next time.Duration) {
	var all []time.Duration
	for _, id := range n.ids {
		for _, t := range lists[id].Revoke {
			if slices.ContainsFunc(n.lastRevoked(t), func(ma assignor.MemberAssignment) bool { return ma.Member == id }) {
				all = append(all, assignor.RevokeRetry)
			} else {
				followUp = true
			}
		}
	}
	for _, h := range n.hosts {
		holds := slices.ContainsFunc(n.crews[h], func(m string) bool {
			return len(slices.Concat(lists[m].Active, lists[m].Revoke, lists[m].Learners, lists[m].Standbys)) > 0
		})
		if holds && n.leaves(h) && !n.allLeave() && !n.overdue(h) && n.config.ScaleDownTimeout > 0 {
			all = append(all, n.config.ScaleDownTimeout-n.leavingFor(h))
		}
	}
	for _, h := range n.awaited {
		absent, _ := n.absence(h)
		all = append(all, n.config.RejoinDelay-absent)
	}
	for t := range n.awaited { // T5
		c, ok := n.best(t, func(c replica) bool { return n.stays(n.host(c.member)) }, lessLag)
		switch near := uint64(n.config.AcceptableLag) + assignor.DefaultAcceptableLag; {
		case !ok:
		case c.lag <= near:
			all = append(all, assignor.RevokeRetry)
		default:
			all = append(all, assignor.ReviewInterval)
		}
	}
	if !followUp {
		all = append(all, n.reviews(lists)...)
	}
	if len(all) > 0 {
		next = slices.Min(all)
	}
	return followUp, next
}

// reviews is T8: when to look again at learners that have caught up and learn on, and at tasks of which a copy too many stays until others
// have caught up. Of these the youngest counts: a new one is 0. While somebody learns who is not late, only at what keeps a leaving
// instance that has nothing but standbys.
func (n *round) reviews(lists map[string]*assignor.MemberAssignment) (all []time.Duration) {
	learning := false
	for _, id := range n.ids {
		for _, t := range lists[id].Learners {
			c, has := n.copyOf(t, id)
			if has && n.caughtUp(c) {
				all = append(all, assignor.RevokeRetry)
			}
			learning = learning || !has || !c.expired
		}
	}
	for _, t := range n.tasks {
		if !n.runsNow(t) {
			continue
		}
		holdsUp := slices.ContainsFunc(n.extras(t), func(m string) bool { return !learning || n.onlyKeeps(n.host(m), lists) })
		for _, id := range n.ids {
			c, has := n.copyOf(t, id)
			behind := !(has && n.caughtUp(c) || !has && n.owner[t] == id)
			if holdsUp && behind && slices.Contains(lists[id].Standbys, t) {
				all = append(all, max(assignor.ReviewInterval, c.age/4))
			}
		}
	}
	return all
}

// onlyKeeps reports whether an instance leaves and has nothing but standbys.
func (n *round) onlyKeeps(host string, lists map[string]*assignor.MemberAssignment) bool {
	return n.leaves(host) && !slices.ContainsFunc(n.crews[host], func(m string) bool {
		return len(lists[m].Active)+len(lists[m].Revoke)+len(lists[m].Learners) > 0
	})
}

// copyOf returns the copy of a task that a member reports.
func (n *round) copyOf(t taskID, member string) (replica, bool) {
	return n.best(t, func(c replica) bool { return c.member == member }, lessLag)
}

// listRunning lists who runs what, who must stop what, and what others learn meanwhile. No task is in two lists of this kind (I1, I2).
func (n *round) listRunning(lists map[string]*assignor.MemberAssignment) {
	for t, members := range n.conflicts {
		for _, m := range members {
			lists[m].Revoke = append(lists[m].Revoke, t)
		}
	}
	for t, o := range n.owner { // what the topology does not have stays with the member that runs it
		if _, ok := n.sub(t); !ok && !n.fenced[t] {
			lists[o].Active = append(lists[o].Active, t)
		}
	}
	for _, t := range n.tasks {
		o, m := n.owner[t], n.by[t]
		switch {
		case n.at[t] == "":
		case n.shed[t]:
			lists[o].Revoke = append(lists[o].Revoke, t)
			n.move(assignor.MoveRevoke, n.why[t], t, o, "")
		case n.mustStop(t):
			lists[o].Revoke = append(lists[o].Revoke, t)
			n.move(assignor.MoveRevoke, n.why[t], t, o, m)
		default:
			lists[m].Active = append(lists[m].Active, t)
			if n.learner[t] != "" {
				lists[m].Handover = append(lists[m].Handover, t)
			}
			if from, held := n.former(t); from != m && (held || len(n.copies[t]) > 0) {
				n.move(assignor.MoveActive, n.why[t], t, from, m)
			}
		}
	}
}

// former returns who ran a task until now, as far as anybody knows: its owner by the reports, else who ran it in the last round, else who
// had to stop it then.
func (n *round) former(t taskID) (member string, held bool) {
	if o := n.owner[t]; o != "" {
		return o, true
	}
	if member, _, known := n.lastRan(t); known {
		return member, true
	}
	if stopped := n.lastRevoked(t); len(stopped) > 0 {
		return stopped[0].Member, true
	}
	return "", false
}
