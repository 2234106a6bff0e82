package assignor

// Reports and answers are shown as rows: those of the published design, which the scenario files are written in. A row is for people
// and for tests, and says what a member does, no more; nothing reads it back but internal/scenario.

import (
	"slices"
	"strconv"
)

// For returns what the member must do, and false where the assignment does not know it. It costs O(log members).
func (a *Assignment) For(member string) (MemberAssignment, bool) {
	i, ok := slices.BinarySearchFunc(a.Members, member, func(ma MemberAssignment, id string) int {
		switch {
		case ma.Member < id:
			return -1
		case ma.Member > id:
			return 1
		}
		return 0
	})
	if !ok {
		return MemberAssignment{}, false
	}
	return a.Members[i], true
}

// Owner returns the member that runs the task, and false where nobody does in this round. It costs O(members log tasks).
func (a *Assignment) Owner(task TaskID) (member string, ok bool) {
	for i := range a.Members {
		if _, runs := slices.BinarySearchFunc(a.Members[i].Active, task, TaskID.Compare); runs {
			return a.Members[i].Member, true
		}
	}
	return "", false
}

// String returns the member's report as a row: "S1(assigned: [0_1], revoked: [], learning: [0_2 lag=100])". Standbys are
// shown only where there are some, an unknown lag not at all.
func (m Member) String() string {
	b := append([]byte(nil), m.ID...)
	b = appendTaskList(append(b, "(assigned: "...), m.Active)
	b = appendTaskList(append(b, ", revoked: "...), m.Revoked)
	b = appendReplicaList(append(b, ", learning: "...), m.Learners)
	if len(m.Standbys) > 0 {
		b = appendReplicaList(append(b, ", standby: "...), m.Standbys)
	}
	return string(append(b, ')'))
}

// String returns the answer to one member as a row: "S1(assigned: [0_1], revoked: [], learning: [0_2])". Standbys are shown
// only where there are some.
func (ma MemberAssignment) String() string {
	b := append([]byte(nil), ma.Member...)
	b = appendTaskList(append(b, "(assigned: "...), ma.Active)
	b = appendTaskList(append(b, ", revoked: "...), ma.Revoke)
	b = appendTaskList(append(b, ", learning: "...), ma.Learners)
	if len(ma.Standbys) > 0 {
		b = appendTaskList(append(b, ", standby: "...), ma.Standbys)
	}
	return string(append(b, ')'))
}

// String returns a row for each member and then, where they apply, "departed: S2[0_3, 0_4]", "follow-up" and "next: 30s",
// one a line, without a final newline.
func (a *Assignment) String() string {
	var b []byte
	for i := range a.Members {
		b = append(append(b, a.Members[i].String()...), '\n')
	}
	for _, d := range a.Departed {
		b = append(append(b, "departed: "...), d.Instance...)
		b = append(appendTaskList(b, d.Tasks), '\n')
	}
	if a.FollowUp {
		b = append(b, "follow-up\n"...)
	}
	if a.NextRebalance > 0 {
		b = append(append(append(b, "next: "...), a.NextRebalance.String()...), '\n')
	}
	if len(b) > 0 {
		b = b[:len(b)-1]
	}
	return string(b)
}

// appendTaskList appends tasks as in all rows: [0_1, 0_2].
func appendTaskList(b []byte, tasks []TaskID) []byte {
	b = append(b, '[')
	for i, t := range tasks {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = t.appendText(b)
	}
	return append(b, ']')
}

// appendReplicaList appends copies with their lags where they are known, 0 too: [0_1 lag=0, 0_2]. Ages are not shown; they are for
// deadlines, and would make rows differ that are the same in every other way.
func appendReplicaList(b []byte, replicas []Replica) []byte {
	b = append(b, '[')
	for i, r := range replicas {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = r.Task.appendText(b)
		if r.Lag >= 0 {
			b = strconv.AppendInt(append(b, " lag="...), r.Lag, 10)
		}
	}
	return append(b, ']')
}
