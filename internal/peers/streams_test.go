package peers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

// Kafka Streams decides every case, and says so where it cannot.
func TestStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Maven and Java")
	}
	ctx := t.Context()
	s, err := NewStreams(ctx)
	if errors.Is(err, ErrNoJava) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if s.Kafka == "" || s.Java == "" {
		t.Errorf("versions %q and %q", s.Kafka, s.Java)
	}
	for _, name := range []string{HighAvailability, Sticky} {
		for _, state := range []string{measure.Cold, measure.Steady, measure.Join, measure.Leave, measure.Leave10, measure.Drain} {
			for standbys := range 2 {
				c := measure.Case{State: state, Tasks: 100, Members: 10, Standbys: standbys}
				if took, err := s.Time(ctx, name, c, time.Minute); err != nil || took <= 0 {
					t.Errorf("%s, %v: %v, %v", name, c, took, err)
				}
			}
		}
	}
	testStreamsEnds(ctx, t, s)
	if _, err := s.Time(ctx, "nobody", joins, time.Minute); err == nil {
		t.Error("nobody decides")
	}
	large := measure.Case{State: measure.Steady, Tasks: 10_000, Members: 100} // takes a second
	if _, err := s.Time(ctx, HighAvailability, large, time.Nanosecond); !errors.Is(err, ErrTooSlow) {
		t.Errorf("without any time: %v", err)
	}
	if _, err := s.Time(ctx, HighAvailability, joins, time.Minute); err != nil {
		t.Errorf("after a process was stopped: %v", err)
	}
}

func testStreamsEnds(ctx context.Context, t *testing.T, s *Streams) {
	t.Helper()
	for _, c := range []struct {
		name string
		measure.Case
		want Settled
	}{
		{HighAvailability, joins, Settled{Rounds: 41, Moves: 80}},
		{HighAvailability, leaves, Settled{Rounds: 31, Moves: 80, Cold: 20}},
		{HighAvailability, withStandby(joins), Settled{Rounds: 61, Moves: 160}},
		{Sticky, joins, Settled{Rounds: 1, Moves: 20, Cold: 20}},
		{Sticky, leaves, Settled{Rounds: 1, Moves: 20, Cold: 20}},
		{Sticky, withStandby(joins), Settled{Rounds: 1, Moves: 20, Cold: 20}},
	} {
		if got, err := s.Settle(ctx, c.name, c.Case, time.Minute); err != nil || got != c.want {
			t.Errorf("%s, %v: %+v, %v, want %+v", c.name, c.Case, got, err, c.want)
		}
	}
}
