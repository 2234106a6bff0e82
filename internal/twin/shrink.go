package twin

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// Input is what Assign and its twin are asked.
type Input struct {
	Members []assignor.Member
	Memory  *assignor.Assignment
	Config  assignor.Config
}

// Answer returns what Assign says. A panic is an error, so that the seed and the rows are printed.
func (in Input) Answer() (a *assignor.Assignment, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return assignor.Assign(in.Members, in.Memory, in.Config)
}

// Difference returns the first difference between the two answers, "" where they are equal.
func (in Input) Difference() string {
	got, err := in.Answer()
	want, wantErr := Assign(in.Members, in.Memory, in.Config)
	return Difference(got, err, want, wantErr)
}

// String prints the question and both answers.
func (in Input) String() string {
	got, _ := in.Answer()
	want, _ := Assign(in.Members, in.Memory, in.Config)
	return fmt.Sprintf("%s\n--- Assign\n%s\n--- its twin\n%s", printInput(in.Members, in.Memory, in.Config), Print(got), Print(want))
}

// Shrink returns an input from which nothing can be left out without the two agreeing.
func (in Input) Shrink() Input {
	for {
		smaller := in.smaller()
		k := slices.IndexFunc(smaller, func(s Input) bool { return s.Difference() != "" })
		if k < 0 {
			return in
		}
		in = smaller[k]
	}
}

// smaller returns the inputs that are a little less than this one.
func (in Input) smaller() []Input {
	var all []Input
	try := func(change func(in *Input)) {
		s := in
		s.Members, s.Config.Topology = slices.Clone(in.Members), slices.Clone(in.Config.Topology)
		if in.Memory != nil {
			memory := *in.Memory
			memory.Members, memory.Departed = slices.Clone(memory.Members), slices.Clone(memory.Departed)
			s.Memory = &memory
		}
		change(&s)
		all = append(all, s)
	}
	for i, m := range in.Members {
		try(func(s *Input) { s.Members = without(s.Members, i) })
		shrinkMember(m, func(m assignor.Member) { try(func(s *Input) { s.Members[i] = m }) })
	}
	if in.Memory != nil {
		try(func(s *Input) { s.Memory = nil })
		in.shrinkMemory(try)
	}
	for i, sub := range in.Config.Topology {
		if len(in.Config.Topology) > 1 {
			try(func(s *Input) { s.Config.Topology = without(s.Config.Topology, i) })
		}
		shrinkSubtopology(sub, func(sub assignor.Subtopology) { try(func(s *Input) { s.Config.Topology[i] = sub }) })
	}
	shrinkConfig(in.Config, func(c assignor.Config) { try(func(s *Input) { s.Config = c }) })
	return all
}

// shrinkMemory leaves out the memory, then parts of it.
func (in Input) shrinkMemory(try func(change func(in *Input))) {
	for i, ma := range in.Memory.Members {
		try(func(s *Input) { s.Memory.Members = without(s.Memory.Members, i) })
		for k := range ma.Active {
			try(func(s *Input) { s.Memory.Members[i].Active = without(ma.Active, k) })
		}
		for k := range ma.Revoke {
			try(func(s *Input) { s.Memory.Members[i].Revoke = without(ma.Revoke, k) })
		}
		if ma.Leaving || ma.Learners != nil || ma.Standbys != nil || ma.Handover != nil {
			try(func(s *Input) {
				m := &s.Memory.Members[i]
				m.Leaving, m.Learners, m.Standbys, m.Handover = false, nil, nil, nil
			})
		}
	}
	for i, d := range in.Memory.Departed {
		try(func(s *Input) { s.Memory.Departed = without(s.Memory.Departed, i) })
		for k := range d.Tasks {
			try(func(s *Input) { s.Memory.Departed[i].Tasks = without(d.Tasks, k) })
		}
	}
}

