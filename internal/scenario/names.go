package scenario

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// parseTask reads a task in either notation, whatever the topology: "T3" (which is 0_2, for T counts from 1) or "1_4".
func parseTask(text string) (assignor.TaskID, error) {
	digits, ok := strings.CutPrefix(text, "T")
	if !ok {
		return assignor.ParseTaskID(text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != digits || n < 1 || n > math.MaxInt32+1 {
		return assignor.TaskID{}, fmt.Errorf("%q is no task: want T1, T2, ... or 1_4", text)
	}
	return assignor.TaskID{Partition: int32(n - 1)}, nil
}

// parseTasks reads each text as a task. One may come twice: members report that too, and the library must bear it.
func parseTasks(texts []string) ([]assignor.TaskID, error) {
	var tasks []assignor.TaskID
	for _, text := range texts {
		task, err := parseTask(text)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// naturalCompare orders names as people count: S2 before S10. Runs of digits compare as numbers, all else as bytes; names
// that differ only in leading zeros compare as texts.
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var c int
		if isDigit(x[0]) && isDigit(y[0]) {
			var nx, ny string
			nx, x = cutNumber(x)
			ny, y = cutNumber(y)
			c = cmp.Or(cmp.Compare(len(nx), len(ny)), cmp.Compare(nx, ny))
		} else {
			c = cmp.Compare(x[0], y[0])
			x, y = x[1:], y[1:]
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// cutNumber cuts the digits that s begins with, and returns them without leading zeros.
func cutNumber(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return strings.TrimLeft(s[:end], "0"), s[end:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
