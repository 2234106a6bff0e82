package assignor

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

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

func (s Subtopology) weight() int64 { return max(1, int64(s.Weight)) }

// cost returns what a replay of one of its tasks costs, 0 where all cost the same.
func (s Subtopology) cost(partition int32) int64 {
	if s.RestoreCost == nil {
		return 0
	}
	return s.RestoreCost[partition]
}

// member is a Member at the door: checked, defaults filled in, its instance a number.
type member struct {
	in       *Member
	instance int32
	capacity int64
	gen      int32 // the generation it last applied, 0 for none
	leaving  bool
	speaks   bool // knows learners
	unsure   bool // may have missed the last answer or be acting on it: what it says it revoked may still run
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
	newcomer   bool // the memory does not know it
	speaks     bool // one of its members that do not leave knows learners
}

// validateMembers returns what makes an answer impossible: no members, an empty id, two members with one id.
func validateMembers(members []Member) error {
	if len(members) == 0 {
		return ErrNoMembers
	}
	sorted := true
	for i := range members {
		if members[i].ID == "" {
			return fault{ErrMember, fmt.Sprintf("a member of the instance %q has no id", members[i].Instance)}
		}
		sorted = sorted && (i == 0 || members[i-1].ID < members[i].ID)
	}
	if sorted {
		return nil
	}
	ids := make([]string, len(members))
	for i := range members {
		ids[i] = members[i].ID
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return fault{ErrMember, "two members have the id " + ids[i]}
		}
	}
	return nil
}

// fault is an error that says what is wrong in its own words and matches a sentinel.
type fault struct {
	kind error
	text string
}

func (f fault) Error() string { return "assignor: " + f.text }

func (f fault) Unwrap() error { return f.kind }

// indexMembers numbers the members in id order and their instances in name order.
func (r *round) indexMembers(members []Member) {
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

func (m *Member) instanceName() string {
	if m.Instance == "" {
		return m.ID
	}
	return m.Instance
}

func (r *round) indexInstances() {
	order := r.int32s.take(len(r.members))
	for m := range order {
		order[m] = int32(m)
	}
	byName := func(a, b int32) int {
		return cmp.Compare(r.members[a].in.instanceName(), r.members[b].in.instanceName())
	}
	if !slices.IsSortedFunc(order, byName) {
		slices.SortStableFunc(order, byName)
	}
	r.instances = r.instRows.take(len(r.members))[:0]
	r.instanceBy = r.int32s.take(len(r.members))
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

func (r *round) addInstance(name string, members []int32) {
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

func (r *round) scaleCapacities() {
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
func (r *round) instanceNamed(name string, guess int32) int32 {
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
func (r *round) memberNamed(id string, guess int32) int32 {
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
func (r *round) instanceOf(m int32) int32 {
	if m == none {
		return none
	}
	return r.instanceBy[m]
}
