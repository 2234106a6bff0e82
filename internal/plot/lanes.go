package plot

import (
	"fmt"
	"html"
	"strings"
)

// Span is a piece of a lane.
type Span struct {
	Lane     int
	From, To float64
	Color    string
	Text     string // written at its beginning, if there is room
	Title    string // shown when the pointer is on it
	Loud     bool   // stays visible however short it is
}

// Lanes is a picture of things side by side over time.
type Lanes struct {
	Title  string
	Width  int
	Names  []string
	X      Axis
	Spans  []Span
	Marks  []Mark
	Legend []Line // color and name
}

const laneHeight = 15

// SVG returns the picture.
func (l *Lanes) SVG() string {
	height := top + laneHeight*len(l.Names) + bottom
	frame := Chart{Title: l.Title, Width: l.Width, Height: height, X: l.X, Y: Axis{Min: 0, Max: 1, Ticks: []float64{}}, Lines: l.Legend, Marks: l.Marks, blocks: true}
	svg := strings.TrimSuffix(frame.SVG(), "</svg>\n")
	var b strings.Builder
	b.WriteString(svg)
	for i, name := range l.Names {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" font-size="11">%s</text>`+"\n", Left-6, top+laneHeight*i+11, html.EscapeString(name))
	}
	for _, loud := range []bool{false, true} {
		for i := range l.Spans {
			if l.Spans[i].Loud == loud {
				l.drawSpan(&b, &frame, &l.Spans[i])
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (l *Lanes) drawSpan(b *strings.Builder, frame *Chart, s *Span) {
	x, to := frame.x(max(s.From, l.X.Min)), frame.x(min(s.To, l.X.Max))
	width := to - x
	if s.Loud {
		width = max(width, 2)
	}
	if width <= 0 || s.Color == "" {
		return
	}
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s">`, x, top+laneHeight*s.Lane+1, width, laneHeight-2, s.Color)
	if s.Title != "" {
		fmt.Fprintf(b, `<title>%s</title>`, html.EscapeString(s.Title))
	}
	b.WriteString("</rect>\n")
	if s.Text != "" && width > float64(8*len(s.Text)+6) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="10" fill="#1f2937">%s</text>`+"\n", x+3, top+laneHeight*s.Lane+11, html.EscapeString(s.Text))
	}
}
