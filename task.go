package assignor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TaskID names one task: one partition of one subtopology. Its text form is "0_12", as in Kafka Streams.
type TaskID struct{ Subtopology, Partition int32 }

// String returns the subtopology and the partition with an underscore between them: "0_12".
func (t TaskID) String() string {
	return string(t.appendText(nil))
}

// MarshalText returns what String returns, and no error.
func (t TaskID) MarshalText() ([]byte, error) {
	return t.appendText(nil), nil
}

// appendText appends what String returns: rows have many tasks, and this makes no string of each.
func (t TaskID) appendText(b []byte) []byte {
	b = strconv.AppendInt(b, int64(t.Subtopology), 10)
	b = append(b, '_')
	return strconv.AppendInt(b, int64(t.Partition), 10)
}

// valid reports whether there can be a task of that name. Members may report others; they are dropped where they come in.
func (t TaskID) valid() bool { return t.Subtopology >= 0 && t.Partition >= 0 }

// UnmarshalText is the inverse of MarshalText. It accepts what [ParseTaskID] accepts.
func (t *TaskID) UnmarshalText(text []byte) error {
	parsed, err := ParseTaskID(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseTaskID reads "0_12". It accepts only the form that String writes: decimal digits without a sign or a leading zero.
func ParseTaskID(s string) (TaskID, error) {
	sub, part, ok := strings.Cut(s, "_")
	if !ok {
		return TaskID{}, fmt.Errorf("assignor: task id %q: want subtopology_partition, as in 0_12", s)
	}
	subtopology, err := parseNumber(sub)
	if err != nil {
		return TaskID{}, fmt.Errorf("assignor: task id %q: subtopology: %w", s, err)
	}
	partition, err := parseNumber(part)
	if err != nil {
		return TaskID{}, fmt.Errorf("assignor: task id %q: partition: %w", s, err)
	}
	return TaskID{subtopology, partition}, nil
}

// parseNumber reads a number that is written in the one way in which String writes it, so that two names are never the same task.
func parseNumber(s string) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, err
	}
	if n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a plain number from 0 to 2147483647", s)
	}
	return int32(n), nil
}

// Compare orders task ids by subtopology, then by partition, both as numbers: 0_2 comes before 0_10. It returns -1, 0 or +1.
func (t TaskID) Compare(other TaskID) int {
	return cmp.Or(cmp.Compare(t.Subtopology, other.Subtopology), cmp.Compare(t.Partition, other.Partition))
}

// sortedTasks returns the tasks in order, each once, in a list of their own: nil where there are none.
func sortedTasks(tasks []TaskID) []TaskID {
	if len(tasks) == 0 {
		return nil
	}
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, TaskID.Compare)
	return slices.Clip(slices.Compact(sorted))
}
