package fence

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordOf reads a record in the notation of the package comment.
func recordOf(t *testing.T, offset int64, text string) *kgo.Record {
	t.Helper()
	who, what, _ := strings.Cut(text, " ")
	var r *kgo.Record
	switch who {
	case "F":
		r = fenceOf(t, what).record("log", 0)
	case "X":
		r = fenceOf(t, what).removal("log", 0)
	default:
		key, value, _ := strings.Cut(what, "=")
		r = &kgo.Record{Key: []byte(key)}
		if value != "" {
			r.Value = []byte(value)
		}
		if who != "-" {
			r.Headers = []kgo.RecordHeader{{Key: HeaderBy, Value: []byte(fenceOf(t, who).text())}}
		}
	}
	r.Offset = offset
	return r
}

func fenceOf(t *testing.T, text string) (f Fence) {
	t.Helper()
	_, err := fmt.Sscanf(text, "%d%s", &f.Epoch, &f.Writer)
	require.NoError(t, err, text)
	return f
}

func rowOf(f Fence) string { return fmt.Sprintf("%d%s", f.Epoch, f.Writer) }

// The rows of testdata, read in one go, and again with a restart from a checkpoint after every record.
func TestRows(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			playRows(t, string(text), false)
			playRows(t, string(text), true)
		})
	}
}

// The rows of the package comment are as true.
func TestRowsOfThePackageComment(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var c *Changelog
	rows := regexp.MustCompile(`(?m)^//\t(\d+) +(.*?)  +(\w+) +(\d\S+)(  .*)?$`).FindAllStringSubmatch(string(text), -1)
	for _, cols := range rows {
		if cols[1] == "0" {
			c = NewChangelog("log", 0, Checkpoint{})
		}
		v, err := c.Replay(recordOf(t, int64(cols[1][0]-'0'), cols[2]))
		require.NoError(t, err)
		assert.Equal(t, cols[3]+" "+cols[4], v.String()+" "+rowOf(c.InForce()), cols[0])
	}
	assert.Len(t, rows, 14)
}

var row = regexp.MustCompile(`^(\d+)  (.*?) +(\w+) +(\S+)$`)

func playRows(t *testing.T, text string, restart bool) {
	t.Helper()
	c, state := NewChangelog("log", 0, Checkpoint{}), map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch what, rest, _ := strings.Cut(line, " "); what {
		case "#":
		case "state":
			assert.Equal(t, rest, rowsOf(state))
		case "void":
			assert.Equal(t, rest, voidOf(c))
		default:
			cols := row.FindStringSubmatch(line)
			require.NotNil(t, cols, line)
			var offset int64
			_, err := fmt.Sscan(cols[1], &offset)
			require.NoError(t, err)
			r := recordOf(t, offset, cols[2])
			v, err := c.Replay(r)
			require.NoError(t, err)
			if v == Apply {
				put(state, r)
			}
			assert.Equal(t, cols[3]+" "+cols[4], v.String()+" "+rowOf(c.InForce()), line)
			if restart {
				c = throughJSON(t, c)
			}
		}
	}
	if !strings.Contains(text, "\nvoid ") {
		assert.Empty(t, voidOf(c))
	}
}

func rowsOf(state map[string]string) string {
	var rows []string
	for _, key := range slices.Sorted(maps.Keys(state)) {
		rows = append(rows, key+"="+state[key])
	}
	return strings.Join(rows, " ")
}

func voidOf(c *Changelog) string {
	var keys []string
	for _, key := range c.Checkpoint().Void {
		keys = append(keys, string(key))
	}
	return strings.Join(keys, " ")
}

// throughJSON returns a Changelog that begins at the checkpoint of another, written and read.
func throughJSON(t *testing.T, c *Changelog) *Changelog {
	t.Helper()
	text, err := json.Marshal(c.Checkpoint())
	require.NoError(t, err)
	var at Checkpoint
	require.NoError(t, json.Unmarshal(text, &at))
	require.Equal(t, c.Checkpoint(), at)
	return NewChangelog("log", 0, at)
}

