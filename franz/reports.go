package franz

import (
	"fmt"
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// join is what the leader knows of a member beside its report.
type join struct {
	frame   int   // bytes of its metadata beside the report
	owns    bool  // its metadata lists what it owns
	unread  bool  // its report could not be read
	applied int32 // of one that could not: the generation in its metadata
}

// memberBalancer reads what the members report. It never fails: a member whose report cannot be read counts as one that runs
// what it owns.
func (b *Balancer) memberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	r := &round{b: b}
	decoder := b.reportDecoder()
	var problems []error
	seen := make(map[string]bool, len(members))
	for i := range members {
		m := &members[i]
		if m.MemberID == "" || seen[m.MemberID] {
			problems = append(problems, fmt.Errorf("%q is listed twice, or has no id", m.MemberID))
			continue
		}
		seen[m.MemberID] = true
		report, join, err := b.topology.readReport(decoder, m)
		if err != nil {
			problems = append(problems, fmt.Errorf("report of member %s: %w", m.MemberID, err))
		}
		r.reports, r.joins = append(r.reports, report), append(r.joins, join)
		r.size += len(m.ProtocolMetadata)
		r.names += namesOf(m)
	}
	r.boundUnread()
	if err := r.standIn(); err != nil {
		problems = append(problems, err)
	}
	b.troubled(TroubleReport, several("franz: members count as running what they own or were given last, because of what they report", problems))
	b.mu.Lock()
	b.elected, b.decided = r, nil
	b.mu.Unlock()
	return r, b.topology.sourceTopics(), nil
}

// reportDecoder returns a decoder that reads no memory that this member has itself.
func (b *Balancer) reportDecoder() *assignor.ReportDecoder {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := &assignor.ReportDecoder{}
	if b.memory.assignment != nil {
		d.Known = b.memory.assignment.Generation
	}
	return d
}

// readReport returns a member's report. Where the report cannot be read, it is made of what the metadata says (a
// member that cannot learn), and the error says why. A panic is an error.
func (t *topology) readReport(decoder *assignor.ReportDecoder, m *kmsg.JoinGroupResponseMember) (report assignor.Member, j join, err error) {
	defer func() { report.ID = m.MemberID }()
	defer recovered(&err)
	var meta kmsg.ConsumerMemberMetadata
	report, err = decodeReport(decoder, m.ProtocolMetadata, &meta)
	j = join{frame: len(m.ProtocolMetadata) - len(meta.UserData), owns: len(meta.OwnedPartitions) > 0}
	if err != nil {
		j = join{frame: len(m.ProtocolMetadata), owns: j.owns, unread: true, applied: meta.Generation}
		owned := map[string][]int32{}
		for _, o := range meta.OwnedPartitions {
			owned[o.Topic] = append(owned[o.Topic], o.Partitions...)
		}
		report = assignor.Member{Version: assignor.LearnerVersion - 1, Generation: max(1, meta.Generation), Active: t.tasks(owned)}
		if m.InstanceID != nil {
			report.Instance = *m.InstanceID
		}
	}
	return report, j, err
}

// decodeReport reads what it can. A panic is an error.
func decodeReport(decoder *assignor.ReportDecoder, data []byte, meta *kmsg.ConsumerMemberMetadata) (report assignor.Member, err error) {
	defer recovered(&err)
	if err := meta.ReadFrom(data); err != nil {
		return report, err
	}
	return decoder.Decode(meta.UserData)
}

// boundUnread lowers the generations of reports that could not be read to what the others know: those are the broker's numbers,
// and must not outdate the memory. Behind it, such a member also counts as running what the memory gave it.
func (r *round) boundUnread() {
	newest := int32(1)
	for i := range r.reports {
		if !r.joins[i].unread {
			newest = max(newest, r.reports[i].Generation)
		}
	}
	for i := range r.reports {
		if r.joins[i].unread {
			r.reports[i].Generation = min(r.reports[i].Generation, newest)
		}
	}
}

// standIn has the memory speak for members whose report cannot be read and whose metadata does not list what they own, as that of
// this version does not beside a report. Such a member counts as running what it was given last; where its metadata does not say
// that it has applied that answer, also what it was to stop. What the memory does not know either, nobody does.
//
// This costs a member that stays unreadable the tasks that it is told to stop: nobody sees that it has stopped them. To give them
// to others all the same would be two owners. A version whose reports this one cannot read lists what it owns. A panic is an error.
func (r *round) standIn() (err error) {
	defer recovered(&err)
	if !slices.ContainsFunc(r.joins, func(j join) bool { return j.unread && !j.owns }) {
		return nil
	}
	memory, _ := r.recallOwn()
	if memory == nil {
		return nil
	}
	for i, j := range r.joins {
		m := &r.reports[i]
		ma, known := memory.For(m.ID)
		if !j.unread || j.owns || !known {
			continue
		}
		m.Active = slices.Clone(ma.Active)
		if j.applied != memory.Generation {
			m.Active = append(m.Active, ma.Revoke...)
			slices.SortFunc(m.Active, assignor.TaskID.Compare)
		}
		if m.Instance == "" {
			m.Instance = ma.Instance
		}
	}
	return nil
}

// slim leaves out of a join's metadata what its report says too: 4 bytes a partition, and every topic once more. Where the member has
// not applied the answer of the broker's generation in it, that becomes a negative number, below -1: it is all that a leader can go
// by that cannot read the report. It differs from round to round all the same, else the broker would not call for one: a member
// that joins with the same metadata as before gets the same answer as before.
func slim(meta *kmsg.ConsumerMemberMetadata, report *assignor.Member) {
	meta.OwnedPartitions = nil
	if meta.Generation >= 0 && meta.Generation != report.Generation {
		meta.Generation = -2 - meta.Generation
	}
}
