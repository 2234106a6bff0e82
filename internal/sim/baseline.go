package sim

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// The protocols that the assignor is compared with, each after its published description. All three get the same plan, which
// is as good as any of them can be: an even one that keeps as many tasks as possible where they are, and prefers instances that
// have a copy. They differ in how a task gets to its new place. (The real ones plan worse: Kafka Streams' assignor moves ten
// times as many tasks to take in an eleventh instance.)
//
// Stop-the-world is the eager protocol of the consumer group before KIP-429: to join a round a member gives up all that it
// runs, so the leader may place tasks as it likes, and nobody runs anything until the answers are there. A task that comes to
// an instance without its state restores there, and does not run meanwhile.
//
// Cooperative-sticky is incremental cooperative rebalancing as KIP-429 describes it: members run on during a round. What the
// plan moves is first taken from its owner, which stops it, and a round that follows at once gives it to its new owner, which
// restores it, and the task does not run meanwhile.
//
// Warm-up is KIP-441: a task stays with an owner that has caught up until the instance that the plan wants it on has caught
// up too. For that it is given a warm-up copy there, beside the standbys; at most max.warmup.replicas (2) of them exist at a
// time. While there are any the leader calls for a probing rebalance every probing.rebalance.interval.ms (10 minutes): only
// then tasks whose copy has caught up are moved, as in cooperative rebalancing, and the next warm-ups begin. A task whose
// owner is gone goes to the instance that is least behind, whatever that does to the balance, and is warmed up elsewhere then.
//
// Standbys stay where they are as long as they can, and new ones go where the fewest are and the tags differ (KIP-708); they are not
// evened out, which is why a new instance copies less with these three.
//
// None of them knows that an instance is to leave, nor waits for one that has left; static members they all know.

// plan is what the three have in common: who has what, and where each task should be.
type plan struct {
	*run
	config  assignor.Config
	members []assignor.Member // sorted by id
	owner   []int             // by task, the member that runs it or ran it until this round
	runs    []bool            // by task: its owner has not stopped it
	lag     [][]int64         // by task and member, -1 where it has no copy
	learns  [][]bool          // by task and member
	target  []int             // by member, how many tasks it should run
	room    []int             // by member, how many more it takes
	dest    []int             // by task
}

func (r *run) newPlan(members []assignor.Member, config assignor.Config) *plan {
	p := &plan{run: r, config: config, members: slices.Clone(members)}
	slices.SortFunc(p.members, func(a, b assignor.Member) int { return cmp.Compare(a.ID, b.ID) })
	p.owner, p.runs, p.dest = make([]int, len(r.tasks)), make([]bool, len(r.tasks)), make([]int, len(r.tasks))
	p.lag, p.learns = make([][]int64, len(r.tasks)), make([][]bool, len(r.tasks))
	for t := range r.tasks {
		p.owner[t], p.dest[t] = none, none
		p.lag[t], p.learns[t] = make([]int64, len(members)), make([]bool, len(members))
		for m := range members {
			p.lag[t][m] = -1
		}
	}
	for m := range p.members {
		p.read(m)
	}
	p.setTargets()
	p.choose()
	return p
}

// read notes what a member reports.
func (p *plan) read(m int) {
	in := &p.members[m]
	for k, list := range [][]assignor.TaskID{in.Active, in.Revoked} {
		for _, id := range list {
			t := p.number[id]
			p.owner[t], p.runs[t] = m, k == 0
			p.lag[t][m] = 0
		}
	}
	for k, list := range [][]assignor.Replica{in.Standbys, in.Learners} {
		for _, c := range list {
			t := p.number[c.Task]
			p.lag[t][m] = max(0, c.Lag)
			p.learns[t][m] = k == 1
		}
	}
}

func (p *plan) capacity(m int) int { return int(max(1, p.members[m].Capacity)) }

// setTargets computes an even share for every member that moves as few tasks as that takes.
func (p *plan) setTargets() {
	all, sum := 0, 0
	have := make([]int, len(p.members))
	for m := range p.members {
		all += p.capacity(m)
	}
	for _, o := range p.owner {
		if o != none {
			have[o]++
		}
	}
	n := len(p.tasks)
	p.target = make([]int, len(p.members))
	low := func(m int) int { return n * p.capacity(m) / all }
	high := func(m int) int { return (n*p.capacity(m) + all - 1) / all }
	for m := range p.members {
		p.target[m] = min(max(have[m], low(m)), high(m))
		sum += p.target[m]
	}
	for ; sum < n; sum++ {
		p.target[p.lightest(p.target, func(m int) bool { return p.target[m] < high(m) })]++
	}
	for ; sum > n; sum-- {
		p.target[p.heaviest(func(m int) bool { return p.target[m] > low(m) })]--
	}
	p.room = make([]int, len(p.members))
	for m := range p.members {
		p.room[m] = p.target[m] - min(have[m], p.target[m])
	}
}

