package leadtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Cluster is a group on some transport, as its surroundings see it: processes start and end, and time passes. The tasks that they
// start and stop are told to a [Ledger]. What a transport cannot do, such as setting a clock, it leaves out.
type Cluster interface {
	Start(p Process)
	Kill(name string)                       // the process ends at once and says nothing; so do its tasks
	Drop(name string)                       // the group gives up a member that lives
	Leave(name string)                      // it is told to leave
	Stay(name string)                       // and to stay
	CatchUp(name string, all bool)          // its copies get on, or have replayed all there is
	SetClock(name string, by time.Duration) // its clock jumps
	Wait(d time.Duration)                   // time passes, and what has to happen in it happens
	Faults(on bool)                         // whether anything may fail from now on; it may at first
	Living() []string                       // the processes that have neither ended nor left, sorted
}

// Process is what starts. Processes of one instance share a disk.
type Process struct {
	Name     string
	Instance string
	Static   bool // it keeps its place in the group if it starts again
}

// Script is the life of a cluster, drawn from its seed.
type Script struct {
	Seed   uint64
	Events int               // 0: 40
	Tasks  []assignor.TaskID // of the topology: in the end each runs
	Settle time.Duration     // how long that may take at most once nothing fails any more; 0: 20 minutes
}

// Drive plays a script. It returns the first fault that the ledger knows, with the seed and the history: two processes that run one task,
// a task that nobody runs in the end, a process that was told to leave and does not.
func (s Script) Drive(c Cluster, ledger *Ledger) error {
	d := &driver{Script: s, Cluster: c, ledger: ledger, rng: rand.New(rand.NewPCG(s.Seed, 1)), leaving: map[string]bool{}}
	for range cmp.Or(s.Events, 40) {
		if ledger.Err() == nil {
			d.event()
		}
	}
	if ledger.Err() == nil {
		d.settle()
	}
	if err := ledger.Err(); err != nil {
		return fmt.Errorf("seed %d: %w\n%s", s.Seed, err, ledger.History())
	}
	return nil
}

// driver plays one script.
type driver struct {
	Script
	Cluster
	ledger  *Ledger
	rng     *rand.Rand
	leaving map[string]bool
}

// maxProcesses is how many live at most.
const maxProcesses = 5

// event plays one thing that happens to the cluster, and some time.
func (d *driver) event() {
	living := d.Living()
	draw := d.rng.IntN(100)
	if len(living) == 0 {
		draw = 0
	}
	name := ""
	if len(living) > 0 {
		name = living[d.rng.IntN(len(living))]
	}
	switch {
	case draw < 20 && len(living) < maxProcesses:
		d.start()
	case draw < 28:
		d.ledger.Note("%s dies", name)
		d.Kill(name)
	case draw < 36:
		d.ledger.Note("%s is dropped", name)
		d.Drop(name)
	case draw < 42:
		d.ledger.Note("%s is told to leave", name)
		d.leaving[name] = true
		d.Leave(name)
	case draw < 46:
		d.ledger.Note("%s is told to stay", name)
		d.leaving[name] = false
		d.Stay(name)
	case draw < 52:
		by := time.Duration(d.rng.Int64N(int64(20*time.Hour))) - 10*time.Hour
		d.ledger.Note("the clock of %s jumps by %v", name, by)
		d.SetClock(name, by)
	default:
		d.CatchUp(name, false)
	}
	d.Wait(time.Duration(d.rng.IntN(15_000)) * time.Millisecond)
}

// start starts a process that does not live: ten names on seven instances, the odd ones static.
func (d *driver) start() {
	n := d.rng.IntN(2 * maxProcesses)
	p := Process{Name: fmt.Sprintf("P%d", n), Instance: fmt.Sprintf("host%d", n*2/3), Static: n%2 == 1}
	if slices.Contains(d.Living(), p.Name) {
		return
	}
	d.ledger.Note("%s starts on %s, static: %v", p.Name, p.Instance, p.Static)
	d.leaving[p.Name] = false
	d.Start(p)
}

// settle lets the cluster come to rest: nothing fails any more, all copies catch up, and in the end every task runs and who was told to
// leave has left, unless nobody stays.
func (d *driver) settle() {
	d.ledger.Note("from here on nothing fails")
	d.Faults(false)
	const step = 10 * time.Second
	open := "nothing"
	for range max(1, cmp.Or(d.Settle, 20*time.Minute)/step) {
		if len(d.Living()) == 0 {
			d.start()
		}
		for _, name := range d.Living() {
			d.CatchUp(name, true)
		}
		d.Wait(step)
		if open = d.open(); open == "" || d.ledger.Err() != nil {
			return
		}
	}
	d.ledger.Fail("the group does not come to rest: %s", open)
}

// open returns what is still to come, "" where nothing is.
func (d *driver) open() string {
	for _, task := range d.Tasks {
		if d.ledger.Runner(task) == "" {
			return fmt.Sprintf("nobody runs %v", task)
		}
	}
	living := d.Living()
	leaves := func(name string) bool { return d.leaving[name] }
	if i := slices.IndexFunc(living, leaves); i >= 0 && slices.ContainsFunc(living, func(name string) bool { return !leaves(name) }) {
		return living[i] + " has not drained"
	}
	return ""
}
