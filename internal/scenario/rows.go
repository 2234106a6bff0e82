package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// row is one member with its tasks, as `group` and `rebalance` read it.
type row struct {
	line      int
	member    string
	active    []assignor.TaskID
	revoked   []assignor.TaskID
	learners  []assignor.Replica
	standbys  []assignor.Replica
	groupForm bool // S1[T1, T2]
}

// parseRows reads one row a line. No member may come twice.
func parseRows(lines []Line) ([]row, error) {
	seen := make(map[string]bool, len(lines))
	rows := make([]row, 0, len(lines))
	for _, line := range lines {
		r, err := parseRow(line.Text)
		if err != nil {
			return nil, faultAt(line.Number, "%w", err)
		}
		if seen[r.member] {
			return nil, faultAt(line.Number, "a second row of %s", r.member)
		}
		seen[r.member] = true
		r.line = line.Number
		rows = append(rows, r)
	}
	return rows, nil
}

// parseRow reads a row in either form: "S1[T1, T2]", or
// "S1(assigned: [T1], revoked: [T2], learning: [T3 lag=100], standby: [T4 lag=0])".
func parseRow(text string) (row, error) {
	r := rowReader{text: text, rest: text}
	parsed := row{member: r.name()}
	if strings.HasPrefix(r.rest, "[") {
		parsed.groupForm = true
		parsed.active = r.tasks()
	} else {
		r.expect("(assigned:")
		parsed.active = r.tasks()
		r.expect(", revoked:")
		parsed.revoked = r.tasks()
		r.expect(", learning:")
		parsed.learners = r.replicas()
		if strings.HasPrefix(r.rest, ",") {
			r.expect(", standby:")
			parsed.standbys = r.replicas()
		}
		r.expect(")")
	}
	if r.err == nil && r.rest != "" {
		r.fail("%q is left over", r.rest)
	}
	return parsed, r.err
}

// rowReader reads a row from left to right. Its first error sticks, and everything read after it is empty.
type rowReader struct {
	text, rest string
	err        error
}

func (r *rowReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("row %q: %w", r.text, fmt.Errorf(format, args...))
	}
}

// name reads the member id, which ends at the first bracket.
func (r *rowReader) name() string {
	end := strings.IndexAny(r.rest, "([")
	if end < 0 {
		r.fail("want S1[T1, T2] or S1(assigned: [T1], revoked: [], learning: [])")
		return ""
	}
	name := strings.TrimSpace(r.rest[:end])
	if err := checkName(name); err != nil {
		r.fail("%w", err)
	}
	r.rest = r.rest[end:]
	return name
}

// checkName refuses what could not be read back.
func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, " \t()[],=!") {
		return fmt.Errorf("%q is no name of a member: want one word without !, =, commas or brackets", name)
	}
	return nil
}

// expect reads the given text; blanks before it and inside it do not count.
func (r *rowReader) expect(want string) {
	rest := strings.TrimSpace(r.rest)
	for _, part := range strings.Fields(want) {
		var ok bool
		if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), part); !ok {
			r.fail("want %q at %q", strings.TrimPrefix(want, ", "), r.rest)
			return
		}
	}
	r.rest = strings.TrimSpace(rest)
}

// items reads "[T1, T2 lag=5]" and returns what the commas separate.
func (r *rowReader) items() []string {
	inner, ok := strings.CutPrefix(r.rest, "[")
	end := strings.IndexByte(inner, ']')
	if !ok || end < 0 {
		r.fail("want a list in brackets at %q", r.rest)
		return nil
	}
	items, err := splitList(inner[:end])
	if err != nil {
		r.fail("%w", err)
	}
	r.rest = strings.TrimSpace(inner[end+1:])
	return items
}

func (r *rowReader) tasks() []assignor.TaskID {
	tasks, err := parseTasks(r.items())
	if err != nil {
		r.fail("%w", err)
	}
	return tasks
}

func (r *rowReader) replicas() []assignor.Replica {
	var replicas []assignor.Replica
	for _, item := range r.items() {
		replica, err := parseReplica(item)
		if err != nil {
			r.fail("%w", err)
			return nil
		}
		replicas = append(replicas, replica)
	}
	return replicas
}

// parseReplica reads "T3 lag=100 for=30s". Without a lag nobody knows it, and so the copy has not caught up.
func parseReplica(text string) (assignor.Replica, error) {
	words := strings.Fields(text)
	task, err := parseTask(words[0])
	if err != nil {
		return assignor.Replica{}, err
	}
	replica := assignor.Replica{Task: task, Lag: assignor.UnknownLag}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "lag":
			replica.Lag, err = strconv.ParseInt(value, 10, 64)
		case "for":
			replica.For, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("%q: want lag= or for=", word)
		}
		if err != nil {
			return assignor.Replica{}, fmt.Errorf("copy %q: %w", text, err)
		}
	}
	return replica, nil
}

// allTasks returns every task that the row names.
func (r row) allTasks() []assignor.TaskID {
	tasks := append([]assignor.TaskID(nil), r.active...)
	tasks = append(tasks, r.revoked...)
	tasks = append(tasks, tasksOf(r.learners)...)
	return append(tasks, tasksOf(r.standbys)...)
}
