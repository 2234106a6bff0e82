package main

import (
	"fmt"
	"os"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/plot"
)

// chart draws what the rounds of the first size take without standbys, in floors: that is where most libraries decide in time.
func (b *bench) chart(rows []*row) string {
	c := b.sizes[0]
	var shown []*row
	for _, r := range rows {
		if r.Tasks == c.Tasks && r.Members == c.Members && r.Standbys == 0 {
			shown = append(shown, r)
		}
	}
	chart := plot.Chart{
		Title: fmt.Sprintf("One decision, %s tasks on %s members: how many times the floor it takes", thousands(c.Tasks), thousands(c.Members)),
		Width: 920, Height: 400,
		X: plot.Axis{Min: -0.2, Max: float64(len(shown)) - 0.8, Format: func(x float64) string { return shown[int(x)].State }},
		Y: plot.Axis{Label: "times the floor", Min: 1, Max: 100_000, Log: true, Ticks: []float64{1, 10, 100, 1000, 10_000, 100_000}},
	}
	for i := range shown {
		chart.X.Ticks = append(chart.X.Ticks, float64(i))
	}
	for i, f := range b.taking(0) {
		line := plot.Line{Name: f.name, Color: plot.Colors[i%len(plot.Colors)], Dots: true}
		for x, r := range shown {
			if ratio := measure.Ratio(r.times[f.name], r.times[floor]); ratio > 0 && r.notes[f.name] == "" {
				line.Points = append(line.Points, plot.XY{X: float64(x), Y: ratio})
			}
		}
		chart.Lines = append(chart.Lines, line)
	}
	return chart.SVG()
}

func (b *bench) writeChart(rows []*row) error {
	if b.svg == "" {
		return nil
	}
	return os.WriteFile(b.svg, []byte(b.chart(rows)), 0o644)
}
