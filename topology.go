package assignor

import (
	"cmp"
	"slices"
)

// topology numbers the tasks: those of the topology from 0 in id order, then the foreign ones, which members run although the
// topology does not have them.
//
//	subtopologies 0 (3 tasks) and 2 (2), somebody runs 7_1:   0_0 0_1 0_2 2_0 2_1 | 7_1
//	                                                           0   1   2   3   4  |  5
//
// So a task is an index into arrays, its order is that of its number, and "is it ours" is one comparison. The numbers are those
// of one round: nothing keeps them for the next, in which the topology may be another.
type topology struct {
	subs    []Subtopology // sorted by ID
	start   []int32       // start[s] is the first task of subs[s]; start[len(subs)] is the number of tasks
	dense   bool          // the ids are 0, 1, 2..., as they are in most topologies
	foreign []TaskID      // sorted
}

// newTopology numbers the tasks of subs, of which no two have one ID. It knows no foreign tasks yet.
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

// cursor returns one that has looked nothing up yet.
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

// look is number for a task of another subtopology than the last one.
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

// number returns the dense number of a task, or none where neither the topology nor any member that runs it has it. It costs a
// search where the task is foreign.
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

// searchSubtopology is subtopology where the ids have gaps. It is a function of its own so that the other is short enough to be
// inlined.
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

// id returns the name of a task, foreign ones included. It costs O(log subtopologies), which is why loops that name all tasks
// go by subtopology.
func (t *topology) id(task int32) TaskID {
	if task >= t.size() {
		return t.foreign[task-t.size()]
	}
	s := t.subOf(task)
	return TaskID{t.subs[s].ID, task - t.start[s]}
}
