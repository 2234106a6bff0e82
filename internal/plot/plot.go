// Package plot draws small charts as SVG: lines over an axis, and lanes of colored spans. It is no plotting library: it draws
// what the pages and documents of this repository need, the same bytes for the same input, and nothing that a reader has to
// load.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// XY is a point of a line.
type XY struct{ X, Y float64 }

// Line is one line of a chart.
type Line struct {
	Name   string
	Color  string
	Points []XY // in order of X
	Step   bool // each point holds until the next
	Dots   bool
	Dashed bool
	Fill   bool // the area below it
}

// Axis is one side of a chart. Min equal to Max lets the lines decide, and then the axis starts at 0 unless it is Log.
type Axis struct {
	Label    string
	Min, Max float64
	Log      bool
	Ticks    []float64 // where the labels are; nil: chosen
	Format   func(float64) string
}

// Mark is a vertical line with a label.
type Mark struct {
	X     float64
	Label string
}

// Chart is lines over one pair of axes.
type Chart struct {
	Title  string
	Width  int
	Height int
	X, Y   Axis
	Lines  []Line
	Marks  []Mark
	blocks bool // the legend shows areas, not lines
}

// Colors are told apart by people who do not see all colors, too; the first is for what matters.
var Colors = []string{"#1f5fbf", "#d9730d", "#2f8f5b", "#8a4fbf", "#b8336a", "#6b7280", "#0f8b8d"}

// Margins around the area in which the lines are.
const (
	Left, Right = 64, 16
	top, bottom = 34, 44
)

const style = `font-family="system-ui, sans-serif" font-size="12" fill="#374151"`

