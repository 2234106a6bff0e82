package assignor

// What the tests in package assignor_test see of the inside.

import "unsafe"

// Poison overwrites everything that the Assignor keeps for its next round, but what has pointers, so that a round which reads what it
// has not written goes wrong.
func (a *Assignor) Poison() {
	s := &a.space
	poison(&s.group.int32s)
	poison(&s.group.int64s)
	poison(&s.plan.statuses)
	poison(&s.plan.places)
	poison(&s.plan.reasons)
	poison(&s.copies.restorings)
	poison(&s.copies.replicas)
	poison(&s.copies.cells)
	poison(&s.lists.entries)
	poison(&s.lists.newCopies)
	for i := range s.group.bools.block {
		s.group.bools.block[i] = true
	}
}

func poison[T any](a *arena[T]) {
	for i := range a.block {
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&a.block[i])), unsafe.Sizeof(a.block[i]))
		for k := range bytes {
			bytes[k] = 0x7f
		}
	}
}

// Kept returns how many bytes the Assignor keeps.
func (a *Assignor) Kept() int {
	s := &a.space
	return bytesOfArena(&s.group.int32s) + bytesOfArena(&s.group.int64s) + bytesOfArena(&s.group.bools) +
		bytesOfArena(&s.group.memberRows) + bytesOfArena(&s.group.instanceRows) +
		bytesOfArena(&s.plan.statuses) + bytesOfArena(&s.plan.places) + bytesOfArena(&s.plan.reasons) +
		bytesOfArena(&s.copies.cells) + bytesOfArena(&s.copies.restorings) + bytesOfArena(&s.copies.replicas) +
		bytesOfArena(&s.lists.entries) + bytesOfArena(&s.lists.newCopies) +
		bytesOfArena(&s.history.rememberedRows)
}

func bytesOfArena[T any](a *arena[T]) int { return len(a.block) * int(unsafe.Sizeof(*new(T))) }

// EncodeMembers returns the payloads without any memory.
func (a *Assignment) EncodeMembers() ([][]byte, error) {
	payloads, _, err := a.encodeMembers()
	return payloads, err
}

// SkippedFields returns how many fields of the data have tags that nobody knows.
func SkippedFields(kind string, data []byte) int {
	d := newDecoder(data)
	switch kind {
	case "report":
		d.report()
	case "assignment":
		d.assignment()
	case "memory":
		d.memory()
	}
	return d.skipped
}
