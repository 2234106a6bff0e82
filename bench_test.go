//go:build go1.24

package assignor_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

var benchTasks = flag.Int("bench-tasks", 100_000, "the most tasks in a benchmark of Assign, 1000 to 1000000; with -short it is 1000")

// BenchmarkAssign decides one round of each case of package measure, from 1 000 tasks on 10 members to 1 000 000 on 10 000, as far as
// -bench-tasks and -short allow. Beside what it takes it reports x-floor, how many times [measure.Floor] that is: the median of up
// to 11 rounds in which both ran in turn.
func BenchmarkAssign(b *testing.B) {
	benchSizes(func(tasks, members int) {
		for _, state := range measure.States {
			for _, standbys := range []int{0, 1} {
				c := measure.Case{State: state, Tasks: tasks, Members: members, Standbys: standbys}
				b.Run(c.String(), func(b *testing.B) { benchAssign(b, c) })
			}
		}
	})
}

// BenchmarkRecover rebuilds the memory from what the members of a quiet group report.
func BenchmarkRecover(b *testing.B) {
	benchSizes(func(tasks, members int) {
		c := measure.Case{State: measure.Steady, Tasks: tasks, Members: members}
		in, err := c.Input()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.String(), func(b *testing.B) {
			for b.Loop() {
				assignor.Recover(in.Members)
			}
		})
	})
}

func benchAssign(b *testing.B, c measure.Case) {
	b.Helper()
	in, err := c.Input()
	if err != nil {
		b.Fatal(err)
	}
	assign := func() error {
		_, err := in.Assign()
		return err
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := assign(); err != nil {
			b.Fatal(err)
		}
	}
	ratio, err := ratioOf(assign, floorOf(c), min(b.N, 11))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ratio, "x-floor")
}

// ratioOf returns how many times what other takes f takes, by the median of some rounds.
func ratioOf(f, other func() error, rounds int) (float64, error) {
	timedOther, err := measure.Timed(other)
	if err != nil {
		return 0, err
	}
	timed, err := measure.Timed(f)
	if err != nil {
		return 0, err
	}
	times, err := measure.Sample(rounds, 0, timed, timedOther)
	if err != nil {
		return 0, err
	}
	return measure.Ratio(times[0], times[1]), nil
}

// floorOf returns the floor of the case's group before the event.
func floorOf(c measure.Case) func() error {
	c.State, c.Standbys = measure.Steady, 0
	in, err := c.Input()
	return func() error {
		if err == nil && len(measure.Floor(in.Members, in.Config.Topology)) != c.Members {
			return fmt.Errorf("%v: lost a member", c)
		}
		return err
	}
}

// BenchmarkFloor is what any assignor has to do at least.
func BenchmarkFloor(b *testing.B) {
	benchSizes(func(tasks, members int) {
		b.Run(fmt.Sprintf("members=%d/tasks=%d", members, tasks), func(b *testing.B) {
			floor := floorOf(measure.Case{Tasks: tasks, Members: members})
			b.ReportAllocs()
			for b.Loop() {
				if err := floor(); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func benchSizes(each func(tasks, members int)) {
	most := *benchTasks
	if testing.Short() {
		most = 1000
	}
	for tasks := 1000; tasks <= most; tasks *= 10 {
		for members := 10; members <= min(tasks, 10_000); members *= 10 {
			each(tasks, members)
		}
	}
}

// BenchmarkAssignor is BenchmarkAssign with an Assignor that has decided such a round before. x-assign is how many times what Assign
// takes that is: the median of up to 11 rounds in which both ran in turn.
func BenchmarkAssignor(b *testing.B) {
	benchSizes(func(tasks, members int) {
		for _, state := range measure.States {
			for _, standbys := range []int{0, 1} {
				c := measure.Case{State: state, Tasks: tasks, Members: members, Standbys: standbys}
				b.Run(c.String(), func(b *testing.B) { benchAssignor(b, c) })
			}
		}
	})
}

func benchAssignor(b *testing.B, c measure.Case) {
	b.Helper()
	in, err := c.Input()
	if err != nil {
		b.Fatal(err)
	}
	var decider assignor.Assignor
	again := func() error {
		_, err := decider.Assign(in.Members, in.Memory, in.Config)
		return err
	}
	anew := func() error {
		_, err := in.Assign()
		return err
	}
	if err := again(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := again(); err != nil {
			b.Fatal(err)
		}
	}
	ratio, err := ratioOf(again, anew, min(b.N, 11))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ratio, "x-assign")
}
