package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Errors, always with the partition and with what to do.
var (
	// ErrFenced says that another writer has taken the task over.
	ErrFenced = errors.New("fence: the task was taken over")

	// ErrSpoilt says that a store holds changes which are void, or which never reached the log.
	ErrSpoilt = errors.New("fence: the store holds changes that the log does not have: drop it, and replay from the start into a new one")
)

// Changelog is the Log of a partition that a process replays into a store, and may own. It is safe for use by several goroutines:
// one replays, others take over, write and wait. A store has one Changelog, and a new store a new one.
type Changelog struct {
	topic     string
	partition int32
	taking    chan struct{} // holds a token while somebody takes over

	mu     sync.Mutex
	log    Log
	tried  int64         // the highest epoch that was tried here: an attempt that failed may yet arrive, and none is made twice
	claim  *Tenure       // the attempt that is being made
	own    *Tenure       // the tenure that is in force by what is read; nil: none of this Changelog
	spoilt error         // why the store is to be dropped
	moved  chan struct{} // closed at the next record; nil while nobody waits
}

// NewChangelog returns the log of a partition, read up to a checkpoint. The zero Checkpoint is the start, with an empty store. Of
// one that is Dirty nothing can be replayed: every call returns ErrSpoilt.
func NewChangelog(topic string, partition int32, at Checkpoint) *Changelog {
	c := &Changelog{topic: topic, partition: partition, taking: make(chan struct{}, 1), log: newLog(at)}
	if at.Dirty {
		c.spoil("it was written down with changes that were not read back")
	}
	return c
}

// Replay judges the next record of the partition, as Log.Read does; who owns the task goes on replaying, and gets Own for the
// changes of its tenure. Only Apply is for the store. An error that is ErrStamp is about this record, which is Void; after any
// other the store must not be used any more.
func (c *Changelog) Replay(r *kgo.Record) (Verdict, error) {
	entry, bad := EntryOf(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spoilt != nil {
		return Skip, c.spoilt
	}
	v, err := c.log.Read(entry)
	if err != nil {
		return v, fmt.Errorf("fence: %s: %w: drop the store, and replay from the start", c.name(), err)
	}
	c.wake()
	c.follow()
	if c.spoilt != nil {
		return Skip, c.spoilt
	}
	if c.own != nil {
		v = c.own.reads(entry, v)
	}
	if bad != nil {
		bad = fmt.Errorf("%w, at offset %d of %s; the record is void", bad, r.Offset, c.name())
	}
	return v, bad
}

// follow ends the tenure when it is no longer in force, and begins the one whose fence is.
func (c *Changelog) follow() {
	force := c.log.InForce()
	if t := c.own; t != nil && t.Fence != force {
		c.own = nil
		close(t.lost)
		if t.read != t.stamped {
			c.spoil(fmt.Sprintf("%d changes under %v were not read back before %v", t.stamped-t.read, t.Fence, force))
		}
	}
	if t := c.claim; t != nil && t.Fence == force && c.spoilt == nil {
		c.own = t
		t.held = true
	}
}

func (c *Changelog) spoil(why string) {
	c.spoilt = fmt.Errorf("%w: %s: %s", ErrSpoilt, c.name(), why)
}

func (c *Changelog) name() string { return fmt.Sprintf("%s[%d]", c.topic, c.partition) }

func (c *Changelog) wake() {
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

// Next returns the offset up to which the log is replayed.
func (c *Changelog) Next() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Next()
}

// InForce returns the fence that holds after what is replayed. Before the first one it is the zero Fence.
func (c *Changelog) InForce() Fence {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.InForce()
}

// Checkpoint returns how far the log is read, for a service to keep with its store. It is Dirty while the store holds changes that
// were not read back: Tenure.Settle waits for them. A store that takes its own changes only once they are read back (Own) is
// never dirty, whatever this says.
func (c *Changelog) Checkpoint() Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.log.Checkpoint()
	at.Dirty = c.spoilt != nil || c.own != nil && c.own.read != c.own.stamped
	return at
}

