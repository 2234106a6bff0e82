package assignor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Parts of a set's head byte.
const (
	headForm      = 7 // mask
	headMore      = 8
	headShift     = 4  // of the subtopology
	headLong      = 15 // the subtopology's value is this, and more follows
	maxNumber     = math.MaxInt32
	maxAgeUnit    = 9 // 10^9 ns, a second
	columnForm    = 3 // mask
	columnAge     = 2 // shift of the ages' form
	columnAgeUnit = 4 // shift
)

// How a column of lags or ages is coded.
const (
	columnZero  = iota // all are 0
	columnEqual        // all are the same, not 0
	columnMixed        // the positions of those that are not 0, and their codes
)

// wireSet is one set of a list that is being read. Its gaps are the next ones in decoder.gaps.
type wireSet struct {
	subtopology int32
	first       uint32
	gaps        int
}

// taskList appends a list that is not empty.
func (e *encoder) taskList(tasks []TaskID) {
	next := int32(0)
	for len(tasks) > 0 {
		s := firstSet(tasks, e.gaps[:0])
		e.gaps = s.gaps
		e.headAndSet(&s, tasks[0].Subtopology-next, s.n < len(tasks))
		next = tasks[0].Subtopology + 1
		tasks = tasks[s.n:]
	}
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

func (e *encoder) headAndSet(s *partitionSet, subtopology int32, more bool) {
	p := s.plan()
	head := byte(p.form) | byte(min(subtopology, headLong))<<headShift
	if more {
		head |= headMore
	}
	e.byte(head)
	if subtopology >= headLong {
		e.uvarint(uint64(subtopology - headLong))
	}
	e.set(s, p)
}

// positions appends a set of positions, which are in order and at least one.
func (e *encoder) positions(positions []uint32) {
	s := partitionSet{first: positions[0], n: len(positions), gaps: e.gaps[:0]}
	for i := 1; i < len(positions); i++ {
		s.gaps = appendGap(s.gaps, positions[i]-positions[i-1])
	}
	e.gaps = s.gaps
	e.headAndSet(&s, 0, false)
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

// replicaList appends a list of copies that is not empty: its tasks, then its lags and its ages.
func (e *encoder) replicaList(replicas []Replica) {
	tasks := make([]TaskID, len(replicas))
	lags, ages := make([]int64, len(replicas)), make([]int64, len(replicas))
	for i, r := range replicas {
		tasks[i], lags[i], ages[i] = r.Task, max(r.Lag, UnknownLag), int64(r.For)
	}
	e.taskList(tasks)
	unit := scaleAges(ages)
	lagForm, ageForm := columnFormOf(lags), columnFormOf(ages)
	e.byte(byte(lagForm) | byte(ageForm)<<columnAge | byte(unit)<<columnAgeUnit)
	e.column(lags, lagForm, lagCode)
	e.column(ages, ageForm, ageCode)
}

func lagCode(lag int64) uint64 { return uint64(max(lag, 0)) }

func ageCode(age int64) uint64 { return uint64(age) }

// scaleAges divides the ages by the greatest power of ten that divides them all, and returns its exponent: at most
// maxAgeUnit, and 0 where all are 0.
func scaleAges(ages []int64) (unit int) {
	if columnFormOf(ages) == columnZero {
		return 0
	}
	for ; unit < maxAgeUnit; unit++ {
		for _, age := range ages {
			if age%10 != 0 {
				return unit
			}
		}
		for i := range ages {
			ages[i] /= 10
		}
	}
	return unit
}

func columnFormOf(values []int64) int {
	for _, v := range values {
		if v != values[0] {
			return columnMixed
		}
	}
	if values[0] == 0 {
		return columnZero
	}
	return columnEqual
}

func (e *encoder) column(values []int64, form int, code func(int64) uint64) {
	switch form {
	case columnEqual:
		e.uvarint(code(values[0]))
	case columnMixed:
		var positions []uint32
		for i, v := range values {
			if v != 0 {
				positions = append(positions, uint32(i))
			}
		}
		e.positions(positions)
		for _, i := range positions {
			e.uvarint(code(values[i]))
		}
	}
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
			for range g.times {
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

// replicaList reads a list of copies that is not empty: nil while tasks are only counted.
func (d *decoder) replicaList() []Replica {
	replicas, n := d.copies()
	head := int(d.byte())
	d.column(head&columnForm, n, math.MaxInt64, func(i int, code uint64) {
		switch {
		case replicas == nil:
		case code == 0:
			replicas[i].Lag = UnknownLag
		default:
			replicas[i].Lag = int64(code)
		}
	})
	d.ages(head>>columnAge&columnForm, head>>columnAgeUnit, n, replicas)
	if d.err != nil {
		return nil
	}
	return replicas
}

// ages reads the column of ages.
func (d *decoder) ages(form, unit, n int, replicas []Replica) {
	if unit > maxAgeUnit || form == columnZero && unit > 0 {
		d.fail("ages in units of 10^%d ns", unit)
		return
	}
	scale := int64(1)
	for range unit {
		scale *= 10
	}
	divisible := true
	d.column(form, n, math.MaxUint64, func(i int, code uint64) {
		age := int64(code)
		divisible = divisible && age%10 == 0
		switch {
		case age == 0 || age > math.MaxInt64/scale || age < math.MinInt64/scale:
			d.fail("an age of %d x 10^%d ns", age, unit)
		case replicas != nil:
			replicas[i].For = time.Duration(age * scale)
		}
	})
	if form != columnZero && divisible && unit < maxAgeUnit {
		d.fail("ages in units of 10^%d ns", unit)
	}
}

// column reads a column of n values and calls set for those that are not 0.
func (d *decoder) column(form, n int, limit uint64, set func(i int, code uint64)) {
	switch form {
	case columnZero:
	case columnEqual:
		code := d.number(limit, "code")
		for i := 0; i < n && d.err == nil; i++ {
			set(i, code)
		}
	case columnMixed:
		d.mixedColumn(n, limit, set)
	default:
		d.fail("column of form %d", form)
	}
}

func (d *decoder) mixedColumn(n int, limit uint64, set func(i int, code uint64)) {
	size := d.positions(n)
	if size > d.left() {
		d.fail("ends too early")
	}
	different, first, begun := size < n, uint64(0), false
	d.eachPosition(func(p uint32) {
		code := d.number(limit, "code")
		if d.err != nil {
			return
		}
		different = different || begun && code != first
		first, begun = code, true
		set(int(p), code)
	})
	if !different {
		d.fail("a column of equal values")
	}
}
