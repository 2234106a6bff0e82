package scenario

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// call is what the runner passed to Assign, the reruns left out.
type call struct {
	members []assignor.Member
	memory  *assignor.Assignment
	config  assignor.Config
}

func (c call) member(t *testing.T, id string) assignor.Member {
	t.Helper()
	i := indexOf(c.members, id)
	require.GreaterOrEqual(t, i, 0, "%s is not among the reports", id)
	return c.members[i]
}

// fake is a library with a simple rule in the place of Assign, which is no part of what these tests show: a task stays with
// who runs it, a learner that has caught up takes over, another stays; a task that nobody runs goes to the smallest id.
// Members that ask for it by their version learn the task 0_0.
type fake struct {
	calls  []call
	assign func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error)
}

func (f *fake) library() library {
	lib := library{
		assign: func(m []assignor.Member, a *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
			return f.assign(m, a, c)
		},
		check:    func([]assignor.Member, *assignor.Assignment, assignor.Config) error { return nil },
		recover:  func([]assignor.Member) *assignor.Assignment { return &assignor.Assignment{Generation: 77} },
		validate: validateFake,
	}
	if f.assign == nil {
		f.assign = assignFake
	}
	decide := lib.assign
	calls := 0
	lib.assign = func(m []assignor.Member, a *assignor.Assignment, c assignor.Config) (*assignor.Assignment, error) {
		answer, err := decide(m, a, c)
		if calls%(1+reruns) == 0 {
			f.calls = append(f.calls, call{m, a, c})
		}
		calls++
		if err != nil {
			calls = 0
		}
		return answer, err
	}
	return lib
}

func validateFake(c assignor.Config) error {
	if c.Standbys < 0 {
		return errors.New("config:\nstandbys -1 is below 0")
	}
	return nil
}

func assignFake(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
	if len(members) == 0 {
		return nil, assignor.ErrNoMembers
	}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b assignor.Member) int { return cmp.Compare(a.ID, b.ID) })
	generation := int32(0)
	if memory != nil {
		generation = memory.Generation
	}
	for _, m := range members {
		generation = max(generation, m.Generation)
	}
	a := &assignor.Assignment{Generation: generation + 1}
	for _, m := range members {
		ma := assignor.MemberAssignment{Member: m.ID, Instance: instanceOf(m), Generation: a.Generation}
		for _, s := range m.Standbys {
			if !slices.Contains(m.Active, s.Task) {
				ma.Standbys = append(ma.Standbys, s.Task)
			}
		}
		slices.SortFunc(ma.Standbys, assignor.TaskID.Compare)
		a.Members = append(a.Members, ma)
	}
	for _, task := range tasksIn(config.Topology) {
		place(a, members, task, config)
	}
	return a, nil
}

// tasksIn returns the tasks of the topology, sorted, for its order means nothing.
func tasksIn(topology []assignor.Subtopology) []assignor.TaskID {
	var tasks []assignor.TaskID
	for _, sub := range topology {
		for p := range sub.Partitions {
			tasks = append(tasks, assignor.TaskID{Subtopology: sub.ID, Partition: p})
		}
	}
	return sortedSet(tasks)
}

func place(a *assignor.Assignment, members []assignor.Member, task assignor.TaskID, config assignor.Config) {
	owner, learner, caughtUp := -1, -1, false
	for i, m := range members {
		if slices.Contains(m.Active, task) || slices.Contains(m.Revoked, task) {
			owner = i
		}
		for _, l := range m.Learners {
			if l.Task == task {
				learner, caughtUp = i, l.Lag >= 0 && l.Lag <= config.AcceptableLag
			}
		}
		if m.Version == 9 && task.Partition == 0 && owner >= 0 && owner != i {
			learner = i
		}
	}
	switch {
	case caughtUp:
		owner, learner = learner, -1
	case owner < 0:
		owner = 0
	}
	a.Members[owner].Active = append(a.Members[owner].Active, task)
	if learner >= 0 && learner != owner {
		a.Members[owner].Handover = append(a.Members[owner].Handover, task)
		a.Members[learner].Learners = append(a.Members[learner].Learners, task)
	}
}

// runFake runs the text on the fake, requires that it runs to its end without a fault, and returns the output of each step.
func runFake(t *testing.T, f *fake, text string) []string {
	t.Helper()
	result, err := run("f.txt", []byte(text), f.library())
	require.NoError(t, err)
	return result.got
}
