package franz

import (
	"cmp"
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
	if memory != nil && !d.differs {
		d.differs = !sameByInstance(a.Members, memory.Members)
	}
	return d
}

// sameByInstance reports whether the instances run and stop the same. A static member that restarted has another id since, so that
// the members of an instance are told apart by what they have.
func sameByInstance(a, b []assignor.MemberAssignment) bool {
	return slices.EqualFunc(byInstance(a), byInstance(b), func(a, b assignor.MemberAssignment) bool {
		return instanceOf(a) == instanceOf(b) && sameTasks(a, b, false)
	})
}

// byInstance returns the members by instance, those of one by what they run, then by what they stop.
func byInstance(members []assignor.MemberAssignment) []assignor.MemberAssignment {
	return slices.SortedFunc(slices.Values(members), func(a, b assignor.MemberAssignment) int {
		return cmp.Or(
			cmp.Compare(instanceOf(a), instanceOf(b)),
			slices.CompareFunc(a.Active, b.Active, assignor.TaskID.Compare),
			slices.CompareFunc(a.Revoke, b.Revoke, assignor.TaskID.Compare))
	})
}

func instanceOf(ma assignor.MemberAssignment) string { return cmp.Or(ma.Instance, ma.Member) }

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
