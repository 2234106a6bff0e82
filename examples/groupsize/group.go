package main

import (
	"errors"
	"fmt"
	"math/rand"

	"github.com/incremental-rebalance/assignor"
)

// group is what the command line asks for.
type group struct {
	tasks, members, standbys, subtopologies, limit int
	spread                                         string
}

func (g group) String() string {
	return fmt.Sprintf("%d tasks in %d subtopologies, %d members, %d standbys a task, spread %s, limit %d bytes",
		g.tasks, g.subtopologies, g.members, g.standbys, g.spread, g.limit)
}

func (g group) validate() error {
	for _, bound := range []struct {
		name                 string
		value, least, atMost int
	}{
		{"tasks", g.tasks, 0, g.mostTasks()},
		{"members", g.members, 1, 100_000},
		{"standbys", g.standbys, 0, g.members - 1},
		{"subtopologies", g.subtopologies, 1, 1000},
		{"limit", g.limit, 1, 1 << 30},
	} {
		if bound.value < bound.least || bound.value > bound.atMost {
			return fmt.Errorf("%s: %d, want %d to %d", bound.name, bound.value, bound.least, bound.atMost)
		}
	}
	if _, ok := spreads[g.spread]; !ok {
		return fmt.Errorf("spread: %q, want random, contiguous or roundrobin", g.spread)
	}
	return nil
}

// mostTasks is as many tasks as one topology can have.
func (g group) mostTasks() int { return assignor.MaxTasks }

// spreads tells who runs partition p of the n in a subtopology.
var spreads = map[string]func(g group, rng *rand.Rand, p, n int) int{
	"random":     func(g group, rng *rand.Rand, _, _ int) int { return rng.Intn(g.members) },
	"contiguous": func(g group, _ *rand.Rand, p, n int) int { return int(int64(p) * int64(g.members) / int64(n)) },
	"roundrobin": func(g group, _ *rand.Rand, p, _ int) int { return p % g.members },
}

// measure encodes what the members report and what they get, and returns the sizes.
func (g group) measure() (groupSizes, error) {
	reports, answer := g.build()
	activeReports, activeAnswers := make([]assignor.Member, g.members), make([]assignor.MemberAssignment, g.members)
	for i := range reports {
		activeReports[i], activeAnswers[i] = reports[i], answer.Members[i]
		activeReports[i].Standbys, activeAnswers[i].Standbys = nil, nil
	}
	reportedActive, err1 := sizeOf(activeReports)
	reported, err2 := sizeOf(reports)
	assignedActive, err3 := sizeOf(activeAnswers)
	assigned, err4 := sizeOf(answer.Members)
	memory, err5 := answer.MarshalBinary()
	return groupSizes{
		parts: []part{
			{"reports: names and active tasks", reportedActive},
			{"reports: standbys and lags", reported - reportedActive},
			{"assignments: names and active tasks", assignedActive},
			{"assignments: standbys", assigned - assignedActive},
		},
		total:  reported + assigned,
		memory: len(memory),
	}, errors.Join(err1, err2, err3, err4, err5)
}

// sizeOf returns the size of all values together.
func sizeOf[T interface {
	AppendBinary(b []byte) ([]byte, error)
}](values []T) (size int, err error) {
	var b []byte
	for _, v := range values {
		if b, err = v.AppendBinary(b[:0]); err != nil {
			return 0, err
		}
		size += len(b)
	}
	return size, nil
}

// build returns what the members report and what they get.
func (g group) build() ([]assignor.Member, *assignor.Assignment) {
	reports := make([]assignor.Member, g.members)
	answer := &assignor.Assignment{Generation: 100, Members: make([]assignor.MemberAssignment, g.members)}
	rng, owner := rand.New(rand.NewSource(1)), spreads[g.spread]
	for i := range reports {
		id := fmt.Sprintf("worker-%05d", i+1)
		reports[i] = assignor.Member{ID: id, Capacity: 1, Version: assignor.CurrentVersion, Generation: answer.Generation}
		answer.Members[i] = assignor.MemberAssignment{
			Member: id, Instance: id, Version: assignor.CurrentVersion, Generation: answer.Generation,
		}
	}
	for sub := range g.subtopologies {
		n := g.tasks / g.subtopologies
		if sub < g.tasks%g.subtopologies {
			n++
		}
		for p := range n {
			task, m := assignor.TaskID{Subtopology: int32(sub), Partition: int32(p)}, owner(g, rng, p, n)
			reports[m].Active = append(reports[m].Active, task)
			answer.Members[m].Active = append(answer.Members[m].Active, task)
			g.addStandbys(reports, answer, task, m, rng)
		}
	}
	return reports, answer
}

// addStandbys adds the standbys of a task that member m runs: on any others where the spread is random, else on those that
// come after m.
func (g group) addStandbys(reports []assignor.Member, answer *assignor.Assignment, task assignor.TaskID, m int, rng *rand.Rand) {
	step := 1
	if g.spread == "random" && g.standbys > 0 {
		step = 1 + rng.Intn((g.members-1)/g.standbys)
	}
	for s := 1; s <= g.standbys; s++ {
		i := (m + s*step) % g.members
		copied := assignor.Replica{Task: task}
		if rng.Intn(10) == 0 {
			copied.Lag = rng.Int63n(100_000)
		}
		reports[i].Standbys = append(reports[i].Standbys, copied)
		answer.Members[i].Standbys = append(answer.Members[i].Standbys, task)
	}
}
