package lead

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// The task lists of a session are sorted, without duplicates.

func has(tasks []assignor.TaskID, task assignor.TaskID) bool {
	_, ok := slices.BinarySearchFunc(tasks, task, assignor.TaskID.Compare)
	return ok
}

// without returns the tasks of a that are not in b, nil where there are none.
func without(a, b []assignor.TaskID) []assignor.TaskID {
	var rest []assignor.TaskID
	for _, task := range a {
		if !has(b, task) {
			rest = append(rest, task)
		}
	}
	return rest
}

func union(a, b []assignor.TaskID) []assignor.TaskID {
	both := slices.Concat(a, b)
	slices.SortFunc(both, assignor.TaskID.Compare)
	return slices.Clip(slices.Compact(both))
}

func tasksOf(copies []assignor.Replica) []assignor.TaskID {
	tasks := make([]assignor.TaskID, len(copies))
	for i, c := range copies {
		tasks[i] = c.Task
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return slices.Compact(tasks)
}

// copies returns the tasks of which a member has a copy that it does not run, or still restores from.
func copies(m assignor.Member) []assignor.TaskID {
	return union(tasksOf(m.Learners), tasksOf(m.Standbys))
}

// find returns the copy of a task in a sorted list, nil where there is none.
func find(copies []assignor.Replica, task assignor.TaskID) *assignor.Replica {
	i, ok := slices.BinarySearchFunc(copies, task, func(c assignor.Replica, t assignor.TaskID) int { return c.Task.Compare(t) })
	if !ok {
		return nil
	}
	return &copies[i]
}
