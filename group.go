package assignor

import (
	"cmp"
	"slices"
	"time"
)

// group is who takes part in the round and which tasks there are, by dense numbers. Nothing in it is decided: it is what the members
// report and the config says, checked, in order, and with the defaults filled in.
type group struct {
	*groupSpace
	config         Config
	topology       topology
	members        []member   // sorted by id
	instances      []instance // sorted by name
	instanceBy     []int32    // by member, its instance
	allLeave       bool       // no instance stays, so all count as staying (R1.6)
	somebodySpeaks bool       // an instance that stays can learn
	staying        int64      // the capacity of the instances that stay
	numStaying     int32
	kinds
}

// member is a Member at the door: checked, its defaults filled in, its instance a number. Everything behind the door reads
// this, and only those who want lists or names read the Member itself.
type member struct {
	in       *Member
	instance int32
	capacity int64
	gen      int32 // the generation it last applied, 0 for none
	leaving  bool  // it was told to; its instance leaves only when all its members do
	speaks   bool  // knows learners
}

// instance is what members share: a disk, and a fate. Tasks are moved between instances; which member of one has them is
// decided at the end (R8), because it costs no replay.
type instance struct {
	name       string
	members    []int32 // ascending
	capacity   int64   // of all its members
	leaving    bool    // all its members leave
	leavingFor time.Duration
	overdue    bool // leaving and past its drain deadline
	stays      bool // does not leave, or all instances do
	speaks     bool // one of its members that do not leave knows learners
}

// groupSpace is the arrays that a group works in.
type groupSpace struct {
	scratch
	memberRows   arena[member]
	instanceRows arena[instance]
}

// begin makes the arrays ready for a round.
func (s *groupSpace) begin() {
	s.scratch.begin()
	s.memberRows.begin()
	s.instanceRows.begin()
}

// end forgets the references to what the round was given.
func (s *groupSpace) end() {
	clear(s.memberRows.block)
	clear(s.instanceRows.block)
}

// indexGroup numbers the members in id order, their instances in name order and the tasks in id order.
func indexGroup(members []Member, config Config, s *groupSpace) group {
	g := group{groupSpace: s, config: config, topology: newTopology(config.Topology)}
	g.indexMembers(members)
	for i := range g.instances {
		if in := &g.instances[i]; in.stays {
			g.staying += in.capacity
			g.numStaying++
		}
	}
	g.kinds = g.topology.kinds(&s.scratch)
	return g
}

// indexMembers numbers the members in id order and their instances in name order.
func (g *group) indexMembers(members []Member) {
	g.members = g.memberRows.take(len(members))
	for i := range members {
		m := &members[i]
		g.members[i] = member{
			in:       m,
			capacity: max(1, int64(m.Capacity)),
			gen:      knownGeneration(m.Generation),
			leaving:  m.Leaving,
			speaks:   m.Version == 0 || m.Version >= LearnerVersion,
		}
	}
	byID := func(a, b member) int { return cmp.Compare(a.in.ID, b.in.ID) }
	if !slices.IsSortedFunc(g.members, byID) {
		slices.SortFunc(g.members, byID)
	}
	g.indexInstances()
	g.scaleCapacities()
}

// indexInstances groups the members by the name of their instance. Members without one are instances of their own. What depends on all
// of them comes last: whether all leave, and by that who stays and who is past its deadline.
func (g *group) indexInstances() {
	block := g.int32s.take(2 * len(g.members))
	order := block[:len(g.members)]
	for m := range order {
		order[m] = int32(m)
	}
	byName := func(a, b int32) int {
		return cmp.Compare(g.members[a].in.instanceName(), g.members[b].in.instanceName())
	}
	if !slices.IsSortedFunc(order, byName) {
		slices.SortStableFunc(order, byName)
	}
	g.instances = g.instanceRows.take(len(g.members))[:0]
	g.instanceBy = block[len(g.members):]
	for first, i := 0, 1; i <= len(order); i++ {
		name := g.members[order[first]].in.instanceName()
		if i == len(order) || g.members[order[i]].in.instanceName() != name {
			g.addInstance(name, order[first:i:i])
			first = i
		}
	}
	g.allLeave = !slices.ContainsFunc(g.instances, func(i instance) bool { return !i.leaving })
	for i := range g.instances {
		in := &g.instances[i]
		in.stays = !in.leaving || g.allLeave
		in.overdue = in.leaving && !g.allLeave && g.config.ScaleDownTimeout > 0 && in.leavingFor >= g.config.ScaleDownTimeout
		g.somebodySpeaks = g.somebodySpeaks || in.speaks && !in.leaving
	}
}

