package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// taskState is what a task does.
type taskState uint8

const (
	stopped  taskState = iota // nobody has it
	starting                  // its owner opens and restores it
	paused                    // its owner has stopped it for a round
	running
)

// task is one task, with how far its changelog has come.
type task struct {
	id          assignor.TaskID
	stateful    bool
	weight      int64
	write, grow int64 // bytes a millisecond
	size        int64 // bytes of its state
	end         int64 // bytes ever written to its changelog
	state       taskState
	owner       int  // the instance that runs or starts it
	opened      bool // its owner has opened it
	starts      int  // how often it was started, which tells old timers from new
	lastRan     int  // the instance that ran it last
}

func newTask(id assignor.TaskID, kind Tasks, size int64) task {
	return task{
		id: id, stateful: !kind.Stateless, weight: int64(max(1, kind.Weight)), write: perMilli(kind.Write), grow: perMilli(kind.Grow),
		size: size, end: size, owner: none, lastRan: none,
	}
}

// perMilli turns bytes a second into bytes a millisecond, rounded up so that little is not nothing.
func perMilli(perSecond int64) int64 { return (perSecond + 999) / 1000 }

// role is what a copy is kept for.
type role uint8

const (
	noCopy  role = iota
	left         // left on the disk by what ran there, or by a process that is gone
	standby      // follows
	learner      // follows in order to take over
	active       // the one that runs, or is restored in order to run
)

// replica is the state of a task on the disk of an instance.
type replica struct {
	role   role
	pos    int64 // how much of the changelog it has read
	tail   bool  // it has read everything, and follows
	ready  bool  // it has come within the acceptable lag
	listed bool  // it is in run.restoring
	since  time.Duration
}

// copyRef names a copy.
type copyRef struct{ instance, task int }

func (r *run) at(c copyRef) (*replica, *task) {
	return &r.instances[c.instance].copies[c.task], &r.tasks[c.task]
}

// lag returns the bytes that the copy has still to read: what was written since, at most the whole state.
func (t *task) lag(c *replica) int64 {
	if c.tail {
		return 0
	}
	return max(0, min(t.end-c.pos, t.size))
}

// records turns bytes into records, rounded up.
func (r *run) records(bytes int64) int64 { return (bytes + r.v.Costs.Record - 1) / r.v.Costs.Record }

// acceptable is the lag in bytes at which a copy counts as caught up.
func (r *run) acceptable() int64 { return r.config.AcceptableLag * r.v.Costs.Record }

// startCopy lets a copy catch up, from nothing where the disk has none.
func (r *run) startCopy(at copyRef, as role) {
	c, t := r.at(at)
	if c.role == noCopy {
		*c = replica{pos: t.end - t.size}
	}
	if c.role != as {
		c.since = r.now
	}
	c.role = as
	switch lag := t.lag(c); {
	case c.tail:
	case lag == 0:
		c.tail, c.ready = true, true
	default:
		c.pos = t.end - lag
		c.ready = lag <= r.acceptable()
		if !c.listed {
			c.listed = true
			r.restoring = append(r.restoring, at)
		}
	}
}

// leaveCopy lets the copy stay on the disk as it is, or not at all.
func (r *run) leaveCopy(at copyRef, keep bool) {
	c, t := r.at(at)
	if !keep || c.role == noCopy {
		listed := c.listed
		*c = replica{listed: listed}
		return
	}
	c.pos = t.end - t.lag(c)
	c.role, c.tail, c.ready = left, false, false
}

// catchesUp reports whether a listed copy still belongs in the list.
func (r *run) catchesUp(at copyRef) bool {
	c, _ := r.at(at)
	return c.role > left && !c.tail && r.instances[at.instance].up
}

