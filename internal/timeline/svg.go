package timeline

import (
	"fmt"
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

// WriteSVG draws the timeline: a lane per task, in the color of the instance that runs it, learners hatched below their owner,
// rounds as lines.
func (w *Watch) WriteSVG(file string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return os.WriteFile(file, []byte(w.svg(time.Now())), 0o644)
}

// picture is what the parts of the drawing share.
type picture struct {
	strings.Builder
	begun, now time.Time
	color      map[string]int // of each instance: its place in colors
	lanes      []assignor.TaskID
}

func (p *picture) x(t time.Time) float64 { return svgLeft + svgSecond*t.Sub(p.begun).Seconds() }

func (w *Watch) svg(now time.Time) string {
	p := &picture{begun: w.begun, now: now, color: map[string]int{}}
	for _, s := range w.spans {
		p.color[s.name] = 0
		if !slices.Contains(p.lanes, s.task) {
			p.lanes = append(p.lanes, s.task)
		}
	}
	for i, name := range sortedNames(p.color) {
		p.color[name] = i % len(colors)
	}
	slices.SortFunc(p.lanes, assignor.TaskID.Compare)
	width, height := p.x(now)+100, float64(svgTop+svgLane*len(p.lanes)+30)
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(p, `<rect width="100%%" height="100%%" fill="white"/>`+"\n<defs>\n")
	for i, c := range colors {
		fmt.Fprintf(p, `<pattern id="h%d" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
			`<rect width="5" height="5" fill="white"/><rect width="2.5" height="5" fill="%s"/></pattern>`+"\n", i, c)
	}
	p.WriteString("</defs>\n")
	p.legend()
	p.titles(w.past)
	p.drawLanes(w.spans)
	for _, at := range w.rounds {
		fmt.Fprintf(p, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%.0f" stroke="black" stroke-opacity="0.45" stroke-width="0.7"/>`+"\n",
			p.x(at), svgTop-8, p.x(at), height-28)
	}
	for s := 0; time.Duration(s)*time.Second <= now.Sub(w.begun); s++ {
		fmt.Fprintf(p, `<text x="%d" y="%.0f" text-anchor="middle" fill="#555">%ds</text>`+"\n", svgLeft+svgSecond*s, height-10, s)
	}
	p.WriteString("</svg>\n")
	return p.String()
}

func (p *picture) legend() {
	at := svgLeft
	for _, name := range sortedNames(p.color) {
		fmt.Fprintf(p, `<rect x="%d" y="12" width="14" height="14" fill="%s"/><text x="%d" y="24">%s</text>`+"\n", at, colors[p.color[name]], at+19, name)
		at += 28 + 8*len(name)
	}
	fmt.Fprintf(p, `<rect x="%d" y="12" width="14" height="14" fill="url(#h0)"/><text x="%d" y="24">learns</text>`+"\n", at+20, at+39)
	fmt.Fprintf(p, `<line x1="%d" y1="12" x2="%d" y2="26" stroke="black" stroke-opacity="0.45"/><text x="%d" y="24">round</text>`+"\n", at+97, at+97, at+104)
}

// titles writes what happened, in two rows in turn, where it began.
func (p *picture) titles(past []*event) {
	for i, e := range past {
		fmt.Fprintf(p, `<text x="%.0f" y="%d" fill="#222">%s</text>`+"\n", p.x(e.from), 44+14*(i%2), e.title)
	}
}

func (p *picture) drawLanes(spans []span) {
	for i, task := range p.lanes {
		fmt.Fprintf(p, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgLeft-8, svgTop+svgLane*i+15, task)
	}
	for _, s := range spans {
		to := s.to
		if to.IsZero() {
			to = p.now
		}
		y := svgTop + svgLane*slices.Index(p.lanes, s.task)
		fill, h := colors[p.color[s.name]], 20
		if s.learner {
			fill, y, h = fmt.Sprintf("url(#h%d)", p.color[s.name]), y+12, 8
		}
		fmt.Fprintf(p, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", p.x(s.from), y, max(0.5, p.x(to)-p.x(s.from)), h, fill)
	}
}
