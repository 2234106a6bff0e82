package assignor

import (
	"cmp"
	"slices"
	"time"
)

func (g *group) nameOf(m int32) string {
	if m == none {
		return ""
	}
	return g.members[m].in.ID
}

func (g *group) cost(t int32) int64 {
	s := g.topology.subOf(t)
	return g.topology.subs[s].cost(t - g.topology.start[s])
}

func (g *group) stateless(t int32) bool { return g.topology.subs[g.topology.subOf(t)].Stateless }

// none stands for "no member", "no instance", "no copy" among the dense numbers.
const none = int32(-1)

// topology numbers the tasks: those of the topology from 0 in id order, then the foreign ones, which members run although
// the topology does not have them.
type topology struct {
	subs    []Subtopology // sorted by ID
	start   []int32       // start[s] is the first task of subs[s]; start[len(subs)] is the number of tasks
	dense   bool          // the ids are 0, 1, 2..., as they are in most topologies
	foreign []TaskID      // sorted
}

func newTopology(subs []Subtopology) topology {
	t := topology{subs: slices.Clone(subs), start: make([]int32, len(subs)+1)}
	slices.SortFunc(t.subs, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	for s, sub := range t.subs {
		t.start[s+1] = t.start[s] + sub.Partitions
	}
	t.dense = len(t.subs) > 0 && t.subs[0].ID == 0 && t.subs[len(t.subs)-1].ID == int32(len(t.subs)-1)
	return t
}

// size is the number of the topology's own tasks.
func (t *topology) size() int32 { return t.start[len(t.subs)] }

// all is the number of tasks, foreign ones included.
func (t *topology) all() int { return int(t.size()) + len(t.foreign) }

// own returns the dense number of a task of the topology, and none of any other. It costs O(1) where the ids of the
// subtopologies are 0, 1, 2..., else O(log subtopologies).
func (t *topology) own(id TaskID) int32 {
	s := t.subtopology(id.Subtopology)
	if s == none || uint32(id.Partition) >= uint32(t.start[s+1]-t.start[s]) {
		return none
	}
	return t.start[s] + id.Partition
}

// cursor numbers the tasks of a member, which are mostly sorted: it looks a subtopology up once for all its tasks. That takes a sixth
// off a quiet round, against a call of own for each task (BenchmarkAssign, 100 000 tasks on 1 000 members).
type cursor struct {
	topology   *topology
	stateful   bool // tasks without state have no number
	sub, first int32
	partitions uint32
}

func (t *topology) cursor() cursor { return cursor{topology: t, sub: none} }

// number returns what own does, and none where the task has no state and is to have some.
func (c *cursor) number(id TaskID) int32 {
	if id.Subtopology == c.sub && uint32(id.Partition) < c.partitions {
		return c.first + id.Partition
	}
	return c.look(id)
}

// numberOfAny returns what number of the topology does: foreign tasks have one too.
func (c *cursor) numberOfAny(id TaskID) int32 {
	if t := c.number(id); t != none {
		return t
	}
	return c.topology.number(id)
}

func (c *cursor) look(id TaskID) int32 {
	c.sub, c.partitions = id.Subtopology, 0
	t := c.topology
	if s := t.subtopology(c.sub); s != none && (!c.stateful || !t.subs[s].Stateless) {
		c.first, c.partitions = t.start[s], uint32(t.start[s+1]-t.start[s])
	}
	if uint32(id.Partition) >= c.partitions {
		return none
	}
	return c.first + id.Partition
}

// number returns the dense number of a task, or none where neither the topology nor any member that runs it has it.
func (t *topology) number(id TaskID) int32 {
	if task := t.own(id); task != none {
		return task
	}
	if i, ok := slices.BinarySearchFunc(t.foreign, id, TaskID.Compare); ok {
		return t.size() + int32(i)
	}
	return none
}

// subtopology returns the index in subs of the subtopology with an id, none where there is none.
func (t *topology) subtopology(id int32) int32 {
	if t.dense {
		if uint32(id) < uint32(len(t.subs)) {
			return id
		}
		return none
	}
	return t.searchSubtopology(id)
}

func (t *topology) searchSubtopology(id int32) int32 {
	s, ok := slices.BinarySearchFunc(t.subs, id, func(sub Subtopology, id int32) int { return cmp.Compare(sub.ID, id) })
	if !ok {
		return none
	}
	return int32(s)
}

// subOf returns the index in subs of a task of the topology. It costs O(log subtopologies): loops over all tasks go by
// subtopology instead.
func (t *topology) subOf(task int32) int32 {
	lo, hi := 0, len(t.subs)-1
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.start[mid+1] > task {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return int32(lo)
}

func (t *topology) id(task int32) TaskID {
	if task >= t.size() {
		return t.foreign[task-t.size()]
	}
	s := t.subOf(task)
	return TaskID{t.subs[s].ID, task - t.start[s]}
}

// member is a Member at the door: checked, defaults filled in, its instance a number.
type member struct {
	in       *Member
	instance int32
	capacity int64
	gen      int32 // the generation it last applied, 0 for none
	leaving  bool
	speaks   bool // knows learners
}

// instance is what members share: a disk, and a fate.
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

// group is who takes part in the round and which tasks there are, by dense numbers. Nothing in it is decided: it is what the members
// report and the config says, checked, in order, and with the defaults filled in.
type group struct {
	*groupSpace
	config         Config
	topology       topology
	members        []member   // sorted by id
	instances      []instance // sorted by name
	instanceBy     []int32    // by member, its instance
	allLeave       bool       // no instance stays, so all count as staying (R1)
	somebodySpeaks bool       // an instance that stays can learn
	staying        int64      // the capacity of the instances that stay
	numStaying     int32
	kinds
}

// groupSpace is the arrays that a group works in.
type groupSpace struct {
	scratch
	memberRows   arena[member]
	instanceRows arena[instance]
}

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
	g.kinds = g.indexKinds()
	return g
}

// indexMembers numbers the members in id order and their instances in name order.
func (r *group) indexMembers(members []Member) {
	r.members = r.memberRows.take(len(members))
	for i := range members {
		m := &members[i]
		r.members[i] = member{
			in:       m,
			capacity: max(1, int64(m.Capacity)),
			gen:      knownGeneration(m.Generation),
			leaving:  m.Leaving,
			speaks:   m.Version == 0 || m.Version >= LearnerVersion,
		}
	}
	byID := func(a, b member) int { return cmp.Compare(a.in.ID, b.in.ID) }
	if !slices.IsSortedFunc(r.members, byID) {
		slices.SortFunc(r.members, byID)
	}
	r.indexInstances()
	r.scaleCapacities()
}

func (r *group) indexInstances() {
	block := r.int32s.take(2 * len(r.members))
	order := block[:len(r.members)]
	for m := range order {
		order[m] = int32(m)
	}
	byName := func(a, b int32) int {
		return cmp.Compare(r.members[a].in.instanceName(), r.members[b].in.instanceName())
	}
	if !slices.IsSortedFunc(order, byName) {
		slices.SortStableFunc(order, byName)
	}
	r.instances = r.instanceRows.take(len(r.members))[:0]
	r.instanceBy = block[len(r.members):]
	for first, i := 0, 1; i <= len(order); i++ {
		name := r.members[order[first]].in.instanceName()
		if i == len(order) || r.members[order[i]].in.instanceName() != name {
			r.addInstance(name, order[first:i:i])
			first = i
		}
	}
	r.allLeave = !slices.ContainsFunc(r.instances, func(i instance) bool { return !i.leaving })
	for i := range r.instances {
		in := &r.instances[i]
		in.stays = !in.leaving || r.allLeave
		in.overdue = in.leaving && !r.allLeave && r.config.ScaleDownTimeout > 0 && in.leavingFor >= r.config.ScaleDownTimeout
		r.somebodySpeaks = r.somebodySpeaks || in.speaks && !in.leaving
	}
}

func (r *group) addInstance(name string, members []int32) {
	in := instance{name: name, members: members, leaving: true}
	for _, m := range members {
		mb := &r.members[m]
		mb.instance = int32(len(r.instances))
		r.instanceBy[m] = mb.instance
		in.capacity += mb.capacity
		in.leaving = in.leaving && mb.leaving
		in.speaks = in.speaks || mb.speaks && !mb.leaving
	}
	if in.leaving {
		for _, m := range members {
			in.leavingFor = max(in.leavingFor, r.members[m].in.LeavingFor)
		}
	}
	r.instances = append(r.instances, in)
}

// maxCapacity bounds the summed capacity of a group, so that tasks x capacity fits in an int64. Greater sums are scaled down,
// which no group of real hosts needs.
const maxCapacity = 1 << 40

func (r *group) scaleCapacities() {
	sum := int64(0)
	for m := range r.members {
		sum += r.members[m].capacity
	}
	shift := 0
	for sum>>shift > maxCapacity {
		shift++
	}
	if shift == 0 {
		return
	}
	for i := range r.instances {
		in := &r.instances[i]
		in.capacity = 0
		for _, m := range in.members {
			r.members[m].capacity = max(1, r.members[m].capacity>>shift)
			in.capacity += r.members[m].capacity
		}
	}
}

// instanceNamed returns the number of an instance, or none where the group has none of that name; guess is where it probably is.
func (r *group) instanceNamed(name string, guess int32) int32 {
	if int(guess) < len(r.instances) && r.instances[guess].name == name {
		return guess
	}
	i, ok := slices.BinarySearchFunc(r.instances, name, func(in instance, name string) int { return cmp.Compare(in.name, name) })
	if !ok {
		return none
	}
	return int32(i)
}

// memberNamed returns the number of a member, or none where the group has none of that id; guess is where it probably is.
func (r *group) memberNamed(id string, guess int32) int32 {
	if int(guess) < len(r.members) && r.members[guess].in.ID == id {
		return guess
	}
	m, ok := slices.BinarySearchFunc(r.members, id, func(m member, id string) int { return cmp.Compare(m.in.ID, id) })
	if !ok {
		return none
	}
	return int32(m)
}

// instanceOf returns the instance of a member, and none of none.
func (r *group) instanceOf(m int32) int32 {
	if m == none {
		return none
	}
	return r.instanceBy[m]
}

// speakers are the instances that may take a learner; newReceivers those of them that may get one for the sake of balance.
func (g *group) speakers(i int) bool { return g.instances[i].speaks && !g.instances[i].leaving }

func (g *group) stays(i int) bool { return g.instances[i].stays }

func (g *group) staysNow(i int) bool { return !g.instances[i].leaving }
