package scenario

import (
	"fmt"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// rebalance is the directive of that name: one round.
func (g *group) rebalance(lib library, step *Step) (string, error) {
	c, err := parseChange(step.Args)
	if err != nil {
		return "", err
	}
	rows, err := parseRows(step.Input)
	if err != nil {
		return "", err
	}
	if err := g.admit(c, rows); err != nil {
		return "", err
	}
	if err := g.mark(c); err != nil {
		return "", err
	}
	members := g.reports()
	if err := override(members, rows, c.ready); err != nil {
		return "", err
	}
	r := g.nextRound(lib, members, c)
	if err := lib.decide(r, int64(step.Line)); err != nil {
		return "", err
	}
	g.adopt(r)
	return notationOf(g.config.Topology).answer(r.answer), nil
}

// admit settles who takes part: who crashes is gone, who joins is there. A row is enough for who is declared, and for
// anybody in the first round of a file without `group`; in that round all that are declared take part, unless join= says
// who does.
func (g *group) admit(c change, rows []row) error {
	first := !g.begun
	for _, name := range c.crash {
		ids, err := g.resolve(name)
		if err != nil {
			return err
		}
		for _, id := range ids {
			delete(g.members, id)
		}
	}
	joining := c.join
	if first && len(joining) == 0 {
		joining = g.declaredIDs()
	}
	for _, id := range joining {
		if err := g.join(id); err != nil {
			return err
		}
	}
	return g.admitRows(rows, first)
}

func (g *group) admitRows(rows []row, first bool) error {
	for _, r := range rows {
		if r.groupForm {
			return faultAt(r.line, "want a status row, as in S1(assigned: [T1], revoked: [], learning: [])")
		}
		_, there := g.members[r.member]
		_, declared := g.declared[r.member]
		switch {
		case there:
		case first || declared:
			if err := g.join(r.member); err != nil {
				return faultAt(r.line, "%w", err)
			}
		default:
			return faultAt(r.line, "%s is not in the group: join=%s lets it join", r.member, r.member)
		}
	}
	if first && len(g.config.Topology) == 0 {
		return g.deriveTopology(rows)
	}
	return nil
}

func (g *group) declaredIDs() []string {
	var ids []string
	for id := range g.declared { // order-free: sorted below
		ids = append(ids, id)
	}
	slices.SortFunc(ids, naturalCompare)
	return ids
}

// mark notes who leaves and who stays after all. A member keeps the mark until it crashes.
func (g *group) mark(c change) error {
	if err := g.setLeaving(c.leaving, true); err != nil {
		return err
	}
	if err := g.setLeaving(c.staying, false); err != nil {
		return err
	}
	if !c.leavingForGiven {
		return nil
	}
	anybody := false
	for id, m := range g.members { // order-free: each member by itself
		if m.report.Leaving {
			anybody = true
			m.report.LeavingFor = c.leavingFor
			g.members[id] = m
		}
	}
	if !anybody {
		return fmt.Errorf("leavingFor: nobody is leaving")
	}
	return nil
}

func (g *group) setLeaving(names []string, leaving bool) error {
	for _, name := range names {
		ids, err := g.resolve(name)
		if err != nil {
			return err
		}
		for _, id := range ids {
			m := g.members[id]
			m.report.Leaving, m.report.LeavingFor = leaving, 0
			g.members[id] = m
		}
	}
	return nil
}

// override puts what the rows say in the place of what obedient members report, and then lets the ready copies catch up.
// The members' lists are replaced, never changed: reports of earlier rounds may share them.
func override(members []assignor.Member, rows, ready []row) error {
	for _, r := range rows {
		m := &members[indexOf(members, r.member)]
		m.Active, m.Revoked, m.Learners, m.Standbys = r.active, r.revoked, r.learners, r.standbys
	}
	for _, r := range ready {
		i := indexOf(members, r.member)
		if i < 0 {
			return fmt.Errorf("ready: %s is not in the group", r.member)
		}
		for _, task := range r.active {
			if !catchUp(&members[i], task) {
				return fmt.Errorf("ready: %s has no copy of %v", r.member, task)
			}
		}
	}
	return nil
}

func indexOf(members []assignor.Member, id string) int {
	return slices.IndexFunc(members, func(m assignor.Member) bool { return m.ID == id })
}

// catchUp lets the member's copy of the task reach lag 0: its learner, else its standby. The copy from which it restores a
// task that it is to run is no longer reported then. It returns false where the member has no copy.
func catchUp(m *assignor.Member, task assignor.TaskID) bool {
	isTask := func(r assignor.Replica) bool { return r.Task == task }
	if i := slices.IndexFunc(m.Learners, isTask); i >= 0 {
		m.Learners = slices.Clone(m.Learners)
		m.Learners[i].Lag = 0
		return true
	}
	i := slices.IndexFunc(m.Standbys, isTask)
	if i < 0 {
		return false
	}
	m.Standbys = slices.Clone(m.Standbys)
	if slices.Contains(m.Active, task) || slices.Contains(m.Revoked, task) {
		m.Standbys = slices.Delete(m.Standbys, i, i+1)
	} else {
		m.Standbys[i].Lag = 0
	}
	return true
}

// nextRound returns the round that the leader is to decide.
func (g *group) nextRound(lib library, members []assignor.Member, c change) *round {
	r := &round{members: members, memory: g.memory, config: g.config}
	r.config.SincePrevious = c.since
	switch c.memory {
	case "none":
		r.memory = nil
	case "recovered":
		r.memory = lib.recover(members)
	}
	return r
}

// adopt makes the round the last one: the members obey the answer from now on, and the leader remembers it.
func (g *group) adopt(r *round) {
	g.moves.learn(r.members)
	g.moves.record(r.answer)
	g.last, g.memory = r, r.answer
	for _, report := range r.members {
		answer, ok := r.answer.For(report.ID)
		g.members[report.ID] = member{report: report, answer: answer, answered: ok}
		delete(g.generation, report.ID)
	}
}
