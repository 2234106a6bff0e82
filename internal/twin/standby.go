package twin

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// placeStandbys is R6. What is too many goes in every round (R6.2); while somebody is awaited, or all leave, nothing is added and nothing
// is levelled (R7.6, R1.6).
func (n *round) placeStandbys() {
	for _, t := range n.tasks {
		if n.runsNow(t) {
			n.kept[t] = n.reportedStandbys(t)
		}
	}
	for _, t := range n.tasks {
		for n.runsNow(t) && len(n.kept[t]) > n.wanted(t) {
			n.dropStandby(t)
		}
	}
	if n.allLeave() || n.awaiting() || n.config.Standbys == 0 {
		return
	}
	n.addStandbys()
	n.improveTags()
	n.levelStandbys()
}

// runsNow reports whether a task is one that has standbys and runs in this round.
func (n *round) runsNow(t taskID) bool { return !n.stateless(t) && !n.waits(t) }

// free reports whether an instance may keep a standby of a task as far as the active task and its learner go.
func (n *round) free(t taskID, host string) bool {
	return n.stays(host) && host != n.at[t] && host != n.learner[t]
}

// handedOver returns the instance that ran a task until this round. It has all of the state, and lag 0.
func (n *round) handedOver(t taskID) (host string, ok bool) {
	o := n.owner[t]
	return n.host(o), o != "" && o != n.by[t]
}

// reportedStandbys returns the instances that have a copy of a task that may stay: the previous owner, and those that report one
// which does not learn. What an instance has yet to stop is no copy until it has.
func (n *round) reportedStandbys(t taskID) []string {
	var hosts []string
	add := func(host string) {
		if n.free(t, host) && !n.stopsOn(t, host) && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if host, ok := n.handedOver(t); ok {
		add(host)
	}
	for _, c := range n.copies[t] {
		if !c.learns {
			add(n.host(c.member))
		}
	}
	return hosts
}

// waitingStandbys returns the members that go on keeping a copy of a task that runs nowhere in this round: one on each instance
// that does not learn it. What learned it stays too if no learner does.
func (n *round) waitingStandbys(t taskID) []string {
	learner, learned := n.waitingLearner(t)
	var members, hosts []string
	for _, c := range n.copies[t] {
		h := n.host(c.member)
		if learned && (c.learns || h == n.host(learner.member)) || slices.Contains(hosts, h) {
			continue
		}
		members, hosts = append(members, c.member), append(hosts, h)
	}
	return members
}

// waitingLearner returns the copy that goes on learning a task that runs nowhere in this round. There is none where a single owner
// is told to stop for another reason than a learner.
func (n *round) waitingLearner(t taskID) (replica, bool) {
	if n.placed(t) && n.why[t] != assignor.ReasonLearnerCaughtUp {
		return replica{}, false
	}
	return n.best(t, func(c replica) bool { return c.learns && n.speaks(c.member) }, lessLag)
}

// wanted returns how many standbys a task can have: fewer than configured where too few instances stay. Where all leave it is what there is.
func (n *round) wanted(t taskID) int {
	if n.allLeave() {
		return min(n.config.Standbys, len(n.reportedStandbys(t)))
	}
	return min(n.config.Standbys, n.freeHosts(t))
}

// freeHosts counts the instances that may keep a standby of a task.
func (n *round) freeHosts(t taskID) int {
	sum := 0
	for _, h := range n.hosts {
		if n.free(t, h) {
			sum++
		}
	}
	return sum
}

// missingStandbys counts what no instance can take (R6.1). A task that runs nowhere lacks nothing: its copies stay what they are.
func (n *round) missingStandbys() int {
	sum := 0
	for _, t := range n.tasks {
		if n.runsNow(t) {
			sum += n.config.Standbys - n.wanted(t)
		}
	}
	return sum
}

// standbys counts the standbys that an instance keeps.
func (n *round) standbys(host string) int64 {
	sum := int64(0)
	for _, t := range n.tasks {
		if slices.Contains(n.kept[t], host) || !n.stateless(t) && n.waits(t) &&
			slices.ContainsFunc(n.waitingStandbys(t), func(m string) bool { return n.host(m) == host }) {
			sum++
		}
	}
	return sum
}

// allStandbys is how many standbys there are to be.
func (n *round) allStandbys() int64 {
	sum := 0
	for _, t := range n.tasks {
		switch {
		case n.runsNow(t):
			sum += n.wanted(t)
		case !n.stateless(t):
			sum += len(n.waitingStandbys(t))
		}
	}
	return int64(sum)
}

// fairStandbys is the range of R4 for standbys.
func (n *round) fairStandbys(host string) (lo, hi int64) {
	if !n.stays(host) {
		return 0, 0
	}
	return fairRange(n.allStandbys(), n.capacity(host), n.staying(), int64(n.config.ImbalancePercent))
}

// dropStandby ends the copy that shares most tag values with the others, of those the one on the instance furthest above its share (R6.2):
// by how many it is above its range, then above the lower end, then above the exact share. All counts are of this moment.
func (n *round) dropStandby(t taskID) {
	above := func(h string) []int64 {
		count := n.standbys(h)
		lo, hi := n.fairStandbys(h)
		return []int64{max(0, count-hi), count - lo, count*n.staying() - n.allStandbys()*n.capacity(h)}
	}
	goes, _ := firstOf(n.kept[t], func(string) bool { return true }, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.sharedTags(t, b, n.kept[t]), n.sharedTags(t, a, n.kept[t])), slices.Compare(above(b), above(a)), cmp.Compare(a, b))
	})
	n.kept[t] = slices.DeleteFunc(n.kept[t], func(h string) bool { return h == goes })
}

