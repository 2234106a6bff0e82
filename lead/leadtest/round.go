package leadtest

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// answer is a payload that is under way.
type answer struct {
	to    *process
	round int32
	data  []byte
}

// rebalance plays a round.
func (g *group) rebalance() {
	g.wanted = false
	members := g.join()
	g.round++
	if g.fault(10) {
		g.round += g.rng.Int32N(3)
	}
	var begun []*process
	for _, p := range members {
		if p.alive && !g.fault(4) { // else it does not hear of it
			p.call(func() { p.m.Begun(lead.Place{Round: g.round, Member: p.id}) })
			begun = append(begun, p)
		}
	}
	begun = slices.DeleteFunc(begun, func(p *process) bool { return !p.alive })
	if len(begun) == 0 {
		g.wanted = g.wanted || len(members) > 0
		return
	}
	leader := g.decide(begun, members)
	if leader == nil {
		return
	}
	g.leader = leader.id
	g.answer(leader, begun)
}

// join asks every member for its report, and returns those of which the coordinator has one in the end.
func (g *group) join() []*process {
	var members []*process
	for _, p := range g.procs {
		if p.listed {
			members = append(members, p)
		}
	}
	g.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	for i, p := range members {
		switch {
		case !p.alive && (g.calm || g.chance(50)):
			g.Note("%s has been silent for too long", p.life)
			p.listed, members[i] = false, nil
		case !p.alive: // its last report stands
		case g.fault(5):
			g.Note("%s does not report in time, and is dropped", p.life)
			g.drop(p)
			members[i] = nil
		default:
			p.call(p.m.Rebalance)
			if g.fault(10) {
				p.call(p.m.Rebalance)
			}
			if g.fault(3) && p.alive {
				g.Note("%s dies when it has reported", p.life)
				g.kill(p)
			}
		}
		if g.fault(20) {
			g.arrive()
		}
	}
	return slices.DeleteFunc(members, func(p *process) bool { return p == nil || p.report == nil || !p.listed })
}

// reports returns what a leader sees.
func (g *group) reports(members []*process) []lead.Report {
	var reports []lead.Report
	for _, p := range members {
		r := lead.Report{Member: p.id, Data: p.report}
		switch {
		case g.fault(3): // of another version
			r.Data = append([]byte{0xff}, r.Data...)
		case g.fault(3):
			r.Data = r.Data[:g.rng.IntN(len(r.Data)+1)]
		}
		if g.chance(50) {
			r.Known = &assignor.Member{Instance: p.Instance, Active: g.Running(p.life), Generation: g.round}
		}
		reports = append(reports, r)
		if g.fault(5) {
			reports = append(reports, r)
		}
		if p.earlier != nil && g.fault(4) { // of a former life, or of the last round
			reports = append(reports, lead.Report{Member: p.id, Data: p.earlier})
		}
	}
	g.rng.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
	return reports
}

// decide lets one member decide the round, or two, and returns the one whose decision is taken.
func (g *group) decide(begun, members []*process) *process {
	for _, p := range members {
		var m assignor.Member
		if m.UnmarshalBinary(p.report) == nil {
			m.ID = p.life
			g.Note("  %v %v", m, m.Generation)
		}
	}
	leaders := begun[:1]
	if len(begun) > 1 && g.fault(10) {
		leaders = begun[:2]
	}
	for _, p := range leaders {
		r := lead.Round{Number: g.round, Reports: g.reports(members)}
		switch {
		case g.fault(5):
			r.Limit = 1 + g.rng.IntN(80)
		case g.fault(3):
			r.Topology = []assignor.Subtopology{{ID: 0, Partitions: -1}}
		}
		if g.fault(5) {
			p.call(func() { p.m.Elected(lead.Round{Number: g.round - 1, Reports: r.Reports}) })
		}
		p.sent = nil
		p.call(func() { p.m.Begun(lead.Place{Round: g.round, Member: p.id, Leads: true}) })
		p.call(func() { p.m.Elected(r) })
		g.Note("round %d: %s decides", g.round, p.life)
	}
	leader := leaders[g.rng.IntN(len(leaders))]
	if g.fault(6) {
		g.Note("%s dies when it has decided", leader.life)
		g.kill(leader)
		if g.chance(50) {
			g.Note("nobody hears what it decided")
			g.wanted = true
			return nil
		}
	}
	return leader
}

// answer delivers what the leader has sent, in any order, late or not at all.
func (g *group) answer(leader *process, begun []*process) {
	clear(g.stored)
	var answers []answer
	for _, p := range begun {
		i := slices.IndexFunc(leader.sent, func(s lead.Payload) bool { return s.Member == p.id })
		if i < 0 {
			g.Fail("%s has sent %s nothing in round %d", leader.life, p.life, g.round)
			continue
		}
		answers = append(answers, answer{p, g.round, leader.sent[i].Data})
	}
	for _, s := range leader.sent {
		g.stored[s.Member] = answer{round: g.round, data: s.Data}
	}
	g.rng.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	for _, a := range answers {
		switch {
		case g.fault(10):
			g.Note("  %s misses its answer", a.to.life)
		case g.fault(4):
			g.Note("  %s gets an answer that nobody can read", a.to.life)
			a.data = append([]byte{0xff}, a.data...)
			g.deliver(a)
		case g.fault(15):
			g.late = append(g.late, a)
		default:
			g.deliver(a)
			if g.fault(10) {
				g.deliver(a)
			}
		}
	}
}

// arrive delivers answers that were under way, whatever has happened since.
func (g *group) arrive() {
	g.late = slices.DeleteFunc(g.late, func(a answer) bool {
		here := g.calm || g.chance(40)
		if here {
			g.deliver(a)
		}
		return here
	})
}

func (g *group) deliver(a answer) {
	if !a.to.alive {
		return
	}
	if ma, _, err := assignor.Decode(a.data); err == nil {
		ma.Member = a.to.life
		g.Note("  round %d: %v", a.round, ma)
	}
	a.to.call(func() { a.to.m.Answer(a.round, a.data) })
}
