package assignor_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// generator makes random valid values.
type generator struct{ *rand.Rand }

func newGenerator(seed int64) generator { return generator{rand.New(rand.NewSource(seed))} }

func (g generator) one(n int) bool { return g.Intn(n) == 0 }

func (g generator) name() string {
	switch g.Intn(4) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("host-%d", g.Intn(10))
	}
	return fmt.Sprintf("host-%d-%0*d", g.Intn(10), g.Intn(200)+1, g.Intn(100))
}

func (g generator) number() int32 {
	switch g.Intn(6) {
	case 0:
		return g.Int31() - g.Int31()
	case 1:
		return 0
	}
	return g.Int31n(100)
}

// set returns tasks of one subtopology, of one of the patterns that the forms are made for.
func (g generator) set(subtopology int32) []assignor.TaskID {
	first, step := g.Int31n(1<<g.Intn(20)), int32(1)
	if g.one(3) {
		step = 1 + g.Int31n(1<<g.Intn(12))
	}
	n, holes, sparse := 1+g.Intn(1<<g.Intn(9)), g.Intn(10), 1+g.Intn(1<<g.Intn(10))
	if g.one(4) {
		holes = 0
	}
	var tasks []assignor.TaskID
	for p := int64(first); len(tasks) < n && p <= math.MaxInt32; p += int64(step) {
		if holes > 0 && g.one(11-holes) {
			p += int64(step) * int64(g.Intn(sparse))
		}
		if p <= math.MaxInt32 {
			tasks = append(tasks, id(subtopology, int32(p)))
		}
	}
	return tasks
}

func (g generator) tasks() (tasks []assignor.TaskID) {
	if g.one(3) {
		return nil
	}
	subtopology := g.Int31n(3)
	for n := 1 + g.Intn(4); n > 0; n-- {
		tasks = append(tasks, g.set(subtopology)...)
		subtopology += 1 + g.Int31n(1<<g.Intn(8))
	}
	return slices.Clip(tasks)
}

func (g generator) duration() time.Duration {
	switch g.Intn(5) {
	case 0:
		return time.Duration(g.Uint64())
	case 1:
		return time.Duration(g.Intn(1000)) * time.Millisecond
	case 2:
		return time.Duration(g.Intn(100000)) * time.Second
	}
	return 0
}

func (g generator) replicas() (replicas []assignor.Replica) {
	same, lagging := g.one(3), 1+g.Intn(12)
	lag, age := g.Int63n(3)-1, g.duration()
	for _, t := range g.tasks() {
		r := assignor.Replica{t, lag, age}
		if !same {
			r = assignor.Replica{Task: t}
			if g.one(lagging) {
				r.Lag = g.Int63n(1<<g.Intn(60)) - 1
			}
			if g.one(lagging) {
				r.For = g.duration()
			}
		}
		replicas = append(replicas, r)
	}
	return slices.Clip(replicas)
}

func (g generator) member() assignor.Member {
	m := assignor.Member{
		ID: g.name(), Instance: g.name(), Capacity: g.number(), Version: uint8(g.Intn(5)), Generation: g.number(),
		Leaving: g.one(2), Active: g.tasks(), Revoked: g.tasks(), Learners: g.replicas(), Standbys: g.replicas(),
	}
	if g.one(2) {
		m.LeavingFor = g.duration()
	}
	if n := g.Intn(4); n > 0 {
		m.Tags = map[string]string{}
		for ; n > 0; n-- {
			m.Tags[g.name()] = g.name()
		}
	}
	return m
}

func (g generator) memberAssignment() assignor.MemberAssignment {
	ma := assignor.MemberAssignment{
		Member: g.name(), Instance: g.name(), Leaving: g.one(2), Version: uint8(g.Intn(5)), Generation: g.number(), FollowUp: g.one(2),
		Active: g.tasks(), Revoke: g.tasks(), Learners: g.tasks(), Standbys: g.tasks(),
	}
	for one := 1 + g.Intn(8); one < 8; one += 8 {
		for _, t := range ma.Active {
			if g.one(one) {
				ma.Handover = append(ma.Handover, t)
			}
		}
	}
	ma.Handover = slices.Clip(ma.Handover)
	return ma
}

// assignment returns one that has only what a memory keeps, so that it comes back equal.
func (g generator) assignment() *assignor.Assignment {
	a := &assignor.Assignment{Generation: g.number()}
	seen := map[string]bool{}
	for n := g.Intn(20); n > 0; n-- {
		ma := g.memberAssignment()
		ma.Generation, ma.FollowUp, ma.Handover, ma.Learners, ma.Standbys = a.Generation, false, nil, nil, nil
		if !seen[ma.Member] {
			a.Members = append(a.Members, ma)
		}
		seen[ma.Member] = true
	}
	slices.SortFunc(a.Members, func(x, y assignor.MemberAssignment) int { return strings.Compare(x.Member, y.Member) })
	a.Members = slices.Clip(a.Members)
	for n := max(g.Intn(6)-3, 0); n > 0; n-- {
		name := fmt.Sprintf("gone-%d", 9-n)
		a.Departed = append(a.Departed, assignor.Departure{Instance: name, Absent: g.duration(), Tasks: g.tasks()})
	}
	a.Departed = slices.Clip(a.Departed)
	return a
}

// group returns an assignment of n tasks, spread at random over members on two instances each.
func (g generator) group(members, n int) *assignor.Assignment {
	a := &assignor.Assignment{Generation: 7, Members: make([]assignor.MemberAssignment, members)}
	for i := range a.Members {
		a.Members[i] = assignor.MemberAssignment{Member: fmt.Sprintf("worker-%05d", i), Instance: fmt.Sprintf("h%d", i/2), Generation: 7}
	}
	for p := range n {
		ma := &a.Members[g.Intn(members)]
		ma.Active = append(ma.Active, id(0, int32(p)))
	}
	for i := range a.Members {
		a.Members[i].Active = slices.Clip(a.Members[i].Active)
	}
	return a
}
