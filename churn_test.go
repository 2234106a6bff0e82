package assignor_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// newWorld draws a group and its configuration from a seed.
func newWorld(seed uint64) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 2)), seed: seed,
		disks: map[string]diskState{}, last: map[assignor.TaskID]place{}, ran: map[assignor.TaskID]string{}, lost: map[assignor.TaskID]bool{},
		idle: map[assignor.TaskID]int{}, hot: map[copyAt]bool{}, revoked: map[assignor.TaskID]bool{},
	}
	w.mode = pick(w, assignor.OneRound, assignor.TwoRounds)
	w.rejoin = pick(w, assignor.Conservative, assignor.Eager)
	w.dirty = -10
	w.drawConfig()
	w.drawTopology()
	for range 1 + w.rng.IntN(6) {
		w.drawMember()
	}
	return w
}

func (w *world) drawConfig() {
	c := &w.config
	c.Standbys = pick(w, 0, 0, 1, 1, 1, 2, 2, 3)
	c.MaxLearners = pick(w, 0, 0, 0, 1, 2, 5)
	c.AcceptableLag = pick[int64](w, 0, 100, 10_000)
	c.LearnerTimeout = pick(w, 0, 0, 30*time.Second)
	c.ScaleDownTimeout = pick(w, 0, 0, time.Minute)
	c.RejoinDelay = pick(w, 0, 0, time.Minute)
	c.ImbalancePercent = pick(w, 0, 0, 0, 0, 10, 30, 100)
	c.NewInstancesOnly = w.chance(15)
	c.SpreadTags = pick(w, nil, nil, nil, []string{"zone"}, []string{"zone", "rack"})
}

func (w *world) drawTopology() {
	weighted, sparse := w.chance(25), w.chance(20)
	stateless := pick(w, 0, 0, 30, 60)
	id := int32(0)
	for range 1 + w.rng.IntN(4) {
		if sparse {
			id += w.rng.Int32N(5)
		}
		s := assignor.Subtopology{ID: id, Partitions: w.rng.Int32N(16), Stateless: w.chance(stateless)}
		id++
		if weighted {
			s.Weight = pick[int32](w, 0, 1, 2, 3, 7, 1000)
		}
		if w.chance(30) {
			for range s.Partitions {
				s.RestoreCost = append(s.RestoreCost, w.rng.Int64N(4))
			}
		}
		w.config.Topology = append(w.config.Topology, s)
	}
}

func (w *world) drawMember() {
	instance := ""
	if names := w.instances(); len(names) > 0 && w.chance(25) {
		instance = pick(w, names...)
	}
	w.drawMemberOn(instance)
}

// What the members of a seed are like; a shared instance has one set of tags.
func (w *world) drawMemberOn(instance string) *worker {
	k := w.join(instance)
	switch w.seed % 4 {
	case 0:
		k.report.Capacity = 1 + w.rng.Int32N(4)
	case 1:
		k.report.Capacity = pick[int32](w, 0, 1, 1, 1, 1000)
	}
	if w.seed%5 == 0 {
		k.report.Version = pick[uint8](w, 0, 1, 1, 2, 3)
	}
	if len(w.config.SpreadTags) > 0 {
		k.report.Tags = map[string]string{"zone": pick(w, "a", "b", "c"), "rack": pick(w, "r", "s")}
		if w.chance(10) {
			k.report.Tags = nil
		}
	}
	return k
}

// disturb lets something happen between two rounds.
func (w *world) disturb() {
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
			for _, name := range w.vanished() {
				w.drawMemberOn(name)
				break
			}
		}
	}
	w.stopDrained()
}

