package assignor_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// TestEncodingGolden reads testdata/encoding, which documents the format and never changes. A step is a line with the kind of
// value, lines of bytes in hex and what they mean, "----" and what they decode to. Unless the first line ends in "newer" (it
// holds fields that this version skips) the value is encoded in the very same bytes. Cut short anywhere the bytes are an error.
func TestEncodingGolden(t *testing.T) {
	for _, step := range goldenSteps(t) {
		t.Run(step.name, func(t *testing.T) {
			got, again, err := decodeAny(step.kind, step.data)
			if err != nil {
				assert.Equal(t, step.want, "error: "+err.Error())
				return
			}
			assert.Equal(t, step.want, got)
			if !step.newer {
				assert.Equal(t, hex.EncodeToString(step.data), hex.EncodeToString(again))
			}
			for n := range step.data {
				_, _, err := decodeAny(step.kind, step.data[:n:n])
				require.ErrorIs(t, err, assignor.ErrCorrupt, "the first %d of %d bytes", n, len(step.data))
			}
			_, _, err = decodeAny(step.kind, append(slices.Clone(step.data), 0))
			require.ErrorIs(t, err, assignor.ErrCorrupt, "one byte too many")
		})
	}
}

type goldenStep struct {
	name, kind string
	newer      bool
	data       []byte
	want       string
}

func goldenSteps(tb testing.TB) (steps []goldenStep) {
	tb.Helper()
	files, err := filepath.Glob("testdata/encoding/*.hex")
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(tb, err)
		line := 1
		for _, block := range strings.SplitAfter(string(content), "\n\n") {
			if step, ok := parseGolden(tb, block); ok {
				step.name = fmt.Sprintf("%s:%d", filepath.Base(file), line)
				steps = append(steps, step)
			}
			line += strings.Count(block, "\n")
		}
	}
	return steps
}

// hexGroup is a group of bytes, before the words that say what it means.
var hexGroup = regexp.MustCompile(`^([0-9a-f]{2}( [0-9a-f]{2})*)(  .*)?$`)

func parseGolden(tb testing.TB, block string) (step goldenStep, ok bool) {
	tb.Helper()
	input, output, ok := strings.Cut(block, "----\n")
	if !ok {
		return step, false
	}
	step.want = strings.TrimSuffix(strings.TrimSuffix(output, "\n"), "\n")
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		switch group := hexGroup.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
		case step.kind == "":
			step.kind, _, step.newer = strings.Cut(line, " newer")
		default:
			require.NotNil(tb, group, "want bytes in hex, two spaces and what they mean: %q", line)
			data, err := hex.DecodeString(strings.ReplaceAll(group[1], " ", ""))
			require.NoError(tb, err)
			step.data = append(step.data, data...)
		}
	}
	return step, true
}

// decodeAny decodes data as the given kind of value, and returns the value in words and encoded again.
func decodeAny(kind string, data []byte) (words string, again []byte, err error) {
	var b strings.Builder
	switch kind {
	case "report":
		var m assignor.Member
		if err := m.UnmarshalBinary(data); err != nil {
			return "", nil, err
		}
		describeMember(&b, m)
		again, err = m.MarshalBinary()
	case "assignment":
		ma, memory, err := assignor.Decode(data)
		if err != nil {
			return "", nil, err
		}
		describeMemberAssignment(&b, ma, memory)
		again, err = encodeDecoded(ma, memory)
		return strings.TrimSuffix(b.String(), "\n"), again, err
	case "memory":
		var a assignor.Assignment
		if err := a.UnmarshalBinary(data); err != nil {
			return "", nil, err
		}
		describeMemory(&b, "", &a)
		again, err = a.MarshalBinary()
	default:
		return "", nil, fmt.Errorf("no kind of value: %q", kind)
	}
	return strings.TrimSuffix(b.String(), "\n"), again, err
}

// What encoding.go says of tagged fields: the bit that tells of them, in the second byte of the flags, and the tag of a memory.
const (
	taggedFields = 0x80
	tagMemory    = 1
)

