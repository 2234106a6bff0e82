package sim

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// observe looks at the run as it is now.
func (m *meter) observe(r *run) {
	if m.recount {
		m.countShort(r)
	}
	point := m.weigh(r)
	m.balanced.note(r.isBalanced(m.loads), r.now)
	m.whole.note(m.short == 0 && !r.anybodyDown(), r.now)
	if len(m.rows) > 0 {
		m.row().PeakImbalance = max(m.row().PeakImbalance, point.Imbalance)
	}
	points := &m.timeline.Points
	switch last := len(*points) - 1; {
	case last >= 0 && same((*points)[last], point):
	case last >= 0 && (*points)[last].At == r.now:
		(*points)[last] = point
	default:
		*points = append(*points, point)
	}
	for t := range m.spanStart {
		m.noteSpan(r, t)
	}
}

func same(a, b Point) bool {
	return a.Running == b.Running && a.Imbalance == b.Imbalance && a.Learning == b.Learning && a.Capacity == b.Capacity && slices.Equal(a.Loads, b.Loads)
}

// weigh computes the loads, and what they say.
func (m *meter) weigh(r *run) Point {
	p := Point{At: r.now, Loads: make([]int32, len(r.instances))}
	m.loads = make([]int64, len(r.instances))
	for t := range r.tasks {
		tk := &r.tasks[t]
		if tk.state == running {
			p.Running++
		}
		if tk.owner != none && tk.state >= paused {
			m.loads[tk.owner] += tk.weight
			p.Loads[tk.owner]++
		}
	}
	m.excess = 0
	share := r.shares()
	p.Capacity = share.capacity
	for i, in := range r.instances {
		if !in.up {
			p.Loads[i] = -1
			continue
		}
		p.Learning += len(in.told.Learners)
		if in.leaving || !in.member {
			continue
		}
		_, high := share.rangeOf(in)
		m.excess += max(0, m.loads[i]-high)
		p.Imbalance = max(p.Imbalance, int(m.loads[i]*share.capacity*100/(share.total*int64(max(1, in.Capacity))))-100)
	}
	return p
}

// shares is what makes up a fair share.
type shares struct {
	total    int64 // the weight of all tasks
	capacity int64 // of all that stay
	percent  int64 // of tolerance
}

func (r *run) shares() shares {
	s := shares{percent: int64(r.config.ImbalancePercent)}
	for t := range r.tasks {
		s.total += r.tasks[t].weight
	}
	for _, in := range r.instances {
		if in.member && !in.leaving {
			s.capacity += int64(max(1, in.Capacity))
		}
	}
	s.capacity = max(1, s.capacity)
	return s
}

// rangeOf returns the least and the most that an instance should run (section R4 of the design).
func (s shares) rangeOf(in *instance) (low, high int64) {
	share := s.total * int64(max(1, in.Capacity))
	low = share * (100 - s.percent) / (100 * s.capacity)
	high = (share*(100+s.percent) + 100*s.capacity - 1) / (100 * s.capacity)
	if share >= s.capacity {
		low = max(low, 1)
	}
	return low, high
}

// isBalanced reports whether every instance that stays runs its share, with weights give or take all but one of the heaviest
// task's, and nobody else runs anything.
func (r *run) isBalanced(loads []int64) bool {
	s := r.shares()
	slack := r.meter.heaviest - 1
	for i, in := range r.instances {
		low, high := s.rangeOf(in)
		if !in.member || in.leaving {
			low, high = -slack, -slack
		}
		if loads[i] < low-slack || loads[i] > high+slack {
			return false
		}
	}
	return true
}

func (r *run) anybodyDown() bool {
	return slices.ContainsFunc(r.tasks, func(t task) bool { return t.state < paused })
}

// countShort finds the tasks that lack a standby.
func (m *meter) countShort(r *run) {
	m.recount, m.short = false, 0
	for t := range m.missing {
		m.missing[t] = r.lacksStandby(t)
		if m.missing[t] {
			m.short++
		}
	}
}

// lacksStandby reports whether a task has fewer caught-up copies elsewhere than configured, or than there are instances for.
func (r *run) lacksStandby(t int) bool {
	if !r.tasks[t].stateful {
		return false
	}
	others, hot := 0, 0
	for i, in := range r.instances {
		if !in.member || in.leaving || i == r.tasks[t].owner {
			continue
		}
		others++
		if c := &in.copies[t]; c.role > left && c.ready {
			hot++
		}
	}
	return hot < min(r.config.Standbys, others)
}

// noteSpan follows the lane of a task.
func (m *meter) noteSpan(r *run, t int) {
	now := Span{Task: t, From: r.now, Instance: r.tasks[t].owner, Running: r.tasks[t].state == running}
	if was := m.spanStart[t]; was.Instance != now.Instance || was.Running != now.Running {
		m.endSpan(r, t, false)
		m.spanStart[t] = now
	}
}

func (m *meter) endSpan(r *run, t int, last bool) {
	if len(m.spanStart) == 0 {
		return
	}
	if span := m.spanStart[t]; span.From < r.now || last {
		span.To, span.Last = r.now, last
		m.timeline.Spans = append(m.timeline.Spans, span)
	}
}

// fewestMoves returns the smallest number of tasks that had to move, since the given owners had them, for the instances that are
// there now to have their shares; -1 where tasks have weights.
func (r *run) fewestMoves(owners []int) int {
	if slices.ContainsFunc(r.tasks, func(t task) bool { return t.weight != r.tasks[0].weight }) {
		return -1
	}
	s := r.shares()
	s.total = int64(len(r.tasks))
	have := make([]int64, len(r.instances))
	for _, i := range owners {
		if i != none {
			have[i]++
		}
	}
	kept, planned := int64(0), int64(0)
	for i, in := range r.instances {
		if !in.member || in.leaving {
			continue
		}
		low, high := s.rangeOf(in)
		f := min(max(have[i], low), high)
		kept += min(have[i], f)
		planned += f
	}
	return len(owners) - int(kept-max(0, planned-s.total))
}

// protocol returns what decides a round.
func (r *run) protocol() decider {
	switch r.v.Protocol {
	case StopTheWorld:
		return r.stopTheWorld
	case CooperativeSticky:
		return r.cooperativeSticky
	case Warmup:
		return r.warmUp
	}
	return assignor.Assign
}

// decider is a function like [assignor.Assign].
type decider func([]assignor.Member, *assignor.Assignment, assignor.Config) (*assignor.Assignment, error)