// sharedTags counts the tag values that a copy on an instance shares with the active task, its learner and standbys elsewhere.
func (n *round) sharedTags(t taskID, host string, standbys []string) int {
	sum := 0
	for _, other := range slices.Concat([]string{n.at[t], n.learner[t]}, standbys) {
		if other == "" || other == host {
			continue
		}
		for _, tag := range n.config.SpreadTags {
			if n.tag(host, tag) == n.tag(other, tag) {
				sum++
			}
		}
	}
	return sum
}

// tag returns a tag of the instance: that of the member with the smallest id (R0.4). No tag is a value too.
func (n *round) tag(host, tag string) string { return n.members[n.crews[host][0]].Tags[tag] }

// addStandbys gives tasks what they lack, in passes: every task has one before any has two (R6.3). While an owner that stays hands a task
// over, the owner is one of them to be.
//
//	0_0 runs on A, which is handing it over to B; one standby is wanted    none now: A keeps its state
//	0_1 runs on A; two are wanted, none is there                           one in each pass
func (n *round) addStandbys() {
	for pass := range n.config.Standbys {
		if pass >= len(n.hosts) {
			return
		}
		for _, t := range n.tasks {
			if !n.runsNow(t) || len(n.kept[t]) > pass {
				continue
			}
			needs := n.wanted(t)
			if n.learner[t] != "" && n.stays(n.at[t]) {
				needs = min(needs, n.config.Standbys-1)
			}
			if host, ok := n.newHolder(t, n.kept[t]); ok && len(n.kept[t]) < needs {
				n.kept[t] = append(n.kept[t], host)
			}
		}
	}
}

// mayKeep reports whether an instance may keep one more standby of a task.
func (n *round) mayKeep(t taskID, host string) bool {
	return n.free(t, host) && !n.stopsOn(t, host) && !slices.Contains(n.kept[t], host)
}

// stopsOn reports whether an instance has yet to stop a task that somebody else owns (R0).
func (n *round) stopsOn(t taskID, host string) bool {
	return slices.ContainsFunc(n.conflicts[t], func(m string) bool { return n.host(m) == host })
}

// newHolder returns where a new standby beside others goes (R6.3, R6.5, R6.6): where the tags differ most; of those to the previous owner, then to
// state on a disk, the smallest lag first, then to the instance with the fewest standbys for its capacity.
func (n *round) newHolder(t taskID, others []string) (string, bool) {
	compareDisks := func(a, b string) int {
		onA, onB := n.stateOn(t, a), n.stateOn(t, b)
		if onA == nil || onB == nil {
			return trueFirst(onA != nil, onB != nil)
		}
		previous, _ := n.handedOver(t)
		return cmp.Or(cmp.Compare(onA.lag, onB.lag), trueFirst(a == previous, b == previous), cmp.Compare(onA.member, onB.member))
	}
	return firstOf(n.hosts, func(h string) bool { return n.mayKeep(t, h) }, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.sharedTags(t, a, others), n.sharedTags(t, b, others)), compareDisks(a, b), n.compareHolders(t, a, b))
	})
}

// stateOn returns the state of a task on an instance: what it ran until now, or the copy with the smallest lag.
func (n *round) stateOn(t taskID, host string) *replica {
	if previous, ok := n.handedOver(t); ok && previous == host {
		return &replica{member: n.owner[t]}
	}
	if c, ok := n.best(t, func(c replica) bool { return n.host(c.member) == host }, lessLag); ok {
		return &c
	}
	return nil
}

// compareHolders orders instances by their standbys for their capacity, then by how many of those are of tasks that the same
// instance runs, so that its failure does not double one neighbor's load.
func (n *round) compareHolders(t taskID, a, b string) int {
	return cmp.Or(cmp.Compare(n.standbys(a)*n.capacity(b), n.standbys(b)*n.capacity(a)),
		cmp.Compare(n.paired(t, a), n.paired(t, b)), cmp.Compare(a, b))
}

// paired counts the standbys on an instance of tasks that run where the task runs.
func (n *round) paired(t taskID, host string) int {
	sum := 0
	for _, u := range n.tasks {
		if n.runsNow(u) && n.at[u] == n.at[t] && slices.Contains(n.kept[u], host) {
			sum++
		}
	}
	return sum
}

