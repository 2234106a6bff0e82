package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// explain is the directive of that name: for each of the tasks, the moves of the last round with their reasons, or where it
// runs if it did not move.
func (g *group) explain(step *Step) (string, error) {
	if g.last == nil {
		return "", errNoRound
	}
	if len(step.Args) == 0 {
		return "", fmt.Errorf("explain wants a task, as in explain T2")
	}
	var lines []string
	for _, arg := range step.Args {
		task, err := parseTask(arg.Key)
		if err != nil {
			return "", err
		}
		lines = append(lines, g.last.explain(task, notationOf(g.config.Topology))...)
	}
	return strings.Join(lines, "\n"), nil
}

func (r *round) explain(task assignor.TaskID, n notation) []string {
	var lines []string
	for _, move := range r.answer.Moves {
		if move.Task == task {
			lines = append(lines, n.move(move))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	return []string{n.task(task) + ": " + r.whereabouts(task)}
}

// whereabouts says where a task is that did not move in this round.
func (r *round) whereabouts(task assignor.TaskID) string {
	has := func(tasks []assignor.TaskID) bool { return slices.Contains(tasks, task) }
	if owner, ok := r.answer.Owner(task); ok {
		if r.heldBefore(task) {
			return "stays on " + owner
		}
		return "first placement on " + owner
	}
	for _, ma := range r.answer.Members {
		if has(ma.Revoke) {
			return "waits until " + ma.Member + " has stopped it"
		}
	}
	for _, d := range r.answer.Departed {
		if has(d.Tasks) {
			return "waits for " + d.Instance
		}
	}
	return "runs nowhere"
}

// heldBefore reports whether anybody ran the task before the round, as far as the leader can know: by a report or by its
// memory.
func (r *round) heldBefore(task assignor.TaskID) bool {
	has := func(tasks []assignor.TaskID) bool { return slices.Contains(tasks, task) }
	reported := slices.ContainsFunc(r.members, func(m assignor.Member) bool { return has(m.Active) || has(m.Revoked) })
	if reported || r.memory == nil {
		return reported
	}
	return slices.ContainsFunc(r.memory.Members, func(ma assignor.MemberAssignment) bool { return has(ma.Active) || has(ma.Revoke) }) ||
		slices.ContainsFunc(r.memory.Departed, func(d assignor.Departure) bool { return has(d.Tasks) })
}