// lightest returns the member with the least load for its capacity of those that may be taken, the first of several.
func (p *plan) lightest(load []int, may func(m int) bool) int {
	best := none
	for m := range p.members {
		if may(m) && (best == none || load[m]*p.capacity(best) < load[best]*p.capacity(m)) {
			best = m
		}
	}
	return best
}

func (p *plan) heaviest(may func(m int) bool) int {
	best := none
	for m := range p.members {
		if may(m) && (best == none || p.target[m]*p.capacity(best) > p.target[best]*p.capacity(m)) {
			best = m
		}
	}
	return best
}

// choose decides where each task should be: what a member has beyond its target, and what nobody has, goes to members with room.
func (p *plan) choose() {
	owned := make([][]int, len(p.members))
	var homeless []int
	for t, o := range p.owner {
		if o == none {
			homeless = append(homeless, t)
			continue
		}
		p.dest[t] = o
		owned[o] = append(owned[o], t)
	}
	for m, tasks := range owned {
		rank := func(t int) int { // what is being warmed up goes first, then what has a copy where there is room
			best := 2
			for to := range p.members {
				switch {
				case p.room[to] > 0 && p.learns[t][to]:
					return 0
				case p.room[to] > 0 && p.lag[t][to] >= 0:
					best = 1
				}
			}
			return best
		}
		slices.SortStableFunc(tasks, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		homeless = append(homeless, tasks[:max(0, len(tasks)-p.target[m])]...)
	}
	p.house(homeless)
}

// house gives each of the tasks a member with room: one that has a copy, the smallest lag first, else the lightest.
func (p *plan) house(tasks []int) {
	var rest []int
	for _, t := range tasks {
		p.dest[t] = none
		if to := p.bestCopy(t, func(m int) bool { return p.room[m] > 0 }); to != none {
			p.dest[t] = to
			p.room[to]--
		} else {
			rest = append(rest, t)
		}
	}
	for _, t := range rest {
		load := make([]int, len(p.members))
		for m := range load {
			load[m] = p.target[m] - p.room[m]
		}
		to := p.lightest(load, func(m int) bool { return p.room[m] > 0 })
		p.dest[t] = to
		p.room[to]--
	}
}

// bestCopy returns the member whose copy has the smallest lag, the learner of several, none where there is no copy.
func (p *plan) bestCopy(t int, may func(m int) bool) int {
	best := none
	for m, lag := range p.lag[t] {
		if lag < 0 || m == p.owner[t] || !may(m) {
			continue
		}
		if best == none || lag < p.lag[t][best] || lag == p.lag[t][best] && p.learns[t][m] && !p.learns[t][best] {
			best = m
		}
	}
	return best
}

func (p *plan) caughtUp(t, m int) bool {
	return p.lag[t][m] >= 0 && p.lag[t][m] <= p.config.AcceptableLag
}

func (r *run) stopTheWorld(members []assignor.Member, _ *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
	p := r.newPlan(members, config)
	d := p.newDraft()
	copy(d.run, p.dest)
	return d.answer(), nil
}

func (r *run) cooperativeSticky(members []assignor.Member, _ *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
	p := r.newPlan(members, config)
	d := p.newDraft()
	for t, to := range p.dest {
		d.moveTo(t, to)
	}
	return d.answer(), nil
}

func (r *run) warmUp(members []assignor.Member, _ *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error) {
	p := r.newPlan(members, config)
	d := p.newDraft()
	var waiting []int
	for t, to := range p.dest {
		at := p.owner[t]
		if at == none {
			at = p.bestCopy(t, func(m int) bool { return p.caughtUp(t, m) })
		}
		if at == none || at == to || !p.tasks[t].stateful || p.caughtUp(t, to) {
			d.moveTo(t, to)
			continue
		}
		d.run[t] = at
		waiting = append(waiting, t)
	}
	slices.SortStableFunc(waiting, func(a, b int) int { // warm-ups in place come first
		return cmp.Compare(d.warming(b), d.warming(a))
	})
	for _, t := range waiting[:min(len(waiting), r.v.Costs.Warmups)] {
		d.learn[t] = p.dest[t]
	}
	a := d.answer()
	if len(waiting) > 0 {
		a.NextRebalance = r.v.Costs.Probe
	}
	return a, nil
}

// warming returns 1 for a task that is being warmed up where it should be.
func (p *plan) warming(t int) int {
	if p.learns[t][p.dest[t]] {
		return 1
	}
	return 0
}
