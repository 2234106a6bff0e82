package churn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// What the tests do with the arguments and the answers of Assign: clone, print in full, shuffle.

// CloneMember returns a copy of a report that shares nothing with it, but for the memory.
func CloneMember(m *assignor.Member) assignor.Member {
	c := *m
	c.Active, c.Revoked = slices.Clone(m.Active), slices.Clone(m.Revoked)
	c.Learners, c.Standbys = slices.Clone(m.Learners), slices.Clone(m.Standbys)
	if m.Tags != nil {
		c.Tags = map[string]string{}
		for k, v := range m.Tags {
			c.Tags[k] = v
		}
	}
	return c
}

// CloneMembers does so with all reports.
func CloneMembers(members []assignor.Member) []assignor.Member {
	clones := make([]assignor.Member, len(members))
	for i := range members {
		clones[i] = CloneMember(&members[i])
	}
	return clones
}

// ShuffleInput returns the same input with members, lists, subtopologies and tags in another order.
func ShuffleInput(rng *rand.Rand, members []assignor.Member, config assignor.Config) ([]assignor.Member, assignor.Config) {
	members = CloneMembers(members)
	Shuffle(rng, members)
	for i := range members {
		Shuffle(rng, members[i].Active)
		Shuffle(rng, members[i].Revoked)
		Shuffle(rng, members[i].Learners)
		Shuffle(rng, members[i].Standbys)
	}
	config.Topology = slices.Clone(config.Topology)
	Shuffle(rng, config.Topology)
	return members, config
}

// Shuffle reorders s.
func Shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

// ShuffleMemory returns the same memory with its parts in another order.
func ShuffleMemory(rng *rand.Rand, a *assignor.Assignment) *assignor.Assignment {
	if a == nil {
		return nil
	}
	c := *a
	c.Members = slices.Clone(a.Members)
	Shuffle(rng, c.Members)
	for i := range c.Members {
		ma := &c.Members[i]
		ma.Active, ma.Revoke = slices.Clone(ma.Active), slices.Clone(ma.Revoke)
		Shuffle(rng, ma.Active)
		Shuffle(rng, ma.Revoke)
	}
	c.Departed = slices.Clone(a.Departed)
	Shuffle(rng, c.Departed)
	return &c
}

// printer writes values out in full, so that two prints are equal exactly where the values are. Whether arguments have changed no
// comparison of two can say, since there is only one.
type printer struct{ b []byte }

func (p *printer) text(s string) { p.b = append(strconv.AppendQuote(p.b, s), ' ') }

func (p *printer) number(n int64) { p.b = append(strconv.AppendInt(p.b, n, 10), ' ') }

func (p *printer) flag(f bool) { p.b = append(strconv.AppendBool(p.b, f), ' ') }

func (p *printer) tasks(tasks []assignor.TaskID) {
	p.number(int64(len(tasks)))
	for _, t := range tasks {
		p.number(int64(t.Subtopology))
		p.number(int64(t.Partition))
	}
}

func (p *printer) copies(copies []assignor.Replica) {
	p.number(int64(len(copies)))
	for _, c := range copies {
		p.tasks([]assignor.TaskID{c.Task})
		p.number(c.Lag)
		p.number(int64(c.For))
	}
}

func (p *printer) member(m *assignor.Member) {
	p.text(m.ID)
	p.text(m.Instance)
	p.number(int64(m.Capacity))
	p.number(int64(m.Version))
	p.number(int64(m.Generation))
	p.flag(m.Leaving)
	p.number(int64(m.LeavingFor))
	p.text(fmt.Sprint(m.Tags)) // sorted
	p.tasks(m.Active)
	p.tasks(m.Revoked)
	p.copies(m.Learners)
	p.copies(m.Standbys)
}

func (p *printer) assignment(a *assignor.Assignment) {
	p.number(int64(a.Generation))
	p.flag(a.FollowUp)
	p.number(int64(a.NextRebalance))
	p.number(int64(a.MissingStandbys))
	for i := range a.Members {
		ma := &a.Members[i]
		p.text(ma.Member)
		p.text(ma.Instance)
		p.flag(ma.Leaving)
		p.number(int64(ma.Version))
		p.number(int64(ma.Generation))
		p.flag(ma.FollowUp)
		p.tasks(ma.Active)
		p.tasks(ma.Handover)
		p.tasks(ma.Revoke)
		p.tasks(ma.Learners)
		p.tasks(ma.Standbys)
		p.b = append(p.b, '\n')
	}
	for _, d := range a.Departed {
		p.text(d.Instance)
		p.number(int64(d.Absent))
		p.tasks(d.Tasks)
	}
	for _, m := range a.Moves {
		p.tasks([]assignor.TaskID{m.Task})
		p.text(m.From)
		p.text(m.To)
		p.number(int64(m.Kind))
		p.number(int64(m.Reason))
	}
}

// printInput prints the arguments of Assign, what members echo included.
func printInput(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) string {
	var p printer
	for i := range members {
		p.member(&members[i])
		if members[i].Memory != nil {
			p.assignment(members[i].Memory)
		}
	}
	if memory != nil {
		p.assignment(memory)
	}
	for _, s := range config.Topology {
		p.number(int64(s.ID))
		p.number(int64(s.Partitions))
		p.number(int64(s.Weight))
		p.flag(s.Stateless)
		p.text(fmt.Sprint(s.RestoreCost))
	}
	p.text(fmt.Sprint(config.SpreadTags))
	return string(p.b)
}

func printAssignment(a *assignor.Assignment) string {
	var p printer
	p.assignment(a)
	return string(p.b)
}

// scribble overwrites all that an answer holds: what it shares with anything else is spoiled by it. Appending to a list must
// not reach the next one.
func scribble(a *assignor.Assignment) {
	bad := assignor.TaskID{Subtopology: -7, Partition: -7}
	for i := range a.Members {
		ma := &a.Members[i]
		for _, list := range [][]assignor.TaskID{ma.Active, ma.Handover, ma.Revoke, ma.Learners, ma.Standbys} {
			if cap(list) != len(list) {
				panic(fault{fmt.Sprintf("a list of %s has room for more", ma.Member)})
			}
			for k := range list {
				list[k] = bad
			}
		}
		ma.Member, ma.Instance = "scribbled", "scribbled"
	}
	for i := range a.Departed {
		for k := range a.Departed[i].Tasks {
			a.Departed[i].Tasks[k] = bad
		}
		a.Departed[i].Instance = "scribbled"
	}
	for i := range a.Moves {
		a.Moves[i].From, a.Moves[i].To = "scribbled", "scribbled"
	}
	a.Generation, a.NextRebalance = -7, -7*time.Second
}
