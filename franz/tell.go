package franz

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/incremental-rebalance/assignor"
)

// named returns moves with the instances for the members: an operator knows those, while a member's id is new after each restart.
// A member that is gone is one of the memory; of an id that nobody knows the id stays.
func named(moves []assignor.Move, a, memory *assignor.Assignment) []assignor.Move {
	instance := func(member string) string {
		ma, ok := a.For(member)
		if !ok && memory != nil {
			ma, _ = memory.For(member)
		}
		return cmp.Or(ma.Instance, member)
	}
	result := make([]assignor.Move, len(moves))
	for i, m := range moves {
		m.From, m.To = instance(m.From), instance(m.To)
		result[i] = m
	}
	return result
}

// tellRound makes a decided round known: to the Observer, in one line of the log, and move by move where somebody debugs.
func (b *Balancer) tellRound(done Round, moves []assignor.Move) {
	b.config.Observer.Balanced(done)
	b.config.Logger.Info("round decided", "generation", done.Generation, "members", done.Members, "tasks", done.Tasks, "moves", done.Moves,
		"learners", done.Learners, "missingStandbys", done.MissingStandbys, "followUp", done.FollowUp, "repeated", done.Repeated,
		"frozen", done.Frozen, "metadata", done.Metadata, "assignment", done.Assignment, "took", done.Took)
	if !b.config.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	for _, m := range moves {
		b.config.Logger.Debug("task moves", "generation", done.Generation, "task", m.Task, "kind", m.Kind, "from", m.From, "to", m.To,
			"reason", m.Reason)
	}
}

// summary counts what a round has decided.
func (r *round) summary(d *decision, p plan) Round {
	a := d.assignment
	done := Round{
		Generation: r.info.Generation, Members: len(r.reports), Moves: len(d.moves), Reasons: map[assignor.Reason]int{},
		MissingStandbys: a.MissingStandbys, FollowUp: a.FollowUp, Metadata: r.size, Frozen: len(r.frozen),
	}
	for _, m := range d.moves {
		done.Reasons[m.Reason]++
	}
	for i := range p {
		done.Assignment += len(p[i].MemberAssignment)
	}
	done.Record = r.size + r.names + done.Assignment
	for i := range a.Members {
		done.Tasks += len(a.Members[i].Active)
		done.Learners += len(a.Members[i].Learners)
	}
	return done
}

// What the log says when the service is told a State.
const (
	sessionBegun = "session begun"
	tasksGivenUp = "tasks given up" // outside of a session: the member leaves
	placeLost    = "place in the group lost"
)

// logState writes the one line of a session, or of its end.
func (b *Balancer) logState(event string, s State) {
	b.config.Logger.Info(event, "generation", s.Generation, "leads", s.Leader, "active", len(s.Active), "revoking", len(s.Revoking),
		"learning", len(s.Learning), "standby", len(s.Standby), "restores", len(s.Restores), "leaving", s.Leaving)
}