// SVG returns the chart.
func (c *Chart) SVG() string {
	c.fit()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" %s>`+"\n",
		c.Width, c.Height, c.Width, c.Height, html.EscapeString(c.Title), style)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", c.Width, c.Height)
	fmt.Fprintf(&b, `<text x="%d" y="16" font-size="13" font-weight="600" fill="#111827">%s</text>`+"\n", Left, html.EscapeString(c.Title))
	c.drawAxes(&b)
	c.drawMarks(&b)
	for i := range c.Lines {
		c.drawLine(&b, &c.Lines[i])
	}
	c.drawLegend(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// fit lets the lines decide what the axes leave open.
func (c *Chart) fit() {
	for _, axis := range []struct {
		*Axis
		of func(XY) float64
	}{{&c.X, func(p XY) float64 { return p.X }}, {&c.Y, func(p XY) float64 { return p.Y }}} {
		if axis.Min < axis.Max {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, line := range c.Lines {
			for _, p := range line.Points {
				low, high = min(low, axis.of(p)), max(high, axis.of(p))
			}
		}
		if !axis.Log {
			low = min(0, low)
		}
		if !(low < high) {
			high = low + 1
		}
		axis.Min, axis.Max = low, high
		if axis.Axis == &c.Y && !axis.Log {
			axis.Max = low + (high-low)*1.08
		}
	}
}

func (a *Axis) place(v, from, to float64) float64 {
	low, high := a.Min, a.Max
	if a.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(max(v, a.Min))
	}
	return from + (v-low)/(high-low)*(to-from)
}

func (c *Chart) x(v float64) float64 { return c.X.place(v, Left, float64(c.Width-Right)) }
func (c *Chart) y(v float64) float64 { return c.Y.place(v, float64(c.Height-bottom), top) }

// ticks returns where the labels of an axis are: about n of them at round numbers.
func (a *Axis) ticks(n int) []float64 {
	if a.Ticks != nil {
		return a.Ticks
	}
	step := math.Pow(10, math.Floor(math.Log10((a.Max-a.Min)/float64(n))))
	for _, m := range []float64{5, 2, 2.5} {
		if (a.Max-a.Min)/(step*m) >= float64(n) {
			step *= m
			break
		}
	}
	var at []float64
	for v := math.Ceil(a.Min/step) * step; v <= a.Max+step/1e6; v += step {
		at = append(at, v)
	}
	return at
}

func (a *Axis) label(v float64) string {
	if a.Format != nil {
		return a.Format(v)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

func (c *Chart) drawAxes(b *strings.Builder) {
	for _, v := range c.Y.ticks(4) {
		y := c.y(v)
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#e5e7eb"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			Left, y, c.Width-Right, Left-6, y+4, html.EscapeString(c.Y.label(v)))
	}
	base := c.Height - bottom
	for _, v := range c.X.ticks(8) {
		x := c.x(v)
		fmt.Fprintf(b, `<path d="M%.1f %dv4" stroke="#9ca3af"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, base, x, base+17, html.EscapeString(c.X.label(v)))
	}
	fmt.Fprintf(b, `<path d="M%d %dH%d" stroke="#9ca3af"/>`+"\n", Left, base, c.Width-Right)
	if c.X.Label != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (Left+c.Width-Right)/2, c.Height-8, html.EscapeString(c.X.Label))
	}
	if c.Y.Label != "" {
		fmt.Fprintf(b, `<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>`+"\n",
			(top+base)/2, (top+base)/2, html.EscapeString(c.Y.Label))
	}
}

func (c *Chart) drawMarks(b *strings.Builder) {
	for _, m := range c.Marks {
		x := c.x(m.X)
		fmt.Fprintf(b, `<path d="M%.1f %dV%d" stroke="#6b7280" stroke-dasharray="3 3"><title>%s</title></path>`+"\n",
			x, top, c.Height-bottom, html.EscapeString(m.Label))
	}
}

func (c *Chart) drawLine(b *strings.Builder, l *Line) {
	points := c.thin(l)
	if len(points) == 0 {
		return
	}
	var path strings.Builder
	for i, p := range points {
		switch {
		case i == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", p.X, p.Y)
		case l.Step:
			fmt.Fprintf(&path, "H%.1fV%.1f", p.X, p.Y)
		default:
			fmt.Fprintf(&path, "L%.1f %.1f", p.X, p.Y)
		}
	}
	if l.Fill {
		base := float64(c.Height - bottom)
		fmt.Fprintf(b, `<path d="%sV%.1fH%.1fZ" fill="%s" fill-opacity="0.12"/>`+"\n", path.String(), base, points[0].X, l.Color)
	}
	dash := ""
	if l.Dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8"%s/>`+"\n", path.String(), l.Color, dash)
	if l.Dots {
		for _, p := range points {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", p.X, p.Y, l.Color)
		}
	}
}

// thin returns the points on the picture; of many in one column of pixels only the first, the extremes and the last.
func (c *Chart) thin(l *Line) []XY {
	var out []XY
	var column []XY
	flush := func() {
		if len(column) <= 4 {
			out = append(out, column...)
		} else {
			low, high := column[0], column[0]
			for _, p := range column {
				if p.Y < low.Y {
					low = p
				}
				if p.Y > high.Y {
					high = p
				}
			}
			if low.X > high.X {
				low, high = high, low
			}
			out = append(out, column[0], low, high, column[len(column)-1])
		}
		column = column[:0]
	}
	for _, p := range l.Points {
		at := XY{c.x(p.X), c.y(p.Y)}
		if len(column) > 0 && math.Floor(column[0].X) != math.Floor(at.X) {
			flush()
		}
		column = append(column, at)
	}
	flush()
	return out
}

// drawLegend names the lines, from right to left beside the title, where there is more than one.
func (c *Chart) drawLegend(b *strings.Builder) {
	if len(c.Lines) < 2 {
		return
	}
	x := c.Width - Right
	for i := len(c.Lines) - 1; i >= 0; i-- {
		l := &c.Lines[i]
		x -= 7*len(l.Name) + 34
		dash := ""
		if l.Dashed {
			dash = ` stroke-dasharray="6 4"`
		}
		thick := 2.5
		if c.blocks {
			thick = 10
		}
		fmt.Fprintf(b, `<path d="M%d 26h18" stroke="%s" stroke-width="%.1f"%s/><text x="%d" y="30">%s</text>`+"\n",
			x, l.Color, thick, dash, x+23, html.EscapeString(l.Name))
	}
}
