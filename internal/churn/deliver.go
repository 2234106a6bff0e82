package churn

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// deliver lets everybody apply the answer, but for those that miss it and those whose next report does not show it yet. These two are
// what R0.2 is about, and the leader cannot tell them apart: both report a generation that is behind.
//
//	fate               it runs             its next report shows
//	applies            what it is told     what it is told
//	misses             what it ran         what it ran
//	is slow to apply   what it is told     what it ran; that after it, what it is told
func (w *World) deliver(a *assignor.Assignment, fate func(k *worker) string) {
	var missed []assignor.MemberAssignment
	before := w.reports()
	for _, k := range w.workers {
		ma, _ := a.For(k.report.ID)
		how := fate(k)
		if how != "applies" {
			w.event("%s %s answer %d", k.report.ID, how, a.Generation)
			w.dirty = w.Rounds
		}
		if k.fresh != nil { // its next report shows what it has been acting on in this round
			k.report, k.fresh = *k.fresh, nil
		}
		if how == "misses" {
			missed = append(missed, ma)
			continue
		}
		w.apply(k, ma, how == "is slow to apply")
	}
	for _, ma := range missed {
		w.leaveOnDisk(ma, before)
	}
	w.remember(a)
	w.keep(a, missed)
	for i := range a.Members {
		ma := &a.Members[i]
		for _, task := range ma.Active {
			w.last[task] = place{ma.Instance, ma.Member}
			if w.worker(ma.Member).report.Generation == 0 { // it missed its first answer, which looks like a restart
				w.lost[task] = true
			}
		}
	}
}

// apply lets a member do what it is told. Where it is slow only its report after the next one shows it.
func (w *World) apply(k *worker, ma assignor.MemberAssignment, slow bool) {
	next := k.report.Next(ma, w.mode)
	k.runs = map[assignor.TaskID]bool{}
	for _, task := range ma.Active {
		k.runs[task] = true
		w.ran[task] = k.instance()
		if !holds(next.Standbys, task) { // else it has yet to be restored
			delete(w.lost, task)
		}
	}
	if slow {
		k.fresh = &next
	} else {
		k.report, k.fresh = next, nil
	}
}

// leaveOnDisk is for a member that missed its answer: copies that its siblings gave up for it are still on their disk.
func (w *World) leaveOnDisk(ma assignor.MemberAssignment, before []assignor.Member) {
	for i := range before {
		k := w.worker(before[i].ID)
		if before[i].ID == ma.Member || k.instance() != ma.Instance {
			continue
		}
		for _, c := range slices.Concat(before[i].Learners, before[i].Standbys) {
			taken := slices.Contains(ma.Active, c.Task) || slices.Contains(ma.Learners, c.Task) || slices.Contains(ma.Standbys, c.Task)
			for _, report := range []*assignor.Member{&k.report, k.fresh} {
				if report != nil && taken && !holds(report.Learners, c.Task) && !holds(report.Standbys, c.Task) && !k.runs[c.Task] {
					report.Standbys = append(report.Standbys, c)
				}
			}
		}
	}
}

// keep gives the memory to its keepers, three members that stay, which echo it from then on. A member that has missed the answer goes
// on with the echo of an older one; one that is slow reports none before it reports the answer.
func (w *World) keep(a *assignor.Assignment, missed []assignor.MemberAssignment) {
	keepers := w.instances()
	for _, k := range w.workers {
		if slices.ContainsFunc(missed, func(ma assignor.MemberAssignment) bool { return ma.Member == k.report.ID }) {
			continue
		}
		k.report.Memory = nil
		if !k.report.Leaving && slices.Index(keepers, k.instance()) < 3 {
			k.report.Memory = a
			if k.fresh != nil {
				k.report.Memory, k.fresh.Memory = nil, a
			}
		}
	}
}

// remember makes an answer the memory. Those before it are kept for a former leader that comes back.
func (w *World) remember(a *assignor.Assignment) {
	if w.memory != nil {
		w.older = append(w.older, w.memory)
	}
	w.memory = a
}

// pass lets time go by: whoever leaves does so for longer, and copies come closer to their active task. A standby of a task that its
// own member runs is what the task is still restoring, so it does not lag behind what runs.
func (w *World) pass(d time.Duration, percentCaughtUp int) {
	w.config.SincePrevious = d
	running := w.running() // what runs nowhere does not get ahead of its copies
	for _, k := range w.workers {
		for _, m := range []*assignor.Member{&k.report, k.fresh} {
			if m == nil {
				continue
			}
			if m.Leaving {
				m.LeavingFor += d
			}
			for i := range m.Learners {
				w.replay(k, &m.Learners[i], d, percentCaughtUp, running[m.Learners[i].Task] || w.revoked[m.Learners[i].Task] && w.chance(20))
			}
			for i := range m.Standbys {
				w.replay(k, &m.Standbys[i], d, percentCaughtUp, running[m.Standbys[i].Task] && !k.runs[m.Standbys[i].Task])
			}
		}
	}
}

// running returns the tasks that truly run somewhere.
func (w *World) running() map[assignor.TaskID]bool {
	running := map[assignor.TaskID]bool{}
	for _, k := range w.workers {
		for task := range k.runs {
			running[task] = true
		}
	}
	return running
}

// replay lets a copy catch up, stay as it is or fall behind. One that has caught up with a task that does not run cannot fall behind,
// since nobody writes to its changelog; with one that runs it does now and then, which is why R1.1 does not ask twice.
func (w *World) replay(k *worker, c *assignor.Replica, d time.Duration, percentCaughtUp int, running bool) {
	c.For += d
	switch {
	case k.stuck[c.Task] && percentCaughtUp < 100:
	case w.chance(percentCaughtUp):
		c.Lag = w.rng.Int64N(w.config.AcceptableLag + 1)
	case caughtUp(w.config, c.Lag) && (!running || w.chance(90)):
	case w.chance(50):
		c.Lag = w.config.AcceptableLag + 1 + w.rng.Int64N(10_000)
	}
}

// caughtUp is Config.AcceptableLag once more, without the library.
func caughtUp(config assignor.Config, lag int64) bool { return lag >= 0 && lag <= config.AcceptableLag }
