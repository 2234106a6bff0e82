package sim

import (
	"fmt"
	"time"

	"github.com/incremental-rebalance/assignor/internal/plot"
)

const chartWidth = 1120

// timeAxis is an axis from one time to another, in the unit that suits it.
func timeAxis(from, to time.Duration) plot.Axis {
	unit, name := time.Minute, "minutes"
	if to-from > 5*time.Hour {
		unit, name = time.Hour, "hours"
	}
	if to-from < 5*time.Minute {
		unit, name = time.Second, "seconds"
	}
	return plot.Axis{
		Label: "time in " + name, Min: from.Seconds(), Max: max(to, from+time.Second).Seconds(),
		Ticks: roundTicks(from, to, unit),
		Format: func(v float64) string {
			return fmt.Sprint(int64(v/unit.Seconds() + 0.5))
		},
	}
}

// roundTicks returns about ten round times.
func roundTicks(from, to, unit time.Duration) []float64 {
	step := unit
	for _, m := range []int64{1, 2, 5, 10, 20, 50, 100, 200} {
		if step = unit * time.Duration(m); (to-from)/step <= 12 {
			break
		}
	}
	var ticks []float64
	for at := (from + step - 1) / step * step; at <= to; at += step {
		ticks = append(ticks, at.Seconds())
	}
	return ticks
}

func (t *Timeline) marks() []plot.Mark {
	var marks []plot.Mark
	for _, m := range t.Marks {
		marks = append(marks, plot.Mark{X: m.At.Seconds(), Label: m.Label})
	}
	return marks
}

// line returns one figure of the timeline over time.
func (t *Timeline) line(from, to time.Duration, of func(Point) float64) []plot.XY {
	var points []plot.XY
	for _, p := range t.Points {
		at := max(p.At, from)
		if n := len(points); n > 0 && points[n-1].X == at.Seconds() && p.At <= from {
			points = points[:n-1]
		}
		points = append(points, plot.XY{X: at.Seconds(), Y: of(p)})
	}
	if n := len(points); n > 0 {
		points = append(points, plot.XY{X: to.Seconds(), Y: points[n-1].Y})
	}
	return points
}

func (t *Timeline) availability(from, to time.Duration) plot.Chart {
	n := float64(max(1, len(t.Tasks)))
	running := t.line(from, to, func(p Point) float64 { return float64(p.Running) / n * 100 })
	low := 100.0
	for _, p := range running {
		low = min(low, p.Y)
	}
	floor := 0.0
	if low > 60 {
		floor = float64(int(low/10) * 10)
	}
	return plot.Chart{
		Title: "Availability: tasks that run, in percent (dashed: when something happened)", Width: chartWidth, Height: 190, X: timeAxis(from, to), Marks: t.marks(),
		Y:     plot.Axis{Min: floor, Max: 101, Ticks: []float64{floor, (floor + 100) / 2, 100}},
		Lines: []plot.Line{{Color: plot.Colors[2], Step: true, Fill: true, Points: running}},
	}
}

func (t *Timeline) imbalance(from, to time.Duration) plot.Chart {
	return plot.Chart{
		Title: "Imbalance: how far the fullest instance is above its fair share, in percent", Width: chartWidth, Height: 190, X: timeAxis(from, to), Marks: t.marks(),
		Lines: []plot.Line{{Color: plot.Colors[1], Step: true, Fill: true, Points: t.line(from, to, func(p Point) float64 { return float64(p.Imbalance) })}},
	}
}

// lanes shows a lane per task, or, where there are many, one per instance.
func (t *Timeline) lanes(from, to time.Duration) plot.Lanes {
	l := plot.Lanes{Width: chartWidth, X: timeAxis(from, to), Marks: t.marks()}
	if len(t.Spans) > 0 {
		t.taskLanes(&l)
	} else {
		t.instanceLanes(&l)
	}
	return l
}

// laneColors are those of instances in lanes of tasks: light, so that a stop is seen between them.
var laneColors = []string{
	"#9ec5f4", "#f6c89f", "#a8dcb8", "#cdb8ea", "#eeb0c4", "#c9cdd3", "#9fdbe0", "#e6dc96", "#b4c3a1", "#d3b9a4", "#b7d0ee", "#f3b6a8",
	"#c7e39b", "#b9b4dd", "#f0d3e3", "#a9bcc9",
}

