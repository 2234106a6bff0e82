package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// Everybody is run to the end in a group of this size.
const (
	endTasks   = 1000
	endMembers = 10
	endLimit   = 10 * time.Minute // of one end
)

// endCases are the columns.
var endCases = []measure.Case{
	{State: measure.Join, Tasks: endTasks, Members: endMembers},
	{State: measure.Leave, Tasks: endTasks, Members: endMembers},
	{State: measure.Join, Tasks: endTasks, Members: endMembers, Standbys: 1},
	{State: measure.Leave, Tasks: endTasks, Members: endMembers, Standbys: 1},
}

// end is a row: what an assignor took to its end, by case.
type end struct {
	name     string
	peer     string
	standbys bool
	settle   func(context.Context, measure.Case) (peers.Settled, error)
	cells    []string
}

// ends runs those that take part to their end.
func (b *bench) ends(ctx context.Context) []end {
	ours := func(maxLearners int) func(context.Context, measure.Case) (peers.Settled, error) {
		return func(_ context.Context, c measure.Case) (peers.Settled, error) { return peers.Settle(c, maxLearners) }
	}
	plans := func(p peers.Planner) func(context.Context, measure.Case) (peers.Settled, error) {
		return func(_ context.Context, c measure.Case) (peers.Settled, error) { return p.Settle(c) }
	}
	java := func(name string) func(context.Context, measure.Case) (peers.Settled, error) {
		return func(ctx context.Context, c measure.Case) (peers.Settled, error) {
			return b.streams.Settle(ctx, name, c, endLimit)
		}
	}
	rows := []end{
		{name: assign, standbys: true, settle: ours(0)},
		{name: assign + ", at most 2 learners at once", standbys: true, settle: ours(2)},
		{name: "franz-go", peer: "franz", settle: plans(peers.FranzPlan)},
		{name: sarama, peer: "sarama", settle: plans(peers.SaramaPlan)},
		{name: streamsHA + ", at most 2 warm-ups at once (its default)", peer: "streams", standbys: true, settle: java(peers.HighAvailability)},
		{name: streamsPick, peer: "streams", standbys: true, settle: java(peers.Sticky)},
	}
	rows = slices.DeleteFunc(rows, func(e end) bool {
		return e.peer != "" && !slices.Contains(b.peers, e.peer) || e.peer == "streams" && b.streams == nil
	})
	for i := range rows {
		b.progress("to the end: %s", rows[i].name)
		for _, c := range endCases {
			rows[i].cells = append(rows[i].cells, b.end(ctx, &rows[i], c))
		}
	}
	return rows
}

func (b *bench) end(ctx context.Context, e *end, c measure.Case) string {
	if c.Standbys > 0 && !e.standbys || ctx.Err() != nil {
		return none
	}
	s, err := e.settle(ctx, c)
	switch {
	case err == nil:
		return fmt.Sprintf("%s / %s / %s", thousands(s.Rounds), thousands(s.Moves), thousands(s.Cold))
	case errors.Is(err, peers.ErrTooSlow):
		return fmt.Sprintf("> %v", endLimit)
	default:
		b.failures = append(b.failures, fmt.Sprintf("%s to the end, %v: %v", e.name, c, err))
		return "failed"
	}
}

// printEnds prints a row an assignor, beside the fewest moves that level the group.
func (b *bench) printEnds(rows []end) {
	head, fewest := []string{"rounds / moves / without state"}, []string{"fewest moves possible"}
	for _, c := range endCases {
		members, moves := endMembers+1, endTasks/(endMembers+1)
		if c.State == measure.Leave {
			members, moves = endMembers-1, endTasks/endMembers
		}
		standbys := "no standby"
		if c.Standbys > 0 {
			standbys = "1 standby"
		}
		head = append(head, fmt.Sprintf("%d → %d, %s", endMembers, members, standbys))
		fewest = append(fewest, fmt.Sprint(moves))
	}
	cells := [][]string{fewest}
	for _, e := range rows {
		cells = append(cells, append([]string{e.name}, e.cells...))
	}
	b.heading("Until nothing is left to do")
	b.paragraph("A settled group of %d members and %s tasks gets one member more, or loses the one in the middle; then each assignor is "+
		"called until it asks for no further round, every copy having caught up before each. rounds: how often it was called. "+
		"moves: how often a task became active on another member. without state: how many of those moves went to a member that had no "+
		"copy of the task, where processing stops for a restore; where the tasks of a lost member had no standby, none can do better.",
		endMembers, thousands(endTasks))
	b.table(head, cells)
}
