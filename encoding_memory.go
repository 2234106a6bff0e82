package assignor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// memoryTasks returns how many tasks the encoding of a as a memory holds, at most: before it is known which are listed twice.
func memoryTasks(a *Assignment) int {
	n := 0
	for i := range a.Members {
		n += len(a.Members[i].Active) + len(a.Members[i].Revoke)
	}
	for i := range a.Departed {
		n += len(a.Departed[i].Tasks)
	}
	return n
}

// Bits of the flags of a memory and of each of its members, beside those that all kinds share.
const (
	flagMemberActive = 1 << 5
	flagMemberRevoke = 1 << 6
	memberFlags      = 1<<7 - 1

	flagDeparted     = 1 << 0
	flagMemoryFields = 1 << 7
	memoryFlags      = flagDeparted | flagMemoryFields
)

// memory appends what the leader must remember of a. That worker-1 on host-a ran 0_0 and 0_1, and worker-2 on host-b ran 0_2, is
//
//	31 00 08            header: a memory; flags: nobody departed; generation 8
//	02                  two instances:
//	00 06 host-a        no prefix, six bytes
//	05 01 b             five bytes of the one before it, and one more: host-b
//	02                  two members:
//	30 00 08 worker-1   flags: Active (bit 5), an index follows (2 << 3); the name
//	00 01 00 00         instance 0; a run from 0 on, two tasks
//	30 07 01 2          the same flags; seven bytes of the one before it, and one more: worker-2
//	01 00 02            instance 1; a single task, 2
//
// It is who took part, what each of them ran or had to stop, and who is awaited. Copies,
// moves and deadlines are left out, since members report the first and the next round computes the others. lists has the encoded lists of
// each of a.Members.
//
// Names are told by what they share with the name before them, instances in a table, since several members may have one. So members
// and departures are written in order, whatever order they have.
func (e *encoder) memory(a *Assignment, lists []memberLists) {
	order, departed := membersInOrder(a.Members), sortedDepartures(a.Departed)
	e.byte(kindMemory.header())
	e.byte(byte(flag(flagDeparted, len(departed) > 0)))
	e.uvarint(uint64(uint32(a.Generation)))
	instances := instanceTable(a.Members)
	e.uvarint(uint64(len(instances)))
	base := ""
	for _, instance := range instances {
		e.name(instance, base)
		base = instance
	}
	e.uvarint(uint64(len(order)))
	for i, m := range order {
		ma, previous := &a.Members[m], ""
		if i > 0 {
			if previous = a.Members[order[i-1]].Member; previous == ma.Member {
				e.who = ma.Member
				e.fail(ErrMember, "two members have this id")
			}
		}
		e.rememberMember(ma, previous, instances, lists[m])
	}
	e.departures(departed)
	if n := memoryTasks(a); n > MaxTasks {
		e.who = "memory"
		e.checkTasks(n)
	}
}

// memoryLists returns the encoded lists of each of the members. Encode does without it: it has encoded them for the payloads.
func memoryLists(members []MemberAssignment) ([]memberLists, error) {
	e, lists := encoder{}, make([]memberLists, len(members))
	for i := range members {
		ma := &members[i]
		e.who = ma.Member
		lists[i].active = e.taskLists(e.normal(ma.Active))
		lists[i].revoke = e.taskLists(e.normal(ma.Revoke))
	}
	return lists, e.err
}

// rememberMember appends one member of a memory. previous is the name of the one before it.
func (e *encoder) rememberMember(ma *MemberAssignment, previous string, instances []string, lists memberLists) {
	flags := identity{ma.Leaving, ma.Version, 0, ma.Member, ma.Instance}.flags() |
		flag(flagMemberActive, len(lists.active) > 0) | flag(flagMemberRevoke, len(lists.revoke) > 0)
	e.byte(byte(flags))
	e.name(ma.Member, previous)
	if flags>>flagInstanceShift&3 == instanceFollows {
		i, _ := slices.BinarySearch(instances, ma.Instance)
		e.uvarint(uint64(i))
	}
	if ma.Version >= versionFollows {
		e.byte(ma.Version)
	}
	e.buf = append(append(e.buf, lists.active...), lists.revoke...)
}

// instanceTable returns the names of instances that are not those of their members, in order.
func instanceTable(members []MemberAssignment) []string {
	var table []string
	for i := range members {
		if ma := &members[i]; ma.Instance != "" && ma.Instance != ma.Member {
			table = append(table, ma.Instance)
		}
	}
	slices.Sort(table)
	return slices.Compact(table)
}

// membersInOrder returns the indexes of the members by name; an assignment of Assign has them in order already.
func membersInOrder(members []MemberAssignment) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	byName := func(i, j int) int { return cmp.Or(cmp.Compare(members[i].Member, members[j].Member), i-j) }
	if !slices.IsSortedFunc(order, byName) {
		slices.SortFunc(order, byName)
	}
	return order
}

// sortedDepartures returns the departures by instance.
func sortedDepartures(departed []Departure) []Departure {
	sorted := slices.Clone(departed)
	slices.SortStableFunc(sorted, func(a, b Departure) int { return cmp.Compare(a.Instance, b.Instance) })
	return sorted
}

