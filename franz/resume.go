package franz

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// resume is for a static leader that restarted: the coordinator has given everybody what they had, and nobody has asked the
// leader. It decides the round once more, on the reports of then and its own new one: for the deadlines that nobody else will
// keep, and to see whether the reports imply another plan than what was delivered to this member, and, where it is a keeper, to
// the others (memory).
func (r *round) resume(delivered assignor.MemberAssignment, memory *assignor.Assignment) *decision {
	a, err := r.decideAgain()
	if err != nil {
		return &decision{resumed: true, differs: true}
	}
	own := slices.IndexFunc(a.Members, func(ma assignor.MemberAssignment) bool { return ma.Member == r.info.LeaderID })
	d := &decision{assignment: a, resumed: true, differs: own < 0 || !sameTasks(a.Members[own], delivered, true)}
	if memory == nil || d.differs {
		return d
	}
	d.differs = len(a.Members) != len(memory.Members)
	for i := range memory.Members {
		id := memory.Members[i].Member
		if id == delivered.Member {
			id = r.info.LeaderID // its new one
		}
		ma, ok := a.For(id)
		d.differs = d.differs || !ok || !sameTasks(ma, memory.Members[i], false)
	}
	return d
}

// decideAgain decides the round with the partition counts that the client knows.
func (r *round) decideAgain() (a *assignor.Assignment, err error) {
	defer recovered(&err)
	counts := map[string]int32{}
	if r.info.Topics != nil {
		for topic, meta := range r.info.Topics() {
			counts[topic] = int32(len(meta.Partitions))
		}
	}
	config, memory, err := r.prepare(counts)
	if err != nil {
		return nil, err
	}
	return assignor.Assign(r.reports, memory, config)
}

// sameTasks reports whether two members run and stop the same, and keep the same copies.
func sameTasks(a, b assignor.MemberAssignment, copies bool) bool {
	return slices.Equal(a.Active, b.Active) && slices.Equal(a.Revoke, b.Revoke) &&
		(!copies || slices.Equal(a.Learners, b.Learners) && slices.Equal(a.Standbys, b.Standbys))
}
