//go:build !race

package assignor_test

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// The race detector allocates too, so that these tests are not for it.
//
// What Assign may allocate: how often, beside a constant, a member, however many tasks there are; and how many bytes of index a task
// and a copy, beside twice the answer's own size. The index are the arrays by task and by copy in which a round is worked out:
// whose the task is and was, why, who learns it, which copies there are and which stay.
const (
	allocsInAnyCase = 300
	allocsPerMember = 3
	bytesInAnyCase  = 16 << 10
	bytesPerMember  = 256
	bytesPerTask    = 48
)

// TestAllocationsOfSiblings is TestAllocations with several members on each instance.
func TestAllocationsOfSiblings(t *testing.T) {
	for _, state := range measure.States {
		for _, siblings := range []int{2, 5} {
			c := measure.Case{State: state, Tasks: 32_000, Members: 100, Standbys: 1}
			t.Run(fmt.Sprintf("%v/siblings=%d", c, siblings), func(t *testing.T) {
				in, err := c.Input()
				require.NoError(t, err)
				for i := range in.Members {
					in.Members[i].Instance = fmt.Sprintf("host-%03d", i/siblings)
				}
				if in.Memory != nil {
					for i := range in.Memory.Members {
						in.Memory.Members[i].Instance = fmt.Sprintf("host-%03d", i/siblings)
					}
				}
				checkAllocationsOf(t, c, in)
			})
		}
	}
}

// TestAllocations: neither of two groups with the same members allocates more often than the members allow, and the bytes are those
// of the answer and of the index. Clocks differ, allocations do not.
func TestAllocations(t *testing.T) {
	for _, state := range measure.States {
		for _, standbys := range []int{0, 1} {
			for _, tasks := range []int{4000, 32_000} {
				c := measure.Case{State: state, Tasks: tasks, Members: 100, Standbys: standbys}
				t.Run(c.String(), func(t *testing.T) { checkAllocations(t, c) })
			}
		}
	}
}

func checkAllocations(t *testing.T, c measure.Case) {
	t.Helper()
	in, err := c.Input()
	require.NoError(t, err)
	checkAllocationsOf(t, c, in)
}

func checkAllocationsOf(t *testing.T, c measure.Case, in *measure.Input) {
	t.Helper()
	var answer *assignor.Assignment
	var err error
	allocs := testing.AllocsPerRun(1, func() { answer, err = in.Assign() })
	require.NoError(t, err)
	require.LessOrEqual(t, int(allocs), allocsInAnyCase+allocsPerMember*len(in.Members), "allocations")

	bytes := bytesOf(func() { answer, err = in.Assign() })
	index := bytesPerTask*(c.Tasks+copiesIn(in, answer)) + bytesPerMember*len(in.Members) + bytesInAnyCase
	require.LessOrEqual(t, bytes, 2*sizeOf(answer)+index, "bytes; the answer takes %d", sizeOf(answer))
}

// bytesOf returns what f allocates.
func bytesOf(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// sizeOf is what an answer takes itself.
func sizeOf(a *assignor.Assignment) int {
	size := int(unsafe.Sizeof(*a)) + len(a.Moves)*int(unsafe.Sizeof(assignor.Move{}))
	for i := range a.Members {
		ma := &a.Members[i]
		tasks := len(ma.Active) + len(ma.Handover) + len(ma.Revoke) + len(ma.Learners) + len(ma.Standbys)
		size += int(unsafe.Sizeof(*ma)) + tasks*int(unsafe.Sizeof(assignor.TaskID{}))
	}
	return size
}

// copiesIn counts the copies that are reported or handed out, whichever are more.
func copiesIn(in *measure.Input, a *assignor.Assignment) int {
	reported, given := 0, 0
	for i := range in.Members {
		reported += len(in.Members[i].Learners) + len(in.Members[i].Standbys)
	}
	for i := range a.Members {
		given += len(a.Members[i].Learners) + len(a.Members[i].Standbys)
	}
	return max(reported, given)
}

// TestAssignorAllocations: beside its answer, a round like the last ones allocates only lists whose length shows as they grow.
func TestAssignorAllocations(t *testing.T) {
	for _, state := range measure.States {
		for _, standbys := range []int{0, 1} {
			c := measure.Case{State: state, Tasks: 32_000, Members: 100, Standbys: standbys}
			t.Run(c.String(), func(t *testing.T) {
				in, err := c.Input()
				require.NoError(t, err)
				var decider assignor.Assignor
				var answer *assignor.Assignment
				bytes := 0
				for range 3 { // what the first wanted, the second makes and the third uses
					bytes = bytesOf(func() { answer, err = decider.Assign(in.Members, in.Memory, in.Config) })
					require.NoError(t, err)
				}
				require.LessOrEqual(t, bytes, sizeOf(answer)+16*c.Tasks+bytesPerMember*c.Members+bytesInAnyCase, "bytes; the answer takes %d", sizeOf(answer))
			})
		}
	}
}