// A header that nobody can read is an error that names the record, which is void; the log goes on.
func TestUnreadableHeaders(t *testing.T) {
	for _, value := range []string{"", "1", "x a", "0 a", "-1 a", "1 ", " a", "9223372036854775807 a", "99999999999999999999 a"} {
		c := NewChangelog("log", 3, Checkpoint{})
		for i, header := range []string{HeaderBy, HeaderFence} {
			v, err := c.Replay(&kgo.Record{Offset: int64(i), Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: header, Value: []byte(value)}}})
			assert.Equal(t, Void, v, value)
			require.ErrorIs(t, err, ErrStamp, value)
			require.ErrorContains(t, err, fmt.Sprintf("offset %d of log[3]", i))
		}
		v, err := c.Replay(recordOf(t, 2, "F 1a"))
		require.NoError(t, err)
		assert.Equal(t, Skip, v)
		assert.Equal(t, "1a", rowOf(c.InForce()))
	}
	twice := recordOf(t, 0, "1a k=1")
	twice.Headers = append(twice.Headers, twice.Headers[0])
	v, err := NewChangelog("log", 0, Checkpoint{}).Replay(twice)
	assert.Equal(t, Void, v)
	require.ErrorIs(t, err, ErrStamp)
}

// The headers of others are nobody's business.
func TestOtherHeaders(t *testing.T) {
	r := recordOf(t, 7, "1a k=1")
	r.Headers = append([]kgo.RecordHeader{{Key: "trace", Value: []byte("x")}}, r.Headers...)
	e, err := EntryOf(r)
	require.NoError(t, err)
	assert.Equal(t, Entry{Offset: 7, By: Fence{1, "a"}, Key: []byte("k")}, e)
}

// A log that is read again, or that is another one by now, must not go into the same store.
func TestReadAgain(t *testing.T) {
	c := NewChangelog("log", 0, Checkpoint{})
	_, err := c.Replay(recordOf(t, 5, "- k=1"))
	require.NoError(t, err)
	v, err := c.Replay(recordOf(t, 5, "- k=2"))
	require.ErrorIs(t, err, ErrRead)
	require.ErrorContains(t, err, "log[0]: offset 5")
	assert.Equal(t, Skip, v)
	assert.Equal(t, int64(6), c.Next())
}

// hold makes a Changelog take over, by its own record in the log.
func hold(t *testing.T, c *Changelog, offset int64) *Tenure {
	t.Helper()
	tenure, err := c.attempt("a")
	require.NoError(t, err)
	r := tenure.record("log", 0)
	r.Offset = offset
	_, err = c.Replay(r)
	require.NoError(t, err)
	require.True(t, tenure.held)
	c.withdraw()
	return tenure
}

// change stamps a change of the tenure, which the log has at an offset.
func change(t *testing.T, tenure *Tenure, offset int64, key string) *kgo.Record {
	t.Helper()
	r := &kgo.Record{Offset: offset, Key: []byte(key), Value: []byte("1")}
	require.NoError(t, tenure.Stamp(r))
	return r
}

// Who has lost the task with changes that were not read back has a store that is worth nothing, and is told so ever after; also
// after a restart. With everything read back it goes on as a copy.
func TestSpoilt(t *testing.T) {
	for _, unread := range []bool{false, true} {
		c := NewChangelog("log", 0, Checkpoint{})
		tenure := hold(t, c, 0)
		r := change(t, tenure, 1, "k")
		assert.True(t, c.Checkpoint().Dirty)
		if !unread {
			v, err := c.Replay(r)
			require.NoError(t, err)
			assert.Equal(t, Own, v)
			assert.False(t, c.Checkpoint().Dirty)
			require.NoError(t, tenure.Settle(t.Context()))
		}
		_, err := c.Replay(recordOf(t, 2, "F 7b"))
		<-tenure.Lost()
		require.ErrorIs(t, tenure.Stamp(&kgo.Record{}), ErrFenced)
		assert.Empty(t, tenure.Mend(nil))
		assert.Equal(t, unread, c.Checkpoint().Dirty)
		if !unread {
			require.NoError(t, err)
			v, err := c.Replay(recordOf(t, 3, "7b k=2"))
			require.NoError(t, err)
			assert.Equal(t, Apply, v)
			continue
		}
		require.ErrorIs(t, err, ErrSpoilt)
		require.ErrorContains(t, err, "log[0]: 1 changes under {1 a} were not read back before {7 b}")
		for _, c := range []*Changelog{c, throughJSON(t, c)} {
			v, err := c.Replay(recordOf(t, 3, "7b k=2"))
			require.ErrorIs(t, err, ErrSpoilt)
			assert.Equal(t, Skip, v)
			_, err = c.attempt("a")
			require.ErrorIs(t, err, ErrSpoilt)
		}
		require.ErrorIs(t, tenure.Settle(t.Context()), ErrSpoilt)
	}
}

