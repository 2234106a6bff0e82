package worlds

import (
	"fmt"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/twin"
)

// Step is a state that follows another, and what leads to it.
type Step struct {
	What string
	To   State
}

// Next returns all that can follow a state: every event, and a round. The error is a promise that the round has broken.
func (w *World) Next(s *State) ([]Step, error) {
	steps, err := w.rounds(s)
	if s.Events < w.Events {
		steps = append(steps, w.events(s)...)
	}
	return steps, err
}

// rounds returns the states after a round: one, or, where members may miss an answer, one more for each that can.
func (w *World) rounds(s *State) ([]Step, error) {
	none, err := w.round(s, -1)
	if err != nil {
		return nil, err
	}
	steps := []Step{{"a round", none}}
	for i := range s.Instances {
		if !w.Missed || !s.Instances[i].Present || s.Instances[i].Age == 0 {
			continue
		}
		missed, err := w.round(s, i)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{fmt.Sprintf("a round of which %s misses the answer", names[i]), missed})
	}
	return steps, nil
}

// round lets the leader decide and everybody obey but for one, whom the answer does not reach.
func (w *World) round(s *State, missed int) (State, error) {
	members, memory := w.reports(s), w.memory(s)
	if len(members) == 0 {
		return *s, nil
	}
	assign := w.Assign
	if assign == nil {
		assign = assignor.Assign
	}
	answer, err := assign(members, memory, w.Config)
	if err == nil {
		err = assignor.Check(members, answer, w.Config)
	}
	if err == nil && w.Twin {
		err = w.compare(members, memory, answer)
	}
	if err != nil {
		return *s, fmt.Errorf("%w\nanswer:\n%v", err, answer)
	}
	next := *s
	next.Events = 0
	var running mask
	for _, m := range members {
		in := next.named(m.ID)
		if names[max(0, missed)] != m.ID || missed < 0 {
			ma, _ := answer.For(m.ID)
			w.obey(in, m, ma)
		}
		runs := in.Active | in.Revoked&^next.stopped(in, missed)
		if running&runs != 0 {
			return *s, fmt.Errorf("I1: %s runs %v, which another runs too\nanswer:\n%v", m.ID, w.ids(running&runs), answer)
		}
		running |= runs
	}
	w.remember(&next, answer)
	next.rankAges()
	return next, nil
}

// compare holds an answer against that of the naive twin.
func (w *World) compare(members []assignor.Member, memory, answer *assignor.Assignment) error {
	want, err := twin.Assign(members, memory, w.Config)
	if diff := twin.Difference(answer, nil, want, err); diff != "" {
		return fmt.Errorf("the naive twin differs: %s\n%s", diff, twin.Print(want))
	}
	return nil
}

// stopped returns what of Revoked does not run between two rounds: who has got an answer runs it until the next one, who has
// missed it does not.
func (s *State) stopped(in *Instance, missed int) mask {
	if missed >= 0 && in == &s.Instances[missed] {
		return in.Revoked
	}
	return 0
}

// obey sets what a member reports after its answer. What it starts without having caught up with it, it restores: that is listed as
// a copy too.
func (w *World) obey(in *Instance, m assignor.Member, ma assignor.MemberAssignment) {
	ready := in.Active | in.Revoked | in.HotLearners | in.HotStandbys
	ready &^= in.Standbys &^ in.HotStandbys
	next := m.Next(ma, w.Mode)
	in.Active, in.Revoked, in.Age = w.set(next.Active), w.set(next.Revoked), uint8(next.Generation)
	in.Learners, in.HotLearners, in.Standbys, in.HotStandbys, in.Behind = 0, 0, 0, 0, 0
	for _, c := range next.Learners {
		in.note(w.number(c.Task), c.Lag, &in.Learners, &in.HotLearners)
	}
	for _, c := range next.Standbys {
		in.note(w.number(c.Task), c.Lag, &in.Standbys, &in.HotStandbys)
	}
	restores := w.set(ma.Active) & w.stateful() &^ ready
	in.Standbys |= restores
	in.HotStandbys &^= restores
}

func (in *Instance) note(t int, lag int64, all, hot *mask) {
	*all |= 1 << t
	switch {
	case lag == 0:
		*hot |= 1 << t
	case lag > 0 && all == &in.Standbys:
		in.Behind |= 1 << t
	}
}

