package assignor

import (
	"encoding/binary"
	"math"
	"slices"
	"time"
)

// Bits of the flags of reports and assignments; encoding.go has the table.
const (
	flagLeaving       = 1 << 0
	flagVersionShift  = 1
	flagInstanceShift = 3

	flagCapacity       = 1 << 5
	flagLeavingFor     = 1 << 6
	flagTags           = 1 << 7
	flagActive         = 1 << 8
	flagRevoked        = 1 << 9
	flagReportLearners = 1 << 10
	flagReportStandbys = 1 << 11

	flagFollowUp = 1 << 5
	flagHandover = 1 << 9
	flagRevoke   = 1 << 10
	flagLearners = 1 << 11
	flagStandbys = 1 << 12

	flagFields = 1 << 15

	reportFlags     = flagFields | (1<<12 - 1)
	assignmentFlags = flagFields | (1<<13-1)&^(1<<6|1<<7)
)

// Values of two bits in the flags.
const (
	versionFollows = 3

	instanceEmpty   = 0
	instanceSame    = 1
	instanceFollows = 2
)

// tagMemory is the tag of the memory in a report and in an assignment.
const tagMemory = 1

// Generations that memories are newer than: all of them, and none.
const (
	anyMemory = math.MinInt64
	noMemory  = math.MaxInt64
)

// flag returns bit where set, else 0.
func flag(bit int, set bool) int {
	if set {
		return bit
	}
	return 0
}

// identity is what all kinds tell of a member.
type identity struct {
	leaving        bool
	version        uint8
	generation     int32 // in a memory that of all members, told once
	name, instance string
}

func (id identity) flags() int {
	flags := flag(flagLeaving, id.leaving) | int(min(id.version, versionFollows))<<flagVersionShift
	switch id.instance {
	case "":
	case id.name:
		flags |= instanceSame << flagInstanceShift
	default:
		flags |= instanceFollows << flagInstanceShift
	}
	return flags
}

// identity appends the header, all flags, and what reports and assignments begin with.
func (e *encoder) identity(k wireKind, id identity, more int) {
	flags := id.flags() | more
	e.byte(k.header())
	e.buf = binary.LittleEndian.AppendUint16(e.buf, uint16(flags))
	e.uvarint(uint64(uint32(id.generation)))
	e.string(id.name)
	if flags>>flagInstanceShift&3 == instanceFollows {
		e.name(id.instance, id.name)
	}
	if id.version >= versionFollows {
		e.byte(id.version)
	}
}

// report appends m.
func (e *encoder) report(m *Member) {
	active, revoked := e.normal(m.Active), e.normal(m.Revoked)
	learners, standbys := e.normalReplicas(m.Learners), e.normalReplicas(m.Standbys)
	own := len(active) + len(revoked) + len(learners) + len(standbys)
	memory := e.echo(m.Memory, own)
	flags := flag(flagCapacity, m.Capacity != 0) | flag(flagLeavingFor, m.LeavingFor != 0) | flag(flagTags, len(m.Tags) > 0) |
		flag(flagActive, len(active) > 0) | flag(flagRevoked, len(revoked) > 0) |
		flag(flagReportLearners, len(learners) > 0) | flag(flagReportStandbys, len(standbys) > 0) |
		flag(flagFields, memory != nil)
	e.identity(kindReport, identity{m.Leaving, m.Version, m.Generation, m.ID, m.Instance}, flags)
	if m.Capacity != 0 {
		e.uvarint(uint64(uint32(m.Capacity)))
	}
	if m.LeavingFor != 0 {
		e.uvarint(uint64(m.LeavingFor))
	}
	e.tags(m.Tags)
	e.taskLists(active, revoked)
	e.replicaLists(learners, standbys)
	if memory != nil {
		e.buf = appendField(append(e.buf, 1), tagMemory, memory)
	}
	e.checkTasks(own)
}

