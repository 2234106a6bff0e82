package franz

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// perMember is about what the broker notes of a member beside its bytes and its ids: the client's name and host, timeouts,
	// lengths.
	perMember = 128
	// emptyFrame is what a member's assignment takes in Kafka's consumer protocol beside its partitions and its user data: the
	// version, the number of topics, the length of the user data.
	emptyFrame = 2 + 4 + 4
)

// notes returns what every member is told.
func (r *round) notes() notes {
	stays := func(m assignor.Member) bool { return !m.Leaving }
	return notes{frozen: r.frozen, alone: !slices.ContainsFunc(r.reports, stays)}
}

// frames returns the payloads as assignments of Kafka's consumer protocol: with the partitions of what each member runs, where they
// are to be named or there is no payload, and with notes. Members without a payload are told what else they keep. The frames share
// one array.
func (r *round) frames(a *assignor.Assignment, payloads [][]byte, named bool) plan {
	t, told := &r.b.topology, r.notes().append(nil)
	p, buf := make(plan, len(a.Members)), make([]byte, 0, r.frameBytes(a, named)+sum(payloads))
	for i := range a.Members {
		ma, first := &a.Members[i], len(buf)
		frame := kmsg.ConsumerMemberAssignment{Version: 2, UserData: payloads[i]}
		if named || len(payloads[i]) == 0 {
			frame.Topics = t.partitions(ma.Active)
		}
		buf = append(frame.AppendTo(buf), told...)
		if len(payloads[i]) == 0 {
			buf = notes{keeps: t.unknown(ma.Active)}.append(buf)
		}
		p[i] = kmsg.SyncGroupRequestGroupAssignment{MemberID: ma.Member, MemberAssignment: buf[first:len(buf):len(buf)]}
	}
	return p
}

// frameBytes returns what frames adds to the payloads.
func (r *round) frameBytes(a *assignor.Assignment, named bool) int {
	n := len(a.Members) * (emptyFrame + len(r.notes().append(nil)))
	for i := range a.Members {
		if named {
			n += r.b.topology.partitionBytes(a.Members[i].Active)
		}
	}
	return n
}

// namesOf returns about how many bytes the broker notes of a member beside its metadata and assignment.
func namesOf(m *kmsg.JoinGroupResponseMember) int {
	n := len(m.MemberID) + perMember
	if m.InstanceID != nil {
		n += len(*m.InstanceID)
	}
	return n
}
