package assignor

import "github.com/incremental-rebalance/assignor/internal/taskset"

// The wire format, version 1.
//
// The broker keeps every member's join metadata and assignment of a group in one record, capped at 1 MB by default: that is
// the budget for all members together, and the reason for the care below. A number is an unsigned LEB128 varint ("uvarint")
// unless its row says otherwise; a value is coded in one way only, so equal values are equal bytes and a reader rejects
// any other form of them. testdata/encoding holds an annotated example of everything here.
//
//	report (Member)         assignment (MemberAssignment)   memory (Assignment)
//	+--------------------+  +--------------------+          +--------------------+
//	| 1 header: 0x11     |  | 1 header: 0x21     |          | 1 header: 0x31     |
//	| 2 flags            |  | 2 flags            |          | 1 flags            |
//	| . generation       |  | . generation       |          | . generation       |
//	| . ID: length, bytes|  | . Member           |          | . instance table   |
//	| . Instance         |  | . Instance         |          | . count of members |
//	| . Version          |  | . Version          |          | . each: flags, name|
//	| . Capacity         |  |                    |          |   instance, version|
//	| . LeavingFor       |  |                    |          |   Active, Revoke   |
//	| . Tags             |  | . Active           |          | . Departed: count, |
//	| . Active, Revoked  |  | . Handover         |          |   each: Instance,  |
//	| . Learners, lags   |  | . Revoke, Learners |          |   Absent, Tasks    |
//	| . Standbys, lags   |  | . Standbys         |          |                    |
//	| . tagged fields    |  | . tagged fields    |          | . tagged fields    |
//	+--------------------+  +--------------------+          +--------------------+
//
// header: the kind in the upper half, the wire's major version in the lower one. It is not Member.Version: that is the
// protocol a member speaks, this is how its bytes are laid out. What is empty or zero takes no byte but its bit in the flags
// (little-endian where there are two bytes; bits that have no meaning are 0):
//
//	bit 0      Leaving
//	bits 1-2   Version: 0, 1, 2, or 3 for a byte that holds it
//	bits 3-4   Instance: 0 empty, 1 equal to the member's name, 2 follows (in a memory: its index in the instance table)
//	report     5 Capacity, 6 LeavingFor, 7 Tags, 8 Active, 9 Revoked, 10 Learners, 11 Standbys
//	assignment 5 FollowUp, 8 Active, 9 Handover, 10 Revoke, 11 Learners, 12 Standbys
//	memory     of each member: 5 Active, 6 Revoke. Of the whole: 0 Departed, 7 tagged fields
//	bit 15     tagged fields
//
// Tagged fields: their count, then each as tag, length and bytes, tags ascending. Tag 1 of a report and of an assignment is a
// memory. Minor versions of this format add tagged fields and nothing else, so any reader of version 1 reads them all; it
// skips the tags it does not know, and what they held is not in the value it returns.
//
// Names that follow another (an instance its member, the names of a memory each other) are coded as the length of the prefix
// they share with it (127 at most), the length of the rest and the rest. Tags: their count, then each key and value.
//
// A list of tasks is a sequence of sets, one a subtopology, in order. A set begins with a head byte: bits 0-2 are its form, bit 3 is
// set where another set follows, bits 4-7 are the subtopology less the previous one and 1 (the first: the subtopology itself), or 15
// where a uvarint holds that less 15. What follows are the partitions in that form: the comment of internal/taskset has the eight
// forms byte by byte, and which of them is used.
//
// Handover is coded as a set of positions in Active: one set, of subtopology 0. Behind a list of copies comes a byte, bits
// 0-1 the form of their lags, bits 2-3 that of their ages (For), bits 4-7 the decimal exponent of the ages' unit (0: a
// nanosecond, 9: a second, the greatest that fits), then the lags, then the ages. A column of form 0 is all zeros and has no
// bytes; form 1 is one code for all; form 2 is the set of the positions with other values than 0, then a code for each. The
// code of a lag is the lag, and 0 where it is unknown; that of an age is the age in its unit.

const (
	// MaxPayload is the limit of [Assignment.Encode] where the caller gives none, in bytes: what a broker stores of a group by
	// default (Kafka's message.max.bytes), all members together.
	MaxPayload = 1 << 20

	// MemoryKeepers is the number of members that [Assignment.Encode] hands the leader's memory to.
	MemoryKeepers = 3
)

// AppendBinary appends what MarshalBinary returns to b.
func (m Member) AppendBinary(b []byte) ([]byte, error) {
	e := encoder{buf: b, who: m.ID}
	e.report(&m)
	return e.result(len(b))
}

// MarshalBinary returns the report as join metadata. Lists are sorted on the way, a task listed twice counts once (of two
// copies the one with the smaller lag), every negative lag becomes [UnknownLag], and of the Memory only what
// [Assignment.MarshalBinary] keeps goes along; else [Member.UnmarshalBinary] returns an equal value. An empty ID is encodable.
// A Memory with which there would be more than [MaxTasks] tasks is left out: it would cost the member its place in the group.
//
// It fails with [ErrMember] for a task whose numbers are negative and with [ErrPayloadTooLarge] for more than MaxTasks tasks.
// It costs O(tasks), and O(tasks log tasks) where they are not sorted.
func (m Member) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary sets m to the report that data holds; it keeps no reference to data. It fails with [ErrCorrupt] or
// [ErrVersion], and then m is as it was.
func (m *Member) UnmarshalBinary(data []byte) error {
	d := newDecoder(data)
	v := d.report()
	if d.recount() {
		v = d.report()
	}
	if d.err == nil {
		*m = v
	}
	return d.err
}

