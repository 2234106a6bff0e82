package lead

import (
	"errors"
	"fmt"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// Check returns every invariant of the session that does not hold (errors.Join), nil as long as this package is right:
//
//   - lists are sorted without duplicates, and no task is in two of Active, Revoked and Learners;
//   - what others learn it runs, and what it stopped for a round it does not run;
//   - a member that is out runs nothing and has applied no answer;
//   - learners are counted right, and what is suspect is a copy;
//   - a decision is kept from Decide to the answer of its round, and no longer;
//   - its memory is no later than the answer that it applies, and one that leads has a place;
//   - it echoes no memory but that of the answer that it applies.
func (s *Session) Check() error {
	var broken []error
	check := func(ok bool, what string) {
		if !ok {
			broken = append(broken, fmt.Errorf("lead: %s, in phase %d of round %d: %v", what, s.phase, s.place.Round, s.me))
		}
	}
	m := &s.me
	learners := tasksOf(m.Learners)
	for _, list := range [][]assignor.TaskID{m.Active, m.Revoked, s.handover, s.kept, s.broken} {
		check(slices.Equal(list, union(list, nil)), "a list is not sorted")
	}
	check(len(learners) == len(m.Learners) && len(tasksOf(m.Standbys)) == len(m.Standbys), "a task has two copies")
	check(len(union(union(m.Active, m.Revoked), learners)) == len(m.Active)+len(m.Revoked)+len(learners), "a task is in two lists")
	check(len(without(s.suspect, copies(*m))) == 0, "what is suspect is no copy")
	counted := s.learning
	s.recount()
	check(counted.fresh == s.learning.fresh && fmt.Sprint(counted.cold) == fmt.Sprint(s.learning.cold), "learners are counted wrong")
	s.learning = counted
	check(len(without(s.handover, m.Active)) == 0, "it hands over what it does not run")
	check(s.phase != out || len(m.Active)+len(m.Revoked) == 0 && m.Generation == 0, "it is out and holds tasks")
	check(s.decided == nil || s.phase == begun, "a decision outlives its round")
	check(!s.leads || s.phase != out, "it is out and leads")
	known := s.memory.assignment
	check(known == nil || s.phase == out || m.Generation == 0 || known.Generation <= m.Generation, "it remembers an answer that it does not apply")
	check(m.Memory == nil || m.Memory.Generation <= m.Generation, "it echoes a memory that is newer than its answer")
	return errors.Join(broken...)
}
