package lead_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
)

// cast is a group whose transport loses nothing: sessions by name, of which the first leads.
type cast struct {
	t      *testing.T
	clock  time.Time
	number int32
	names  []string
	*strings.Builder
	sessions map[string]*lead.Session
	reports  []lead.Report // of the last round
	trouble  []error
	limit    int
	topology []assignor.Subtopology
}

func newCast(t *testing.T, config lead.Config, names ...string) *cast {
	t.Helper()
	c := &cast{t: t, clock: time.Unix(1e9, 0), number: 7, Builder: &strings.Builder{}, sessions: map[string]*lead.Session{}}
	for _, name := range names {
		c.enter(config, name)
	}
	return c
}

func (c *cast) enter(config lead.Config, name string) *lead.Session {
	config.Instance = name
	session, err := lead.New(config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.names = append(c.names, name)
	c.sessions[name] = session
	return session
}

// tell writes what a Todo says, in one line, and checks the session.
func (c *cast) tell(name, event string, todo lead.Todo) {
	c.t.Helper()
	if err := c.sessions[name].Check(); err != nil {
		c.t.Fatal(err)
	}
	var what []string
	for _, list := range []struct {
		verb  string
		tasks []assignor.TaskID
	}{{"stop", todo.Stop}, {"start", todo.Start}, {"learn", todo.Learn}, {"keep", todo.Keep}, {"drop", todo.Drop}} {
		if len(list.tasks) > 0 {
			what = append(what, fmt.Sprint(list.verb, " ", list.tasks))
		}
	}
	if todo.Call != "" {
		what = append(what, "call: "+todo.Call)
	}
	if todo.Drained {
		what = append(what, "drained")
	}
	if todo.Wake > 0 {
		what = append(what, fmt.Sprint("wake ", todo.Wake.Round(time.Millisecond)))
	}
	c.trouble = append(c.trouble, todo.Trouble...)
	fmt.Fprintf(c, "%s %s: %s\n", name, event, strings.Join(what, ", "))
}

// join lets all join and begin a round. spoil changes what the leader sees.
func (c *cast) join(spoil ...func([]lead.Report) []lead.Report) []lead.Payload {
	c.t.Helper()
	c.number++
	c.reports = nil
	for _, name := range c.names {
		todo := c.sessions[name].Join(c.clock)
		c.reports = append(c.reports, lead.Report{Member: name, Data: todo.Report})
		if len(todo.Stop) > 0 {
			c.tell(name, "joins", todo)
		}
	}
	for i, name := range c.names {
		c.sessions[name].Begin(c.clock, lead.Place{Round: c.number, Member: name, Leads: i == 0})
	}
	for _, f := range spoil {
		c.reports = f(c.reports)
	}
	todo := c.sessions[c.names[0]].Decide(c.clock, lead.Round{Number: c.number, Reports: c.reports, Limit: c.limit, Topology: c.topology})
	c.trouble = append(c.trouble, todo.Trouble...)
	return todo.Send
}

func (c *cast) deliver(send []lead.Payload, names ...string) {
	c.t.Helper()
	for _, name := range names {
		for _, p := range send {
			if p.Member == name {
				c.tell(name, fmt.Sprint("round ", c.number), c.sessions[name].Deliver(c.clock, c.number, p.Data))
			}
		}
	}
}

// round plays a round in which nothing goes wrong.
func (c *cast) round(spoil ...func([]lead.Report) []lead.Report) {
	c.t.Helper()
	c.deliver(c.join(spoil...), c.names...)
}

// after lets time pass, and wakes everybody.
func (c *cast) after(d time.Duration) {
	c.t.Helper()
	c.clock = c.clock.Add(d)
	for _, name := range c.names {
		if todo := c.sessions[name].Tick(c.clock); todo.Call != "" || todo.Drained || len(todo.Trouble) > 0 {
			c.tell(name, fmt.Sprint("after ", d), todo)
		}
	}
}

// want compares what was told since the last want.
func (c *cast) want(rows string) {
	c.t.Helper()
	c.wantOf("", rows)
}

// wantOf compares what one member was told, or all.
func (c *cast) wantOf(name, rows string) {
	c.t.Helper()
	var got, want []string
	for _, row := range strings.Split(strings.TrimSpace(c.String()), "\n") {
		if row = strings.TrimSpace(row); strings.HasPrefix(row, name) {
			got = append(got, row)
		}
	}
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		want = append(want, strings.TrimSpace(row))
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c.Reset()
}

// reported returns the row of the report that a join would give now. It is a join.
func (c *cast) reported(name string) string {
	c.t.Helper()
	var m assignor.Member
	if err := m.UnmarshalBinary(c.sessions[name].Join(c.clock).Report); err != nil {
		c.t.Fatal(err)
	}
	m.ID = name
	return fmt.Sprintf("%v %d", m, m.Generation)
}

func (c *cast) wantReport(name, want string) {
	c.t.Helper()
	if got := c.reported(name); got != want {
		c.t.Errorf("report is %s, want %s", got, want)
	}
}

func (c *cast) wantTrouble(want error) {
	c.t.Helper()
	for _, err := range c.trouble {
		if errors.Is(err, want) {
			c.trouble = nil
			return
		}
	}
	c.t.Errorf("trouble is %v, want %v", c.trouble, want)
}

// unread makes the report of a member one that nobody can read.
func unread(member string) func([]lead.Report) []lead.Report {
	return func(reports []lead.Report) []lead.Report {
		for i := range reports {
			if reports[i].Member == member {
				reports[i].Data = []byte{0xff, 1, 2}
			}
		}
		return reports
	}
}
