package assignor

import "unsafe"

// Poison overwrites everything that the Assignor keeps for its next round, but what has pointers, so that a round which reads what it
// has not written goes wrong.
func (a *Assignor) Poison() {
	s := &a.scratch
	poison(&s.int32s)
	poison(&s.int64s)
	poison(&s.statuses)
	poison(&s.reasons)
	poison(&s.restorings)
	poison(&s.replicas)
	poison(&s.entries)
	poison(&s.newCopies)
	for i := range s.bools.block {
		s.bools.block[i] = true
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
	s := &a.scratch
	return kept(&s.int32s) + kept(&s.int64s) + kept(&s.bools) + kept(&s.statuses) + kept(&s.reasons) + kept(&s.restorings) +
		kept(&s.replicas) + kept(&s.entries) + kept(&s.newCopies) + kept(&s.memberRows) + kept(&s.instRows) +
		kept(&s.holderRows)
}

func kept[T any](a *arena[T]) int { return len(a.block) * int(unsafe.Sizeof(*new(T))) }
