package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// notation is how tasks are printed.
type notation struct {
	short bool // T3 for 0_2
}

// notationOf returns the short notation for a topology of one subtopology with the id 0 (or none at all, yet), else the
// long one. Input may use either anywhere.
func notationOf(topology []assignor.Subtopology) notation {
	return notation{short: len(topology) == 0 || len(topology) == 1 && topology[0].ID == 0}
}

// task returns "T3" or "0_2". A task that is in no topology (1_4 beside a single subtopology 0) keeps the long form.
func (n notation) task(t assignor.TaskID) string {
	if n.short && t.Subtopology == 0 {
		return "T" + strconv.FormatInt(int64(t.Partition)+1, 10)
	}
	return t.String()
}

// list returns "[T1, T2]". Answers are sorted already, by number and not by text: T2 before T10.
func (n notation) list(tasks []assignor.TaskID) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, task := range tasks {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n.task(task))
	}
	b.WriteByte(']')
	return b.String()
}

// row returns the answer to one member: "S1(assigned: [T1], revoked: [], learning: [T2], standby: [T3])".
func (n notation) row(ma assignor.MemberAssignment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(assigned: %s, revoked: %s, learning: %s",
		ma.Member, n.list(ma.Active), n.list(ma.Revoke), n.list(ma.Learners))
	if len(ma.Standbys) > 0 {
		fmt.Fprintf(&b, ", standby: %s", n.list(ma.Standbys))
	}
	b.WriteByte(')')
	return b.String()
}

// move returns what Move.String returns, with the task in this notation.
func (n notation) move(m assignor.Move) string {
	return n.task(m.Task) + strings.TrimPrefix(m.String(), m.Task.String())
}

// answer returns the rows of an answer, one member a line in natural order of the ids, and below them, where they apply, who
// is awaited, whether a round must follow at once, and when the leader must call the next.
func (n notation) answer(a *assignor.Assignment) string {
	members := slices.Clone(a.Members)
	slices.SortFunc(members, func(x, y assignor.MemberAssignment) int { return naturalCompare(x.Member, y.Member) })
	var lines []string
	for _, ma := range members {
		lines = append(lines, n.row(ma))
	}
	departed := slices.Clone(a.Departed)
	slices.SortFunc(departed, func(x, y assignor.Departure) int { return naturalCompare(x.Instance, y.Instance) })
	for _, d := range departed {
		lines = append(lines, "departed: "+d.Instance+n.list(d.Tasks))
	}
	if a.FollowUp {
		lines = append(lines, "follow-up")
	}
	if a.NextRebalance > 0 {
		lines = append(lines, "next: "+a.NextRebalance.String())
	}
	return strings.Join(lines, "\n")
}