// improveTags moves standbys that share tag values where others would share fewer (R6.5). One that moves here is not levelled back:
// levelling never makes tags differ less.
func (n *round) improveTags() {
	for _, t := range n.tasks {
		for k := range n.kept[t] {
			host := n.kept[t][k]
			others := slices.Delete(slices.Clone(n.kept[t]), k, k+1)
			to, ok := n.newHolder(t, others)
			if ok && n.sharedTags(t, to, others) < n.sharedTags(t, host, others) {
				n.kept[t][k] = to
				n.shifted[t] = true
			}
		}
	}
}

// levelStandbys evens the counts as R4 does, as far as tags and the other copies let it (R6.4): first towards targets, so that few move;
// then, where a task could not go to who lacks one, by any single move that brings two instances closer to their ranges.
func (n *round) levelStandbys() {
	target := n.standbyTargets()
	var givers []string
	holds := map[string][]taskID{}
	for _, h := range n.hosts {
		if n.standbys(h) <= target[h] {
			continue
		}
		givers = append(givers, h)
		for _, t := range n.tasks {
			if slices.Contains(n.kept[t], h) {
				holds[h] = append(holds[h], t)
			}
		}
	}
	for _, h := range givers {
		n.sortForShedding(holds[h], h)
		for _, t := range holds[h] {
			if n.standbys(h) > target[h] {
				n.moveStandby(t, h, func(to string) bool { return n.standbys(to) < target[to] })
			}
		}
	}
	for n.improveStandbys() {
	}
}

// improveStandbys moves standbys one by one where that brings instances closer to their ranges (R6.4). Not every imbalance can be mended
// so: where two moves only help together, neither is made.
func (n *round) improveStandbys() (moved bool) {
	distance := func(h string, count int64) int64 {
		lo, hi := n.fairStandbys(h)
		return max(0, lo-count, count-hi)
	}
	gain := func(from, to string) int64 {
		a, b := n.standbys(from), n.standbys(to)
		return distance(from, a) + distance(to, b) - distance(from, a-1) - distance(to, b+1)
	}
	holds := map[string][]taskID{}
	for _, h := range n.hosts {
		mayGive := n.stays(h) && slices.ContainsFunc(n.hosts, func(to string) bool { return n.stays(to) && to != h && gain(h, to) > 0 })
		for _, t := range n.tasks {
			if mayGive && slices.Contains(n.kept[t], h) {
				holds[h] = append(holds[h], t)
			}
		}
	}
	for _, h := range n.hosts {
		n.sortForShedding(holds[h], h)
		for _, t := range holds[h] {
			moved = n.moveStandby(t, h, func(to string) bool { return to != h && gain(h, to) > 0 }) || moved
		}
	}
	return moved
}

// sortForShedding puts the standbys first that an instance gives up first: what it has replayed least of, then those of the instance that
// it keeps most for (R6.6).
func (n *round) sortForShedding(tasks []taskID, host string) {
	paired := map[taskID]int{}
	for _, t := range tasks {
		paired[t] = n.paired(t, host)
	}
	slices.SortStableFunc(tasks, func(a, b taskID) int {
		return cmp.Or(cmp.Compare(n.standbyLag(b, host), n.standbyLag(a, host)), cmp.Compare(paired[b], paired[a]))
	})
}

// standbyTargets is R4.2 for the counts of standbys.
func (n *round) standbyTargets() map[string]int64 {
	var parts []part
	for _, h := range n.hosts {
		if !n.stays(h) {
			continue
		}
		p := part{name: h, capacity: n.capacity(h), have: n.standbys(h), prefer: n.standbys(h)}
		p.lo, p.hi = n.fairStandbys(h)
		p.floor, p.raises = p.lo, []int64{p.hi, p.have}
		parts = append(parts, p)
	}
	return targetsOf(parts, 0)
}

// standbyLag returns how far the standby on an instance is behind. All that have caught up are equal, new ones are last.
func (n *round) standbyLag(t taskID, host string) uint64 {
	if n.owner[t] != "" && n.host(n.owner[t]) == host {
		return 0
	}
	return n.lagAt(t, func(c replica) bool { return n.host(c.member) == host })
}

// moveStandby moves a standby to an instance that welcomes it, if one takes it without making the tags differ less: of those the one with
// the fewest standbys for its capacity.
func (n *round) moveStandby(t taskID, from string, welcomes func(to string) bool) bool {
	others := slices.DeleteFunc(slices.Clone(n.kept[t]), func(h string) bool { return h == from })
	to, ok := firstOf(n.hosts, func(h string) bool {
		return welcomes(h) && n.mayKeep(t, h) && n.sharedTags(t, h, others) <= n.sharedTags(t, from, others)
	}, func(a, b string) int { return n.compareHolders(t, a, b) })
	if ok {
		n.kept[t][slices.Index(n.kept[t], from)] = to
		n.shifted[t] = true
	}
	return ok
}
