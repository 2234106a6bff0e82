package assignor

import (
	"math"
	"slices"

	"github.com/incremental-rebalance/assignor/internal/level"
)

// levelKind returns how many tasks of each class every instance should have, where those above their range give up some and
// leaving ones all (R4.2).
//
//	             S1  S2  S3 new  S4 leaves
//	have          5   4   0       3          twelve in all, three stay: a fair range of 4 to 4
//	starts with   4   4   4                  Low is 4: S3 is raised, S1 lowered
//	target        4   4   4       0
//
// Whoever does not receive is not raised above what it has or is planned to have, so with NewInstancesOnly the others keep what
// no newcomer can take. An instance that overflows takes what is left when all are at the upper end of their range.
func (p *plan) levelKind(k *kind, d demand) counts {
	total := p.total(k, d)
	d.incoming = slices.Clone(d.incoming)
	for class := range d.incoming {
		for i, n := range d.have.of(int32(class)) {
			if !p.instances[i].stays {
				d.incoming[class] += n
			}
		}
	}
	if !k.unit() {
		return p.newWeighing(k, d, total).level()
	}
	l := p.newLevelling(d, total)
	for i := range p.instances {
		keeps := max(l.Have[i], l.Prefer[i])
		if !d.receives(i) {
			l.Low[i], l.High[i] = min(l.Low[i], keeps), min(l.High[i], keeps)
		}
		l.Floor[i] = l.Low[i]
	}
	return counts{l.Targets(), len(p.instances)}
}

// fillKind is levelKind where nobody gives up anything: it only says where incoming goes (R1.5). Who has more than its range
// keeps it, and is given more only when all others have come up to theirs.
//
//	             S1  S2  S3
//	have          5   1   0     three come in: nine in all, a fair range of 3 to 3
//	target        5   2   2     to S3, S2, S3: always to the lightest
func (p *plan) fillKind(k *kind, d demand) counts {
	total := p.total(k, d)
	if !k.unit() {
		return p.newWeighing(k, d, total).fill()
	}
	l := p.newLevelling(d, total)
	for i, have := range l.Have {
		l.Floor[i] = have
		l.First[i], l.Low[i] = max(l.Low[i], have), have
		l.High[i], l.Spill[i] = max(l.High[i], have), max(l.Spill[i], have)
		if !d.receives(i) {
			l.First[i], l.High[i] = have, have
		}
	}
	return counts{l.Targets(), len(p.instances)}
}

// newLevelling has the fair range of every instance that stays as its bounds. One that leaves has nothing and takes nothing.
func (g *group) newLevelling(d demand, total int64) level.Levelling {
	l := level.New(g.int64s.zeros(level.Columns*len(g.instances)), len(g.instances))
	l.Incoming = d.incoming[0]
	for i := range g.instances {
		in := &g.instances[i]
		l.Capacity[i] = in.capacity
		if !in.stays {
			continue
		}
		if d.base != nil {
			l.Base[i] = d.base[i]
		}
		lo, hi := level.Range(total, in.capacity, g.staying, g.config.ImbalancePercent)
		l.Have[i], l.Low[i], l.High[i] = d.have.n[i], max(0, lo-l.Base[i]), max(0, hi-l.Base[i])
		if d.overflows(i) {
			l.Spill[i], l.Last[i] = l.High[i], math.MaxInt64
		}
	}
	if l.Prefer = d.prefer.n; l.Prefer == nil {
		l.Prefer = l.Have
	}
	return l
}
