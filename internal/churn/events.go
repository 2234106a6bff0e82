package churn

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// disturb lets up to three things happen between two rounds, and whoever has drained stop. Every other seed is calm: nobody crashes
// there, so that L3 is held against every task all the time. What happens is drawn in any case, and in the same order, since a seed
// has to play the same rounds whatever it leaves out.
func (w *World) disturb() {
	for n := pick(w, 0, 0, 1, 1, 1, 2, 3); n > 0; n-- {
		on := w.on(pick(w, w.instances()...))
		k := pick(w, on...)
		switch draw := w.rng.IntN(100); {
		case draw < 72:
			w.order(draw, on, k)
		case w.seed%2 != 0:
			w.fail(draw, on, k)
		}
	}
	w.stopDrained()
}

// order is what somebody does to a group: in 72 of 100 draws. on is an instance, and k one of its members.
func (w *World) order(draw int, on []*worker, k *worker) {
	switch {
	case draw < 30:
		if len(w.workers) < 14 {
			w.drawMember()
		}
	case draw < 50:
		for _, k := range on {
			w.leave(k)
		}
	case draw < 55: // and its siblings stay, which is R8.3
		w.leave(k)
	case draw < 65:
		for _, k := range on {
			if k.report.Leaving {
				w.event("%s is told to stay", k.report.ID)
				w.setLeaving(k, false)
			}
		}
	case draw < 70:
		w.leftover(k)
	default:
		w.retopologize()
	}
}

// fail is what happens to a group: an instance or one of its members crashes, restarts, or comes back after a while.
func (w *World) fail(draw int, on []*worker, k *worker) {
	instance := k.instance()
	switch {
	case draw < 80:
		if len(w.instances()) > 1 {
			w.event("%s crashes", instance)
			for _, k := range on {
				w.vanish(k)
			}
		}
	case draw < 84:
		if len(w.workers) > 1 {
			w.event("%s crashes", k.report.ID)
			w.vanish(k)
			if rest := w.on(instance); len(rest) > 0 && w.chance(50) {
				w.inherit(pick(w, rest...))
			}
		}
	case draw < 90:
		w.restart(instance)
	default:
		if names := w.vanished(); len(names) > 0 {
			w.drawMemberOn(pick(w, names...))
		}
	}
}

// disturbOnce lets one thing happen to a group that has settled, and reports whether somebody crashed. What follows is counted against
// the fewest moves that this change needs, so it is one change: some join, or an instance leaves or crashes, or all are told to stay.
func (w *World) disturbOnce() (crash bool) {
	names := w.instances()
	instance := pick(w, names...)
	switch draw := w.rng.IntN(100); {
	case draw < 40 || len(names) == 1:
		for range pick(w, 1, 1, 1, 2, 3) {
			w.drawMember()
		}
	case draw < 70:
		for _, k := range w.on(instance) {
			w.leave(k)
		}
	case draw < 80:
		for _, k := range w.workers {
			if k.report.Leaving {
				w.setLeaving(k, false)
			}
		}
		w.event("everybody is told to stay")
	default:
		w.event("%s crashes", instance)
		for _, k := range w.on(instance) {
			w.vanish(k)
		}
		crash = true
	}
	w.stopDrained()
	return crash
}

// leave tells a member to leave, which one that is told so already does not hear again: for how long it has been leaving counts on.
func (w *World) leave(k *worker) {
	if !k.report.Leaving {
		w.event("%s is told to leave", k.report.ID)
		w.setLeaving(k, true)
	}
}

// setLeaving changes both reports of a member that is slow to apply an answer, the old one and the one that follows.
func (w *World) setLeaving(k *worker, leaving bool) {
	k.report.Leaving, k.report.LeavingFor = leaving, 0
	if k.fresh != nil {
		k.fresh.Leaving, k.fresh.LeavingFor = leaving, 0
	}
}

