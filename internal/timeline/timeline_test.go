package timeline

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func task(i int) assignor.TaskID { return assignor.TaskID{Partition: int32(i)} }

func tasks(partitions ...int) []assignor.TaskID {
	var list []assignor.TaskID
	for _, p := range partitions {
		list = append(list, task(p))
	}
	return list
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
			owner[task(i)] = string(name)
		}
		assert.Equal(t, test.want, leastMoves(owner, strings.Split(test.after, "")), "%s -> %s", test.before, test.after)
	}
}

func TestShort(t *testing.T) {
	for want, list := range map[string][]assignor.TaskID{
		"":         nil,
		"7":        tasks(7),
		"1 2":      tasks(2, 1),
		"0-2 5 7":  tasks(0, 1, 2, 5, 7),
		"0-11":     tasks(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		"1 3 5 7":  tasks(1, 3, 5, 7),
		"1 2 8-10": tasks(8, 9, 10, 1, 2),
	} {
		assert.Equal(t, want, Short(list))
	}
}

// scaleUp plays: a runs four tasks, and b takes two of them over.
func scaleUp(t *testing.T, w *Watch) string {
	t.Helper()
	for i := range 4 {
		w.Started("a", task(i))
	}
	w.Stands(Standing{Instance: "a", Active: tasks(0, 1, 2, 3), Leads: true})
	var out bytes.Buffer
	require.NoError(t, w.Play(context.Background(), &out, 4, Act{"scale up", true, []string{"a", "b"}, func() error {
		w.Stands(Standing{Instance: "b", Learning: tasks(2, 3)})
		for _, i := range []int{2, 3} {
			w.Round()
			w.Stopped("a", task(i))
			w.Started("b", task(i))
			w.Processed("b", 100_000)
		}
		w.Stands(Standing{Instance: "b", Active: tasks(2, 3)})
		return nil
	}}))
	w.Summary(&out)
	return out.String()
}

func TestPlay(t *testing.T) {
	w := New()
	text := scaleUp(t, w)
	assert.Contains(t, text, "b        2 3                                             200000")
	assert.Regexp(t, `scale up +\d\.\ds +2 +2 +2 +\d\S* +200000`, text)
	for _, line := range strings.Split(text, "\n") {
		assert.LessOrEqual(t, len(line), 80, "%s", line)
	}
	require.NoError(t, w.Err(time.Minute))
	require.ErrorContains(t, w.Err(-1), "scale up: a task paused for")
	assert.Equal(t, "a", w.Leader())
}

func TestTwice(t *testing.T) {
	w := New()
	w.Started("a", task(0))
	w.Gone("a")
	w.Started("b", task(0))
	require.NoError(t, w.Err(0))
	w.Started("c", task(0))
	require.ErrorContains(t, w.Err(0), "0_0 ran on b and on c")
}

func TestPictureIsXML(t *testing.T) {
	w := New()
	scaleUp(t, w)
	text := w.svg(time.Now())
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}
