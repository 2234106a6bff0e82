package churn

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
)

// Obey returns what members report in the next round where all of them do what they are told. In a [World] members
// may miss what they are told, so it has a way of its own (deliver).
func Obey(members []assignor.Member, a *assignor.Assignment, mode assignor.HandoverMode) []assignor.Member {
	next := make([]assignor.Member, len(members))
	for i := range members {
		told, _ := a.For(members[i].ID)
		next[i] = members[i].Next(told, mode)
	}
	return next
}

// CatchUp makes the copies of a member catch up: all of its standbys, and of its learners as many as it takes until it calls for a
// round: one where it is eager, else all.
func CatchUp(m *assignor.Member, mode assignor.RejoinMode) {
	for i := range m.Standbys {
		m.Standbys[i].Lag = 0
	}
	for i := range m.Learners {
		if was := m.Learners[i].Lag; was != 0 {
			m.Learners[i].Lag = 0
			if mode == assignor.Eager {
				return
			}
		}
	}
}

// Group is members of which each does what it is told, while every copy catches up between two rounds: the quiet continuation of a
// group, without chance. Every answer is held against Check.
type Group struct {
	Config  assignor.Config
	Members []assignor.Member
	Memory  *assignor.Assignment         // the last answer
	Moved   map[assignor.TaskID][]string // who was told to run each task that has moved, move by move
}

// Join adds members that have nothing.
func (g *Group) Join(ids ...string) {
	for _, id := range ids {
		g.Members = append(g.Members, assignor.Member{ID: id})
	}
}

// Leave takes a member out of the group once it has drained, and lets those that stay settle without it. It fails where there is nobody
// to hand over to.
func (g *Group) Leave(id string) error {
	for i := range g.Members {
		g.Members[i].Leaving = g.Members[i].Leaving || g.Members[i].ID == id
	}
	if _, err := g.Settle(); err != nil {
		return err
	}
	if told, _ := g.Memory.For(id); len(told.Active)+len(told.Revoke)+len(told.Learners)+len(told.Standbys) > 0 {
		return fmt.Errorf("churn: %s does not drain: %v", id, told)
	}
	var kept []assignor.Member
	for _, m := range g.Members {
		if m.ID != id {
			kept = append(kept, m)
		}
	}
	g.Members = kept
	_, err := g.Settle()
	return err
}

// maxGroupRounds is more than any group of the tests needs to settle.
const maxGroupRounds = 50

// Settle plays rounds until one moves nothing and nobody learns, and returns how many did. It plays two at least: what the first one
// decides is seen in the reports of the second.
func (g *Group) Settle() (rounds int, err error) {
	for n := range maxGroupRounds {
		a, err := g.Round()
		if err != nil {
			return n, err
		}
		learning := false
		for i := range a.Members {
			learning = learning || len(a.Members[i].Learners) > 0
		}
		if len(a.Moves) == 0 && !learning && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("churn: not settled after %d rounds", maxGroupRounds)
}

// Round plays one round: the leader decides, everybody obeys, and everything catches up. It returns the answer.
func (g *Group) Round() (*assignor.Assignment, error) {
	a, err := assignor.Assign(g.Members, g.Memory, g.Config)
	if err != nil {
		return nil, err
	}
	if err := assignor.Check(g.Members, a, g.Config); err != nil {
		return nil, err
	}
	for _, m := range a.Moves {
		if m.Kind == assignor.MoveActive {
			if g.Moved == nil {
				g.Moved = map[assignor.TaskID][]string{}
			}
			g.Moved[m.Task] = append(g.Moved[m.Task], m.To)
		}
	}
	g.Members, g.Memory = Obey(g.Members, a, assignor.OneRound), a
	for i := range g.Members {
		CatchUp(&g.Members[i], assignor.Conservative)
	}
	return a, nil
}
