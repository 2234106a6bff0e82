package churn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// World is a simulated group. It knows what every member truly runs, which the leader only knows from reports, some of which
// are old. Members obey through Member.Next. Every round is checked (see checkAnswer); a failure is a panic with a fault, which
// [Play] turns into an error with the seed and the rows.
type World struct {
	assign     Assign // what is tried out
	again      Assign // has to say the same of the same input in another order
	rng        *rand.Rand
	seed       uint64
	config     assignor.Config
	mode       assignor.HandoverMode
	rejoin     assignor.RejoinMode
	workers    []*worker
	memory     *assignor.Assignment       // the last answer that was delivered
	older      []*assignor.Assignment     // what leaders remembered before
	disks      map[string]diskState       // what vanished instances left, for when they come back
	last       map[assignor.TaskID]place  // where each task was to run last
	ran        map[assignor.TaskID]string // the instance that truly ran it last
	lost       map[assignor.TaskID]bool   // tasks that L3 says nothing of until they run again
	idle       map[assignor.TaskID]int    // for how many rounds a task has been running nowhere
	hot        map[copyAt]bool            // which copies had caught up in the last round
	revoked    map[assignor.TaskID]bool   // tasks that the last answer told somebody to stop
	named      int
	partitions int32 // a subtopology has fewer
	rebuilt    bool  // the memory of this round is made of reports
	dirty      int   // the last round in which some member missed an answer or was slow to apply it
	Rounds     int   // that it has decided
	events     []string
	log        []logged
}

// worker is one member: what it reports, and what it truly runs.
type worker struct {
	report assignor.Member          // what it reports in the next round
	fresh  *assignor.Member         // what it should report, where its report is older than the answer it acts on
	runs   map[assignor.TaskID]bool // what it truly runs
	stuck  map[assignor.TaskID]bool // copies that do not catch up
}

// place is where a task runs.
type place struct{ instance, member string }

// copyAt is a copy of a task on an instance.
type copyAt struct {
	task     assignor.TaskID
	instance string
}

// diskState is the lag of every task whose state an instance has.
type diskState map[assignor.TaskID]int64

// logged is one round, kept for the rows of a failure.
type logged struct {
	events []string
	in     []assignor.Member
	memory string
	out    *assignor.Assignment
}

// fault is what a check of the world found.
type fault struct{ text string }

// failf ends the world: [Play] turns the panic into an error. A check of a world that has gone wrong already would only find what follows
// from it.
func (w *World) failf(format string, args ...any) {
	panic(fault{fmt.Sprintf(format, args...)})
}

