package lead_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
	"github.com/incremental-rebalance/assignor/lead/leadtest"
)

// Between the two markers is the recipe of the README, word for word. TestPlay plays it.

// recipe

// member connects a session to its transport and to the tasks of a service. One goroutine calls it.
type member struct {
	*lead.Session
	group Group // join, send to members, call for a round, wake, leave
	tasks Tasks // stop, start, learn, keep, drop
}

func (m *member) Rebalance()                      { m.do(m.Session.Join(m.group.Now())) }
func (m *member) Begun(place lead.Place)          { m.do(m.Session.Begin(m.group.Now(), place)) }
func (m *member) Elected(round lead.Round)        { m.do(m.Session.Decide(m.group.Now(), round)) }
func (m *member) Answer(round int32, data []byte) { m.do(m.Deliver(m.group.Now(), round, data)) }
func (m *member) Dropped()                        { m.do(m.Session.Lost(m.group.Now())) }
func (m *member) Awake()                          { m.do(m.Session.Tick(m.group.Now())) }
func (m *member) Leaves()                         { m.do(m.Session.Leave(m.group.Now())) }
func (m *member) Lag(task assignor.TaskID, lag int64) {
	m.do(m.Session.Progress(m.group.Now(), task, lag))
}

func (m *member) do(todo lead.Todo) {
	m.tasks.Stop(todo.Stop) // returns when they have stopped, and nothing of them is written any more
	if todo.Report != nil {
		m.group.Join(todo.Report)
	}
	m.group.Send(todo.Send) // of any two leaders of one round the group takes one, whole
	m.tasks.Drop(todo.Drop)
	m.tasks.Start(todo.Start)
	m.tasks.Learn(todo.Learn)
	m.tasks.Keep(todo.Keep)
	m.group.Log(todo.Trouble)
	m.group.WakeIn(todo.Wake)
	if todo.Call != "" {
		m.group.Call(todo.Call)
	}
	if todo.Drained {
		m.group.Leave()
	}
}

// end of recipe

// Group is the transport.
type Group interface {
	Now() time.Time
	Join(report []byte)
	Send(payloads []lead.Payload)
	Call(why string)
	WakeIn(d time.Duration)
	Leave()
	Log(trouble []error)
}

// Tasks are those of the service.
type Tasks interface {
	Stop(tasks []assignor.TaskID)
	Start(tasks []assignor.TaskID)
	Learn(tasks []assignor.TaskID)
	Keep(tasks []assignor.TaskID)
	Drop(tasks []assignor.TaskID)
}

// Stays is not in the recipe: few services take back that an instance leaves.
func (m *member) Stays() { m.do(m.Session.Stay(m.group.Now())) }

var _ leadtest.Member = (*member)(nil)

// TestReadme compares the recipe in the README with the one that is played here.
func TestReadme(t *testing.T) {
	recipe := between(t, "recipe_test.go", "// recipe\n\n", "\n// end of recipe\n")
	readme := between(t, "../README.md", "<!-- recipe -->\n```go\n", "```\n<!-- end of recipe -->\n")
	if recipe != readme {
		t.Errorf("the README shows another recipe than this one, which is played:\n%s", recipe)
	}
	if lines := strings.Count(recipe, "\n"); lines > 40 {
		t.Errorf("the recipe has %d lines, at most 40", lines)
	}
}

func between(t *testing.T, file, begin, end string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), begin)
	part, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q or no %q", file, begin, end)
	}
	return part
}
