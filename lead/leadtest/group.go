package leadtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// Config says what is played.
type Config struct {
	Seed   uint64
	Events int // 0: 40
	// New returns the member of a process, plugged into its host. OneRound draws a hand-over mode for the whole group.
	New func(host Host, config lead.Config) Member
}

// Play plays the life of a group on a transport that breaks every promise but those of the contract, then lets it settle. It returns
// the first fault with the seed and the whole history, in the rows of scenario files: two members that run one task, a task
// that nobody runs in the end, an invariant of a session that does not hold, a group that does not come to rest.
func Play(config Config) error {
	g := newGroup(config)
	for range cmp.Or(config.Events, 40) {
		if g.Err() != nil {
			break
		}
		g.event()
	}
	if g.Err() == nil {
		g.settle()
	}
	if err := g.Err(); err != nil {
		return fmt.Errorf("seed %d: %w\n%s", config.Seed, err, g.History())
	}
	return nil
}

// group is a transport in one process: a coordinator, whose rounds are numbered, and the processes that are its members.
type group struct {
	Ledger
	config Config
	rng    *rand.Rand
	now    time.Duration
	round  int32
	named  int // how many members had a name
	member lead.Config
	procs  []*process
	late   []answer          // answers that are still under way
	stored map[string]answer // the last round's, by member
	leader string            // the id of who decided it
	wanted bool              // somebody has called for a round, or has come or gone
	calm   bool              // no more faults
	tasks  int32
}

func newGroup(config Config) *group {
	g := &group{config: config, rng: rand.New(rand.NewPCG(config.Seed, 0)), stored: map[string]answer{}}
	g.tasks = 1 + g.rng.Int32N(7)
	g.member = lead.Config{
		Assignor: assignor.Config{
			Topology:       []assignor.Subtopology{{ID: 0, Partitions: g.tasks}, {ID: 1, Partitions: g.rng.Int32N(3), Stateless: true}},
			Standbys:       g.rng.IntN(3),
			MaxLearners:    g.rng.IntN(3),
			AcceptableLag:  int64(g.rng.IntN(2) * 10),
			LearnerTimeout: time.Duration(g.rng.IntN(2)) * time.Minute,
			RejoinDelay:    time.Duration(g.rng.IntN(3)) * time.Minute,
		},
		RejoinMode: assignor.RejoinMode(g.rng.IntN(2)),
		OneRound:   g.chance(50),
	}
	g.Note("one round: %v, %v, standbys: %d, learners: %d", g.member.OneRound, g.member.RejoinMode,
		g.member.Assignor.Standbys, g.member.Assignor.MaxLearners)
	return g
}

func (g *group) chance(percent int) bool { return g.rng.IntN(100) < percent }

// fault draws whether something goes wrong.
func (g *group) fault(percent int) bool { return g.chance(percent) && !g.calm }

func (g *group) living() []*process {
	var living []*process
	for _, p := range g.procs {
		if p.alive {
			living = append(living, p)
		}
	}
	g.rng.Shuffle(len(living), func(i, j int) { living[i], living[j] = living[j], living[i] })
	return living
}

// event plays one thing that happens to the group.
func (g *group) event() {
	g.now += time.Duration(g.rng.IntN(8000)) * time.Millisecond
	living := g.living()
	draw := g.rng.IntN(100)
	if len(living) == 0 {
		draw = 0
	}
	switch {
	case draw < 14 && len(living) < 5:
		g.start(fmt.Sprintf("host%d", g.rng.IntN(6)), g.chance(50))
	case draw < 20:
		g.kill(living[0])
	case draw < 26:
		g.drop(living[0])
	case draw < 30:
		g.Note("%s is told to leave", living[0].name)
		living[0].call(living[0].m.Leaves)
	case draw < 33:
		g.Note("%s is told to stay", living[0].name)
		living[0].call(living[0].m.Stays)
	case draw < 37:
		living[0].skew += time.Duration(g.rng.Int64N(int64(20*time.Hour))) - 10*time.Hour
		g.Note("the clock of %s jumps to %v", living[0].name, living[0].skew)
	case draw < 60:
		g.progress(living[0], false)
	case draw < 75:
		g.tick()
	default:
		g.wanted = true
	}
	g.arrive()
	if g.wanted && g.chance(80) {
		g.rebalance()
	}
}

// tick lets the time come that the next process waits for.
func (g *group) tick() {
	next := time.Duration(0)
	for _, p := range g.procs {
		if p.alive && p.wake > 0 && (next == 0 || p.wake < next) {
			next = p.wake
		}
	}
	g.now = max(g.now, next)
	for _, p := range g.living() {
		if p.wake > 0 && p.wake <= g.now || g.fault(5) {
			p.wake = 0
			p.call(p.m.Awake)
		}
	}
}

// settle lets the group come to rest: nothing fails any more, copies catch up, and in the end every task runs.
func (g *group) settle() {
	g.Note("from here on nothing fails")
	g.calm = true
	g.arrive()
	for _, p := range g.procs {
		if !p.alive && p.listed {
			p.listed, g.wanted = false, true
		}
	}
	if len(g.living()) == 0 {
		g.start("host9", false)
	}
	for range 200 {
		if g.Err() != nil {
			return
		}
		if g.wanted {
			g.rebalance()
		}
		for _, p := range g.living() {
			g.progress(p, true)
		}
		if len(g.living()) == 0 { // all have drained
			g.start("host9", false)
		}
		if !g.wanted {
			g.tick()
		}
	}
	for _, sub := range g.member.Assignor.Topology {
		for partition := range sub.Partitions {
			if task := (assignor.TaskID{Subtopology: sub.ID, Partition: partition}); g.Runner(task) == "" {
				g.Fail("nobody runs %v", task)
			}
		}
	}
}