// wait waits until done says so, which is asked after every record and with the Changelog locked, or ctx ends.
func (c *Changelog) wait(ctx context.Context, done func() bool) error {
	for {
		c.mu.Lock()
		if c.spoilt != nil || done() {
			defer c.mu.Unlock()
			return c.spoilt
		}
		if c.moved == nil {
			c.moved = make(chan struct{})
		}
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tenure is the time for which a Changelog's process owns the task: from its own fence to the next higher one.
type Tenure struct {
	Fence
	changelog *Changelog
	lost      chan struct{}

	// Of the Changelog, under its lock.
	held          bool            // its fence came into force
	stamped, read int             // changes: those that the store holds, and those of them that were read back
	mending       map[string]bool // void keys that were written again: a part of Log.void
	removing      map[Fence]bool  // fences whose removal was written: a part of Log.old
}

// reads notes what the owner reads, and returns the verdict for its store.
func (t *Tenure) reads(e Entry, v Verdict) Verdict {
	switch {
	case e.Kind == Removed:
		delete(t.removing, e.By)
	case v == Apply && e.By == t.Fence:
		t.read++
		delete(t.mending, string(e.Key))
		return Own
	}
	return v
}

// Lost is closed when a higher fence was read: somebody else owns the task, and nothing that is written under this tenure counts.
// A service whose member still owns the task takes over again.
func (t *Tenure) Lost() <-chan struct{} { return t.lost }

// Stamp makes r a change of the tenure: it addresses it to the partition, adds the header, and counts it among those that the
// store holds. Call it before the change is made; if it fails, with ErrFenced, make none. Changes are written in the order in
// which they are made, mends among them. When one cannot be written, or nobody knows whether it was, the tenure is over: stop
// the task. The store is then dropped when the next owner's fence is read, unless everything was read back before.
func (t *Tenure) Stamp(r *kgo.Record) error {
	t.changelog.mu.Lock()
	defer t.changelog.mu.Unlock()
	return t.stamp(r)
}

func (t *Tenure) stamp(r *kgo.Record) error {
	c := t.changelog
	if c.own != t {
		return fmt.Errorf("%w: %s by %v, and %v is void from there on", ErrFenced, c.name(), c.log.InForce(), t.Fence)
	}
	t.stamped++
	r.Topic, r.Partition = c.topic, c.partition
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: HeaderBy, Value: []byte(t.text())})
	return nil
}

// Settle waits until all changes of the tenure are read back, after the last one was written: then every one of them counts, and
// the store is what a replay would give. ErrFenced or ErrSpoilt say that another fence came first.
func (t *Tenure) Settle(ctx context.Context) error {
	c := t.changelog
	err := c.wait(ctx, func() bool { return c.own != t || t.read == t.stamped })
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && t.read != t.stamped {
		err = fmt.Errorf("%w: %s", ErrFenced, c.name())
	}
	return err
}

// Mend returns what the owner has to write so that compaction harms nobody, stamped where that is due: each key of which the last
// record is void, with the value that current returns for it (nil: it has none, a tombstone); and once there is none, the removal
// of the fences that nothing depends on any more. It returns nothing twice, and nil where there is nothing to do, at a cost of O(1): call it
// whenever changes are written, under the lock that orders them.
func (t *Tenure) Mend(current func(key []byte) []byte) []*kgo.Record {
	c := t.changelog
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != t {
		return nil
	}
	if len(c.log.void) == 0 {
		return t.sweep()
	}
	if len(t.mending) == len(c.log.void) {
		return nil
	}
	var records []*kgo.Record
	for _, key := range c.log.Void() {
		if t.mending[string(key)] {
			continue
		}
		r := &kgo.Record{Key: key, Value: current(key)}
		_ = t.stamp(r) // it is the tenure in force, by the check above
		t.mending[string(key)] = true
		records = append(records, r)
	}
	return records
}

// sweep removes the fences before its own. Every void record before it has been written over by one that counts, or its key would
// be void still; so it no longer matters who judges those records how. See "Compaction" in the package comment.
func (t *Tenure) sweep() []*kgo.Record {
	c := t.changelog
	if len(t.removing) == len(c.log.old) {
		return nil
	}
	var records []*kgo.Record
	for _, f := range c.log.oldFences() {
		if !t.removing[f] {
			t.removing[f] = true
			records = append(records, f.removal(c.topic, c.partition))
		}
	}
	return records
}
