package churn

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// wild is a world in which nobody is careful. Reports say what cannot be, the leader remembers what it never said, and the
// configuration changes on the way. It promises nothing of the answers and never settles: it is there to bring Assign and whatever
// it is compared with into every state.
type wild struct {
	*World
	careless int // percent of the answers that are missed
	garbage  int // percent of the reports that say something that cannot be
}

// Roam draws a wild world from a seed and asks for the answer of one round after the other, up to ten, until decide returns nil. What
// it is given it may change.
func Roam(seed uint64, decide Decide) {
	w := &wild{World: newWorld(seed, nil, nil)}
	w.careless, w.garbage = pick(w.World, 0, 0, 5, 20), pick(w.World, 0, 0, 0, 5, 40)
	w.partitions = 9
	if w.chance(2) {
		w.partitions *= 2 + w.rng.Int32N(4)
	}
	w.drawTopology()
	w.drawWildConfig()
	if w.chance(20) {
		for range 1 + w.rng.IntN(3) {
			w.mangleMemory()
		}
	}
	for range 1 + w.rng.IntN(10) {
		config := w.config
		config.Topology = slices.Clone(config.Topology)
		a := decide(w.mangled(), w.memory, config)
		if a == nil {
			return
		}
		w.goOn(a)
	}
}

// Decide returns the answer to one round.
type Decide func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) *assignor.Assignment

// drawWildConfig draws a config with values that no sane group has.
func (w *wild) drawWildConfig() {
	w.drawConfig()
	w.config.Standbys = pick(w.World, w.config.Standbys, w.config.Standbys, w.config.Standbys, 7)
	w.config.ImbalancePercent = pick(w.World, w.config.ImbalancePercent, 25, 50)
	w.config.Generation = pick(w.World, 0, 0, 0, w.rng.Int32N(20), math.MaxInt32)
}

// goOn lets the members obey, then time pass and things happen: those of any world, and those of a wild one on top.
func (w *wild) goOn(a *assignor.Assignment) {
	w.Rounds++
	w.deliver(a, func(*worker) string {
		if w.chance(w.careless) {
			return "misses"
		}
		return "applies"
	})
	w.pass(time.Duration(w.rng.IntN(60))*time.Second, pick(w.World, 20, 60))
	if w.chance(25) {
		w.config.SincePrevious = 0
	}
	w.disturb()
	for range pick(w.World, 0, 0, 1, 2) {
		w.happen()
	}
	if w.chance(w.garbage / 4) {
		w.mangleMemory()
	}
}

// happen is what happens in a wild world only: a member changes what it cannot change while it runs, a config changes between two rounds,
// or the leader forgets.
func (w *wild) happen() {
	k := pick(w.World, w.workers...)
	switch w.rng.IntN(9) {
	case 0:
		k.report.Capacity = pick[int32](w.World, 1, 1, 2, 5)
	case 1:
		w.drawWildConfig()
	case 2:
		w.drawTopology()
	case 3, 4:
		w.memory = w.leader()
	case 5:
		w.setLeaving(k, !k.report.Leaving)
		k.report.LeavingFor = time.Duration(w.rng.IntN(200)) * time.Second
	case 6:
		k.report.Version = pick[uint8](w.World, 0, 0, 1, 2, 3)
	case 7:
		if len(w.workers) > 1 {
			w.vanish(k)
		}
	default:
		sub := &w.config.Topology[w.rng.IntN(len(w.config.Topology))]
		sub.Stateless = !sub.Stateless
	}
}

// mangled returns what the members say, some of it impossible: what a member says of itself is never checked by anybody, so each of
// these reaches Assign in a group whose members have a bug.
func (w *wild) mangled() []assignor.Member {
	members := w.reports()
	for i := range members {
		if members[i].Instance == members[i].ID && w.chance(50) {
			members[i].Instance = "" // which means the same
		}
		for w.chance(w.garbage) {
			w.mangle(&members[i])
		}
	}
	return members
}

func (w *wild) mangle(m *assignor.Member) {
	lag := pick(w.World, 0, 0, 7, w.rng.Int64N(200), -1, -5, math.MaxInt64)
	c := assignor.Replica{Task: w.anyTask(), Lag: lag, For: time.Duration(w.rng.IntN(300)) * time.Second}
	switch w.rng.IntN(13) {
	case 0, 1:
		m.Active = append(m.Active, c.Task)
	case 2:
		m.Revoked = append(m.Revoked, c.Task)
	case 3, 4:
		m.Learners = append(m.Learners, c)
	case 5, 6, 7:
		m.Standbys = append(m.Standbys, c)
	case 8:
		m.Generation = pick(w.World, m.Generation-1, m.Generation+1, 0, -3, math.MaxInt32)
	case 9:
		m.Version = pick[uint8](w.World, 1, 2)
	case 10:
		m.Capacity = pick[int32](w.World, -4, 3, math.MaxInt32)
	case 11:
		m.LeavingFor = pick(w.World, -time.Second, math.MaxInt64)
	default:
		m.Instance = pick(w.World, w.instances()...)
	}
}

// anyTask returns a task that mostly exists.
func (w *wild) anyTask() assignor.TaskID {
	if tasks := w.tasks(); len(tasks) > 0 && !w.chance(5) {
		return pick(w.World, tasks...)
	}
	return assignor.TaskID{Subtopology: w.rng.Int32N(4), Partition: w.rng.Int32N(11) - 1}
}

// mangleMemory makes the leader remember something that it never said.
func (w *wild) mangleMemory() {
	memory := &assignor.Assignment{Generation: pick[int32](w.World, 0, 5, -1)}
	if w.memory != nil {
		*memory = *w.memory
	}
	memory.Members, memory.Departed = slices.Clone(memory.Members), slices.Clone(memory.Departed)
	tasks := []assignor.TaskID{w.anyTask(), w.anyTask()}
	switch w.rng.IntN(4) {
	case 0:
		memory.Departed = append(memory.Departed, assignor.Departure{
			Instance: pick(w.World, "i1", "i2", "ghosts"), Absent: time.Duration(w.rng.IntN(300)-9) * time.Second, Tasks: tasks,
		})
	case 1:
		memory.Generation += w.rng.Int32N(5) - 2
	default:
		ids := []string{"ghost", fmt.Sprintf("i%d", w.rng.IntN(9))}
		for _, k := range w.workers {
			ids = append(ids, k.report.ID)
		}
		memory.Members = append(memory.Members, assignor.MemberAssignment{
			Member: pick(w.World, ids...), Instance: pick(w.World, append(w.instances(), "", "ghosts")...), Leaving: w.chance(30),
			Active: tasks, Revoke: []assignor.TaskID{w.anyTask()},
		})
	}
	w.memory = memory
}
