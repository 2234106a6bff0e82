package scenario

import (
	"maps"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// moveLog counts how often each task has moved since `group` (or the beginning): an answer by which a task runs on another
// instance than the one that ran it last is one move. A round in which it runs nowhere is none, nor is its first placement.
type moveLog struct {
	last  map[assignor.TaskID]string // the instance that ran the task last
	count map[assignor.TaskID]int
}

func newMoveLog() moveLog {
	return moveLog{last: map[assignor.TaskID]string{}, count: map[assignor.TaskID]int{}}
}

func (l moveLog) clone() moveLog {
	return moveLog{last: maps.Clone(l.last), count: maps.Clone(l.count)}
}

// learn takes from the reports of a round who runs the tasks of which the log does not know it. Of several claims none
// counts.
func (l moveLog) learn(members []assignor.Member) {
	claims := map[assignor.TaskID][]string{}
	for _, m := range members {
		for _, task := range sortedSet(m.Active, m.Revoked) {
			claims[task] = append(claims[task], instanceOf(m))
		}
	}
	for task, instances := range claims { // order-free: each task by itself
		if _, known := l.last[task]; !known && len(instances) == 1 {
			l.last[task] = instances[0]
		}
	}
}

// record counts the moves of an answer.
func (l moveLog) record(a *assignor.Assignment) {
	for _, ma := range a.Members {
		instance := ma.Instance
		if instance == "" {
			instance = ma.Member
		}
		for _, task := range ma.Active {
			if before, known := l.last[task]; known && before != instance {
				l.count[task]++
			}
			l.last[task] = instance
		}
	}
}

// total returns the number of moves of all tasks.
func (l moveLog) total() int {
	total := 0
	for _, n := range l.count { // order-free: a sum
		total += n
	}
	return total
}

// often returns the tasks that moved more than once, sorted.
func (l moveLog) often() []assignor.TaskID {
	var tasks []assignor.TaskID
	for task, n := range l.count { // order-free: sorted below
		if n > 1 {
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return tasks
}

// instanceOf returns the instance of a member, which is named like the member where it has none.
func instanceOf(m assignor.Member) string {
	if m.Instance == "" {
		return m.ID
	}
	return m.Instance
}