// events returns the states after every event.
func (w *World) events(s *State) []Step {
	var steps []Step
	add := func(what string, change func(to *State)) {
		to := *s
		change(&to)
		to.Events++
		steps = append(steps, Step{what, to})
	}
	present := 0
	for i := range s.Instances {
		if s.Instances[i].Present {
			present++
		}
	}
	for i := range s.Instances {
		w.eventsOf(s, i, present, func(what string, change func(in *Instance)) {
			add(names[i]+" "+what, func(to *State) { change(&to.Instances[i]) })
		})
	}
	if s.Memory {
		add("the leader is new and has no memory", func(to *State) { w.remember(to, nil) })
	}
	if present > 0 {
		add("the leader is new and recovers the memory", func(to *State) { w.remember(to, assignor.Recover(w.reports(to))) })
	}
	return steps
}

// eventsOf adds what can happen to one instance.
func (w *World) eventsOf(s *State, i, present int, add func(what string, change func(in *Instance))) {
	in := &s.Instances[i]
	if w.Config.RejoinDelay > 0 && in.Awaited != 0 && !in.Late {
		add("does not come back in time", func(in *Instance) { in.Late = true })
	}
	if !in.Present {
		add("joins", func(in *Instance) { in.Present = true })
		if disk := (in.LastActive | in.Awaited) & w.stateful(); disk != 0 {
			add("comes back with its disk", func(in *Instance) { in.Present, in.Standbys, in.Behind = true, disk, disk })
		}
		return
	}
	if present > 1 {
		add("is gone", (*Instance).vanish)
	}
	if in.Leaving {
		add("is told to stay", func(in *Instance) { in.Leaving, in.Overdue = false, false })
	} else {
		add("is told to leave", func(in *Instance) { in.Leaving = true })
	}
	if w.Config.ScaleDownTimeout > 0 && in.Leaving && !in.Overdue {
		add("is past its deadline", func(in *Instance) { in.Overdue = true })
	}
	for t := range numTasks {
		w.eventsOfCopy(in, t, add)
	}
}

// eventsOfCopy adds what can happen to a copy of a task.
func (w *World) eventsOfCopy(in *Instance, t int, add func(what string, change func(in *Instance))) {
	bit := mask(1) << t
	if in.Learners.has(t) && !in.HotLearners.has(t) {
		add(fmt.Sprintf("has learned %v", w.taskID(t)), func(in *Instance) { in.HotLearners |= bit })
	}
	if in.Learners.has(t) {
		add(fmt.Sprintf("loses its learner of %v", w.taskID(t)), func(in *Instance) { in.Learners &^= bit; in.HotLearners &^= bit })
	}
	if in.Standbys.has(t) && !in.HotStandbys.has(t) {
		add(fmt.Sprintf("has caught up with %v", w.taskID(t)), func(in *Instance) { in.catchUp(bit) })
	}
}

// vanish forgets what an instance has; what the leader remembers of it stays.
func (in *Instance) vanish() {
	*in = Instance{
		Known: in.Known, KnownLeaving: in.KnownLeaving, LastActive: in.LastActive, LastStop: in.LastStop, Awaited: in.Awaited, Late: in.Late,
	}
}

// catchUp brings copies in Standbys up to date; what was restored runs, and is no copy any more.
func (in *Instance) catchUp(tasks mask) {
	in.HotStandbys |= tasks & in.Standbys
	in.Behind &^= tasks
	restored := tasks & (in.Active | in.Revoked)
	in.Standbys &^= restored
	in.HotStandbys &^= restored
}

// config returns the config of a world with these tasks.
func config(stateful, stateless int32, standbys, budget int, deadlines bool) assignor.Config {
	c := assignor.Config{Standbys: standbys, MaxLearners: budget}
	if stateful > 0 {
		c.Topology = append(c.Topology, assignor.Subtopology{ID: 0, Partitions: stateful})
	}
	if stateless > 0 {
		c.Topology = append(c.Topology, assignor.Subtopology{ID: 1, Partitions: stateless, Stateless: true})
	}
	if deadlines {
		c.RejoinDelay, c.ScaleDownTimeout = time.Minute, time.Minute
	}
	return c
}