// departures appends the absent instances of a memory, if there are any.
func (e *encoder) departures(departed []Departure) {
	if len(departed) == 0 {
		return
	}
	e.uvarint(uint64(len(departed)))
	previous := ""
	for i, d := range departed {
		e.who = d.Instance
		if i > 0 && d.Instance == previous {
			e.fail(ErrMember, "this instance departed twice")
		}
		e.name(d.Instance, previous)
		previous = d.Instance
		e.uvarint(uint64(d.Absent))
		tasks := e.normal(d.Tasks)
		e.byte(byte(flag(1, len(tasks) > 0)))
		e.taskLists(tasks)
	}
}

// memory reads an Assignment.
func (d *decoder) memory() Assignment {
	a := d.memoryBody()
	d.finish()
	return a
}

// memoryBody reads an Assignment that other bytes may follow.
func (d *decoder) memoryBody() (a Assignment) {
	generation, flags := d.memoryHead()
	a.Generation = generation
	instances := d.instanceTable()
	a.Members = d.members(a.Generation, instances)
	if flags&flagDeparted != 0 {
		a.Departed = d.departures()
	}
	if flags&flagMemoryFields != 0 {
		d.fields(func(uint64) bool { return false })
	}
	return a
}

// memoryHead reads what a memory begins with. A leader that has a newer one reads no further (see wantsMemory).
func (d *decoder) memoryHead() (generation int32, flags int) {
	d.header(kindMemory)
	d.who = ""
	if flags = int(d.byte()); flags&^memoryFlags != 0 {
		d.fail("flags %#x", flags)
	}
	return int32(uint32(d.number(math.MaxUint32, "generation"))), flags
}

// instanceTable reads the names of instances, in order; a name twice, or an empty one, is an error.
func (d *decoder) instanceTable() []string {
	table := make([]string, d.count(2, "instances"))
	for i := range table {
		base := ""
		if i > 0 {
			base = table[i-1]
		}
		table[i] = d.name(base)
		if table[i] <= base {
			d.fail("instance %q follows %q", table[i], base)
		}
		if d.err != nil {
			return nil
		}
	}
	return table
}

// minMemberBytes is what a member of a memory takes at least: flags, prefix, length, and a byte that tells it from the one
// before it.
const minMemberBytes = 3

// members reads the members, in order. An instance in the table that no member names is an error, or the same memory could be written in
// two ways.
func (d *decoder) members(generation int32, instances []string) []MemberAssignment {
	n := d.count(minMemberBytes, "members")
	used := make([]bool, len(instances))
	var members []MemberAssignment
	if n > 0 {
		members = make([]MemberAssignment, n)
	}
	for i := range members {
		ma, base := &members[i], ""
		if i > 0 {
			base = members[i-1].Member
		}
		ma.Generation = generation
		d.member(ma, base, instances, used)
		if i > 0 && ma.Member <= base {
			d.fail("member %q follows %q", ma.Member, base)
		}
		if d.err != nil {
			return nil
		}
	}
	if slices.Contains(used, false) {
		d.fail("an instance without a member")
	}
	return members
}

// member reads one member of a memory, which follows the one called base.
func (d *decoder) member(ma *MemberAssignment, base string, instances []string, used []bool) {
	flags := int(d.byte())
	if flags&^memberFlags != 0 {
		d.fail("flags %#x", flags)
	}
	ma.Leaving = flags&flagLeaving != 0
	ma.Member = d.name(base)
	ma.Instance = d.instance(flags, ma.Member, func() string {
		i := d.number(uint64(len(instances)), "index of an instance")
		if i == uint64(len(instances)) {
			d.fail("index %d of %d instances", i, i)
			return ""
		}
		used[i] = true
		return instances[i]
	})
	ma.Version = d.version(flags)
	ma.Active, _ = d.listIf(flags & flagMemberActive)
	ma.Revoke, _ = d.listIf(flags & flagMemberRevoke)
}

// minDepartureBytes is what a departure takes at least: prefix, length, absence, flag. With this and minMemberBytes a count that the
// bytes left cannot hold is refused before anything is allocated for it.
const minDepartureBytes = 4

// departures reads the absent instances, in order, at least one: that there is none is told by the flags.
func (d *decoder) departures() []Departure {
	n := d.count(minDepartureBytes, "departures")
	if n == 0 {
		d.fail("no departures")
		return nil
	}
	departed := make([]Departure, n)
	for i := range departed {
		base := ""
		if i > 0 {
			base = departed[i-1].Instance
		}
		instance := d.name(base)
		if i > 0 && instance <= base {
			d.fail("departure of %q follows that of %q", instance, base)
		}
		departed[i].Instance = instance
		departed[i].Absent = time.Duration(d.uvarint())
		listed := d.number(1, "flag of a departure")
		departed[i].Tasks, _ = d.listIf(int(listed))
		if d.err != nil {
			return nil
		}
	}
	return departed
}
