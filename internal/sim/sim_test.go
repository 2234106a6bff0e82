package sim

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func parse(t *testing.T, lines ...string) *Spec {
	t.Helper()
	spec, err := Parse("test", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return spec
}

func play(t *testing.T, spec *Spec, v Variant) *Result {
	t.Helper()
	r, err := Run(spec, v, nil)
	require.NoError(t, err)
	return r
}

// TestSpecs plays every spec of testdata/simulate under all its variants and (not with -short) the baselines, twice: the results are equal to the
// byte, and what cannot be is not.
func TestSpecs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/simulate/*.sim")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			spec, err := Parse(file, text)
			require.NoError(t, err)
			assert.NotEmpty(t, spec.Title)
			variants := spec.Variants
			if !testing.Short() {
				variants = append(variants, Baselines(variants[0])...)
			}
			for _, v := range variants {
				checkResult(t, spec, play(t, spec, v), play(t, spec, v))
			}
		})
	}
}

func checkResult(t *testing.T, spec *Spec, r, again *Result) {
	t.Helper()
	first, err := json.Marshal(r)
	require.NoError(t, err)
	second, err := json.Marshal(again)
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second), r.Variant)
	assert.Equal(t, r.Timeline, again.Timeline, r.Variant)

	var page bytes.Buffer
	require.NoError(t, WritePage(&page, "test", spec, []*Result{r}))
	assert.NotContains(t, page.String(), "NaN")

	rounds := 0
	for _, row := range r.Events {
		rounds += row.Rounds
		if row.Minimum >= 0 && row.Balanced >= 0 {
			assert.GreaterOrEqual(t, row.Moved, row.Minimum, "%s: %s", r.Variant, row.Event)
		}
	}
	assert.Equal(t, r.Total.Rounds, rounds, r.Variant)
	if r.Protocol == Learners.String() {
		assert.NotEqual(t, time.Duration(-1), r.Total.Balanced, "%s ends out of balance", r.Variant)
		assert.NotEqual(t, time.Duration(-1), r.Total.Standbys, "%s ends with too few standbys", r.Variant)
	}
}

// One instance joins two, by hand: six tasks of 1 GB, two of them move, at 50 MB/s in all.
func TestScaleOutByHand(t *testing.T) {
	spec := parse(t, "instances 2", "subtopology 0 partitions=6 size=1GB", "costs heartbeat=1s poll=100ms sync=300ms open=500ms", "at 1m add 1")
	r := play(t, spec, spec.Variants[0])
	require.Len(t, r.Events, 1)
	row := r.Events[0]
	assert.Equal(t, 2, row.Rounds)
	assert.Equal(t, 2, row.Moved)
	assert.Equal(t, 2, row.Minimum)
	assert.Equal(t, int64(2e9), row.Restored)
	assert.Zero(t, row.Unplanned)
	assert.InDelta(t, 2*40, row.Overload.Seconds(), 4, "two tasks too many, until they stop in order to move")

	// Both copies share 50 MB/s, so they take 40 s; then a round of at most 1.4 s, and half a second to open.
	assert.InDelta(t, 41.5, row.Balanced.Seconds(), 1.8)
	assert.LessOrEqual(t, row.Worst, 1900*time.Millisecond)
	assert.Equal(t, 50, row.PeakImbalance)

	// Where everything stops, and what moves restores: 40 s and the round for two tasks, the round for the others.
	world := play(t, spec, Baselines(spec.Variants[0])[0])
	assert.InDelta(t, 80, world.Total.Planned.Seconds(), 12)
	assert.InDelta(t, 41, world.Total.Worst.Seconds(), 2)
}

func TestBandwidthIsShared(t *testing.T) {
	spec := parse(t, "instances 3", "subtopology 0 partitions=9 size=1GB", "costs restore=60MB/s broker=100MB/s", "at 1m add 1")
	r := newRun(spec, spec.Variants[0])
	for _, in := range r.instances {
		in.up = true
	}
	for _, at := range []copyRef{{0, 0}, {1, 1}, {1, 2}, {1, 3}} {
		r.startCopy(at, learner)
	}
	r.shareBandwidth()
	assert.Equal(t, []int64{40_000, 20_000, 20_000, 20_000}, r.rates, "S2's copies share 60 MB/s, and S1 gets what the broker has left")
	r.v.Costs.Broker = 0
	r.shareBandwidth()
	assert.Equal(t, []int64{60_000, 20_000, 20_000, 20_000}, r.rates)
	r.v.Costs.Broker = 40e6
	r.shareBandwidth()
	assert.Equal(t, []int64{10_000, 10_000, 10_000, 10_000}, r.rates)
}

// A copy left on a disk replays what it missed, at most the whole state.
func TestDiskThatMissedSomething(t *testing.T) {
	lost := parse(t, "instances 3", "subtopology 0 partitions=3 size=2GB write=1MB/s", "at 1m restart S3 down=100s disk=lost", "config rejoinDelay=1h")
	kept := parse(t, "instances 3", "subtopology 0 partitions=3 size=2GB write=1MB/s", "at 1m restart S3 down=100s", "config rejoinDelay=1h")
	moved := parse(t, "instances 3", "subtopology 0 partitions=3 size=2GB write=1MB/s", "at 1m restart S3 down=100s")
	assert.Equal(t, int64(2e9), play(t, lost, lost.Variants[0]).Total.Restored)
	assert.Zero(t, play(t, kept, kept.Variants[0]).Total.Restored, "nobody wrote meanwhile")
	r := play(t, moved, moved.Variants[0])
	assert.Greater(t, r.Total.Restored, int64(2e9), "another restores all of it, and S3 what it missed")
	assert.Less(t, r.Total.Restored, int64(23e8))
}

// The leader dies in each phase, and its memory is recovered from those that carry it: who waits for an instance still does.
func TestLeaderDiesInEachPhase(t *testing.T) {
	for _, phase := range []string{"join", "sync", "learn"} {
		spec := parse(t, "instances 5", "subtopology 0 partitions=20 size=1GB", "at 1m add 1", "at 1m crash leader phase="+phase)
		r := play(t, spec, spec.Variants[0])
		assert.GreaterOrEqual(t, r.Total.Worst, 45*time.Second, phase)
		assert.NotEqual(t, time.Duration(-1), r.Total.Balanced, phase)
	}
}

func TestStaticMembersAreNotMissed(t *testing.T) {
	spec := parse(t, "instances 4 static", "subtopology 0 partitions=8 size=1GB", "at 1m restart S2 down=30s")
	r := play(t, spec, spec.Variants[0])
	assert.Zero(t, r.Total.Rounds)
	assert.Equal(t, 2*30500*time.Millisecond, r.Total.Planned)
}

func TestBaselinesAreWhatTheyAreCalled(t *testing.T) {
	spec := parse(t, "instances 4", "subtopology 0 partitions=40 size=1GB", "at 1m add 1")
	all := map[string]*Result{}
	for _, v := range Baselines(spec.Variants[0]) {
		all[v.Name] = play(t, spec, v)
		assert.Equal(t, 8, all[v.Name].Total.Moved, v.Name)
	}
	worst := func(name string) float64 { return all[name].Total.Worst.Seconds() }
	assert.Greater(t, worst("stop-the-world"), 100.0)
	assert.Greater(t, worst("cooperative-sticky"), 100.0)
	assert.Less(t, worst("warm-up"), 3.0)
	assert.Equal(t, 1, all["stop-the-world"].Total.Rounds)
	assert.Equal(t, 2, all["cooperative-sticky"].Total.Rounds)
	assert.Equal(t, 9, all["warm-up"].Total.Rounds, "one, and for each of four pairs one that looks and one that moves")
	assert.InDelta(t, 40, all["warm-up"].Total.Balanced.Minutes(), 1, "four times ten minutes")
	running := func(name string) int {
		low := 40
		for _, p := range all[name].Timeline.Points {
			low = min(low, p.Running)
		}
		return low
	}
	assert.Zero(t, running("stop-the-world"))
	assert.Equal(t, 32, running("cooperative-sticky"))
}

func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"instances":                           "how many?",
		"instances x":                         `"x" is no number of instances`,
		"instances 3 size=1GB":                "no such key: size",
		"subtopology 0 partitions=3 size=1XB": "is no size",
		"config standbys=many":                "standbys=many",
		"variant a protocol=best":             "want one of learners, stop-the-world",
		"at 10m":                              "want a time and what happens",
		"at soon add 1":                       `"soon" is no time`,
		"at 10m explode S1":                   "want one of",
		"at 10m crash":                        "crash whom?",
		"at 10m restart S1":                   "down= for how long?",
		"at 10m drain T1":                     "names no instances",
		"hello":                               "no such word: hello",
		"end 1us":                             "whole milliseconds",
	} {
		_, err := Parse("file", []byte("instances 3\n"+line))
		if assert.Error(t, err, line) {
			assert.ErrorContains(t, err, "file:2: ", line)
			assert.ErrorContains(t, err, want, line)
		}
	}
	_, err := Parse("file", nil)
	require.ErrorContains(t, err, "no instances")
	_, err = Parse("file", []byte("instances 1\nsubtopology 0 partitions=1\nconfig standbys=-1"))
	require.ErrorIs(t, err, assignor.ErrConfig)
}

func TestFormats(t *testing.T) {
	assert.Equal(t, "0.4 s", formatTime(400*time.Millisecond))
	assert.Equal(t, "103 s", formatTime(103*time.Second))
	assert.Equal(t, "12 min", formatTime(12*time.Minute))
	assert.Equal(t, "3.5 h", formatTime(210*time.Minute))
	assert.Equal(t, "999 B", formatBytes(999))
	assert.Equal(t, "1.5 KB", formatBytes(1500))
	assert.Equal(t, "210 GB", formatBytes(210e9))
	assert.Equal(t, "1.2 TB", formatBytes(1234e9))
}