// ReportDecoder reads the reports of one round for its leader. It does what [Member.UnmarshalBinary] does in half the time, and in a
// quarter where the leader has its memory (BenchmarkDecodeReports): it keeps the space that it works in from one report to the next,
// and of the copies of the leader's memory, which as many members echo as keep it ([MemoryKeepers]), it reads one or none.
//
// The zero value is ready to use. Take a new one for each round, or set Known anew: it says what the leader has of what this
// decoder has read. It must not be used by two goroutines at once.
type ReportDecoder struct {
	// Known is the generation of the newest memory that the leader has, 0 for none. (Negative ones and the greatest number count as
	// 0, as in [Member.Generation].) A memory that is not newer is skipped, and then [Member.Memory] is nil; one that is newer is
	// read, and its generation becomes Known. What is skipped is not checked: whether a report with a corrupt memory fails depends
	// on what was read before.
	Known int32

	sets []wireSet
	gaps []taskset.Gaps
}

// Decode returns the report that data holds; it keeps no reference to data. It fails with [ErrCorrupt] or [ErrVersion].
func (r *ReportDecoder) Decode(data []byte) (Member, error) {
	d := newDecoder(data)
	d.sets, d.reader.Gaps = r.sets, r.gaps
	if known := knownGeneration(r.Known); known > 0 {
		d.newerThan = int64(known)
	}
	m := d.report()
	if d.recount() {
		m = d.report()
	}
	r.sets, r.gaps = d.sets, d.reader.Gaps
	if d.err != nil {
		return Member{}, d.err
	}
	if m.Memory != nil {
		r.Known = m.Memory.Generation
	}
	return m, nil
}

// AppendBinary appends what MarshalBinary returns to b.
func (ma MemberAssignment) AppendBinary(b []byte) ([]byte, error) {
	e := encoder{buf: b, who: ma.Member}
	e.assignment(&ma)
	return e.result(len(b))
}

// MarshalBinary returns the assignment in full, whatever its Version; [Assignment.Encode] writes for the member's. Its lists
// are sorted on the way, else [MemberAssignment.UnmarshalBinary] returns an equal value.
//
// It fails with [ErrMember] for a task whose numbers are negative and for a Handover that is not in Active, and with
// [ErrPayloadTooLarge] for more than [MaxTasks] tasks.
func (ma MemberAssignment) MarshalBinary() ([]byte, error) { return ma.AppendBinary(nil) }

// UnmarshalBinary sets ma to the assignment that data holds; a memory that came with it is skipped ([Decode] returns it). It
// fails with [ErrCorrupt] or [ErrVersion], and then ma is as it was.
func (ma *MemberAssignment) UnmarshalBinary(data []byte) error {
	d := newDecoder(data)
	d.newerThan = noMemory
	v, _ := d.assignment()
	if d.recount() {
		v, _ = d.assignment()
	}
	if d.err == nil {
		*ma = v
	}
	return d.err
}

// AppendBinary appends what MarshalBinary returns to b.
func (a *Assignment) AppendBinary(b []byte) ([]byte, error) {
	lists, err := memoryLists(a.Members)
	e := encoder{buf: b, err: err}
	e.memory(a, lists)
	return e.result(len(b))
}

// MarshalBinary returns the leader's memory: what [Assign] reads of its prevAssignment. That is the Generation, the
// Departed, and each member's Member, Instance, Leaving, Version, Active and Revoke; not the copies, moves and deadlines,
// which the members report or the next round computes. Members and departed instances are sorted on the way.
//
// It fails with [ErrMember] where two members, or two departed instances, have one name or a task has negative numbers, and
// with [ErrPayloadTooLarge] for more than [MaxTasks] tasks.
func (a *Assignment) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary sets a to the memory that data holds. It fails with [ErrCorrupt] or [ErrVersion], and then a is as it was.
func (a *Assignment) UnmarshalBinary(data []byte) error {
	d := newDecoder(data)
	v := d.memory()
	if d.recount() {
		v = d.memory()
	}
	if d.err == nil {
		*a = v
	}
	return d.err
}

// Decode returns the assignment that a payload of [Assignment.Encode] holds, and the memory that came with it: nil, but for
// a keeper, which echoes it in [Member.Memory]. It fails with [ErrCorrupt] or [ErrVersion].
//
// Decode and the UnmarshalBinary methods may be given any bytes. They return valid values (sorted lists without
// duplicates) of at most [MaxTasks] tasks in all, and allocate a small multiple of what they return, or of the bytes where
// they fail. They read what every minor version of the format writes.
func Decode(payload []byte) (MemberAssignment, *Assignment, error) {
	d := newDecoder(payload)
	ma, memory := d.assignment()
	if d.recount() {
		ma, memory = d.assignment()
	}
	if d.err != nil {
		return MemberAssignment{}, nil, d.err
	}
	return ma, memory, nil
}
