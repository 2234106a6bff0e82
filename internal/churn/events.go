package churn

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// disturb lets something happen between two rounds.
func (w *World) disturb() {
	for n := pick(w, 0, 0, 1, 1, 1, 2, 3); n > 0; n-- {
		instance := pick(w, w.instances()...)
		on := w.on(instance)
		k := pick(w, on...)
		calm := w.seed%2 == 0 // no crashes
		switch draw := w.rng.IntN(100); {
		case draw < 30:
			if len(w.workers) < 14 {
				w.drawMember()
			}
		case draw < 50:
			for _, k := range on {
				w.leave(k)
			}
		case draw < 55:
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
		case draw < 72:
			w.retopologize()
		case calm:
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
	w.stopDrained()
}

// disturbOnce lets one thing happen to a group that has settled.
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

func (w *World) leave(k *worker) {
	if !k.report.Leaving {
		w.event("%s is told to leave", k.report.ID)
		w.setLeaving(k, true)
	}
}

func (w *World) setLeaving(k *worker, leaving bool) {
	k.report.Leaving, k.report.LeavingFor = leaving, 0
	if k.fresh != nil {
		k.fresh.Leaving, k.fresh.LeavingFor = leaving, 0
	}
}

// leftover lets a member report state that nobody asked it to keep.
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

// inherit lets a member report what its vanished sibling left on the disk.
func (w *World) inherit(k *worker) {
	for _, c := range w.takeDisk(k.instance()) {
		if !holds(k.report.Learners, c.Task) && !holds(k.report.Standbys, c.Task) {
			k.report.Standbys = append(k.report.Standbys, c)
		}
	}
}

// restart replaces the members of an instance by new ones with new ids, or with the old ones but without a generation.
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

// stopDrained stops instances that leave and have nothing left.
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

// retopologize lets a subtopology grow, or end.
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