// addInstance adds the instance that these members share (R0.4). It leaves when all of them do, and has been leaving as long as the
// longest: a member that was told later was told of the same drain.
//
//	h1: m1 leaves for 40 s, m2 stays      h1 stays; m1's tasks go to m2 (R8.3)
//	h1: m1 leaves for 40 s, m2 for 5 s    h1 has been leaving for 40 s
func (g *group) addInstance(name string, members []int32) {
	in := instance{name: name, members: members, leaving: true}
	for _, m := range members {
		mb := &g.members[m]
		mb.instance = int32(len(g.instances))
		g.instanceBy[m] = mb.instance
		in.capacity += mb.capacity
		in.leaving = in.leaving && mb.leaving
		in.speaks = in.speaks || mb.speaks && !mb.leaving
	}
	if in.leaving {
		for _, m := range members {
			in.leavingFor = max(in.leavingFor, g.members[m].in.LeavingFor)
		}
	}
	g.instances = append(g.instances, in)
}

// maxCapacity bounds the summed capacity of a group, so that tasks x capacity fits in an int64. Greater sums are scaled down,
// which no group of real hosts needs.
const maxCapacity = 1 << 40

// scaleCapacities halves all capacities until their sum is at most maxCapacity. The shares stay what they are but for rounding,
// and nobody gets less than 1.
func (g *group) scaleCapacities() {
	sum := int64(0)
	for m := range g.members {
		sum += g.members[m].capacity
	}
	shift := 0
	for sum>>shift > maxCapacity {
		shift++
	}
	if shift == 0 {
		return
	}
	for i := range g.instances {
		in := &g.instances[i]
		in.capacity = 0
		for _, m := range in.members {
			g.members[m].capacity = max(1, g.members[m].capacity>>shift)
			in.capacity += g.members[m].capacity
		}
	}
}

// instanceNamed returns the number of an instance, or none where the group has none of that name; guess is where it probably is.
func (g *group) instanceNamed(name string, guess int32) int32 {
	if int(guess) < len(g.instances) && g.instances[guess].name == name {
		return guess
	}
	i, ok := slices.BinarySearchFunc(g.instances, name, func(in instance, name string) int { return cmp.Compare(in.name, name) })
	if !ok {
		return none
	}
	return int32(i)
}

// memberNamed returns the number of a member, or none where the group has none of that id; guess is where it probably is.
func (g *group) memberNamed(id string, guess int32) int32 {
	if int(guess) < len(g.members) && g.members[guess].in.ID == id {
		return guess
	}
	m, ok := slices.BinarySearchFunc(g.members, id, func(m member, id string) int { return cmp.Compare(m.in.ID, id) })
	if !ok {
		return none
	}
	return int32(m)
}

// nameOf returns the id of a member, "" of none.
func (g *group) nameOf(m int32) string {
	if m == none {
		return ""
	}
	return g.members[m].in.ID
}

// instanceOf returns the instance of a member, and none of none.
func (g *group) instanceOf(m int32) int32 {
	if m == none {
		return none
	}
	return g.instanceBy[m]
}

// stays reports whether instance i may be given something: it does not leave, or all do (R1.6).
func (g *group) stays(i int) bool { return g.instances[i].stays }

// staysNow reports whether instance i does not leave, even if all do.
func (g *group) staysNow(i int) bool { return !g.instances[i].leaving }

// speakers reports whether instance i may be given a learner: it does not leave, and a member that does not leave either knows
// the protocol.
func (g *group) speakers(i int) bool { return g.instances[i].speaks && !g.instances[i].leaving }

// stateless reports whether a task has no state, so that it has no copies and moves by stop and start (R5.7). It costs O(log
// subtopologies).
func (g *group) stateless(t int32) bool { return g.topology.subs[g.topology.subOf(t)].Stateless }

// cost returns what a replay of a task costs, 0 where all of its subtopology cost the same. It ranks tasks (R5.2) and limits
// nothing.
func (g *group) cost(t int32) int64 {
	s := g.topology.subOf(t)
	return g.topology.subs[s].cost(t - g.topology.start[s])
}

// weight returns what a stateful task weighs in the units of its kind.
func (g *group) weight(t int32) int64 { return g.stateful.weights[g.classOf(&g.stateful, t)] }

// classOf returns the class of a task of that kind. It costs O(log subtopologies).
func (g *group) classOf(k *kind, t int32) int32 { return k.classOf[g.topology.subOf(t)] }

// classOfSub returns the class of a subtopology among those of its own kind.
func (g *group) classOfSub(sub int32) int32 {
	if g.topology.subs[sub].Stateless {
		return g.statelessKind.classOf[sub]
	}
	return g.stateful.classOf[sub]
}
