package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// How many rounds `settle` allows where the file says no max, and at most.
const (
	defaultSettleRounds = 100
	maxSettleRounds     = 1000
)

// settle is the directive of that name: rounds until one changes nothing and nobody learns. That last round is neither
// printed nor counted nor adopted; but what caught up before it has caught up.
func (g *group) settle(lib library, step *Step) (string, error) {
	limit, err := settleLimit(step.Args)
	if err != nil {
		return "", err
	}
	var out []string
	for n := 1; ; n++ {
		g.progress()
		r := g.nextRound(lib, g.reports(), change{})
		if err := lib.decide(r, int64(step.Line)+int64(n)<<32); err != nil {
			return "", err
		}
		if !g.changes(r) && !learning(r.answer) {
			return strings.Join(append(out, fmt.Sprintf("settled after %d", n-1)), "\n"), nil
		}
		if n > limit {
			return "", refusal{fmt.Errorf("not settled after %d rounds", limit)}
		}
		g.adopt(r)
		out = append(out, fmt.Sprintf("round %d:", n), notationOf(g.config.Topology).answer(r.answer))
	}
}

func settleLimit(args []Arg) (int, error) {
	limit := defaultSettleRounds
	for _, arg := range args {
		if arg.Key != "max" {
			return 0, fmt.Errorf("settle has no argument %s", arg.Key)
		}
		value, err := arg.value()
		if err != nil {
			return 0, err
		}
		if err := parseInt(value, &limit); err != nil {
			return 0, err
		}
		if limit < 0 || limit > maxSettleRounds {
			return 0, fmt.Errorf("settle max=%d: want 0 to %d", limit, maxSettleRounds)
		}
	}
	return limit, nil
}

// progress is what happens between two rounds of `settle`. Standbys and tasks that are being restored catch up. Learners
// catch up in the order of their tasks, until their member calls for a round: with the mode conservative that takes all of
// them, with eager the first is enough.
func (g *group) progress() {
	for _, id := range g.ids() {
		m := g.members[id]
		if !m.answered {
			continue
		}
		m.report = m.report.Next(m.answer, g.handover) // so that what the answer gave has a lag; Next is idempotent
		for _, task := range tasksOf(m.report.Standbys) {
			catchUp(&m.report, task)
		}
		for _, task := range behind(m.report.Learners, g.config.AcceptableLag) {
			catchUp(&m.report, task)
			if g.mode.ShouldRejoin(m.report.Learners, g.config) {
				break
			}
		}
		g.members[id] = m
	}
}

// behind returns the tasks of the copies that have not caught up, sorted.
func behind(replicas []assignor.Replica, acceptable int64) []assignor.TaskID {
	return tasksOf(slices.DeleteFunc(slices.Clone(replicas), func(r assignor.Replica) bool {
		return r.Lag >= 0 && r.Lag <= acceptable
	}))
}

// changes reports whether the round tells anybody to do anything else than what the reports say, or awaits somebody else
// than the round before.
func (g *group) changes(r *round) bool {
	return len(changedRows(r)) > 0 || !sameDepartures(g.memory, r.answer)
}

// changedRows returns the answers that are not what their member reported: a task more or less to run (what it stopped for a
// handover and gets back is no change), a task to revoke, another learner, another standby.
func changedRows(r *round) []assignor.MemberAssignment {
	var changed []assignor.MemberAssignment
	for _, m := range r.members {
		ma, _ := r.answer.For(m.ID)
		runs := sortedSet(m.Active, m.Revoked)
		keeps := slices.DeleteFunc(tasksOf(m.Standbys), func(t assignor.TaskID) bool { return slices.Contains(runs, t) })
		same := len(ma.Revoke) == 0 && slices.Equal(ma.Active, runs) &&
			slices.Equal(ma.Learners, tasksOf(m.Learners)) && slices.Equal(ma.Standbys, keeps)
		if !same {
			ma.Member = m.ID
			changed = append(changed, ma)
		}
	}
	return changed
}

func sortedSet(lists ...[]assignor.TaskID) []assignor.TaskID {
	tasks := slices.Concat(lists...)
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return slices.Compact(tasks)
}

func sameDepartures(memory, answer *assignor.Assignment) bool {
	if memory == nil {
		return len(answer.Departed) == 0
	}
	return slices.EqualFunc(memory.Departed, answer.Departed, func(a, b assignor.Departure) bool {
		return a.Instance == b.Instance && slices.Equal(a.Tasks, b.Tasks)
	})
}

func learning(a *assignor.Assignment) bool {
	return slices.ContainsFunc(a.Members, func(ma assignor.MemberAssignment) bool { return len(ma.Learners) > 0 })
}
