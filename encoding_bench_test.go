//go:build go1.24

package assignor

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEncodingSize prints a table of what all members' payloads take, without a memory, and what else there is:
//
//	go test -run '^$' -bench EncodingSize -benchtime 1x
func BenchmarkEncodingSize(b *testing.B) {
	var table strings.Builder
	row := "%-10s %9v %7v %8v %9v %9v %6v %9v %9v %9v\n"
	fmt.Fprintf(&table, "\n"+row, "spread", "tasks", "members", "subtops", "bytes", "bound", "ratio", "uvarints", "8 a task", "streams")
	for _, s := range []layout{randomSpread, contiguousSpread, roundRobinSpread} {
		for _, c := range []struct{ tasks, members, subtopologies int }{
			{10_000, 100, 10}, {100_000, 100, 10}, {100_000, 1000, 10}, {400_000, 1000, 10}, {700_000, 1000, 1}, {700_000, 1000, 10},
		} {
			name := fmt.Sprintf("spread=%s/tasks=%d/members=%d/subtopologies=%d", s.name, c.tasks, c.members, c.subtopologies)
			b.Run(name, func(b *testing.B) {
				a := spreadGroup(s, c.tasks, c.members, c.subtopologies)
				bytes := payloadBytes(b, a)
				bound := boundOf(a, c.tasks/c.subtopologies)
				for b.Loop() {
					_, _, _ = a.encodeMembers()
				}
				ratio := (float64(bytes) - float64(bound.names)) / bound.entropy
				b.ReportMetric(float64(bytes), "bytes/group")
				b.ReportMetric(ratio, "x-bound")
				fmt.Fprintf(&table, row, s.name, c.tasks, c.members, c.subtopologies, bytes, int(bound.entropy), fmt.Sprintf("%.2f", ratio),
					bound.uvarints, bound.plain, bound.streams)
			})
		}
	}
	fmt.Println(table.String())
}

func BenchmarkEncode(b *testing.B) {
	for _, s := range []layout{randomSpread, contiguousSpread, roundRobinSpread} {
		for _, c := range []struct{ tasks, members int }{{10_000, 100}, {100_000, 1000}} {
			b.Run(fmt.Sprintf("spread=%s/tasks=%d/members=%d", s.name, c.tasks, c.members), func(b *testing.B) {
				a := spreadGroup(s, c.tasks, c.members, 10)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := a.Encode(0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkDecodeReports(b *testing.B) {
	for _, s := range []layout{randomSpread, contiguousSpread, roundRobinSpread} {
		for _, c := range []struct{ tasks, members int }{{10_000, 100}, {100_000, 1000}} {
			b.Run(fmt.Sprintf("spread=%s/tasks=%d/members=%d", s.name, c.tasks, c.members), func(b *testing.B) {
				var reports [][]byte
				for _, ma := range spreadGroup(s, c.tasks, c.members, 10).Members {
					data, err := Member{ID: ma.Member, Generation: ma.Generation, Active: ma.Active}.MarshalBinary()
					if err != nil {
						b.Fatal(err)
					}
					reports = append(reports, data)
				}
				b.ReportAllocs()
				for b.Loop() {
					for _, data := range reports {
						var m Member
						if err := m.UnmarshalBinary(data); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
