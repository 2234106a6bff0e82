package peers

import (
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// BenchmarkAdapter sets the leader step of the library's adapter for franz-go against franz-go's own (cooperative-sticky) in the
// same group: read what all members join with, decide, write what all of them get, the frames of Kafka's consumer protocol
// included. Both take turns, each round of the benchmark is one turn, and what counts is the processor's time. adapter/franz is
// the median of the turns' ratios.
//
//	go test -run '^$' -bench Adapter -benchtime 11x ./internal/peers
func BenchmarkAdapter(b *testing.B) {
	for _, size := range []measure.Case{{Tasks: 10_000, Members: 100}, {Tasks: 100_000, Members: 1000}} {
		for _, size.State = range []string{measure.Steady, measure.Join, measure.Leave} {
			b.Run(size.String(), func(b *testing.B) { benchmarkAdapter(b, size) })
		}
	}
}

func benchmarkAdapter(b *testing.B, c measure.Case) {
	b.Helper()
	in, err := c.Input()
	if err != nil {
		b.Fatal(err)
	}
	var functions []measure.Function
	for _, f := range []func(*measure.Input) (Round, error){Adapter, FranzLeader} {
		round, err := f(in)
		if err != nil {
			b.Fatal(err)
		}
		if err := round.Check(); err != nil {
			b.Fatal(err)
		}
		function, err := measure.Timed(round.Decide)
		if err != nil {
			b.Fatal(err)
		}
		functions = append(functions, function)
	}
	b.ResetTimer()
	times, err := measure.Sample(b.N, 0, functions...)
	if err != nil {
		b.Fatal(err)
	}
	ms := func(times []time.Duration) float64 { return float64(measure.Median(times)) / float64(time.Millisecond) }
	b.ReportMetric(ms(times[0]), "ms-adapter")
	b.ReportMetric(ms(times[1]), "ms-franz")
	b.ReportMetric(measure.Ratio(times[0], times[1]), "adapter/franz")
	b.ReportMetric(0, "ns/op") // both together, and collections
}
