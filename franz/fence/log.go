package fence

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Fence is a take-over of a task: who took it over, and the how manieth one it was in the task's changelog.
type Fence struct {
	Epoch  int64  `json:"epoch"`  // 1 or more; 0 is "no fence", which holds where a log begins
	Writer string `json:"writer"` // of one take-over: no two share it, whatever name the process has
}

// Kind is what a record is to a Log.
type Kind int

const (
	Data    Kind = iota // a change of the state
	Raised              // a fence
	Removed             // the removal of a fence that nothing depends on any more
)

// Entry is what a Log needs to know of a record.
type Entry struct {
	Offset int64
	Kind   Kind
	By     Fence  // of Data: under which it was written, the zero Fence: none; else the fence that is raised or removed
	Key    []byte // of Data; nil: none, so that compaction does not touch the record
}

// Verdict is what a record is worth.
type Verdict int

const (
	Skip  Verdict = iota // not a change: a fence, or one's removal
	Apply                // it counts: the state changes
	Own                  // it counts, and is in the store already: its writer has read it back
	Void                 // it does not count: its writer had lost the task, or never had it
)

// String returns the verdict's name.
func (v Verdict) String() string {
	names := []string{"skip", "apply", "own", "void"}
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return names[v]
}

// ErrRead says that an offset was read before.
var ErrRead = errors.New("was read before")

// Log judges the records of one partition. It is a state machine that takes them in the order of their offsets, from the first one
// or from a Checkpoint on. What it says depends on nothing else, so that everybody who reads the partition comes to the same
// verdicts. The zero value is a log of which nothing is read. It is not safe for use by several goroutines: a Changelog is.
type Log struct {
	next  int64 // offset after the last one read
	force Fence // in force after what is read

	// proven: a change under force was read. Of the fences with one epoch only the first comes into force, and only who has read
	// that its own did writes changes. So a change proves its fence, where a fence by itself may be one that came second, and
	// the first has been removed since.
	proven bool

	void map[string]bool // keys of which the last record read is void; never nil keys
	old  map[Fence]bool  // fences that were read, do not hold, and were not removed
}

// Checkpoint is a Log as a value: what a service keeps beside the state that it keeps on disk, in the same write.
type Checkpoint struct {
	Next   int64    `json:"next"` // offset of the first record that is not in it
	Force  Fence    `json:"force"`
	Proven bool     `json:"proven,omitempty"`
	Void   [][]byte `json:"void,omitempty"`
	Old    []Fence  `json:"old,omitempty"`

	// Dirty says that the store holds changes of its own that were not read back: they may be void, or nowhere in the log. A
	// store that is found with it is to be dropped.
	Dirty bool `json:"dirty,omitempty"`
}

// newLog returns the log as it was at a checkpoint.
func newLog(c Checkpoint) Log {
	l := Log{next: c.Next, force: c.Force, proven: c.Proven}
	for _, key := range c.Void {
		l.setVoid(key)
	}
	for _, f := range c.Old {
		l.retire(f)
	}
	return l
}

// Checkpoint returns the log as a value, with its lists sorted: equal logs have equal checkpoints.
func (l *Log) Checkpoint() Checkpoint {
	return Checkpoint{Next: l.next, Force: l.force, Proven: l.proven, Void: l.Void(), Old: l.oldFences()}
}

// Next returns the offset up to which the log is read.
func (l *Log) Next() int64 { return l.next }

// InForce returns the fence that holds after what is read, the zero Fence before the first one.
func (l *Log) InForce() Fence { return l.force }

// Void returns the keys of which the last record that was read is void, sorted. Compaction keeps that record of them and removes
// the one that counts, unless whoever owns the task writes them again.
func (l *Log) Void() [][]byte {
	var keys [][]byte
	for _, key := range slices.Sorted(maps.Keys(l.void)) {
		keys = append(keys, []byte(key))
	}
	return keys
}

func (l *Log) oldFences() []Fence {
	return slices.SortedFunc(maps.Keys(l.old), func(a, b Fence) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Writer, b.Writer))
	})
}

// Read judges the next record: Apply, Void or Skip. It costs O(1). A record that was read before changes nothing and is an
// error: the log is being read again, or is another one by now, and a store must not follow that half way.
func (l *Log) Read(e Entry) (Verdict, error) {
	if e.Offset < l.next {
		return Skip, fmt.Errorf("offset %d %w, the log is read up to %d", e.Offset, ErrRead, l.next)
	}
	l.next = e.Offset + 1
	switch {
	case e.Kind == Removed:
		delete(l.old, e.By)
		return Skip, nil
	case e.Kind == Raised:
		l.raise(e.By)
		return Skip, nil
	case !l.counts(e.By):
		l.setVoid(e.Key)
		return Void, nil
	}
	delete(l.void, string(e.Key))
	return Apply, nil
}

// raise reads a fence. It holds if it is higher than the one in force: of two with the same epoch the first holds.
func (l *Log) raise(f Fence) {
	switch {
	case f.Epoch > l.force.Epoch:
		l.hold(f, false)
	case f != l.force:
		l.retire(f)
	}
}

// counts reports whether a change counts, which says that its fence holds: it was in force when its writer read it, and is in
// force still unless a higher one was read. Where it is not the one in force by what was read, its record has been removed.
func (l *Log) counts(by Fence) bool {
	if by.Epoch < l.force.Epoch || by.Epoch == l.force.Epoch && by != l.force && l.proven {
		return false
	}
	l.hold(by, by.Epoch > 0)
	return true
}

func (l *Log) hold(f Fence, proven bool) {
	if f != l.force {
		l.retire(l.force)
		delete(l.old, f)
	}
	l.force, l.proven = f, proven
}

func (l *Log) retire(f Fence) {
	if f.Epoch == 0 {
		return
	}
	if l.old == nil {
		l.old = map[Fence]bool{}
	}
	l.old[f] = true
}

func (l *Log) setVoid(key []byte) {
	if key == nil {
		return
	}
	if l.void == nil {
		l.void = map[string]bool{}
	}
	l.void[string(key)] = true
}
