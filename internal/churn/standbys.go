package churn

import (
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// spreading is where the standbys are once a group has settled, for judging by formulas of its own whether they are level.
type spreading struct {
	*World
	names  []string // the instances that stay
	lo, hi map[string]int64
	count  map[string]int64
	active map[assignor.TaskID]string
	copies map[assignor.TaskID][]string // the instances that keep a standby
	tags   map[string][]string
}

// spreadingOf reads an answer. All standbys are shared out among the instances that stay, by the same formula as tasks.
func (w *World) spreadingOf(a *assignor.Assignment) *spreading {
	s := &spreading{
		World: w, lo: map[string]int64{}, hi: map[string]int64{}, count: map[string]int64{}, active: w.placesOf(a),
		copies: map[assignor.TaskID][]string{}, tags: map[string][]string{},
	}
	total, sum := int64(0), int64(0)
	parties := w.partiesOf(a)
	for _, p := range parties {
		if p.stays {
			s.names = append(s.names, p.name)
			s.count[p.name], s.tags[p.name] = p.standbys, w.tagsOf(p.name)
			total += p.standbys
			sum += p.capacity
		}
	}
	for _, p := range parties {
		if p.stays {
			s.lo[p.name], s.hi[p.name] = share(total, p.capacity, sum, int64(w.config.ImbalancePercent))
		}
	}
	for i := range a.Members {
		for _, task := range a.Members[i].Standbys {
			s.copies[task] = append(s.copies[task], a.Members[i].Instance)
		}
	}
	return s
}

// tagsOf returns the values of the tags of an instance: those of its member with the smallest id.
func (w *World) tagsOf(instance string) []string {
	first := slices.MinFunc(w.on(instance), func(a, b *worker) int { return strings.Compare(a.report.ID, b.report.ID) })
	var values []string
	for _, tag := range w.config.SpreadTags {
		values = append(values, first.report.Tags[tag])
	}
	return values
}

// checkLevel checks R6: no standby could move to another instance by which the copies of its task share fewer tag values, or by
// which the counts come closer to their ranges while they share no more. Counts need not be in their ranges: where an instance
// runs most of the tasks it can keep few standbys, tags may leave few places, and where two moves together would help of which
// neither does alone, neither is made (a move must shrink the distances).
func (w *World) checkLevel(a *assignor.Assignment) {
	s := w.spreadingOf(a)
	for task, copies := range s.copies {
		for _, from := range copies {
			for _, to := range s.names {
				if to == s.active[task] || slices.Contains(copies, to) {
					continue
				}
				before, after := s.shared(task, from, from), s.shared(task, to, from)
				if after < before {
					w.failf("R6: settled, and the standby of %v on %s would share fewer tag values on %s", task, from, to)
				}
				if after == before && s.gain(from, to) > 0 {
					w.failf("R6: settled, and a standby of %v on %s would be better on %s: %v, in ranges from %v to %v", task, from, to, s.count, s.lo, s.hi)
				}
			}
		}
	}
}

// shared returns how many tag values a standby on an instance would share with the other copies, in the place of one.
func (s *spreading) shared(task assignor.TaskID, instance, inPlaceOf string) int {
	others := []string{s.active[task]}
	for _, c := range s.copies[task] {
		if c != inPlaceOf {
			others = append(others, c)
		}
	}
	n := 0
	for _, other := range others {
		for k, value := range s.tags[instance] {
			if s.tags[other][k] == value {
				n++
			}
		}
	}
	return n
}

// gain returns by how much the distances of all from their ranges shrink if a standby moves: from an instance one above its range to one
// that is two below, 2; between two within their ranges, 0 or less.
func (s *spreading) gain(from, to string) int64 {
	distance := func(name string, n int64) int64 { return max(0, s.lo[name]-n, n-s.hi[name]) }
	a, b := s.count[from], s.count[to]
	return distance(from, a) + distance(to, b) - distance(from, a-1) - distance(to, b+1)
}
