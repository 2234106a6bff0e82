package franz

import (
	"fmt"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// perMember is about what the broker notes of a member beside its bytes and its ids: the client's name and host, timeouts,
	// lengths.
	perMember = 128
	// frameBytes is what a member's assignment takes in Kafka's consumer protocol beside its partitions and its user data: the
	// version, the number of topics, the length of the user data.
	frameBytes = 2 + 4 + 4
)

// encode returns the payloads as assignments of Kafka's consumer protocol, all within the budget.
func (r *round) encode(a *assignor.Assignment) (plan, error) {
	used := r.size + r.names + len(a.Members)*len(notes{frozen: r.frozen}.append(nil))
	for i := range a.Members {
		ma := &a.Members[i]
		used += frameBytes + r.b.topology.partitionBytes(ma.Active)
	}
	limit := r.b.config.Budget - used
	if limit == 0 {
		limit = -1 // 0 is Encode's own limit
	}
	payloads, err := a.Encode(limit)
	if err != nil {
		return nil, fmt.Errorf("%w (the group's budget of %d bytes, of which metadata and partitions take %d)", err, r.b.config.Budget, used)
	}
	return r.b.topology.frames(a, payloads, r.frozen), nil
}

// frames returns the payloads as assignments of Kafka's consumer protocol, with the partitions of what each member runs and notes.
// Members without a payload are told what else they keep. The frames share one array.
func (t *topology) frames(a *assignor.Assignment, payloads [][]byte, stuck []frozen) plan {
	told := notes{frozen: stuck}.append(nil)
	size := len(told) * len(a.Members)
	for i := range a.Members {
		size += frameBytes + t.partitionBytes(a.Members[i].Active) + len(payloads[i])
	}
	p, buf := make(plan, len(a.Members)), make([]byte, 0, size)
	for i := range a.Members {
		ma, first := &a.Members[i], len(buf)
		frame := kmsg.ConsumerMemberAssignment{Version: 2, Topics: t.partitions(ma.Active), UserData: payloads[i]}
		buf = append(frame.AppendTo(buf), told...)
		if len(payloads[i]) == 0 {
			buf = notes{keeps: t.unknown(ma.Active)}.append(buf)
		}
		p[i] = kmsg.SyncGroupRequestGroupAssignment{MemberID: ma.Member, MemberAssignment: buf[first:len(buf):len(buf)]}
	}
	return p
}

// namesOf returns about how many bytes the broker notes of a member beside its metadata and assignment.
func namesOf(m *kmsg.JoinGroupResponseMember) int {
	n := len(m.MemberID) + perMember
	if m.InstanceID != nil {
		n += len(*m.InstanceID)
	}
	return n
}
