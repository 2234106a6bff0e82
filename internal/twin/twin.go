// Package twin has the naive twins of Assign and Recover: the rules of docs/design.md, written down as slowly and as plainly as
// they read. They work on names, look everything up in maps and count by scanning all tasks whenever they want to know a number, so
// that there are no dense numbers that could be mixed up and no counters that could be forgotten.
//
// A twin shares nothing with what it is compared with but the exported names of package assignor. The two must agree on every
// input, word for word: who runs, learns and keeps what, every move with its reason, every deadline. Where they do not, one of
// them, or the rule, is wrong. [Input.Shrink] leaves out of such an input what the difference does not need.
//
// A twin is for groups of a few instances and some dozens of tasks: it takes O(tasks^2) and more.
package twin

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Assign decides a round as [assignor.Assign] is to: the same answer or an error of the same kind, on every input.
func Assign(members []assignor.Member, prev *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
	if err := faultOf(members, config); err != nil {
		return nil, err
	}
	n := newRound(members, prev, config)
	n.readClaims()
	n.readCopies()
	n.placeActives()
	n.placeOrphans()
	n.levelLearners()
	n.startLearners()
	n.moveStateless()
	n.chooseMembers()
	n.placeStandbys()
	return n.answer(), nil
}

type taskID = assignor.TaskID

// round is one call of Assign: what is reported, and what is decided so far. All steps write into one type, unlike those of the library:
// here any of them may look at anything, since the twin is to be read beside the rules and not to be changed.
//
// No field is a count. Whoever wants a number scans n.tasks for it, at the moment at which the rule speaks of it.
type round struct {
	config  assignor.Config
	memory  *assignor.Assignment // nil: none that counts (R0)
	newest  int32                // the highest generation that a member reports
	ids     []string             // of all members, sorted
	members map[string]assignor.Member
	hosts   []string // the names of all instances, sorted
	crews   map[string][]string
	subs    []assignor.Subtopology // sorted
	tasks   []taskID               // of the topology, sorted

	claims    map[taskID]map[string]bool // who runs a task (true), or ran it until now
	owner     map[taskID]string
	conflicts map[taskID][]string // members that must stop a task because somebody else owns it
	fenced    map[taskID]bool
	restoring map[taskID]bool
	copies    map[taskID][]replica // by member
	awaited   map[taskID]string    // the instance that a task waits for
	orphan    map[taskID]bool

	at      map[taskID]string // the instance that runs a task, at once or when its owner has stopped it
	by      map[taskID]string // the member of it, as far as that is decided
	why     map[taskID]assignor.Reason
	learner map[taskID]string   // the instance that learns a task
	from    map[taskID]replica  // the copy that the learner has already
	waiting map[taskID]replica  // the copy that will learn a task when there is a slot for it
	pooled  map[taskID]bool     // given up, and not yet dealt out
	shed    map[taskID]bool     // stateless, to be stopped
	target  piles               // of stateful tasks
	kept    map[taskID][]string // the instances that keep a standby
	shifted map[taskID]bool     // a standby was moved
	moves   []assignor.Move
}

// replica is state of a task with a member that does not run it.
type replica struct {
	member  string
	lag     uint64 // math.MaxUint64 where nobody knows it
	learns  bool
	expired bool // learns for longer than LearnerTimeout
	age     time.Duration
}

