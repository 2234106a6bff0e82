package assignor

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor/internal/taskset"
)

// Parts of a set's head byte. Of {0_5, 0_6, 0_7, 3_9} the sets are, in hex,
//
//	09 05 01   form 1, a run (1); another set follows (8); subtopology 0 (0 << 4); from 5 on, three tasks less 2
//	20 09      form 0, a single task; the last set; the subtopology is 2 beyond the least it can be (2 << 4), which is 1; 9
//
// Subtopologies are told by how far they are behind their predecessor, so that the usual 0, 1, 2 ... are a 0 each, and a list that is
// not sorted cannot be written.
const (
	headForm  = 7 // mask
	headMore  = 8
	headShift = 4  // of the subtopology
	headLong  = 15 // the subtopology's value is this, and more follows
	maxNumber = math.MaxInt32
)

// taskList appends a list that is not empty, in order and without duplicates (see normal). It works on local copies of the buffers: through
// e each set would store them.
func (e *encoder) taskList(tasks []TaskID) {
	next, buf, gaps := int32(0), e.buf, e.gaps
	for len(tasks) > 0 {
		s := firstSet(tasks, gaps[:0])
		gaps = s.Gaps
		buf = appendSet(buf, &s, tasks[0].Subtopology-next, s.Len < len(tasks))
		next = tasks[0].Subtopology + 1
		tasks = tasks[s.Len:]
	}
	e.buf, e.gaps = buf, gaps
}

// firstSet returns the tasks that are of the same subtopology as the first one. It appends their gaps to gaps.
func firstSet(tasks []TaskID, gaps []taskset.Gaps) taskset.Set {
	subtopology, last, n := tasks[0].Subtopology, tasks[0].Partition, 1
	for _, t := range tasks[1:] {
		if t.Subtopology != subtopology {
			break
		}
		n++
		gaps = taskset.Append(gaps, uint32(t.Partition-last))
		last = t.Partition
	}
	return taskset.Set{First: uint32(tasks[0].Partition), Len: n, Gaps: gaps}
}

// appendSet appends the set to b, behind its head. subtopology is how far that is behind the least it can be; more says that a set
// follows.
func appendSet(b []byte, s *taskset.Set, subtopology int32, more bool) []byte {
	p := s.Plan()
	head := byte(p.Form) | byte(min(subtopology, headLong))<<headShift
	if more {
		head |= headMore
	}
	b = append(b, head)
	if subtopology >= headLong {
		b = binary.AppendUvarint(b, uint64(subtopology-headLong))
	}
	return s.Append(b, p)
}

// positions appends a set of positions, which are in order and at least one.
func (e *encoder) positions(positions []uint32) {
	s := taskset.Of(positions, e.gaps[:0])
	e.gaps = s.Gaps
	e.buf = appendSet(e.buf, &s, 0, false)
}

// normal returns tasks in order and without duplicates: tasks itself, where it is so, since nearly all that are encoded are. It fails for
// what can be no task, which no set could hold.
func (e *encoder) normal(tasks []TaskID) []TaskID {
	last := int64(-1)
	for _, t := range tasks {
		if t.Subtopology|t.Partition < 0 {
			e.fail(ErrMember, "%v is no task: negative", t)
			return nil
		}
		id := int64(t.Subtopology)<<32 | int64(t.Partition)
		if id <= last {
			return e.normal(sortedTasks(tasks))
		}
		last = id
	}
	return tasks
}

// normalReplicas returns copies in order and without duplicates, of which the one with the smaller lag (then age) stays.
func (e *encoder) normalReplicas(replicas []Replica) []Replica {
	for i, r := range replicas {
		if r.Task.Subtopology < 0 || r.Task.Partition < 0 {
			e.fail(ErrMember, "%v is no task: negative", r.Task)
			return nil
		}
		if i > 0 && replicas[i-1].Task.Compare(r.Task) >= 0 {
			return e.normalReplicas(sortedReplicas(replicas))
		}
	}
	return replicas
}

// sortedReplicas sorts copies, and keeps the nearest of several of one task.
func sortedReplicas(replicas []Replica) []Replica {
	sorted := slices.Clone(replicas)
	slices.SortFunc(sorted, func(a, b Replica) int {
		return cmp.Or(a.Task.Compare(b.Task), compareLags(a.Lag, b.Lag), cmp.Compare(a.For, b.For))
	})
	return slices.CompactFunc(sorted, func(a, b Replica) bool { return a.Task == b.Task })
}

// clearSets makes room for the sets of a list. No set takes less than two bytes, and few gaps take less than one.
func (d *decoder) clearSets() {
	if d.sets == nil {
		d.sets = make([]wireSet, 0, min(d.left()/2+1, 16))
		d.reader.Gaps = make([]taskset.Gaps, 0, min(d.left(), 512))
	}
	d.sets, d.reader.Gaps = d.sets[:0], d.reader.Gaps[:0]
}