// disturbOnce lets one thing happen to a group that has settled.
func (w *world) disturbOnce() (crash bool) {
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

func (w *world) leave(k *worker) {
	if !k.report.Leaving {
		w.event("%s is told to leave", k.report.ID)
		w.setLeaving(k, true)
	}
}

func (w *world) setLeaving(k *worker, leaving bool) {
	k.report.Leaving, k.report.LeavingFor = leaving, 0
	if k.fresh != nil {
		k.fresh.Leaving, k.fresh.LeavingFor = leaving, 0
	}
}

// leftover lets a member report state that nobody asked it to keep.
func (w *world) leftover(k *worker) {
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
func (w *world) inherit(k *worker) {
	for _, c := range w.takeDisk(k.instance()) {
		if !holds(k.report.Learners, c.Task) && !holds(k.report.Standbys, c.Task) {
			k.report.Standbys = append(k.report.Standbys, c)
		}
	}
}

// restart replaces the members of an instance by new ones with new ids, or with the old ones but without a generation.
func (w *world) restart(instance string) {
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
func (w *world) vanished() []string {
	present := w.instances()
	var names []string
	for name := range w.disks {
		if !slices.Contains(present, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	w.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// stopDrained stops instances that leave and have nothing left.
func (w *world) stopDrained() {
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
func (w *world) retopologize() {
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
func (w *world) tasks() []assignor.TaskID {
	var tasks []assignor.TaskID
	for _, s := range w.config.Topology {
		for p := range s.Partitions {
			tasks = append(tasks, assignor.TaskID{Subtopology: s.ID, Partition: p})
		}
	}
	return tasks
}

// leader returns what the leader of the next round remembers.
func (w *world) leader() *assignor.Assignment {
	memory := w.memory
	w.rebuilt = false
	switch draw := w.rng.IntN(100); {
	case draw < 8:
		memory = nil
		w.event("a new leader remembers nothing")
	case draw < 16:
		if memory = assignor.Recover(w.reportsOf()); w.memory != nil && printAssignment(memory) != printAssignment(w.memory) {
			w.rebuilt = true
			w.hurry()
			memory = assignor.Recover(w.reportsOf())
		}
		w.event("a new leader recovers a memory, rebuilt: %v", w.rebuilt)
	case draw < 20 && len(w.older) > 0:
		memory = pick(w, w.older...)
		w.event("a former leader is back with generation %d", memory.Generation)
	}
	if w.rebuilt || memory == nil || w.memory == nil || memory.Generation != w.memory.Generation {
		w.hurry()
	}
	if w.chance(20) {
		memory = shuffleMemory(w.rng, memory)
		if memory != nil { // sorted again, as Assignment says, but with other arrays
			slices.SortFunc(memory.Members, func(a, b assignor.MemberAssignment) int { return compareStrings(a.Member, b.Member) })
		}
	}
	return memory
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (w *world) reportsOf() []assignor.Member {
	members := make([]assignor.Member, len(w.workers))
	for i, k := range w.workers {
		members[i] = cloneMember(&k.report)
	}
	return members
}

// hurry makes members that were slow to apply the last answer report it after all, unless all it gave them is what they report
// anyway: a leader that does not know the last answer cannot know what else they run.
func (w *world) hurry() {
	newest := int32(0)
	for _, k := range w.workers {
		newest = max(newest, k.report.Generation)
	}
	for _, k := range w.workers {
		if k.fresh == nil {
			continue
		}
		known := w.memory != nil && newest == w.memory.Generation
		for task := range k.runs {
			known = known && (slices.Contains(k.report.Active, task) || slices.Contains(k.report.Revoked, task))
		}
		if !known {
			k.report, k.fresh = *k.fresh, nil
		}
	}
}

// churn runs the events of a seed.
func (w *world) churn() {
	tidy := w.seed%3 == 0 // nobody misses an answer
	speed := pick(w, 20, 60, 100)
	for n := 3 + w.rng.IntN(9); n > 0; n-- {
		a := w.round(w.leader())
		w.deliver(a, func(k *worker) string {
			switch draw := w.rng.IntN(100); {
			case tidy || draw < 90:
				return "applies"
			case draw < 95 || k.report.Generation == 0: // one without a generation counts as one that has just started (R0)
				return "misses"
			default:
				return "is slow to apply"
			}
		})
		w.pass(time.Duration(w.rng.IntN(20))*time.Second, speed)
		if w.chance(10) && len(w.workers) > 0 {
			w.stick(pick(w, w.workers...))
		}
		w.disturb()
	}
}

// stick keeps one copy from ever catching up.
func (w *world) stick(k *worker) {
	for _, copies := range [][]assignor.Replica{k.report.Learners, k.report.Standbys} {
		for i := range copies {
			if task := copies[i].Task; w.running()[task] && !k.runs[task] && w.chance(50) {
				k.stuck[task] = true
				copies[i].Lag = w.config.AcceptableLag + 1
			}
		}
	}
}

// runSeed runs one seed and returns what went wrong, with the rows.
func runSeed(seed uint64, run func(w *world)) (w *world, err error) {
	w = newWorld(seed)
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("seed %d: %s\n%s", seed, f.text, w.rows())
		default:
			err = fmt.Errorf("seed %d: panic: %v\n%s\n%s", seed, f, w.rows(), debug.Stack())
		}
	}()
	run(w)
	return w, nil
}

const churnSeeds = 6000

// TestChurn runs random groups through random events, and then lets them settle.
func TestChurn(t *testing.T) {
	runSeeds(t, churnSeeds, func(w *world) {
		w.churn()
		s := w.settle()
		w.checkSettled(s.last)
		s.checkMoved()
		for range 2 {
			crash := w.disturbOnce()
			s = w.settle()
			w.checkSettled(s.last)
			s.checkMoved()
			s.checkStateless()
			speaks := slices.ContainsFunc(w.parties(), func(p *party) bool { return p.speaks })
			overdue := slices.ContainsFunc(w.instances(), w.excused)
			if s.base > 0 && !crash && speaks && !overdue {
				w.failf("the moves that one event takes do not begin with its round, but with round %d", s.base)
			}
		}
	})
}

// runSeeds runs seeds on all processors, and reports the first few that fail.
func runSeeds(t *testing.T, seeds int, run func(w *world)) {
	t.Helper()
	if testing.Short() {
		seeds /= 10
	}
	var next, rounds, failed atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				seed := next.Add(1) - 1
				if seed >= int64(seeds) || failed.Load() >= 3 {
					return
				}
				w, err := runSeed(uint64(seed), run)
				rounds.Add(int64(w.rounds))
				if err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	t.Logf("%d seeds, %d rounds", seeds, rounds.Load())
}
