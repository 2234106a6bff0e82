package sim

import (
	"github.com/incremental-rebalance/assignor"
)

// pauseTask stops a task for the time of a round.
func (r *run) pauseTask(t int, in *instance) {
	if tk := &r.tasks[t]; tk.owner == in.n && tk.state == running {
		tk.state = paused
		r.meter.down(r, t, false)
	}
}

// stopTask takes a task from its owner; killed says that the owner has died.
func (r *run) stopTask(t int, killed bool) {
	tk := &r.tasks[t]
	was := tk.state
	tk.state, tk.owner, tk.opened = stopped, none, false
	if was == paused && killed {
		r.meter.up(r, t) // the pause was planned, what follows is not
	}
	if was == running || was == paused && killed {
		r.meter.down(r, t, killed)
	}
}

// startTask gives a task to an instance, which runs it as soon as it has opened and restored it.
func (r *run) startTask(t int, in *instance) {
	tk := &r.tasks[t]
	if tk.owner != none {
		r.fail("%v is given to %s while %s runs it", tk.id, in.name, r.instances[tk.owner].name)
		return
	}
	tk.state, tk.owner, tk.opened = starting, in.n, false
	tk.starts++
	if tk.lastRan != in.n {
		r.meter.moved(tk.lastRan != none)
		tk.lastRan = in.n
	}
	if tk.stateful {
		r.startCopy(copyRef{in.n, t}, active)
	}
	start := tk.starts
	r.after(r.v.Costs.Open, func() {
		if tk.starts == start && tk.state == starting {
			tk.opened = true
			r.beginTask(t)
		}
	})
}

// beginTask lets a task run if it is open and has its state.
func (r *run) beginTask(t int) {
	tk := &r.tasks[t]
	if tk.state != starting || !tk.opened || tk.stateful && !r.instances[tk.owner].copies[t].tail {
		return
	}
	tk.state = running
	r.meter.up(r, t)
}

// rolesOf returns what the member is told to have each task for.
func (r *run) rolesOf(in *instance) []role {
	roles := make([]role, len(r.tasks))
	set := func(tasks []assignor.TaskID, as role) {
		for _, id := range tasks {
			roles[r.number[id]] = as
		}
	}
	set(in.told.Revoke, left)
	set(in.told.Standbys, standby)
	set(in.told.Learners, learner)
	set(in.told.Active, active)
	return roles
}

// giveUp stops the tasks that a member is not told to run any more.
func (r *run) giveUp(in *instance) {
	for t, as := range r.rolesOf(in) {
		if r.tasks[t].owner == in.n && as != active {
			r.stopTask(t, false)
		}
	}
}

// takeUp starts the tasks and the copies that a member is told to have, resumes what it had paused, and drops the rest.
func (r *run) takeUp(in *instance) {
	for t, as := range r.rolesOf(in) {
		tk, at := &r.tasks[t], copyRef{in.n, t}
		switch {
		case as == active && tk.owner == in.n:
			if tk.state == paused {
				tk.state = running
				r.meter.up(r, t)
			}
		case as == active:
			r.startTask(t, in)
		case as == learner || as == standby:
			r.startCopy(at, as)
			r.watchTimeout(in, as)
		default:
			r.leaveCopy(at, as == left)
		}
	}
}

// watchTimeout lets a member look again when a learner has been at it for too long.
func (r *run) watchTimeout(in *instance, as role) {
	if as != learner || r.config.LearnerTimeout == 0 {
		return
	}
	life := in.lives
	r.after(r.config.LearnerTimeout+1e6, func() {
		if in.lives == life {
			r.considerRejoin(in)
		}
	})
}