// shareBandwidth gives every copy that is catching up its rate: the copies of one instance share its bandwidth equally, and all
// of them what the broker serves, so that nobody gets less for another to get more than it. With Costs.Learners standbys get
// nothing while their instance learns or restores.
func (r *run) shareBandwidth() {
	r.restoring = slices.DeleteFunc(r.restoring, func(at copyRef) bool {
		gone := !r.catchesUp(at)
		if gone {
			c, _ := r.at(at)
			c.listed = false
		}
		return gone
	})
	count, first := make([]int64, len(r.instances)), make([]role, len(r.instances))
	if r.v.Costs.Learners {
		for _, at := range r.restoring {
			c, _ := r.at(at)
			first[at.instance] = max(first[at.instance], min(c.role, learner))
		}
	}
	served := func(at copyRef) bool {
		c, _ := r.at(at)
		return c.role >= first[at.instance]
	}
	for _, at := range r.restoring {
		if served(at) {
			count[at.instance]++
		}
	}
	level := r.brokerLevel(count)
	r.rates = r.rates[:0]
	for _, at := range r.restoring {
		rate := int64(0)
		if served(at) {
			rate = max(1, min(level, r.bandwidth(at.instance)/count[at.instance]))
		}
		r.rates = append(r.rates, rate)
	}
}

func (r *run) bandwidth(i int) int64 {
	return perMilli(cmp.Or(r.instances[i].Restore, r.v.Costs.Restore))
}

// brokerLevel returns the most that one copy gets: the level at which what all want, each at most that much, is what the broker
// serves.
func (r *run) brokerLevel(count []int64) int64 {
	rest := perMilli(r.v.Costs.Broker)
	if rest == 0 {
		return 1 << 40
	}
	var busy []int
	copies := int64(0)
	for i, n := range count {
		if n > 0 {
			busy = append(busy, i)
			copies += n
		}
	}
	want := func(i int) int64 { return r.bandwidth(i) / count[i] }
	slices.SortStableFunc(busy, func(a, b int) int { return cmp.Compare(want(a), want(b)) })
	for _, i := range busy {
		if want(i) > rest/copies {
			return rest / copies
		}
		rest -= want(i) * count[i]
		copies -= count[i]
	}
	return 1 << 40
}

// nextCatchUp returns when the next copy comes within the acceptable lag, or has read everything, and whether any will.
func (r *run) nextCatchUp() (at time.Duration, ok bool) {
	r.shareBandwidth()
	for k, ref := range r.restoring {
		c, t := r.at(ref)
		net := r.rates[k]
		if t.state == running {
			net -= t.write
		}
		if net <= 0 {
			continue
		}
		todo := t.lag(c)
		if !c.ready && todo > r.acceptable() {
			todo -= r.acceptable()
		}
		when := r.now + time.Duration((todo+net-1)/net)*time.Millisecond
		if !ok || when < at {
			at, ok = when, true
		}
	}
	return at, ok
}

// advance lets time pass: changelogs and states grow, copies read.
func (r *run) advance(by time.Duration) {
	ms := int64(by / time.Millisecond)
	r.meter.pass(r, by)
	for t := range r.tasks {
		if tk := &r.tasks[t]; tk.state == running {
			tk.end += tk.write * ms
			tk.size += tk.grow * ms
		}
	}
	for k, ref := range r.restoring {
		c, t := r.at(ref)
		c.pos = max(c.pos, t.end-t.size-r.rates[k]*ms) // what was compacted away meanwhile need not be read
		read := min(r.rates[k]*ms, t.end-c.pos)
		c.pos += read
		r.meter.restored(read)
	}
	r.now += by
}

// noteCaughtUp acts on the copies that have caught up by now.
func (r *run) noteCaughtUp() {
	for _, ref := range slices.Clone(r.restoring) {
		c, t := r.at(ref)
		if !r.catchesUp(ref) {
			continue
		}
		lag := t.lag(c)
		if !c.ready && lag <= r.acceptable() {
			c.ready = true
			r.meter.copyReady(r, ref.task)
			if c.role == learner {
				r.considerRejoin(r.instances[ref.instance])
			}
		}
		if lag == 0 {
			c.tail = true
			if c.role == active {
				r.beginTask(ref.task)
			}
		}
	}
}
