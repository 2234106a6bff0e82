package twin

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// moveStateless places the stateless orphans and levels the stateless tasks, which move by stop and start: as if every instance had
// its stateful target already (R4.3).
//
//	A runs four, B joins          A stops two (R2.1); nobody runs them in this round
//	one round later, the same     A counts as having four still, so two go to B: those two
//
// While somebody is awaited, or all leave, nobody stops any; nor with NewInstancesOnly, but for newcomers. What had to stop before that
// goes back where it was, unless an instance is idle: then it may have been stopped for that one.
func (n *round) moveStateless() {
	if len(n.weights(true)) == 0 {
		return
	}
	s := &sharing{round: n, stateless: true, base: map[string]int64{}, have: piles{}, incoming: map[int64]int64{}, receives: n.stays, overflows: n.stays}
	for pile, count := range n.target {
		s.base[pile.host] += count * s.load(pile.weight)
	}
	if n.awaiting() || n.allLeave() || n.config.NewInstancesOnly {
		n.placeHomeless(s)
	}
	if n.allLeave() {
		return
	}
	s.countStateless()
	target := maps.Clone(s.have)
	if !n.awaiting() {
		target = n.replaceStateless(s)
	}
	for _, h := range n.hosts {
		n.shedStateless(h, s.have, target)
	}
}

// countStateless counts the stateless tasks that are placed on instances that stay.
func (s *sharing) countStateless() {
	s.have = piles{}
	for _, t := range s.tasks {
		if s.round.stateless(t) && s.placed(t) && s.stays(s.at[t]) {
			s.have[pile{s.at[t], s.weight(t)}]++
		}
	}
}

// placeHomeless places stateless tasks where nobody gives up any for them: what had to stop goes back where it may, the rest where there
// is room.
func (n *round) placeHomeless(s *sharing) {
	goBack := n.awaiting() || n.allLeave() || !slices.ContainsFunc(n.hosts, n.idle)
	for _, t := range n.tasks {
		if !n.stateless(t) || !n.homeless(t) {
			continue
		}
		if host, stopped := n.stoppedOn(t); stopped && goBack {
			n.place(t, host, "", assignor.ReasonSiblings)
		} else {
			s.incoming[n.weight(t)]++
		}
	}
	s.countStateless()
	if len(s.incoming) > 0 {
		n.dealOrphans(s, s.fill())
	}
	s.incoming = map[int64]int64{}
}

// idle reports whether an instance stays and was given nothing to run in the last round, in which it took part: perhaps the
// newcomer of that round, for which tasks had to stop.
func (n *round) idle(host string) bool {
	if n.memory == nil || !n.stays(host) || n.newcomer(host) {
		return false
	}
	return !slices.ContainsFunc(n.memory.Members, func(ma assignor.MemberAssignment) bool {
		return cmp.Or(ma.Instance, ma.Member) == host && len(ma.Active) > 0
	})
}

// replaceStateless levels the stateless tasks as if those that somebody had to stop in the last round were still there, and places
// these: where they were, if that instance comes up to its target by it, else elsewhere.
func (n *round) replaceStateless(s *sharing) (target piles) {
	virtual := *s
	virtual.have, virtual.incoming = maps.Clone(s.have), map[int64]int64{}
	for _, t := range n.tasks {
		if !n.stateless(t) {
			continue
		}
		host, stopped := n.stoppedOn(t)
		switch {
		case n.homeless(t) && stopped:
			virtual.have[pile{host, n.weight(t)}]++
		case n.homeless(t), n.placed(t) && !n.stays(n.at[t]):
			virtual.incoming[n.weight(t)]++
		}
	}
	virtual.prefer, virtual.overflows = virtual.have, func(h string) bool { return !n.leaves(h) }
	virtual.receives = func(h string) bool { return !n.leaves(h) && (!n.config.NewInstancesOnly || n.newcomer(h)) }
	target = virtual.level()
	for _, t := range n.tasks {
		host, stopped := n.stoppedOn(t)
		if pile := (pile{host, n.weight(t)}); n.stateless(t) && n.homeless(t) && stopped && s.have[pile] < target[pile] {
			s.have[pile]++
			n.place(t, host, "", assignor.ReasonSiblings)
		}
	}
	n.dealOrphans(s, target)
	return target
}

// shedStateless makes an instance stop what it has above its target, or all if it leaves (R7.1). Only what runs can be stopped: what has
// stopped is placed in this round, wherever.
func (n *round) shedStateless(host string, have, target piles) {
	for _, w := range n.weights(true) {
		surplus, why := have[pile{host, w}]-target[pile{host, w}], assignor.ReasonBalance
		if n.leaves(host) {
			surplus, why = math.MaxInt64, assignor.ReasonLeaving
		}
		for ; surplus > 0; surplus-- {
			t, ok := n.pick(host, func(t taskID) bool {
				return n.at[t] == host && n.stateless(t) && n.weight(t) == w && n.runs(t) && !n.waits(t)
			})
			if !ok {
				break
			}
			n.shed[t], n.why[t] = true, why
		}
	}
}
