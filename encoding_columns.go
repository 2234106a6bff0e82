package assignor

import (
	"math"
	"time"
)

// Parts of the byte before the columns of lags and ages.
const (
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

// replicaList appends a list of copies that is not empty: its tasks, then its lags and its ages. These are columns, since in most groups
// nearly all of them are equal: standbys have caught up, and say no age. Of three standbys, the last of which lags by 7, they are
//
//	02      lags are mixed (2), ages zero (0 << 2), in units of 10^0 (0 << 4)
//	00 02   the set of the positions that are not 0: a single one, 2
//	07      the lag there
//
// Not taken: lag and age behind each task. That takes two bytes a copy where this takes one a list.
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

// lagCode is the number that stands for a lag that is not 0: 0, which no such lag is, for an unknown one.
func lagCode(lag int64) uint64 { return uint64(max(lag, 0)) }

// ageCode is the number that stands for an age. A negative one, which only a wrong report has, takes ten bytes and comes back.
func ageCode(age int64) uint64 { return uint64(age) }

// scaleAges divides the ages by the greatest power of ten that divides them all, and returns its exponent: at most
// maxAgeUnit, and 0 where all are 0. Of a clock that counts seconds an age takes a byte or two, and five in nanoseconds. It must be the greatest:
// one value has one encoding.
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

// columnFormOf returns the one form in which a column is written, and in no other is it read.
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

// column appends what its form leaves to be told.
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

// ages reads the column of ages. It refuses a unit that is not the greatest (all ages could be divided once more), and an age that no
// time.Duration holds once it is multiplied.
func (d *decoder) ages(form, unit, n int, replicas []Replica) {
	if unit > maxAgeUnit || form == columnZero && unit > 0 {
		d.fail("ages in units of 10^%d ns", unit)
		return
	}
	scale := int64(1)
	for range unit {
		scale *= 10
	}
	divisible := true // all of them, by 10
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

// mixedColumn reads the positions of the values that are not 0, and these. All of them equal is another form where no position is left
// out; where one is, they may be: a 0 is among the values then.
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
