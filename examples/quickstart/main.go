// Command quickstart plays the life of a small consumer group: it scales up, drains an instance and loses another, round by
// round, with what the leader answers in every round and why.
//
//	go run ./examples/quickstart
//
// Everything happens in this process: no broker, no network, nothing to install. The members do what they are told
// (assignor.Member.Next); between two rounds every learner and standby replays all there is to replay.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/incremental-rebalance/assignor"
)

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// play tells the whole story on w.
func play(w io.Writer) error {
	g := &group{out: w, config: assignor.Config{
		Topology: []assignor.Subtopology{{ID: 0, Partitions: 6}},
		Standbys: 1,
	}}
	acts := []struct {
		title string
		event func()
	}{
		{"S1, S2 and S3 start: six tasks, and one standby of each on another instance.", func() { g.join("S1", "S2", "S3") }},
		{"S4 joins. The task it is to run is learned there first; its owner runs on meanwhile.", func() { g.join("S4") }},
		{"S1 is told to leave. It stops when others have learned all that it runs.", func() { g.drain("S1") }},
		{"S2 crashes. Its standbys take over at once, and new standbys are started.", func() { g.crash("S2") }},
	}
	for _, act := range acts {
		fmt.Fprintf(w, "== %s\n\n", act.title)
		act.event()
		if err := g.settle(); err != nil {
			return err
		}
	}
	return nil
}

// group is a consumer group as its leader sees it: what the members report, and the answer to their last reports.
type group struct {
	out    io.Writer
	config assignor.Config
	round  int
	report []assignor.Member
	memory *assignor.Assignment
}

func (g *group) join(ids ...string) {
	for _, id := range ids {
		g.report = append(g.report, assignor.Member{ID: id})
	}
}

func (g *group) drain(id string) {
	for i := range g.report {
		if g.report[i].ID == id {
			g.report[i].Leaving = true
		}
	}
}

func (g *group) crash(id string) {
	kept := g.report[:0]
	for _, m := range g.report {
		if m.ID != id {
			kept = append(kept, m)
		}
	}
	g.report = kept
}

// maxRounds is more than any act of this story needs.
const maxRounds = 20

// settle plays rounds until nobody calls for another, and nobody has left.
func (g *group) settle() error {
	for range maxRounds {
		answer, err := assignor.Assign(g.report, g.memory, g.config)
		if err != nil {
			return err
		}
		if err := assignor.Check(g.report, answer, g.config); err != nil {
			return err
		}
		if len(answer.Moves) == 0 && g.round > 0 && !called(answer) {
			return nil // somebody has left, and there was nothing to do about it
		}
		g.round++
		g.print(answer)
		members := len(g.report)
		g.obey(answer)
		if !called(answer) && len(g.report) == members {
			return nil
		}
	}
	return fmt.Errorf("not settled after %d rounds", maxRounds)
}

// called reports whether another round comes without an event: at once, at a deadline, or when a learner has caught up.
func called(a *assignor.Assignment) bool {
	if a.FollowUp || a.NextRebalance > 0 {
		return true
	}
	for _, m := range a.Members {
		if len(m.Learners) > 0 {
			return true
		}
	}
	return false
}

func (g *group) print(a *assignor.Assignment) {
	fmt.Fprintf(g.out, "round %d\n", g.round)
	for _, m := range a.Members {
		fmt.Fprintf(g.out, "  %v\n", m)
	}
	for _, move := range a.Moves {
		fmt.Fprintf(g.out, "    %v\n", move)
	}
	if a.FollowUp {
		fmt.Fprintln(g.out, "    all rejoin at once: somebody had to stop a task")
	}
	fmt.Fprintln(g.out)
}

// obey lets every member do what it was told, and every copy catch up. A member that leaves and has nothing left stops.
func (g *group) obey(a *assignor.Assignment) {
	g.memory = a
	var next []assignor.Member
	for _, m := range g.report {
		told, _ := a.For(m.ID)
		if m.Leaving && len(told.Active)+len(told.Revoke)+len(told.Learners)+len(told.Standbys) == 0 {
			fmt.Fprintf(g.out, "%s is drained and stops.\n\n", m.ID)
			continue
		}
		m = m.Next(told, assignor.OneRound)
		for i := range m.Learners {
			m.Learners[i].Lag = 0
		}
		for i := range m.Standbys {
			m.Standbys[i].Lag = 0
		}
		next = append(next, m)
	}
	g.report = next
}
