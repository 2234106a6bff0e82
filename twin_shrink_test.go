package assignor_test

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// twinInput is what Assign and its twin are asked.
type twinInput struct {
	members []assignor.Member
	memory  *assignor.Assignment
	config  assignor.Config
}

// answer returns what Assign says. A panic is an error, so that the seed and the rows are printed.
func (in twinInput) answer() (a *assignor.Assignment, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return assignor.Assign(in.members, in.memory, in.config)
}

// difference returns the first difference between the two answers, "" where they are equal.
func (in twinInput) difference() string {
	got, err := in.answer()
	want, wantErr := naiveAssign(in.members, in.memory, in.config)
	return twinDifference(got, err, want, wantErr)
}

// report prints the question and both answers.
func (in twinInput) report() string {
	got, _ := in.answer()
	want, _ := naiveAssign(in.members, in.memory, in.config)
	return fmt.Sprintf("%s\n--- Assign\n%s\n--- its twin\n%s", twinRows(in.members, in.memory, in.config), twinAnswer(got), twinAnswer(want))
}

// shrink returns an input from which nothing can be left out without the two agreeing.
func (in twinInput) shrink() twinInput {
	for {
		smaller := in.smaller()
		k := slices.IndexFunc(smaller, func(s twinInput) bool { return s.difference() != "" })
		if k < 0 {
			return in
		}
		in = smaller[k]
	}
}

// smaller returns the inputs that are a little less than this one.
func (in twinInput) smaller() []twinInput {
	var all []twinInput
	try := func(change func(in *twinInput)) {
		s := in
		s.members, s.config.Topology = slices.Clone(in.members), slices.Clone(in.config.Topology)
		if in.memory != nil {
			memory := *in.memory
			memory.Members, memory.Departed = slices.Clone(memory.Members), slices.Clone(memory.Departed)
			s.memory = &memory
		}
		change(&s)
		all = append(all, s)
	}
	for i, m := range in.members {
		try(func(s *twinInput) { s.members = twinWithout(s.members, i) })
		shrinkMember(m, func(m assignor.Member) { try(func(s *twinInput) { s.members[i] = m }) })
	}
	if in.memory != nil {
		try(func(s *twinInput) { s.memory = nil })
		in.shrinkMemory(try)
	}
	for i, sub := range in.config.Topology {
		if len(in.config.Topology) > 1 {
			try(func(s *twinInput) { s.config.Topology = twinWithout(s.config.Topology, i) })
		}
		shrinkSubtopology(sub, func(sub assignor.Subtopology) { try(func(s *twinInput) { s.config.Topology[i] = sub }) })
	}
	shrinkConfig(in.config, func(c assignor.Config) { try(func(s *twinInput) { s.config = c }) })
	return all
}

func (in twinInput) shrinkMemory(try func(change func(in *twinInput))) {
	for i, ma := range in.memory.Members {
		try(func(s *twinInput) { s.memory.Members = twinWithout(s.memory.Members, i) })
		for k := range ma.Active {
			try(func(s *twinInput) { s.memory.Members[i].Active = twinWithout(ma.Active, k) })
		}
		for k := range ma.Revoke {
			try(func(s *twinInput) { s.memory.Members[i].Revoke = twinWithout(ma.Revoke, k) })
		}
		if ma.Leaving || ma.Learners != nil || ma.Standbys != nil || ma.Handover != nil {
			try(func(s *twinInput) {
				m := &s.memory.Members[i]
				m.Leaving, m.Learners, m.Standbys, m.Handover = false, nil, nil, nil
			})
		}
	}
	for i, d := range in.memory.Departed {
		try(func(s *twinInput) { s.memory.Departed = twinWithout(s.memory.Departed, i) })
		for k := range d.Tasks {
			try(func(s *twinInput) { s.memory.Departed[i].Tasks = twinWithout(d.Tasks, k) })
		}
	}
}

func shrinkMember(m assignor.Member, try func(assignor.Member)) {
	for k := range m.Active {
		s := m
		s.Active = twinWithout(m.Active, k)
		try(s)
	}
	for k := range m.Revoked {
		s := m
		s.Revoked = twinWithout(m.Revoked, k)
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
	twinReset(&m, &m.Tags, func(t map[string]string) bool { return t != nil }, try)
	twinReset(&m, &m.Capacity, isSet[int32], try)
	twinReset(&m, &m.Version, isSet[uint8], try)
	twinReset(&m, &m.Generation, isSet[int32], try)
	twinReset(&m, &m.LeavingFor, isSet, try)
	twinReset(&m, &m.Leaving, isSet[bool], try)
}

func shrinkCopies(copies []assignor.Replica) (all [][]assignor.Replica) {
	for k, c := range copies {
		all = append(all, twinWithout(copies, k))
		if c.Lag != 0 || c.For != 0 {
			simpler := slices.Clone(copies)
			simpler[k] = assignor.Replica{Task: c.Task}
			all = append(all, simpler)
		}
	}
	return all
}

func shrinkSubtopology(sub assignor.Subtopology, try func(assignor.Subtopology)) {
	if sub.Partitions > 0 {
		s := sub
		s.Partitions--
		if sub.RestoreCost != nil {
			s.RestoreCost = sub.RestoreCost[:s.Partitions]
		}
		try(s)
	}
	twinReset(&sub, &sub.RestoreCost, func(c []int64) bool { return c != nil }, try)
	twinReset(&sub, &sub.Weight, isSet[int32], try)
	twinReset(&sub, &sub.Stateless, isSet[bool], try)
}

func shrinkConfig(c assignor.Config, try func(assignor.Config)) {
	if c.Standbys > 1 {
		s := c
		s.Standbys--
		try(s)
	}
	twinReset(&c, &c.Standbys, isSet[int], try)
	twinReset(&c, &c.MaxLearners, isSet[int], try)
	twinReset(&c, &c.AcceptableLag, isSet[int64], try)
	twinReset(&c, &c.LearnerTimeout, isSet, try)
	twinReset(&c, &c.ScaleDownTimeout, isSet, try)
	twinReset(&c, &c.RejoinDelay, isSet, try)
	twinReset(&c, &c.ImbalancePercent, isSet[int], try)
	twinReset(&c, &c.NewInstancesOnly, isSet[bool], try)
	twinReset(&c, &c.SpreadTags, func(tags []string) bool { return tags != nil }, try)
	twinReset(&c, &c.Generation, isSet[int32], try)
	twinReset(&c, &c.SincePrevious, isSet, try)
}

// twinReset tries a struct with one of its fields zero, if that is set.
func twinReset[S, F any](s *S, field *F, set func(F) bool, try func(S)) {
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

func twinWithout[T any](s []T, k int) []T { return slices.Delete(slices.Clone(s), k, k+1) }
