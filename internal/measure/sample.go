package measure

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A Function runs what is to be measured once and returns the processor time it took.
type Function func() (time.Duration, error)

// Timed makes a Function of f, which it calls at once to find how often f has to run to take at least 10 ms: then each sample has its
// share of what the function's own garbage costs. The garbage of others is collected before.
func Timed(f func() error) (Function, error) {
	const enough = 10 * time.Millisecond
	times := 1
	for {
		took, err := run(f, times)
		if err != nil {
			return nil, err
		}
		if took >= enough {
			break
		}
		times = 1 + int(float64(times)*1.2*float64(enough)/float64(max(took, time.Microsecond)))
	}
	return func() (time.Duration, error) {
		runtime.GC()
		took, err := run(f, times)
		return took / time.Duration(times), err
	}, nil
}

func run(f func() error, times int) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := now()
	for range times {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return now() - start, nil
}

// Sample runs each function once a round, one after the other, and returns their times by function and round. A function that has
// run for longer than limit in all takes part in no further round; one with no limit, 0, in all.
func Sample(rounds int, limit time.Duration, functions ...Function) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(functions))
	spent := make([]time.Duration, len(functions))
	for range rounds {
		for i, f := range functions {
			if limit > 0 && spent[i] > limit {
				continue
			}
			start := time.Now()
			took, err := f()
			spent[i] += time.Since(start)
			if err != nil {
				return nil, fmt.Errorf("function %d: %w", i, err)
			}
			times[i] = append(times[i], took)
		}
	}
	return times, nil
}

// Median returns the middle of the times, the longer one of two; 0 of none.
func Median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	return sorted[len(times)/2]
}

// Ratio returns the median of a/b, taken round by round, as both ran under the same conditions then; 0 of none.
func Ratio(a, b []time.Duration) float64 {
	n := min(len(a), len(b))
	if n == 0 {
		return 0
	}
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = float64(a[i]) / float64(b[i])
	}
	slices.Sort(ratios)
	return ratios[n/2]
}