// echo returns the encoding of a report's memory: nil where it has none, or it cannot ride along with the member's own tasks.
func (e *encoder) echo(a *Assignment, own int) []byte {
	if a == nil || own+memoryTasks(a) > MaxTasks || e.err != nil {
		return nil
	}
	memory, err := a.MarshalBinary()
	if err != nil {
		e.err = err
	}
	return memory
}

// checkTasks fails where a value has too many tasks to be read again.
func (e *encoder) checkTasks(n int) {
	if n > MaxTasks {
		e.fail(ErrPayloadTooLarge, "%d tasks, at most %d", n, MaxTasks)
	}
}

func (e *encoder) tags(tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	keys := make([]string, 0, len(tags))
	for key := range tags { // order-free: sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	e.uvarint(uint64(len(keys)))
	for _, key := range keys {
		e.string(key)
		e.string(tags[key])
	}
}

// taskLists appends those of the lists that are not empty, and returns what it appended.
func (e *encoder) taskLists(lists ...[]TaskID) []byte {
	begin := len(e.buf)
	for _, list := range lists {
		if len(list) > 0 {
			e.taskList(list)
		}
	}
	return e.buf[begin:]
}

func (e *encoder) replicaLists(lists ...[]Replica) {
	for _, list := range lists {
		if len(list) > 0 {
			e.replicaList(list)
		}
	}
}

// assignment appends ma.
func (e *encoder) assignment(ma *MemberAssignment) {
	active, handover, revoke := e.normal(ma.Active), e.normal(ma.Handover), e.normal(ma.Revoke)
	learners, standbys := e.normal(ma.Learners), e.normal(ma.Standbys)
	flags := flag(flagFollowUp, ma.FollowUp) |
		flag(flagActive, len(active) > 0) | flag(flagHandover, len(handover) > 0) | flag(flagRevoke, len(revoke) > 0) |
		flag(flagLearners, len(learners) > 0) | flag(flagStandbys, len(standbys) > 0)
	e.identity(kindAssignment, identity{ma.Leaving, ma.Version, ma.Generation, ma.Member, ma.Instance}, flags)
	e.lists.active = e.taskLists(active)
	e.subset(handover, active)
	e.lists.revoke = e.taskLists(revoke)
	e.taskLists(learners, standbys)
	e.checkTasks(len(active) + len(handover) + len(revoke) + len(learners) + len(standbys))
}

// subset appends the positions of tasks in of.
func (e *encoder) subset(tasks, of []TaskID) {
	if len(tasks) == 0 || e.err != nil {
		return
	}
	positions, p := make([]uint32, 0, len(tasks)), 0
	for _, t := range tasks {
		for p < len(of) && of[p] != t {
			p++
		}
		if p == len(of) {
			e.fail(ErrMember, "Handover %v is not in Active", t)
			return
		}
		positions = append(positions, uint32(p))
	}
	e.positions(positions)
}

// identity reads what a report or an assignment begins with. allowed are the flags that mean something.
func (d *decoder) identity(k wireKind, allowed int) (id identity, flags int) {
	d.header(k)
	flags = int(d.byte()) | int(d.byte())<<8
	if flags&^allowed != 0 {
		d.fail("flags %#x", flags)
	}
	id.leaving = flags&flagLeaving != 0
	id.generation = int32(uint32(d.number(math.MaxUint32, "generation")))
	id.name = d.string()
	d.who = id.name
	id.instance = d.instance(flags, id.name, func() string { return d.name(id.name) })
	id.version = d.version(flags)
	return id, flags
}

// instance returns the instance of the member called name; follows reads it where it is none that the flags can tell.
func (d *decoder) instance(flags int, name string, follows func() string) string {
	switch flags >> flagInstanceShift & 3 {
	case instanceEmpty:
		return ""
	case instanceSame:
		if name == "" {
			d.fail("an instance like an empty name")
		}
		return name
	case instanceFollows:
		instance := follows()
		if instance == "" || instance == name {
			d.fail("an instance that the flags can tell")
		}
		return instance
	}
	d.fail("flags %#x", flags)
	return ""
}

func (d *decoder) version(flags int) uint8 {
	v := uint8(flags >> flagVersionShift & 3)
	if v < versionFollows {
		return v
	}
	if v = d.byte(); v < versionFollows {
		d.fail("version %d, which the flags can tell", v)
	}
	return v
}

// nonZero reads a number that is not 0.
func (d *decoder) nonZero(limit uint64, what string) uint64 {
	v := d.number(limit, what)
	if v == 0 {
		d.fail("%s: 0, which the flags can tell", what)
	}
	return v
}

// report reads a Member.
func (d *decoder) report() Member {
	id, flags := d.identity(kindReport, reportFlags)
	m := Member{ID: id.name, Instance: id.instance, Version: id.version, Generation: id.generation, Leaving: id.leaving}
	if flags&flagCapacity != 0 {
		m.Capacity = int32(uint32(d.nonZero(math.MaxUint32, "capacity")))
	}
	if flags&flagLeavingFor != 0 {
		m.LeavingFor = time.Duration(d.nonZero(math.MaxUint64, "leavingFor"))
	}
	if flags&flagTags != 0 {
		m.Tags = d.tags()
	}
	m.Active, _ = d.listIf(flags & flagActive)
	m.Revoked, _ = d.listIf(flags & flagRevoked)
	if flags&flagReportLearners != 0 {
		m.Learners = d.replicaList()
	}
	if flags&flagReportStandbys != 0 {
		m.Standbys = d.replicaList()
	}
	if flags&flagFields != 0 {
		m.Memory = d.memoryField()
	}
	d.finish()
	return m
}

// listIf reads a list of tasks where set is not 0, and returns it and its length.
func (d *decoder) listIf(set int) ([]TaskID, int) {
	if set == 0 {
		return nil, 0
	}
	return d.taskList()
}

func (d *decoder) tags() map[string]string {
	n := d.count(2, "tags")
	if n == 0 {
		d.fail("no tags")
	}
	tags, last := make(map[string]string), ""
	for i := 0; i < n && d.err == nil; i++ {
		key := d.string()
		if i > 0 && key <= last {
			d.fail("tag %q follows tag %q", key, last)
		}
		last = key
		tags[key] = d.string()
	}
	return tags
}

// memoryField reads the tagged fields of a report or an assignment, and returns the memory among them if it is wanted.
func (d *decoder) memoryField() (memory *Assignment) {
	d.fields(func(tag uint64) bool {
		if tag != tagMemory || !d.wantsMemory() {
			return false
		}
		outer, who := d.kind, d.who
		a := d.memoryBody()
		d.kind, d.who = outer, who
		memory = &a
		return true
	})
	return memory
}

// wantsMemory reports whether the memory that follows is newer than newerThan. One that is corrupt at its beginning is to be read.
func (d *decoder) wantsMemory() bool {
	if d.newerThan == anyMemory || d.newerThan == noMemory {
		return d.newerThan == anyMemory
	}
	peek := *d
	generation, _ := peek.memoryHead()
	return peek.err != nil || int64(knownGeneration(generation)) > d.newerThan
}

// assignment reads a MemberAssignment and the memory that came with it.
func (d *decoder) assignment() (ma MemberAssignment, memory *Assignment) {
	id, flags := d.identity(kindAssignment, assignmentFlags)
	ma.Member, ma.Instance, ma.Version, ma.Generation, ma.Leaving = id.name, id.instance, id.version, id.generation, id.leaving
	ma.FollowUp = flags&flagFollowUp != 0
	var n int
	ma.Active, n = d.listIf(flags & flagActive)
	if flags&flagHandover != 0 {
		ma.Handover = d.subset(ma.Active, n)
	}
	ma.Revoke, _ = d.listIf(flags & flagRevoke)
	ma.Learners, _ = d.listIf(flags & flagLearners)
	ma.Standbys, _ = d.listIf(flags & flagStandbys)
	if flags&flagFields != 0 {
		memory = d.memoryField()
	}
	d.finish()
	return ma, memory
}
