package assignor

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Parts of a set's head byte.
const (
	headForm  = 7 // mask
	headMore  = 8
	headShift = 4  // of the subtopology
	headLong  = 15 // the subtopology's value is this, and more follows
	maxNumber = math.MaxInt32
)

// wireSet is one set of a list that is being read. Its gaps are the next ones in decoder.gaps.
type wireSet struct {
	subtopology int32
	first       uint32
	gaps        int
}

// taskList appends a list that is not empty.
func (e *encoder) taskList(tasks []TaskID) {
	next, buf, gaps := int32(0), e.buf, e.gaps
	for len(tasks) > 0 {
		s := firstSet(tasks, gaps[:0])
		gaps = s.gaps
		buf = s.appendWithHead(buf, tasks[0].Subtopology-next, s.n < len(tasks))
		next = tasks[0].Subtopology + 1
		tasks = tasks[s.n:]
	}
	e.buf, e.gaps = buf, gaps
}

// firstSet returns the tasks that are of the same subtopology as the first one. It appends their gaps to gaps.
func firstSet(tasks []TaskID, gaps []gapRun) partitionSet {
	subtopology, last, n := tasks[0].Subtopology, tasks[0].Partition, 1
	for _, t := range tasks[1:] {
		if t.Subtopology != subtopology {
			break
		}
		n++
		gaps = appendGap(gaps, uint32(t.Partition-last))
		last = t.Partition
	}
	return partitionSet{first: uint32(tasks[0].Partition), n: n, gaps: gaps}
}

func appendGap(gaps []gapRun, gap uint32) []gapRun {
	if last := len(gaps) - 1; last >= 0 && gaps[last].gap == gap {
		gaps[last].times++
		return gaps
	}
	return append(gaps, gapRun{gap, 1})
}

// appendWithHead appends the set to b. subtopology is how far that is behind the least it can be; more says that a set follows.
func (s *partitionSet) appendWithHead(b []byte, subtopology int32, more bool) []byte {
	p := s.plan()
	head := byte(p.form) | byte(min(subtopology, headLong))<<headShift
	if more {
		head |= headMore
	}
	b = append(b, head)
	if subtopology >= headLong {
		b = binary.AppendUvarint(b, uint64(subtopology-headLong))
	}
	return s.append(b, p)
}

// positions appends a set of positions, which are in order and at least one.
func (e *encoder) positions(positions []uint32) {
	s := partitionSet{first: positions[0], n: len(positions), gaps: e.gaps[:0]}
	for i := 1; i < len(positions); i++ {
		s.gaps = appendGap(s.gaps, positions[i]-positions[i-1])
	}
	e.gaps = s.gaps
	e.buf = s.appendWithHead(e.buf, 0, false)
}

// normal returns tasks in order and without duplicates: tasks itself, where it is so.
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
		d.gaps = make([]gapRun, 0, min(d.left(), 512))
	}
	d.sets, d.gaps = d.sets[:0], d.gaps[:0]
}

// taskSets reads the sets of a list into d.sets and d.gaps and returns the number of their tasks.
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
		n += d.wireSet(int32(subtopology), setForm(head&headForm))
	}
	d.countTasks(n)
	return n
}

func (d *decoder) countTasks(n int) {
	if d.tasks += n; d.tasks > MaxTasks {
		d.fail("more than %d tasks", MaxTasks)
	}
}

func (d *decoder) wireSet(subtopology int32, form setForm) int {
	s := d.set(form)
	d.sets = append(d.sets, wireSet{subtopology, s.first, len(s.gaps)})
	return s.n
}

// taskList reads a list that is not empty, and returns it and its length: nil while tasks are only counted.
func (d *decoder) taskList() ([]TaskID, int) {
	n := d.taskSets()
	if d.err != nil || d.counting() {
		return nil, n
	}
	tasks, gaps := make([]TaskID, 0, n), d.gaps
	for _, s := range d.sets {
		t := TaskID{s.subtopology, int32(s.first)}
		tasks = append(tasks, t)
		for _, g := range gaps[:s.gaps] {
			for times := g.times; times > 0; times-- {
				t.Partition += int32(g.gap)
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
	copies, gaps := make([]Replica, 0, n), d.gaps
	for _, s := range d.sets {
		t := TaskID{s.subtopology, int32(s.first)}
		copies = append(copies, Replica{Task: t})
		for _, g := range gaps[:s.gaps] {
			for range g.times {
				t.Partition += int32(g.gap)
				copies = append(copies, Replica{Task: t})
			}
		}
		gaps = gaps[s.gaps:]
	}
	return copies, n
}

// positions reads a set of positions in a list of n into d.sets and d.gaps, and returns their number.
func (d *decoder) positions(n int) int {
	d.clearSets()
	head := d.byte()
	if head&^headForm != 0 {
		d.fail("a set of positions with a subtopology or a successor")
	}
	size := d.wireSet(0, setForm(head&headForm))
	last := uint64(d.sets[0].first)
	for _, g := range d.gaps {
		last += uint64(g.gap) * uint64(g.times)
	}
	if last >= uint64(n) {
		d.fail("a position beyond the list")
	}
	return size
}

// eachPosition calls visit for each of the positions in d.sets and d.gaps, unless there was an error.
func (d *decoder) eachPosition(visit func(position uint32)) {
	if d.err != nil {
		return
	}
	p := d.sets[0].first
	visit(p)
	for _, g := range d.gaps {
		for range g.times {
			p += g.gap
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
