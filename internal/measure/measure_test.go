package measure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/measure"
)

// What is measured is answered right, and is what the name of the state says.
func TestCases(t *testing.T) {
	moves := map[string]int{measure.Join: 9, measure.Leave: 10, measure.Leave10: 10, measure.Drain: 10, measure.Handover: 9}
	for _, state := range measure.States {
		for _, standbys := range []int{0, 1} {
			c := measure.Case{State: state, Tasks: 100, Members: 10, Standbys: standbys}
			t.Run(c.String(), func(t *testing.T) {
				in, err := c.Input()
				require.NoError(t, err)
				answer, err := in.Assign()
				require.NoError(t, err)
				require.NoError(t, assignor.Check(in.Members, answer, in.Config))
				got := map[assignor.TaskID]bool{}
				for _, move := range answer.Moves {
					if move.Kind != assignor.MoveStandby {
						got[move.Task] = true
					}
				}
				require.Len(t, got, moves[state], "%v", answer.Moves)
			})
		}
	}
	_, err := measure.Case{State: "odd", Tasks: 100, Members: 10}.Input()
	require.ErrorContains(t, err, "odd")
}

func TestSteadyStays(t *testing.T) {
	for _, standbys := range []int{0, 1} {
		for _, c := range []measure.Case{{Tasks: 1000, Members: 10}, {Tasks: 1000, Members: 1000}, {Tasks: 10_000, Members: 100}} {
			c.State, c.Standbys = measure.Steady, standbys
			in, err := c.Input()
			require.NoError(t, err)
			answer, err := in.Assign()
			require.NoError(t, err)
			require.Empty(t, answer.Moves, "%v", c)
		}
	}
}

// In a steady group Assign answers what Floor writes.
func TestFloor(t *testing.T) {
	in, err := measure.Case{State: measure.Steady, Tasks: 1000, Members: 10}.Input()
	require.NoError(t, err)
	answer, err := in.Assign()
	require.NoError(t, err)
	for m, list := range measure.Floor(in.Members, in.Config.Topology) {
		require.Equal(t, answer.Members[m].Active, list)
	}
}

func TestRatio(t *testing.T) {
	turn := 0
	function := func(d time.Duration) measure.Function {
		return func() (time.Duration, error) {
			turn++
			return d * time.Duration(turn), nil
		}
	}
	times, err := measure.Sample(3, 0, function(1), function(10))
	require.NoError(t, err)
	require.Equal(t, [][]time.Duration{{1, 3, 5}, {20, 40, 60}}, times)
	require.Equal(t, time.Duration(3), measure.Median(times[0]))
	require.InDelta(t, 40.0/3, measure.Ratio(times[1], times[0]), 1e-9)

	slow := func() (time.Duration, error) { time.Sleep(3 * time.Millisecond); return 1, nil }
	times, err = measure.Sample(3, time.Millisecond, function(1), slow)
	require.NoError(t, err)
	require.Len(t, times[0], 3)
	require.Len(t, times[1], 1)

	wrong := errors.New("wrong")
	_, err = measure.Timed(func() error { return wrong })
	require.ErrorIs(t, err, wrong)
	calls := 0
	timed, err := measure.Timed(func() error { calls++; return nil })
	require.NoError(t, err)
	before := calls
	took, err := timed()
	require.NoError(t, err)
	require.Greater(t, calls-before, 1000)
	require.Less(t, took, time.Second)
}