// newRound is what comes before any rule: defaults are filled in, names are sorted, and the memory counts if no member reports a later
// generation (R0.1).
func newRound(members []assignor.Member, prev *assignor.Assignment, config assignor.Config) *round {
	n := &round{
		config: config, members: map[string]assignor.Member{}, crews: map[string][]string{},
		claims: map[taskID]map[string]bool{}, owner: map[taskID]string{}, conflicts: map[taskID][]string{},
		fenced: map[taskID]bool{}, restoring: map[taskID]bool{}, copies: map[taskID][]replica{},
		awaited: map[taskID]string{}, orphan: map[taskID]bool{}, at: map[taskID]string{}, by: map[taskID]string{},
		why: map[taskID]assignor.Reason{}, learner: map[taskID]string{}, from: map[taskID]replica{},
		waiting: map[taskID]replica{}, pooled: map[taskID]bool{}, shed: map[taskID]bool{}, target: piles{}, kept: map[taskID][]string{},
		shifted: map[taskID]bool{},
	}
	for _, m := range members {
		m.Instance = cmp.Or(m.Instance, m.ID)
		m.Capacity = max(1, m.Capacity)
		m.Generation = knownGeneration(m.Generation)
		m.LeavingFor = max(0, m.LeavingFor)
		n.members[m.ID] = m
		n.ids = append(n.ids, m.ID)
		n.newest = max(n.newest, m.Generation)
		if n.crews[m.Instance] == nil {
			n.hosts = append(n.hosts, m.Instance)
		}
		n.crews[m.Instance] = append(n.crews[m.Instance], m.ID)
		slices.Sort(n.crews[m.Instance])
	}
	slices.Sort(n.ids)
	slices.Sort(n.hosts)
	if prev != nil && knownGeneration(prev.Generation) >= n.newest {
		n.memory = prev
	}
	n.subs = slices.Clone(config.Topology)
	slices.SortFunc(n.subs, func(a, b assignor.Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	for _, sub := range n.subs {
		for p := range sub.Partitions {
			n.tasks = append(n.tasks, taskID{Subtopology: sub.ID, Partition: p})
		}
	}
	return n
}

// knownGeneration returns a generation, and 0 for one that nobody can have: behind 2147483647 there would be no next one.
func knownGeneration(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// faultOf returns why there can be no answer. It says which kinds of error there are and nothing more; that they are told in words, all
// at once, is for tests of the library alone.
func faultOf(members []assignor.Member, config assignor.Config) error {
	var faults []error
	if len(members) == 0 {
		faults = append(faults, assignor.ErrNoMembers)
	}
	ids := map[string]bool{"": true}
	for _, m := range members {
		if ids[m.ID] {
			faults = append(faults, assignor.ErrMember)
		}
		ids[m.ID] = true
	}
	ok := len(config.Topology) > 0 && config.Standbys >= 0 && config.MaxLearners >= 0 && config.AcceptableLag >= 0 &&
		config.LearnerTimeout >= 0 && config.ScaleDownTimeout >= 0 && config.RejoinDelay >= 0 && config.ImbalancePercent >= 0 &&
		config.ImbalancePercent <= 100 && config.SincePrevious >= 0 && !slices.Contains(config.SpreadTags, "")
	subs, tasks := map[int32]bool{}, int64(0)
	for _, sub := range config.Topology {
		ok = ok && sub.ID >= 0 && sub.Partitions >= 0 && sub.Weight >= 0 && !subs[sub.ID] &&
			(sub.RestoreCost == nil || len(sub.RestoreCost) == int(sub.Partitions)) &&
			!slices.ContainsFunc(sub.RestoreCost, func(cost int64) bool { return cost < 0 })
		subs[sub.ID] = true
		tasks += int64(max(0, sub.Partitions))
	}
	if !ok || tasks > assignor.MaxTasks {
		faults = append(faults, assignor.ErrConfig)
	}
	return errors.Join(faults...)
}

// sub returns the subtopology of a task; without one the task is foreign (R0.5).
func (n *round) sub(t taskID) (assignor.Subtopology, bool) {
	for _, sub := range n.subs {
		if sub.ID == t.Subtopology && t.Partition >= 0 && t.Partition < sub.Partitions {
			return sub, true
		}
	}
	return assignor.Subtopology{}, false
}

// stateless reports whether the topology has the task and it has no state.
func (n *round) stateless(t taskID) bool {
	sub, _ := n.sub(t)
	return sub.Stateless
}

// hasState reports whether the topology has the task and it has state.
func (n *round) hasState(t taskID) bool {
	sub, ok := n.sub(t)
	return ok && !sub.Stateless
}

// cost returns what it takes to restore a task. It only ranks (R5.2).
func (n *round) cost(t taskID) int64 {
	sub, _ := n.sub(t)
	if sub.RestoreCost == nil {
		return 0
	}
	return sub.RestoreCost[t.Partition]
}

func (n *round) host(member string) string { return n.members[member].Instance }

// capacity is the sum of the members' (R0.4), those that leave included: the instance is what it is until they are gone.
func (n *round) capacity(host string) int64 {
	sum := int64(0)
	for _, m := range n.crews[host] {
		sum += int64(n.members[m].Capacity)
	}
	return sum
}

// leaves reports whether all members of the instance leave.
func (n *round) leaves(host string) bool {
	return !slices.ContainsFunc(n.crews[host], func(m string) bool { return !n.members[m].Leaving })
}

func (n *round) allLeave() bool {
	return !slices.ContainsFunc(n.hosts, func(h string) bool { return !n.leaves(h) })
}

// stays reports whether the instance does not leave, or all leave: then all of them count as staying (R1.6).
func (n *round) stays(host string) bool { return !n.leaves(host) || n.allLeave() }

// staying is the capacity of all instances that stay.
func (n *round) staying() int64 {
	sum := int64(0)
	for _, h := range n.hosts {
		if n.stays(h) {
			sum += n.capacity(h)
		}
	}
	return sum
}

// overdue reports whether an instance is past its drain deadline (R7.2). Where all leave nobody is.
func (n *round) overdue(host string) bool {
	return n.leaves(host) && !n.allLeave() && n.config.ScaleDownTimeout > 0 && n.leavingFor(host) >= n.config.ScaleDownTimeout
}

// speaks reports whether a member speaks LearnerVersion. No version is the newest.
func (n *round) speaks(member string) bool {
	v := n.members[member].Version
	return v == 0 || v >= assignor.LearnerVersion
}

// canLearn reports whether the instance may get learners: one of its members that do not leave knows them.
func (n *round) canLearn(host string) bool {
	return slices.ContainsFunc(n.crews[host], func(m string) bool { return n.speaks(m) && !n.members[m].Leaving })
}

func (n *round) somebodyCanLearn() bool { return slices.ContainsFunc(n.hosts, n.canLearn) }

// newcomer reports whether the memory does not know an instance (R0.4). Without a memory there are none.
func (n *round) newcomer(host string) bool { return n.memory != nil && !n.remembers(host) }

// unsure reports whether the member may have missed the last answer or be acting on it (R0.2). One without a generation has just begun,
// and runs what it reports.
func (n *round) unsure(member string) bool {
	gen := n.members[member].Generation
	if n.memory == nil {
		return gen < n.newest
	}
	return gen != 0 && gen < knownGeneration(n.memory.Generation) &&
		slices.ContainsFunc(n.memory.Members, func(ma assignor.MemberAssignment) bool { return ma.Member == member })
}

// readClaims finds the owner of every task, and who must stop it (R0.3). Whoever is unsure claims what it reports and what the memory
// gave it, both as running, what it says to have stopped included.
func (n *round) readClaims() {
	claim := func(t taskID, member string, runs bool) {
		if t.Subtopology < 0 || t.Partition < 0 {
			return // there can be no such task
		}
		if n.claims[t] == nil {
			n.claims[t] = map[string]bool{}
		}
		n.claims[t][member] = n.claims[t][member] || runs
	}
	for _, id := range n.ids {
		for _, t := range n.members[id].Active {
			claim(t, id, true)
		}
		for _, t := range n.members[id].Revoked {
			claim(t, id, n.unsure(id))
		}
	}
	if n.memory != nil {
		for _, ma := range n.memory.Members {
			if _, present := n.members[ma.Member]; !present || !n.unsure(ma.Member) {
				continue
			}
			for _, t := range ma.Active {
				claim(t, ma.Member, true)
			}
		}
	}
	for t := range n.claims {
		n.settleClaims(t)
	}
}

// settleClaims is R0.3 for one task. Of the claims of the highest generation one that runs the task comes before one that has stopped
// it, then the smaller id.
//
//	claims                            owner   told to stop
//	S1 runs (7), S2 runs (6)          S1      S2
//	S1 runs (7), S2 runs (7)          S1      S1, S2: nobody can say which of them is right
//	S1 has stopped (7), S2 runs (6)   S1      S1, S2: S1 keeps the state, and starts when S2 has stopped
func (n *round) settleClaims(t taskID) {
	top := int32(0)
	for m := range n.claims[t] {
		top = max(top, n.members[m].Generation)
	}
	var atTop, runAtTop, run []string
	for _, m := range n.ids {
		runs, claims := n.claims[t][m]
		if claims && n.members[m].Generation == top {
			atTop = append(atTop, m)
			if runs {
				runAtTop = append(runAtTop, m)
			}
		}
		if runs {
			run = append(run, m)
		}
	}
	n.owner[t] = atTop[0]
	if len(runAtTop) > 0 {
		n.owner[t] = runAtTop[0]
	}
	// It goes on without a stop only where it reports to run the task, whatever others have to stop.
	certain := slices.Contains(n.members[n.owner[t]].Active, t) // not only by what the memory gave it, or by a doubtful Revoked
	n.fenced[t] = len(run) > 0 && len(runAtTop) != 1 || len(run) > 1 && !certain
	for _, m := range n.ids { // an owner that has stopped is told so, or it would drop its state
		if m == n.owner[t] && n.fenced[t] || m != n.owner[t] && n.claims[t][m] {
			n.conflicts[t] = append(n.conflicts[t], m)
			n.move(assignor.MoveRevoke, assignor.ReasonConflict, t, m, "")
		}
	}
}

// move notes a decision. Every one is noted where it is made, so that the reason is at hand.
func (n *round) move(kind assignor.MoveKind, why assignor.Reason, t taskID, from, to string) {
	n.moves = append(n.moves, assignor.Move{Task: t, From: from, To: to, Kind: kind, Reason: why})
}

// readCopies collects who has state of a task and does not run it, one copy a member. A copy of what the member itself runs is no copy:
// it says that the task is still being restored there. Copies of tasks that have ended are dropped, with a move each, but for standbys of
// stateless tasks, which nobody has asked for.
func (n *round) readCopies() {
	for _, id := range n.ids {
		for _, t := range n.tasks {
			c, reported := n.reportedCopy(t, n.members[id])
			switch {
			case !reported:
			case !n.claims[t][id]:
				n.copies[t] = append(n.copies[t], c)
			case n.owner[t] == id && !n.caughtUp(c):
				n.restoring[t] = true
			}
		}
		for _, l := range n.members[id].Learners {
			if !n.hasState(l.Task) {
				n.move(assignor.MoveStopLearn, assignor.ReasonEnded, l.Task, id, "")
			}
		}
		for _, s := range n.members[id].Standbys {
			if _, stateless := n.sub(s.Task); !n.hasState(s.Task) && !stateless {
				n.move(assignor.MoveStopStandby, assignor.ReasonEnded, s.Task, id, "")
			}
		}
	}
}

// reportedCopy returns what a member says of its state of a task. Where it says it twice, the smallest lag and the longest time
// count, and a learner is one.
func (n *round) reportedCopy(t taskID, m assignor.Member) (c replica, reported bool) {
	if !n.hasState(t) {
		return c, false
	}
	c = replica{member: m.ID, lag: math.MaxUint64}
	for _, l := range m.Learners {
		if l.Task != t {
			continue
		}
		c.learns, reported = true, true
		c.expired = c.expired || n.config.LearnerTimeout > 0 && l.For > n.config.LearnerTimeout
		c.lag = min(c.lag, lagOf(l.Lag))
		c.age = max(c.age, l.For)
	}
	for _, s := range m.Standbys {
		if s.Task == t {
			reported = true
			c.lag = min(c.lag, lagOf(s.Lag))
			c.age = max(c.age, s.For)
		}
	}
	return c, reported
}

// lagOf returns a lag by which copies can be compared: an unknown one, which is negative, is last.
func lagOf(lag int64) uint64 {
	if lag < 0 {
		return math.MaxUint64
	}
	return uint64(lag)
}

func (n *round) caughtUp(c replica) bool { return c.lag <= uint64(n.config.AcceptableLag) }

// best returns the first copy of a task in the order of compare among those that admit accepts. Equal ones are in id order, which is the
// last key of every choice of the library (I6).
func (n *round) best(t taskID, admit func(c replica) bool, compare func(a, b replica) int) (replica, bool) {
	var admitted []replica
	for _, c := range n.copies[t] {
		if admit(c) {
			admitted = append(admitted, c)
		}
	}
	slices.SortStableFunc(admitted, compare)
	if len(admitted) == 0 {
		return replica{}, false
	}
	return admitted[0], true
}

// lessLag puts the copy first that is nearest to its task.
func lessLag(a, b replica) int { return cmp.Compare(a.lag, b.lag) }