// appendField appends a tagged field.
func appendField(b []byte, tag uint64, content []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// encodeDecoded returns the payload that holds what Decode returned.
func encodeDecoded(ma assignor.MemberAssignment, memory *assignor.Assignment) ([]byte, error) {
	data, err := ma.MarshalBinary()
	if err != nil || memory == nil {
		return data, err
	}
	content, err := memory.MarshalBinary()
	data[2] |= taggedFields
	return appendField(append(data, 1), tagMemory, content), err
}

func describeMember(b *strings.Builder, m assignor.Member) {
	fmt.Fprintf(b, "ID: %q\n", m.ID)
	describe(b, "Instance: %q\n", m.Instance)
	describe(b, "Capacity: %d\n", m.Capacity)
	describe(b, "Version: %d\n", m.Version)
	describe(b, "Generation: %d\n", m.Generation)
	describe(b, "Leaving: %t\n", m.Leaving)
	describe(b, "LeavingFor: %v\n", m.LeavingFor)
	describe(b, "Tags: %s\n", tagWords(m.Tags))
	describe(b, "Active: %s\n", taskWords(m.Active))
	describe(b, "Revoked: %s\n", taskWords(m.Revoked))
	describe(b, "Learners: %s\n", replicaWords(m.Learners))
	describe(b, "Standbys: %s\n", replicaWords(m.Standbys))
	if m.Memory != nil {
		b.WriteString("Memory:\n")
		describeMemory(b, "  ", m.Memory)
	}
}

func describeMemberAssignment(b *strings.Builder, ma assignor.MemberAssignment, memory *assignor.Assignment) {
	fmt.Fprintf(b, "Member: %q\n", ma.Member)
	describe(b, "Instance: %q\n", ma.Instance)
	describe(b, "Leaving: %t\n", ma.Leaving)
	describe(b, "Version: %d\n", ma.Version)
	describe(b, "Generation: %d\n", ma.Generation)
	describe(b, "FollowUp: %t\n", ma.FollowUp)
	describe(b, "Active: %s\n", taskWords(ma.Active))
	describe(b, "Handover: %s\n", taskWords(ma.Handover))
	describe(b, "Revoke: %s\n", taskWords(ma.Revoke))
	describe(b, "Learners: %s\n", taskWords(ma.Learners))
	describe(b, "Standbys: %s\n", taskWords(ma.Standbys))
	if memory != nil {
		b.WriteString("Memory:\n")
		describeMemory(b, "  ", memory)
	}
}

func describeMemory(b *strings.Builder, indent string, a *assignor.Assignment) {
	describe(b, indent+"Generation: %d\n", a.Generation)
	for _, ma := range a.Members {
		fmt.Fprintf(b, "%sMember: %q", indent, ma.Member)
		describe(b, " Instance: %q", ma.Instance)
		describe(b, " Leaving: %t", ma.Leaving)
		describe(b, " Version: %d", ma.Version)
		describe(b, " Active: %s", taskWords(ma.Active))
		describe(b, " Revoke: %s", taskWords(ma.Revoke))
		b.WriteString("\n")
	}
	for _, d := range a.Departed {
		fmt.Fprintf(b, "%sDeparted: %q for %v", indent, d.Instance, d.Absent)
		describe(b, " Tasks: %s", taskWords(d.Tasks))
		b.WriteString("\n")
	}
}

// describe writes the value where it is not the zero value.
func describe[T comparable](b *strings.Builder, format string, value T) {
	if value != *new(T) {
		fmt.Fprintf(b, format, value)
	}
}

func taskWords(tasks []assignor.TaskID) string {
	words := make([]string, len(tasks))
	for i, task := range tasks {
		words[i] = task.String()
	}
	return strings.Join(words, ", ")
}

func tagWords(tags map[string]string) string {
	var words []string
	for key, value := range tags {
		words = append(words, key+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func replicaWords(replicas []assignor.Replica) string {
	var words []string
	for _, r := range replicas {
		word := fmt.Sprintf("%v lag=%d", r.Task, r.Lag)
		if r.Lag == assignor.UnknownLag {
			word = fmt.Sprintf("%v lag=unknown", r.Task)
		}
		if r.For != 0 {
			word += fmt.Sprintf(" for=%v", r.For)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
