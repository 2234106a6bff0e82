package leadtest

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// process is one life of a member, and its host.
type process struct {
	Process
	g       *group
	life    string // its name in the ledger: one life
	id      string // in the group
	m       Member
	alive   bool
	listed  bool // the coordinator counts it as a member
	quits   bool
	skew    time.Duration     // of its clock
	wake    time.Duration     // when to wake it; 0: never
	report  []byte            // of its last join, nil before
	earlier []byte            // what was reported under its id before
	sent    []lead.Payload    // its decision
	copies  []assignor.TaskID // what it learns and keeps
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
	p.g.Note("%s calls for a round: %s", p.life, why)
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
		p.g.Note("%s: trouble: %v", p.life, err)
	}
}

func (p *process) Stop(tasks []assignor.TaskID) {
	for _, task := range tasks {
		p.g.Stopped(p.life, task)
	}
}

func (p *process) Start(tasks []assignor.TaskID) {
	p.Drop(tasks)
	for _, task := range tasks {
		p.g.Started(p.life, task)
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

// call lets something happen to the member while it lives. It keeps its invariants, and runs nothing when it leaves.
func (p *process) call(event func()) {
	if !p.alive {
		return
	}
	event()
	if err := p.m.Check(); err != nil {
		p.g.Fail("%s: %v", p.life, err)
	}
	if !p.quits {
		return
	}
	if runs := p.g.Running(p.life); len(runs) > 0 {
		p.g.Fail("%s leaves the group, and runs %v", p.life, runs)
	}
	p.g.Note("%s has drained and left", p.life)
	p.alive, p.listed, p.g.wanted = false, false, true
}