const stoppedColor = "#c0262d"

func (t *Timeline) taskLanes(l *plot.Lanes) {
	l.Title = "Where each task ran: a lane per task, a color per instance"
	l.Names = t.Tasks
	l.Legend = []plot.Line{{Name: "does not run", Color: stoppedColor}, {Name: "runs", Color: laneColors[0]}}
	for _, s := range t.Spans {
		span := plot.Span{Lane: s.Task, From: s.From.Seconds(), To: until(s.To, s.Last, l), Loud: !s.Running, Color: stoppedColor}
		switch {
		case s.Running:
			span.Color = laneColors[s.Instance%len(laneColors)]
			span.Text = t.Instances[s.Instance]
			span.Title = fmt.Sprintf("%s on %s", t.Tasks[s.Task], t.Instances[s.Instance])
		default:
			span.Title = fmt.Sprintf("%s does not run, %s", t.Tasks[s.Task], formatTime(s.To-s.From))
		}
		l.Spans = append(l.Spans, span)
	}
}

func (t *Timeline) instanceLanes(l *plot.Lanes) {
	l.Title = "Load: a lane per instance, with the number of its tasks"
	l.Names = t.Instances
	l.Legend = []plot.Line{
		{Name: "not there", Color: "#e5e7eb"}, {Name: "no tasks", Color: loadColor(0, 1)}, {Name: "below its share", Color: loadColor(1, 2)},
		{Name: "its fair share", Color: loadColor(1, 1)}, {Name: "above", Color: loadColor(12, 10)}, {Name: "half as much again or more", Color: loadColor(2, 1)},
	}
	start := make([]int, len(t.Instances)) // by instance, the point from which its load has been what it is
	for i := range t.Instances {
		for k := 1; k <= len(t.Points); k++ {
			if k == len(t.Points) || t.color(i, k) != t.color(i, start[i]) || t.load(i, k) != t.load(i, start[i]) {
				l.Spans = append(l.Spans, t.loadSpan(l, i, start[i], k))
				start[i] = k
			}
		}
	}
}

// load returns what an instance runs at a point, -1 where it is not there.
func (t *Timeline) load(i, k int) int32 {
	if loads := t.Points[k].Loads; i < len(loads) {
		return loads[i]
	}
	return -1
}

// until returns where a span ends in the picture: what lasts to the end of the run lasts to the edge.
func until(to time.Duration, last bool, l *plot.Lanes) float64 {
	if last {
		return l.X.Max
	}
	return to.Seconds()
}

func (t *Timeline) loadSpan(l *plot.Lanes, i, from, to int) plot.Span {
	end := t.End
	if to < len(t.Points) {
		end = t.Points[to].At
	}
	load := t.load(i, from)
	title := fmt.Sprintf("%s runs %d tasks", t.Instances[i], load)
	if load < 0 {
		title = t.Instances[i] + " is not there"
	}
	text := ""
	if load >= 0 {
		text = fmt.Sprint(load)
	}
	return plot.Span{Lane: i, From: t.Points[from].At.Seconds(), To: until(end, to == len(t.Points), l), Color: t.color(i, from), Text: text, Title: title}
}

// color returns the color of an instance at a point: its load beside its share of all tasks among those that stay.
func (t *Timeline) color(i, k int) string {
	load := t.load(i, k)
	if load < 0 {
		return "#e5e7eb"
	}
	return loadColor(int64(load)*t.Points[k].Capacity, int64(len(t.Tasks))*int64(t.Capacity[i]))
}

// loadColor returns a color for a load beside a share.
func loadColor(load, share int64) string {
	switch percent := load * 100 / max(1, share); {
	case load == 0:
		return "#eef4fd"
	case percent < 60:
		return "#cfe0f8"
	case percent < 95:
		return "#a3c4ef"
	case percent <= 105:
		return "#5f97dc"
	case percent < 130:
		return "#f0a35c"
	default:
		return "#d2552b"
	}
}
