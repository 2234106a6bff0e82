package leadtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// Config says what [Play] plays.
type Config struct {
	Seed   uint64
	Events int // 0: 40
	// New returns the member of a process, plugged into its host. The configs of a seed are equal but for the instances.
	New func(host Host, config lead.Config) Member
}

// Play plays the life of a group of these members on a transport that breaks every promise but those of the contract. It returns what
// [Script.Drive] does, and the first invariant of a session that does not hold.
func Play(config Config) error {
	g := newGroup(config)
	script := Script{Seed: config.Seed, Events: config.Events}
	for _, sub := range g.member.Assignor.Topology {
		for partition := range sub.Partitions {
			script.Tasks = append(script.Tasks, assignor.TaskID{Subtopology: sub.ID, Partition: partition})
		}
	}
	return script.Drive(g, &g.Ledger)
}

// group is a transport in one process: a coordinator, whose rounds are numbered, and the processes that are its members.
type group struct {
	Ledger
	make   func(Host, lead.Config) Member
	rng    *rand.Rand
	now    time.Duration
	round  int32
	leader string      // the id of who decided it
	named  int         // how many members had a name
	member lead.Config // of all
	procs  []*process
	late   []answer          // those that are still under way
	stored map[string]answer // the round's, by member
	wanted bool              // somebody has called for a round, or has come or gone
	calm   bool              // nothing fails any more
}

func newGroup(config Config) *group {
	g := &group{make: config.New, rng: rand.New(rand.NewPCG(config.Seed, 0)), stored: map[string]answer{}}
	g.member = lead.Config{
		Assignor: assignor.Config{
			Topology: []assignor.Subtopology{
				{ID: 0, Partitions: 1 + g.rng.Int32N(7)},
				{ID: 1, Partitions: g.rng.Int32N(3), Stateless: true},
			},
			Standbys:       g.rng.IntN(3),
			MaxLearners:    g.rng.IntN(3),
			AcceptableLag:  int64(g.rng.IntN(2) * 10),
			LearnerTimeout: time.Duration(g.rng.IntN(2)) * time.Minute,
			RejoinDelay:    time.Duration(g.rng.IntN(3)) * time.Minute,
		},
		RejoinMode: assignor.RejoinMode(g.rng.IntN(2)),
		OneRound:   g.chance(50),
	}
	g.Note("one round: %v, %v, standbys: %d, learners: %d, rejoin delay: %v", g.member.OneRound, g.member.RejoinMode,
		g.member.Assignor.Standbys, g.member.Assignor.MaxLearners, g.member.Assignor.RejoinDelay)
	return g
}

func (g *group) chance(percent int) bool { return g.rng.IntN(100) < percent }

// fault draws whether something goes wrong.
func (g *group) fault(percent int) bool { return g.chance(percent) && !g.calm }

// living returns the processes that live, in any order.
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

// find returns the living process of a name.
func (g *group) find(name string) *process {
	i := slices.IndexFunc(g.procs, func(p *process) bool { return p.alive && p.Name == name })
	return g.procs[i]
}

// Living returns their names.
func (g *group) Living() []string {
	var names []string
	for _, p := range g.living() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// Faults says whether anything fails from now on. What has ended is known to have ended then.
func (g *group) Faults(on bool) {
	g.calm = !on
	for _, p := range g.procs {
		if g.calm && !p.alive && p.listed {
			p.listed, g.wanted = false, true
		}
	}
}

// Start starts a process. A static one takes the place of its former life, and may get back what that had without a round.
func (g *group) Start(start Process) {
	g.named++
	p := &process{Process: start, g: g, life: fmt.Sprintf("%s#%d", start.Name, g.named), alive: true, listed: true}
	p.id = fmt.Sprintf("m%03d", g.named)
	returns := false
	if p.Static {
		p.id = "static-" + p.Name
		for _, former := range g.procs {
			if former.id == p.id && former.listed {
				former.listed, p.earlier, returns = false, former.report, true
			}
		}
	}
	config := g.member
	config.Instance = p.Instance
	g.procs = append(g.procs, p)
	p.m = g.make(p, config)
	stored, has := g.stored[p.id]
	if !returns || !has || stored.round != g.round || g.wanted || g.chance(30) {
		g.wanted = true
		return
	}
	g.Note("%s returns to the place of its former life in round %d", p.life, g.round)
	p.call(p.m.Rebalance)
	p.call(func() { p.m.Begun(lead.Place{Round: g.round, Member: p.id, Leads: g.leader == p.id}) })
	g.deliver(answer{p, g.round, stored.data})
}

// Kill ends a process. The group may hear of it later.
func (g *group) Kill(name string) { g.kill(g.find(name)) }

func (g *group) kill(p *process) {
	p.alive = false
	g.Dead(p.life)
	if g.chance(50) {
		p.listed, g.wanted = false, true
	}
}

// Drop is how a coordinator gives a member up, or how a member notices that it may have: it stops everything, and joins anew.
func (g *group) Drop(name string) { g.drop(g.find(name)) }

func (g *group) drop(p *process) {
	p.call(p.m.Dropped)
	if runs := g.Running(p.life); len(runs) > 0 {
		g.Fail("%s has lost its place, and runs %v", p.life, runs)
	}
	if !p.Static {
		g.named++
		p.id = fmt.Sprintf("m%03d", g.named)
	}
	p.report, p.earlier = nil, nil
	delete(g.stored, p.id)
	g.wanted = true
}

// Leave tells a member to leave, and Stay to stay.
func (g *group) Leave(name string) { p := g.find(name); p.call(p.m.Leaves) }

// Stay tells a member to stay.
func (g *group) Stay(name string) { p := g.find(name); p.call(p.m.Stays) }

// SetClock lets the clock of a process jump.
func (g *group) SetClock(name string, by time.Duration) { g.find(name).skew += by }

// CatchUp moves copies of a process: some are behind, some catch up, or all have.
func (g *group) CatchUp(name string, all bool) {
	p := g.find(name)
	for _, task := range slices.Clone(p.copies) {
		lag := int64(0)
		if !all {
			lag = []int64{assignor.UnknownLag, 0, 0, 5, 5000}[g.rng.IntN(5)]
		}
		p.call(func() { p.m.Lag(task, lag) })
	}
	for _, task := range g.Running(p.life) {
		switch {
		case all:
			p.call(func() { p.m.Lag(task, 0) })
		case g.chance(10):
			p.call(func() { p.m.Lag(task, 700) })
		}
	}
}

// Wait lets time pass: members are woken, rounds are played, answers arrive. A round takes a while, so that it ends.
func (g *group) Wait(d time.Duration) {
	for end := g.now + d; g.now < end && g.Err() == nil; {
		g.arrive()
		if g.wanted && (g.calm || g.chance(80)) {
			g.rebalance()
			g.now += time.Duration(100+g.rng.IntN(900)) * time.Millisecond
			continue
		}
		next := end
		for _, p := range g.procs {
			if p.alive && p.wake > 0 {
				next = min(next, max(p.wake, g.now+1))
			}
		}
		g.now = next
		for _, p := range g.living() {
			if p.wake > 0 && p.wake <= g.now || g.fault(3) {
				p.wake = 0
				p.call(p.m.Awake)
			}
		}
	}
}
