package sim

import (
	"container/heap"
	"slices"
	"time"
)

// settleAtStart lets the group form in no time: every task on its place, every copy caught up.
func (r *run) settleAtStart() {
	for _, in := range r.instances {
		r.start(in)
	}
	for r.err == nil && r.queue.Len() > 0 {
		heap.Pop(&r.queue).(timer).do() // and the clock stands still
		r.catchUpAtOnce()
	}
	r.queue = queue{}
	r.meter.reset(r)
}

// catchUpAtOnce lets every copy catch up, and with that every task run.
func (r *run) catchUpAtOnce() {
	for i, in := range r.instances {
		for t := range in.copies {
			if c := &in.copies[t]; c.role > left {
				c.tail, c.ready = true, true
			}
			if r.tasks[t].owner == i {
				r.beginTask(t)
			}
		}
	}
}

// schedule sets the events of the spec.
func (r *run) schedule() {
	for i := range r.spec.Events {
		e := &r.spec.Events[i]
		r.pending++
		r.after(e.At-r.now, func() {
			r.meter.begin(r, e.Label)
			r.happen(e)
		})
	}
}

// over says that an event has done all it does.
func (r *run) over() { r.pending-- }

// happen lets an event happen.
func (r *run) happen(e *Event) {
	switch e.Kind {
	case Add:
		r.addAll(e.Instances)
		r.over()
	case Swap:
		old := r.oldest(e.Count)
		r.addAll(e.Instances)
		r.drain(old)
		r.over()
	case Drain:
		r.drain(r.named(e))
		r.over()
	case Stay:
		for _, in := range r.named(e) {
			if in.up {
				in.leaving = false
				r.callRound(in)
			}
		}
		r.over()
	case Crash:
		r.crash(e)
	case Restart:
		for _, in := range r.named(e) {
			r.pending++
			r.restart(in, e, false, r.over)
		}
		r.over()
	case Roll:
		r.roll(e, r.staying())
	case Flap:
		for _, in := range r.named(e) {
			r.pending++
			r.flap(in, e, e.Times)
		}
		r.over()
	}
}

func (r *run) addAll(list []Instance) {
	for _, like := range list {
		r.start(r.addInstance(like))
	}
}

// drain tells instances to leave. The other protocols do not know how to leave, so with them the instances just stop.
func (r *run) drain(list []*instance) {
	for _, in := range list {
		switch {
		case !in.up || in.leaving:
		case r.v.Protocol != Learners:
			r.stop(in, false, true)
		default:
			in.leaving, in.leavingSince = true, r.now
			r.callRound(in)
		}
	}
}

func (r *run) crash(e *Event) {
	if e.Leader && e.Phase != AnyPhase {
		r.armed = e
		return
	}
	for _, in := range r.named(e) {
		r.stop(in, true, e.DiskLost)
	}
	r.over()
}

// fireLeaderCrash crashes the leader if that is what the spec wants in this phase: a moment later, so that it is in it.
func (r *run) fireLeaderCrash(phase Phase) {
	e := r.armed
	learns := slices.ContainsFunc(r.instances, func(in *instance) bool { return in.member && len(in.told.Learners) > 0 })
	if e == nil || e.Phase != phase || r.group.leader == nil || phase == LearnPhase && !learns {
		return
	}
	r.armed = nil
	delay := 50 * time.Millisecond
	if phase == LearnPhase {
		delay = time.Second
	}
	leader := r.group.leader
	r.after(delay, func() {
		r.stop(leader, true, e.DiskLost)
		r.over()
	})
}

// restart stops an instance and starts it again; then says when it is back.
func (r *run) restart(in *instance, e *Event, killed bool, then func()) {
	if !in.up {
		then()
		return
	}
	in.comesBack = true
	r.stop(in, killed, e.DiskLost)
	r.after(e.Down, func() {
		r.start(in)
		then()
	})
}

// roll restarts the instances one by one.
func (r *run) roll(e *Event, list []*instance) {
	if len(list) == 0 {
		r.over()
		return
	}
	r.restart(list[0], e, false, func() {
		r.after(e.Gap, func() { r.roll(e, list[1:]) })
	})
}

// flap lets an instance crash and come back, again and again.
func (r *run) flap(in *instance, e *Event, times int) {
	if times == 0 {
		r.over()
		return
	}
	r.restart(in, e, true, func() {
		r.after(e.Gap, func() { r.flap(in, e, times-1) })
	})
}

// named returns the instances that an event means.
func (r *run) named(e *Event) []*instance {
	var list []*instance
	for _, in := range r.instances {
		if slices.Contains(e.Names, in.name) || e.Zone != "" && in.Zone == e.Zone || e.Leader && r.group.leader == in {
			list = append(list, in)
		}
	}
	if len(list) < len(e.Names) {
		r.fail("%s: there is no such instance", e.Label)
	}
	return list
}

// staying returns the instances that are up and do not leave.
func (r *run) staying() []*instance {
	return slices.DeleteFunc(slices.Clone(r.instances), func(in *instance) bool { return !in.up || in.leaving })
}

func (r *run) oldest(n int) []*instance {
	list := r.staying()
	return list[:min(n, len(list))]
}
