package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The whole story, on a cluster in this process.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	picture := filepath.Join(t.TempDir(), "timeline.svg")
	begun := time.Now()
	require.NoError(t, run(t.Context(), options{
		partitions: 12, rate: 6000, svg: picture, group: "g", input: "in", changelog: "log",
		pause: 5 * time.Second, // other tests may have the processors
	}))
	t.Logf("took %v", time.Since(begun).Round(time.Millisecond))
}

func TestLeastMoves(t *testing.T) {
	for _, test := range []struct {
		before string // who runs each task
		after  string
		want   int
	}{
		{"aaaaaabbbbbb", "abcd", 6},
		{"aaabbbcccddd", "bcde", 3},
		{"aaabbbcccddd", "bcd", 3},
		{"aaaabbbbcccc", "bc", 4},
		{"aab", "ab", 0},
		{"aaaab", "ab", 1},
	} {
		owner := map[assignor.TaskID]string{}
		for i, name := range test.before {
			owner[assignor.TaskID{Partition: int32(i)}] = string(name)
		}
		assert.Equal(t, test.want, leastMoves(owner, strings.Split(test.after, "")), "%s -> %s", test.before, test.after)
	}
}

func TestPictureIsXML(t *testing.T) {
	w := newWatch()
	for i := range 4 {
		task := assignor.TaskID{Partition: int32(i)}
		w.started("a", task)
		w.begin(spanKey{task, "b", true})
		w.stopped("a", task)
		w.started("b", task)
	}
	w.begins("scale up", true, []string{"a", "b"})
	w.ends()
	decoder := xml.NewDecoder(strings.NewReader(w.svg(time.Now())))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(fmt.Errorf("%w in %s", err, w.svg(time.Now())))
		}
	}
}