// leftover lets a member report state that nobody asked it to keep: of a task of an earlier life, as far behind as it may be. It is no
// order that was missed, and no claim.
func (w *World) leftover(k *worker) {
	tasks := w.tasks()
	if len(tasks) == 0 {
		return
	}
	task := pick(w, tasks...)
	c := assignor.Replica{Task: task, Lag: pick(w, assignor.UnknownLag, w.config.AcceptableLag+1+w.rng.Int64N(100), 0)}
	if slices.Contains(k.report.Active, task) || slices.Contains(k.report.Revoked, task) || holds(k.report.Learners, task) || holds(k.report.Standbys, task) {
		return
	}
	w.event("%s has some state of %v", k.report.ID, task)
	k.report.Standbys = append(k.report.Standbys, c)
}

// inherit lets a member report what its vanished sibling left on the disk: the instance is the same, so its state is not lost.
func (w *World) inherit(k *worker) {
	for _, c := range w.takeDisk(k.instance()) {
		if !holds(k.report.Learners, c.Task) && !holds(k.report.Standbys, c.Task) {
			k.report.Standbys = append(k.report.Standbys, c)
		}
	}
}

// restart replaces the members of an instance by new ones with new ids, or with the old ones but without a generation. Kafka's clients
// draw a new id at every start unless they are static, so both are usual, and by R7.5 both are the instance that was there before.
func (w *World) restart(instance string) {
	on := w.on(instance)
	w.event("%s restarts", instance)
	keepIDs := w.chance(30)
	for _, k := range on {
		w.vanish(k)
	}
	for _, k := range on {
		back := w.join(instance)
		back.report.Instance, back.report.Capacity, back.report.Version, back.report.Tags = k.report.Instance, k.report.Capacity, k.report.Version, k.report.Tags
		if keepIDs {
			back.report.ID = k.report.ID
		}
	}
}

// vanished returns the instances that left state and are not there.
func (w *World) vanished() []string {
	present := w.instances()
	var names []string
	for name := range w.disks {
		if !slices.Contains(present, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stopDrained stops instances that leave and have nothing left, most of the time: some stay a little longer, as drained processes do.
// One that has missed the last answer does not know that it has nothing left.
func (w *World) stopDrained() {
	for _, name := range w.instances() {
		on := w.on(name)
		drained := !slices.ContainsFunc(on, func(k *worker) bool {
			r := &k.report
			return !r.Leaving || r.Generation == 0 || r.Generation < w.memory.Generation || k.fresh != nil || len(r.Active)+len(r.Revoked)+len(r.Learners)+len(r.Standbys) > 0 || len(k.runs) > 0
		})
		if drained && w.chance(70) && len(w.workers) > len(on) {
			w.event("%s has drained and stops", name)
			w.workers = slices.DeleteFunc(w.workers, func(k *worker) bool { return slices.Contains(on, k) })
		}
	}
}

// retopologize lets a subtopology grow, or lose half of its partitions. Tasks that it does not have any more are foreign from then on
// (R0.5), and nothing is promised of where they run.
func (w *World) retopologize() {
	i := w.rng.IntN(len(w.config.Topology))
	w.config.Topology = slices.Clone(w.config.Topology)
	s := &w.config.Topology[i]
	s.RestoreCost = nil
	if w.chance(70) {
		s.Partitions += w.rng.Int32N(4)
		w.event("subtopology %d has %d partitions", s.ID, s.Partitions)
		return
	}
	s.Partitions /= 2
	for task := range w.last {
		if !w.has(task) {
			delete(w.last, task)
			delete(w.ran, task)
		}
	}
	w.event("subtopology %d has %d partitions", s.ID, s.Partitions)
}

// tasks returns the tasks of the topology.
func (w *World) tasks() []assignor.TaskID {
	var tasks []assignor.TaskID
	for _, s := range w.config.Topology {
		for p := range s.Partitions {
			tasks = append(tasks, assignor.TaskID{Subtopology: s.ID, Partition: p})
		}
	}
	return tasks
}
