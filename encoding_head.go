package assignor

import (
	"encoding/binary"
	"math"
	"slices"
)

// Bits of the flags of reports and assignments; encoding.go has the table. Both kinds share those up to bit 4 and the last one; what is
// between means another thing in each. A bit says that something follows which is not the default, so that nothing is spent on defaults.
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

// Values of two bits in the flags. Most versions are 0 to 2, and most instances are named like their member or have no name of their own:
// then the flags say it, and nothing follows.
const (
	versionFollows = 3

	instanceEmpty   = 0
	instanceSame    = 1
	instanceFollows = 2
)

// tagMemory is the tag of the memory in a report and in an assignment. It is a tagged field since few members carry one, and a reader
// may skip it by its length.
const tagMemory = 1

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

// flags returns the bits of the flags that are about the identity.
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

// checkTasks fails where a value has too many tasks to be read again. Readers have this bound because a few bytes may stand for any
// number of tasks; a writer that did not keep it would shut its own member out.
func (e *encoder) checkTasks(n int) {
	if n > MaxTasks {
		e.fail(ErrPayloadTooLarge, "%d tasks, at most %d", n, MaxTasks)
	}
}

// tags appends tags by key, unless there are none.
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

// taskLists appends those of the lists that are not empty, and returns what it appended: the memory has the lists of the assignments once
// more, in the same bytes, and does not encode them again.
func (e *encoder) taskLists(lists ...[]TaskID) []byte {
	begin := len(e.buf)
	for _, list := range lists {
		if len(list) > 0 {
			e.taskList(list)
		}
	}
	return e.buf[begin:]
}

// identity reads what a report or an assignment begins with. allowed are the flags that mean something. A flag that means nothing today
// is an error, and no field of a newer minor version: those are tagged.
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

// version returns the version, which follows where the flags cannot tell it.
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

// listIf reads a list of tasks where set is not 0, and returns it and its length.
func (d *decoder) listIf(set int) ([]TaskID, int) {
	if set == 0 {
		return nil, 0
	}
	return d.taskList()
}

// tags reads tags in the order of their keys, at least one.
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
