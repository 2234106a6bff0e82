package franz

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// resume is for a static leader that restarted: the coordinator has given everybody what they had, and nobody has asked the
// leader. It decides the round once more, on the reports of then and its own new one, to see whether they imply another plan
// than what was delivered to this member and, where it is a keeper, to the others (memory), or a deadline that nobody else keeps.
// Where it cannot decide, a new round tells.
func (r *round) resume(delivered assignor.MemberAssignment, memory *assignor.Assignment) (d *decision) {
	defer func() {
		if recover() != nil {
			d = &decision{resumed: true, differs: true}
		}
	}()
	a, err := r.decideAgain()
	if err != nil {
		return &decision{resumed: true, differs: true}
	}
	own := slices.IndexFunc(a.Members, func(ma assignor.MemberAssignment) bool { return ma.Member == r.info.LeaderID })
	d = &decision{assignment: a, resumed: true, again: r.again}
	// A deadline counts from reports that are as old as the generation, which nobody knows: only new reports tell.
	d.differs = a.NextRebalance > 0 || own < 0 || !sameTasks(a.Members[own], delivered, true)
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
	reports := slices.Clone(r.reports)
	for i := range reports {
		if reports[i].ID == r.info.LeaderID {
			reports[i] = r.b.lastReport()
			reports[i].ID = r.info.LeaderID
		}
	}
	a, _, err = r.assign(reports, counts)
	return a, err
}

// sameTasks reports whether two members run and stop the same, and keep the same copies.
func sameTasks(a, b assignor.MemberAssignment, copies bool) bool {
	return slices.Equal(a.Active, b.Active) && slices.Equal(a.Revoke, b.Revoke) &&
		(!copies || slices.Equal(a.Learners, b.Learners) && slices.Equal(a.Standbys, b.Standbys))
}

// lastReport returns what this member reported in the last join.
func (b *Balancer) lastReport() assignor.Member {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent.report
}