// event notes what has happened, for the rows of a failure.
func (w *World) event(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

func (w *World) chance(percent int) bool { return w.rng.IntN(100) < percent }

func pick[T any](w *World, from ...T) T { return from[w.rng.IntN(len(from))] }

// rows prints the last eight rounds: enough to see where most faults begin. A whole world is hundreds of lines.
func (w *World) rows() string {
	var b strings.Builder
	fmt.Fprintf(&b, "config: %+v\nhandover: %v, rejoin: %v\n", w.config, w.mode, w.rejoin)
	first := max(0, len(w.log)-8)
	for n, l := range w.log[first:] {
		fmt.Fprintf(&b, "--- round %d: %s\nmemory: %s\n", first+n, strings.Join(l.events, ", "), l.memory)
		for i := range l.in {
			fmt.Fprintf(&b, "  %s\n", reportRow(&l.in[i]))
		}
		if l.out == nil {
			continue
		}
		fmt.Fprintf(&b, "answer %d: missing standbys: %d\n", l.out.Generation, l.out.MissingStandbys)
		for _, line := range strings.Split(l.out.String(), "\n") {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for _, m := range l.out.Moves {
			fmt.Fprintf(&b, "    %v\n", m)
		}
	}
	return b.String()
}

func reportRow(m *assignor.Member) string {
	row := fmt.Sprintf("%v gen=%d instance=%s capacity=%d version=%d tags=%v", m, m.Generation, m.Instance, m.Capacity, m.Version, m.Tags)
	if m.Leaving {
		row += fmt.Sprintf(" leaving for %v", m.LeavingFor)
	}
	return row
}

func (w *World) worker(id string) *worker {
	for _, k := range w.workers {
		if k.report.ID == id {
			return k
		}
	}
	return nil
}

// on returns the workers of an instance.
func (w *World) on(instance string) []*worker {
	var found []*worker
	for _, k := range w.workers {
		if k.instance() == instance {
			found = append(found, k)
		}
	}
	return found
}

// has reports whether a member has state of a task.
func (k *worker) has(task assignor.TaskID) bool {
	r := &k.report
	if k.fresh != nil {
		r = k.fresh
	}
	return k.runs[task] || slices.Contains(r.Active, task) || slices.Contains(r.Revoked, task) || holds(r.Learners, task) || holds(r.Standbys, task)
}

func (k *worker) instance() string { return instanceOf(&k.report) }

func instanceOf(m *assignor.Member) string {
	if m.Instance == "" {
		return m.ID
	}
	return m.Instance
}

// instances returns the names of the instances in the group, sorted.
func (w *World) instances() []string {
	var names []string
	for _, k := range w.workers {
		names = append(names, k.instance())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// join adds a member. A name of an instance that was there before brings its disk back.
func (w *World) join(instance string) *worker {
	w.named++
	id := fmt.Sprintf("m%d", w.named)
	if instance == "" {
		instance = fmt.Sprintf("i%d", w.named)
	}
	k := &worker{report: assignor.Member{ID: id, Instance: instance}, runs: map[assignor.TaskID]bool{}, stuck: map[assignor.TaskID]bool{}}
	if w.chance(10) {
		k.report.Instance = id // an instance named like its member
	}
	k.report.Standbys = w.takeDisk(k.instance())
	w.workers = append(w.workers, k)
	w.event("%s joins on %s", id, k.instance())
	return k
}

// takeDisk returns the state that a vanished member left on an instance, but for what a member that is there has: they share a
// disk. In the meantime it may have come to lag.
func (w *World) takeDisk(instance string) []assignor.Replica {
	var copies []assignor.Replica
	for task, lag := range w.disks[instance] {
		if !slices.ContainsFunc(w.on(instance), func(k *worker) bool { return k.has(task) }) {
			copies = append(copies, assignor.Replica{Task: task, Lag: lag})
		}
	}
	delete(w.disks, instance)
	slices.SortFunc(copies, func(a, b assignor.Replica) int { return a.Task.Compare(b.Task) })
	for i := range copies {
		if w.chance(20) {
			copies[i].Lag = pick(w, assignor.UnknownLag, w.config.AcceptableLag+1+w.rng.Int64N(1000))
		}
	}
	return copies
}

// vanish removes a member without a word. Its state stays on the disk of its instance: all of what it ran or has stopped, and the rest
// as far as it had come. Of what it ran L3 says nothing until it runs again somewhere.
func (w *World) vanish(k *worker) {
	w.workers = slices.DeleteFunc(w.workers, func(other *worker) bool { return other == k })
	for task, at := range w.last {
		if at.member == k.report.ID || w.revoked[task] { // what has stopped may need the copy that vanishes
			w.lost[task] = true
		}
	}
	disk := w.disks[k.instance()]
	if disk == nil {
		disk = diskState{}
		w.disks[k.instance()] = disk
	}
	for task := range k.runs {
		disk[task] = 0
	}
	report := &k.report
	if k.fresh != nil {
		report = k.fresh
	}
	for _, task := range report.Revoked {
		disk[task] = 0
	}
	for _, copies := range [][]assignor.Replica{report.Learners, report.Standbys} {
		for _, c := range copies {
			disk[c.Task] = c.Lag
		}
	}
}

// reports returns what every member reports as a round begins. What it says to have stopped it has stopped by then, unless it repeats
// an old report: who is slow may be acting on an answer that gave the task back.
func (w *World) reports() []assignor.Member {
	members := make([]assignor.Member, len(w.workers))
	for i, k := range w.workers {
		members[i] = CloneMember(&k.report)
		if k.fresh == nil {
			for _, task := range k.report.Revoked {
				delete(k.runs, task)
			}
		}
	}
	return members
}

// round lets the leader decide and checks the answer. Who applies it is for deliver.
func (w *World) round(memory *assignor.Assignment) *assignor.Assignment {
	w.Rounds++
	members := w.reports()
	remembered := "none"
	if memory != nil {
		remembered = fmt.Sprintf("generation %d", memory.Generation)
	}
	w.log = append(w.log, logged{events: w.events, in: members, memory: remembered})
	w.events = nil
	a := w.decide(members, memory)
	w.log[len(w.log)-1].out = a
	w.checkAnswer(members, memory, a)
	if w.Rounds%wireEvery == 0 {
		w.checkWire(members, memory, a)
	}
	return a
}

// decide lets the round be decided twice, once with everything in another order (I6), and looks for arguments that have changed, at once
// and after the answer has been overwritten: neither may share an array with the other.
func (w *World) decide(members []assignor.Member, memory *assignor.Assignment) *assignor.Assignment {
	before := printInput(members, memory, w.config)
	a, err := w.assign(members, memory, w.config)
	if err != nil {
		w.failf("Assign: %v", err)
	}
	if printInput(members, memory, w.config) != before {
		w.failf("Assign changes its arguments")
	}
	shuffled, config := ShuffleInput(w.rng, members, w.config)
	again, err := w.again(shuffled, memory, config)
	if err != nil {
		w.failf("Assign, shuffled: %v", err)
	}
	if first, second := printAssignment(a), printAssignment(again); first != second {
		w.failf("the answer depends on the order of the input:\n%v\n%v\n%v\n%v", a, a.Moves, again, again.Moves)
	}
	scribble(again)
	if printInput(members, memory, w.config) != before {
		w.failf("the answer shares memory with the arguments")
	}
	return a
}