// taskSets reads the sets of a list into d.sets and d.reader.Gaps and returns the number of their tasks.
func (d *decoder) taskSets() int {
	d.clearSets()
	n, next, more := 0, uint64(0), true
	for more && d.err == nil {
		head := d.byte()
		more = head&headMore != 0
		subtopology := next + uint64(head>>headShift)
		if head>>headShift == headLong {
			subtopology += d.number(maxNumber, "subtopology")
		}
		if subtopology > maxNumber {
			d.fail("a subtopology beyond %d", maxNumber)
		}
		next = subtopology + 1
		n += d.wireSet(int32(subtopology), taskset.Form(head&headForm))
	}
	d.countTasks(n)
	return n
}

// countTasks adds to what the whole payload stands for. The bound is for all lists together, and it is kept before any list of that many
// is allocated.
func (d *decoder) countTasks(n int) {
	if d.tasks += n; d.tasks > MaxTasks {
		d.fail("more than %d tasks", MaxTasks)
	}
}

// wireSet reads a set behind its head into d.sets, and returns how many tasks it has.
func (d *decoder) wireSet(subtopology int32, form taskset.Form) int {
	s, n, err := d.reader.Read(d.data[d.off:d.end], form, MaxTasks)
	d.off += n
	if err != nil {
		d.failSet(err)
	}
	d.sets = append(d.sets, wireSet{subtopology, s.First, len(s.Gaps)})
	return s.Len
}

// failSet says of tasks what package taskset says of numbers.
func (d *decoder) failSet(err error) {
	switch {
	case errors.Is(err, taskset.ErrNotBest):
		d.fail("a set of tasks is not in its shortest form")
	case errors.Is(err, taskset.ErrMany):
		d.fail("more than %d tasks", MaxTasks)
	case errors.Is(err, taskset.ErrLarge):
		d.fail("a partition beyond %d", maxNumber)
	default:
		d.fail("%s", strings.TrimPrefix(err.Error(), "taskset: "))
	}
}

// taskList reads a list that is not empty, and returns it and its length: nil while tasks are only counted.
func (d *decoder) taskList() ([]TaskID, int) {
	n := d.taskSets()
	if d.err != nil || d.counting() {
		return nil, n
	}
	tasks, gaps := make([]TaskID, 0, n), d.reader.Gaps
	for _, s := range d.sets {
		t := TaskID{s.subtopology, int32(s.first)}
		tasks = append(tasks, t)
		for _, g := range gaps[:s.gaps] {
			for times := g.Times; times > 0; times-- {
				t.Partition += int32(g.Gap)
				tasks = append(tasks, t)
			}
		}
		gaps = gaps[s.gaps:]
	}
	return tasks, n
}

// copies reads the tasks of a list of copies, which is not empty, and returns them and its length: nil while tasks are only
// counted. It is taskList, without a second list.
func (d *decoder) copies() ([]Replica, int) {
	n := d.taskSets()
	if d.err != nil || d.counting() {
		return nil, n
	}
	copies, gaps := make([]Replica, 0, n), d.reader.Gaps
	for _, s := range d.sets {
		t := TaskID{s.subtopology, int32(s.first)}
		copies = append(copies, Replica{Task: t})
		for _, g := range gaps[:s.gaps] {
			for range g.Times {
				t.Partition += int32(g.Gap)
				copies = append(copies, Replica{Task: t})
			}
		}
		gaps = gaps[s.gaps:]
	}
	return copies, n
}

// positions reads a set of positions in a list of n into d.sets and d.reader.Gaps, and returns their number.
func (d *decoder) positions(n int) int {
	d.clearSets()
	head := d.byte()
	if head&^headForm != 0 {
		d.fail("a set of positions with a subtopology or a successor")
	}
	size := d.wireSet(0, taskset.Form(head&headForm))
	last := uint64(d.sets[0].first)
	for _, g := range d.reader.Gaps {
		last += uint64(g.Gap) * uint64(g.Times)
	}
	if last >= uint64(n) {
		d.fail("a position beyond the list")
	}
	return size
}

// eachPosition calls visit for each of the positions in d.sets and d.reader.Gaps, unless there was an error.
func (d *decoder) eachPosition(visit func(position uint32)) {
	if d.err != nil {
		return
	}
	p := d.sets[0].first
	visit(p)
	for _, g := range d.reader.Gaps {
		for range g.Times {
			p += g.Gap
			visit(p)
		}
	}
}

// subset reads a set of positions in tasks, of which there are n, and returns the tasks there: nil while they are only counted.
func (d *decoder) subset(tasks []TaskID, n int) []TaskID {
	size := d.positions(n)
	d.countTasks(size)
	if d.err != nil || d.counting() {
		return nil
	}
	subset := make([]TaskID, 0, size)
	d.eachPosition(func(p uint32) { subset = append(subset, tasks[p]) })
	return subset
}
