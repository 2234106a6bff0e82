package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

var colors = []string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888"}

const (
	svgLeft, svgTop, svgLane, svgSecond = 60, 70, 26, 80
)

// writeSVG draws the timeline: a lane per task, in the color of the instance that runs it, learners hatched below their owner,
// rounds as lines.
func (w *watch) writeSVG(file string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return os.WriteFile(file, []byte(w.svg(time.Now())), 0o644)
}

func (w *watch) svg(now time.Time) string {
	names, tasks := map[string]bool{}, map[assignor.TaskID]bool{}
	for _, s := range w.spans {
		names[s.name], tasks[s.task] = true, true
	}
	color := map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		color[name] = i % len(colors)
	}
	lanes := slices.SortedFunc(maps.Keys(tasks), assignor.TaskID.Compare)
	x := func(t time.Time) float64 { return svgLeft + svgSecond*t.Sub(w.begun).Seconds() }
	width, height := x(now)+100, float64(svgTop+svgLane*len(lanes)+30)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n<defs>\n")
	for i, c := range colors {
		fmt.Fprintf(&b, `<pattern id="h%d" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
			`<rect width="5" height="5" fill="white"/><rect width="2.5" height="5" fill="%s"/></pattern>`+"\n", i, c)
	}
	b.WriteString("</defs>\n")
	w.legend(&b, color)
	w.drawLanes(&b, lanes, color, x, now)
	for _, at := range w.rounds {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%.0f" stroke="black" stroke-opacity="0.45" stroke-width="0.7"/>`+"\n", x(at), svgTop-8, x(at), height-28)
	}
	for s := 0; time.Duration(s)*time.Second <= now.Sub(w.begun); s++ {
		fmt.Fprintf(&b, `<text x="%d" y="%.0f" text-anchor="middle" fill="#555">%ds</text>`+"\n", svgLeft+svgSecond*s, height-10, s)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (w *watch) legend(b *strings.Builder, color map[string]int) {
	at := svgLeft
	for _, name := range slices.Sorted(maps.Keys(color)) {
		fmt.Fprintf(b, `<rect x="%d" y="12" width="14" height="14" fill="%s"/><text x="%d" y="24">%s</text>`+"\n", at, colors[color[name]], at+19, name)
		at += 28 + 8*len(name)
	}
	fmt.Fprintf(b, `<rect x="%d" y="12" width="14" height="14" fill="url(#h0)"/><text x="%d" y="24">learns</text>`+"\n", at+20, at+39)
	fmt.Fprintf(b, `<line x1="%d" y1="12" x2="%d" y2="26" stroke="black" stroke-opacity="0.45"/><text x="%d" y="24">round</text>`+"\n", at+97, at+97, at+104)
	for i, e := range w.past {
		x := svgLeft + svgSecond*e.from.Sub(w.begun).Seconds()
		fmt.Fprintf(b, `<text x="%.0f" y="%d" fill="#222">%s</text>`+"\n", x, 44+14*(i%2), e.title)
	}
}

func (w *watch) drawLanes(b *strings.Builder, lanes []assignor.TaskID, color map[string]int, x func(time.Time) float64, now time.Time) {
	for i, task := range lanes {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgLeft-8, svgTop+svgLane*i+15, task)
	}
	for _, s := range w.spans {
		to := s.to
		if to.IsZero() {
			to = now
		}
		y := svgTop + svgLane*slices.Index(lanes, s.task)
		fill, h := colors[color[s.name]], 20
		if s.learner {
			fill, y, h = fmt.Sprintf("url(#h%d)", color[s.name]), y+12, 8
		}
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x(s.from), y, max(0.5, x(to)-x(s.from)), h, fill)
	}
}