// shrinkMember leaves out what a member reports, one thing at a time: a difference that needs none of its tags is no matter of tags.
func shrinkMember(m assignor.Member, try func(assignor.Member)) {
	for k := range m.Active {
		s := m
		s.Active = without(m.Active, k)
		try(s)
	}
	for k := range m.Revoked {
		s := m
		s.Revoked = without(m.Revoked, k)
		try(s)
	}
	for _, copies := range shrinkCopies(m.Learners) {
		s := m
		s.Learners = copies
		try(s)
	}
	for _, copies := range shrinkCopies(m.Standbys) {
		s := m
		s.Standbys = copies
		try(s)
	}
	reset(&m, &m.Tags, func(t map[string]string) bool { return t != nil }, try)
	reset(&m, &m.Capacity, isSet[int32], try)
	reset(&m, &m.Version, isSet[uint8], try)
	reset(&m, &m.Generation, isSet[int32], try)
	reset(&m, &m.LeavingFor, isSet, try)
	reset(&m, &m.Leaving, isSet[bool], try)
}

// shrinkCopies leaves out one copy, or what is said of it.
func shrinkCopies(copies []assignor.Replica) (all [][]assignor.Replica) {
	for k, c := range copies {
		all = append(all, without(copies, k))
		if c.Lag != 0 || c.For != 0 {
			simpler := slices.Clone(copies)
			simpler[k] = assignor.Replica{Task: c.Task}
			all = append(all, simpler)
		}
	}
	return all
}

// shrinkSubtopology takes a partition away, or makes it an ordinary one.
func shrinkSubtopology(sub assignor.Subtopology, try func(assignor.Subtopology)) {
	if sub.Partitions > 0 {
		s := sub
		s.Partitions--
		if sub.RestoreCost != nil {
			s.RestoreCost = sub.RestoreCost[:s.Partitions]
		}
		try(s)
	}
	reset(&sub, &sub.RestoreCost, func(c []int64) bool { return c != nil }, try)
	reset(&sub, &sub.Weight, isSet[int32], try)
	reset(&sub, &sub.Stateless, isSet[bool], try)
}

// shrinkConfig sets one field after the other to its default.
func shrinkConfig(c assignor.Config, try func(assignor.Config)) {
	if c.Standbys > 1 {
		s := c
		s.Standbys--
		try(s)
	}
	reset(&c, &c.Standbys, isSet[int], try)
	reset(&c, &c.MaxLearners, isSet[int], try)
	reset(&c, &c.AcceptableLag, isSet[int64], try)
	reset(&c, &c.LearnerTimeout, isSet, try)
	reset(&c, &c.ScaleDownTimeout, isSet, try)
	reset(&c, &c.RejoinDelay, isSet, try)
	reset(&c, &c.ImbalancePercent, isSet[int], try)
	reset(&c, &c.NewInstancesOnly, isSet[bool], try)
	reset(&c, &c.SpreadTags, func(tags []string) bool { return tags != nil }, try)
	reset(&c, &c.Generation, isSet[int32], try)
	reset(&c, &c.SincePrevious, isSet, try)
}

// reset tries a struct with one of its fields zero, if that is set.
func reset[S, F any](s *S, field *F, set func(F) bool, try func(S)) {
	old := *field
	if !set(old) {
		return
	}
	var zero F
	*field = zero
	try(*s)
	*field = old
}

func isSet[F comparable](f F) bool {
	var zero F
	return f != zero
}

func without[T any](s []T, k int) []T { return slices.Delete(slices.Clone(s), k, k+1) }

// printInput prints the input of a round, so that it can be read and typed in again.
func printInput(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "config %+v\n", config)
	if memory == nil {
		b.WriteString("memory none\n")
	} else {
		fmt.Fprintf(&b, "memory of generation %d\n", memory.Generation)
		for _, ma := range memory.Members {
			fmt.Fprintf(&b, "  %v instance=%s leaving=%v\n", ma, cmp.Or(ma.Instance, ma.Member), ma.Leaving)
		}
		for _, d := range memory.Departed {
			fmt.Fprintf(&b, "  departed: %s%v absent for %v\n", d.Instance, d.Tasks, d.Absent)
		}
	}
	for i := range members {
		m := &members[i]
		fmt.Fprintf(&b, "%v instance=%s capacity=%d version=%d generation=%d leaving=%v for %v tags=%v\n",
			m, cmp.Or(m.Instance, m.ID), m.Capacity, m.Version, m.Generation, m.Leaving, m.LeavingFor, m.Tags)
	}
	return b.String()
}
