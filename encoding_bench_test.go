//go:build go1.24

package assignor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/incremental-rebalance/assignor"
)

// BenchmarkEncodingSize prints a table of what all members' payloads take, without a memory, and all their reports, and what else
// there is:
//
//	go test -run '^$' -bench EncodingSize -benchtime 1x .
//
// bound is the information in the lists, each coded alone; ratio is the payloads without their members' names by it; uvarints
// codes the gaps so. streams are Kafka Streams' assignments and subscriptions.
func BenchmarkEncodingSize(b *testing.B) {
	var table strings.Builder
	row := "%-10s %9v %7v %7v %9v %8v %5v %8v %9v %9v %9v %9v\n"
	fmt.Fprintf(&table, "\n"+row, "spread", "tasks", "members", "subtops", "payloads", "bound", "ratio", "reports", "uvarints", "8 a task",
		"streams", "subscr.")
	for _, s := range []layout{randomSpread, contiguousSpread, roundRobinSpread} {
		for _, c := range []struct{ tasks, members, subtopologies int }{
			{10_000, 100, 10}, {100_000, 100, 10}, {100_000, 1000, 10}, {400_000, 1000, 10}, {700_000, 1000, 1}, {690_000, 1000, 10},
		} {
			name := fmt.Sprintf("spread=%s/tasks=%d/members=%d/subtopologies=%d", s.name, c.tasks, c.members, c.subtopologies)
			b.Run(name, func(b *testing.B) {
				a := spreadGroup(s, c.tasks, c.members, c.subtopologies)
				for b.Loop() {
					_, _ = a.EncodeMembers()
				}
				payloads, reports := payloadBytes(b, a), size(reportsOf(b, a))
				bound := boundOf(a, c.tasks/c.subtopologies)
				ratio := float64(payloads-bound.names) / bound.entropy
				b.ReportMetric(float64(payloads), "bytes/group")
				b.ReportMetric(ratio, "x-bound")
				fmt.Fprintf(&table, row, s.name, c.tasks, c.members, c.subtopologies, payloads, int(bound.entropy),
					fmt.Sprintf("%.2f", ratio), reports, bound.uvarints, bound.plain, bound.streams, bound.subscription)
			})
		}
	}
	fmt.Println(table.String())
}

// reportsOf returns what the members of an assignment report when they run their active tasks; as many as there are keepers echo it.
func reportsOf(b *testing.B, a *assignor.Assignment) (reports [][]byte) {
	b.Helper()
	for i, ma := range a.Members {
		m := assignor.Member{ID: ma.Member, Generation: ma.Generation, Active: ma.Active}
		if i < assignor.MemoryKeepers {
			m.Memory = a
		}
		data, err := m.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		reports = append(reports, data)
	}
	return reports
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

// BenchmarkDecodeReports reads all reports of a round: by themselves, with a ReportDecoder of a leader that has no memory, and with
// one of a leader that has it.
func BenchmarkDecodeReports(b *testing.B) {
	for _, s := range []layout{randomSpread, contiguousSpread, roundRobinSpread} {
		for _, c := range []struct{ tasks, members int }{{10_000, 100}, {100_000, 1000}} {
			a := spreadGroup(s, c.tasks, c.members, 10)
			reports := reportsOf(b, a)
			var r assignor.ReportDecoder
			for _, by := range []struct {
				name   string
				known  int32
				decode func(data []byte) (assignor.Member, error)
			}{
				{"UnmarshalBinary", 0, func(data []byte) (m assignor.Member, err error) { return m, m.UnmarshalBinary(data) }},
				{"ReportDecoder", 0, func(data []byte) (assignor.Member, error) { return r.Decode(data) }},
				{"ReportDecoder,known", a.Generation, func(data []byte) (assignor.Member, error) { return r.Decode(data) }},
			} {
				b.Run(fmt.Sprintf("spread=%s/tasks=%d/members=%d/by=%s", s.name, c.tasks, c.members, by.name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						r = assignor.ReportDecoder{Known: by.known}
						for _, data := range reports {
							if _, err := by.decode(data); err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			}
		}
	}
}