// Each void key is written again once, and once more if it is void again. Fences are removed once no key is void.
func TestMend(t *testing.T) {
	c := NewChangelog("log", 0, Checkpoint{})
	for i, text := range []string{"F 1z", "1z k=1", "1z m=1", "F 2y", "1z k=2", "1z n=2"} {
		_, err := c.Replay(recordOf(t, int64(i), text))
		require.NoError(t, err)
	}
	tenure := hold(t, c, 6)
	state := map[string]string{"k": "1", "m": "1"}
	next := int64(7)
	replay := func(records ...*kgo.Record) {
		for _, r := range records {
			r.Offset = next
			next++
			_, err := c.Replay(r)
			require.NoError(t, err)
		}
	}
	mend := func() (records []*kgo.Record, rows string) {
		records = tenure.Mend(func(key []byte) []byte {
			if state[string(key)] == "" {
				return nil
			}
			return []byte(state[string(key)])
		})
		for _, r := range records {
			rows += strings.TrimPrefix(string(r.Key), keyPrefix) + "=" + string(r.Value) + " "
		}
		return records, rows
	}
	first, rows := mend()
	assert.Equal(t, "k=1 n= ", rows)
	assert.Nil(t, first[1].Value, "a tombstone, as the state has no n")
	_, rows = mend()
	assert.Empty(t, rows, "they are on their way")
	replay(first[0])
	_, rows = mend()
	assert.Empty(t, rows, "n is void yet, so the fences stay")
	replay(first[1], recordOf(t, 0, "1z k=3"))
	again, rows := mend()
	assert.Equal(t, "k=1 ", rows, "it is void again")
	replay(again...)
	removals, rows := mend()
	assert.Equal(t, "1 z= 2 y= ", rows)
	_, rows = mend()
	assert.Empty(t, rows)
	replay(removals...)
	assert.Empty(t, c.Checkpoint().Old)
	_, rows = mend()
	assert.Empty(t, rows)
	replay(recordOf(t, 0, "F 3w"))
	_, rows = mend()
	assert.Equal(t, "3 w= ", rows, "a fence that came too late goes too")
	require.NoError(t, tenure.Settle(t.Context()))
}

// An attempt that failed may have been written. The next one is higher, so that no two fences are the same.
func TestAttemptsAreHigher(t *testing.T) {
	c := NewChangelog("log", 0, Checkpoint{})
	for want := range int64(3) {
		tenure, err := c.attempt("a")
		require.NoError(t, err)
		assert.Equal(t, Fence{want + 1, "a"}, tenure.Fence)
	}
	_, err := c.Replay(recordOf(t, 0, "F 9b"))
	require.NoError(t, err)
	tenure, err := c.attempt("a")
	require.NoError(t, err)
	assert.Equal(t, Fence{10, "a"}, tenure.Fence)
	_, err = c.Replay(recordOf(t, 1, fmt.Sprintf("F %db", int64(maxEpoch))))
	require.NoError(t, err)
	_, err = c.attempt("a")
	require.ErrorContains(t, err, "begin a new changelog")
}

func TestVerdictString(t *testing.T) {
	assert.Equal(t, "skip apply own void Verdict(4) Verdict(-1)", fmt.Sprint(Skip, " ", Apply, " ", Own, " ", Void, " ", Verdict(4), " ", Verdict(-1)))
}

// Whatever the bytes are, a record is judged, and never panics; and every fence is read as it was written.
func FuzzEntryOf(f *testing.F) {
	f.Add("fence", []byte("1 a"), []byte("v"))
	f.Add("fenced-by", []byte("x"), []byte(nil))
	f.Fuzz(func(t *testing.T, header string, text, value []byte) {
		r := &kgo.Record{Value: value, Headers: []kgo.RecordHeader{{Key: header, Value: text}}}
		e, err := EntryOf(r)
		if err != nil {
			require.ErrorIs(t, err, ErrStamp)
			return
		}
		if e.By.Epoch > 0 {
			again, err := EntryOf(e.By.record("log", 0))
			require.NoError(t, err)
			require.Equal(t, e.By, again.By)
		}
	})
}
