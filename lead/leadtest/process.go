package leadtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// process is one life of a member, and its host.
type process struct {
	g        *group
	name     string // in the ledger
	id       string // in the group
	instance string
	static   bool // it keeps its id
	m        Member
	alive    bool
	listed   bool // the coordinator counts it as a member
	quits    bool
	skew     time.Duration     // of its clock
	wake     time.Duration     // when to wake it; 0: never
	report   []byte            // of its last join, nil before
	earlier  []byte            // what was reported under its id before
	sent     []lead.Payload    // its decision
	copies   []assignor.TaskID // what it learns and keeps
}

// epoch is when the clocks of the kit begin.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *process) Now() time.Time { return epoch.Add(p.g.now + p.skew) }

func (p *process) Join(report []byte) {
	if p.report != nil {
		p.earlier = p.report
	}
	p.report = report
}

func (p *process) Send(payloads []lead.Payload) {
	if payloads != nil {
		p.sent = payloads
	}
}

func (p *process) Call(why string) {
	p.g.Note("%s calls for a round: %s", p.name, why)
	p.g.wanted = !p.g.fault(10) || p.g.wanted
}

func (p *process) WakeIn(d time.Duration) {
	p.wake = 0
	if d > 0 {
		p.wake = p.g.now + d
	}
}

func (p *process) Leave() { p.quits = true }

func (p *process) Log(trouble []error) {
	for _, err := range trouble {
		p.g.Note("%s: trouble: %v", p.name, err)
	}
}

func (p *process) Stop(tasks []assignor.TaskID) {
	for _, task := range tasks {
		p.g.Stop(p.name, task)
	}
}

func (p *process) Start(tasks []assignor.TaskID) {
	p.Drop(tasks)
	for _, task := range tasks {
		p.g.Start(p.name, task)
	}
}

func (p *process) Learn(tasks []assignor.TaskID) {
	p.Drop(tasks)
	p.copies = append(p.copies, tasks...)
}

func (p *process) Keep(tasks []assignor.TaskID) { p.Learn(tasks) }

func (p *process) Drop(tasks []assignor.TaskID) {
	p.copies = slices.DeleteFunc(p.copies, func(t assignor.TaskID) bool { return slices.Contains(tasks, t) })
}

// call lets something happen to the member, which keeps its invariants.
func (p *process) call(event func()) {
	event()
	if err := p.m.Check(); err != nil {
		p.g.Fail("%s: %v", p.name, err)
	}
	if !p.quits || !p.alive {
		return
	}
	if runs := p.g.Running(p.name); len(runs) > 0 {
		p.g.Fail("%s leaves the group, and runs %v", p.name, runs)
	}
	p.g.Note("%s has drained and left", p.name)
	p.alive, p.listed, p.g.wanted = false, false, true
}

// start starts a process of an instance. A static one takes the place of its former life, and may get back what that had without a
// round.
func (g *group) start(instance string, static bool) {
	g.named++
	p := &process{g: g, name: fmt.Sprintf("%s#%d", instance, g.named), instance: instance, static: static, alive: true, listed: true}
	p.id = fmt.Sprintf("m%03d", g.named)
	returns := false
	if static {
		p.id = "static-" + instance
		for _, former := range g.procs {
			if former.id != p.id || !former.listed {
				continue
			}
			if former.alive {
				return // the transport lets no two processes have one id
			}
			former.listed, p.earlier, returns = false, former.report, true
		}
	}
	config := g.member
	config.Instance = instance
	g.procs = append(g.procs, p)
	p.m = g.config.New(p, config)
	g.Note("%s starts as %s", p.name, p.id)
	stored, has := g.stored[p.id]
	if !returns || !has || stored.round != g.round || g.wanted || g.chance(30) {
		g.wanted = true
		return
	}
	g.Note("%s returns to the place of its former life in round %d", p.name, g.round)
	p.call(p.m.Rebalance)
	p.call(func() { p.m.Begun(lead.Place{Round: g.round, Member: p.id, Leads: g.leader == p.id}) })
	g.deliver(answer{p, g.round, stored.data})
}

// kill ends a process. The group hears of it later.
func (g *group) kill(p *process) {
	g.Note("%s dies", p.name)
	p.alive = false
	g.Dead(p.name)
	if g.chance(50) {
		p.listed, g.wanted = false, true
	}
}

// drop is how a coordinator gives a member up, or how a member notices that it may have: it stops everything, and joins anew.
func (g *group) drop(p *process) {
	g.Note("%s is dropped", p.name)
	p.call(p.m.Dropped)
	if runs := g.Running(p.name); len(runs) > 0 {
		g.Fail("%s has lost its place, and runs %v", p.name, runs)
	}
	if !p.static {
		g.named++
		p.id = fmt.Sprintf("m%03d", g.named)
	}
	p.report, p.earlier = nil, nil
	delete(g.stored, p.id)
	g.wanted = true
}

// progress moves copies of a process: some are behind, some catch up.
func (g *group) progress(p *process, all bool) {
	for _, task := range slices.Clone(p.copies) {
		lag := int64(0)
		if !all {
			lag = []int64{assignor.UnknownLag, 0, 0, 5, 5000}[g.rng.IntN(5)]
		}
		p.call(func() { p.m.Lag(task, lag) })
	}
	for _, task := range g.Running(p.name) {
		switch {
		case all:
			p.call(func() { p.m.Lag(task, 0) })
		case g.chance(10):
			p.call(func() { p.m.Lag(task, 700) })
		}
	}
}
