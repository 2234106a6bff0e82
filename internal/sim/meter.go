package sim

import (
	"time"

	"github.com/incremental-rebalance/assignor"
)

// meter adds up what a run costs. It looks at the run after every event.
type meter struct {
	rows      []Row
	total     Row
	tasks     []outage
	owners    [][]int // who ran each task when the row began, by row
	loads     []int64 // by instance: the weight that runs or pauses there
	excess    int64   // weight beyond the fair ranges
	heaviest  int64   // of all tasks, which is how far from its range an instance with weights may have to stay
	missing   []bool  // by task: a standby is missing or behind
	short     int     // how many are
	recount   bool    // copies have changed
	balanced  since
	whole     since
	timeline  Timeline
	spanStart []Span
}

// outage is a task's time without running.
type outage struct {
	down      bool
	unplanned bool
	at        time.Duration
	row       int
}

// since is since when something holds without interruption.
type since struct {
	holds bool
	at    time.Duration
}

func (s *since) note(holds bool, now time.Duration) {
	if holds && !s.holds {
		s.at = now
	}
	s.holds = holds
}

// after returns how long after the given time it came to hold for good, -1 where it does not hold.
func (s *since) after(start time.Duration) time.Duration {
	if !s.holds {
		return -1
	}
	return max(0, s.at-start)
}

func newMeter(r *run) *meter {
	m := &meter{tasks: make([]outage, len(r.tasks)), missing: make([]bool, len(r.tasks))}
	for t := range r.tasks {
		m.heaviest = max(m.heaviest, r.tasks[t].weight)
		m.timeline.Tasks = append(m.timeline.Tasks, r.tasks[t].id.String())
	}
	return m
}

// reset forgets what it took to set up the group.
func (m *meter) reset(r *run) {
	fresh := newMeter(r)
	*m = *fresh
	m.copiesChanged()
	for t := range r.tasks {
		if r.tasks[t].state != running {
			r.fail("%v does not run at the start", r.tasks[t].id)
		}
	}
	if len(r.tasks) <= maxLanes {
		m.spanStart = make([]Span, len(r.tasks))
	}
}

// begin ends a row and begins the next. Events of one time share a row.
func (m *meter) begin(r *run, label string) {
	if len(m.rows) > 1 && m.row().At == r.now {
		m.row().Event += ", " + label
		m.timeline.Marks[len(m.timeline.Marks)-1].Label = m.row().Event
		return
	}
	m.endRow(r)
	m.rows = append(m.rows, Row{Event: label, At: r.now})
	owners := make([]int, len(r.tasks))
	for t := range r.tasks {
		owners[t] = r.tasks[t].lastRan
	}
	m.owners = append(m.owners, owners)
	if label != kindNames[Start] {
		m.timeline.Marks = append(m.timeline.Marks, Mark{r.now, label})
	}
	m.observe(r)
}

func (m *meter) row() *Row { return &m.rows[len(m.rows)-1] }

func (m *meter) endRow(r *run) {
	if len(m.rows) == 0 {
		return
	}
	row := m.row()
	row.Balanced, row.Standbys = m.balanced.after(row.At), m.whole.after(row.At)
	row.Minimum = r.fewestMoves(m.owners[len(m.owners)-1])
}

// finish closes what is open and returns the result.
func (m *meter) finish(r *run) *Result {
	for t := range m.tasks {
		if m.tasks[t].down {
			m.up(r, t)
		}
		m.endSpan(r, t, true)
	}
	m.endRow(r)
	m.timeline.End = r.now
	for _, in := range r.instances {
		m.timeline.Instances = append(m.timeline.Instances, in.name)
		m.timeline.Capacity = append(m.timeline.Capacity, max(1, in.Capacity))
	}
	m.sum(r)
	rows := m.rows
	if m.rows[0] == (Row{Event: m.rows[0].Event, Balanced: m.rows[0].Balanced, Standbys: m.rows[0].Standbys, PeakImbalance: m.rows[0].PeakImbalance}) {
		rows = rows[1:] // nothing happened before the first event
	}
	return &Result{Variant: r.v.Name, Protocol: r.v.Protocol.String(), Events: rows, Total: m.total, Timeline: m.timeline}
}

// sum adds the rows up.
func (m *meter) sum(r *run) {
	t := &m.total
	first := time.Duration(0)
	if len(m.rows) > 1 {
		first = m.rows[1].At
	}
	t.Event, t.At = "in all", first
	t.Balanced, t.Standbys = m.balanced.after(first), m.whole.after(first)
	t.Minimum = r.fewestMoves(m.owners[0])
	for i := range m.rows {
		row := &m.rows[i]
		t.Moved += row.Moved
		t.Restored += row.Restored
		t.Planned += row.Planned
		t.Unplanned += row.Unplanned
		t.Overload += row.Overload
		t.Worst = max(t.Worst, row.Worst)
		t.PeakImbalance = max(t.PeakImbalance, row.PeakImbalance)
		t.Metadata = max(t.Metadata, row.Metadata)
	}
}

// The run tells these what happens.

func (m *meter) round(reports []assignor.Member, answer *assignor.Assignment) {
	m.total.Rounds++
	if len(m.rows) > 0 {
		row := m.row()
		row.Rounds++
		row.Metadata = max(row.Metadata, metadataBytes(reports, answer))
	}
}

func (m *meter) moved(had bool) {
	if had && len(m.rows) > 0 {
		m.row().Moved++
	}
}

func (m *meter) restored(bytes int64) { m.row().Restored += bytes }

func (m *meter) down(r *run, t int, unplanned bool) {
	if len(m.rows) > 0 {
		m.tasks[t] = outage{true, unplanned, r.now, len(m.rows) - 1}
	}
}

func (m *meter) up(r *run, t int) {
	out := &m.tasks[t]
	if !out.down {
		return
	}
	out.down = false
	lasted := r.now - out.at
	row := &m.rows[out.row]
	if out.unplanned {
		row.Unplanned += lasted
	} else {
		row.Planned += lasted
	}
	row.Worst = max(row.Worst, lasted)
}

func (m *meter) copiesChanged() { m.recount = true }

// copyReady is told that a copy of the task has caught up.
func (m *meter) copyReady(r *run, t int) {
	if m.missing[t] && !r.lacksStandby(t) {
		m.missing[t] = false
		m.short--
	}
}

// pass lets the overload run for a while.
func (m *meter) pass(_ *run, by time.Duration) {
	if len(m.rows) > 0 {
		m.row().Overload += time.Duration(m.excess) * by
	}
}

// metadataBytes returns what the members and the leader send through the broker in a round.
func metadataBytes(reports []assignor.Member, answer *assignor.Assignment) int {
	size := 0
	for i := range reports {
		data, err := reports[i].MarshalBinary()
		if err != nil {
			return 0
		}
		size += len(data)
	}
	payloads, err := answer.Encode(0)
	if err != nil {
		return 0
	}
	for _, p := range payloads {
		size += len(p)
	}
	return size
}
