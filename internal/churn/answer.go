package churn

import (
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// checkAnswer holds one answer against Check, and against what the members truly run and the leader may not know: I1 and L3. Check sees
// what the leader sees, so it cannot find a task that runs where no report says so; the world knows.
func (w *World) checkAnswer(members []assignor.Member, memory, a *assignor.Assignment) {
	if err := assignor.Check(members, a, w.config); err != nil {
		w.failf("Check: %v", err)
	}
	w.checkTruth(a)
	w.checkLanding(members, a)
	w.checkIdle(a)
	w.checkMoves(members, memory, a)
	w.checkDeadlines(members, memory, a)
}

// checkTruth checks I1 against what members truly run: nobody starts a task that another still runs, and who runs it and may not
// go on is told to stop.
func (w *World) checkTruth(a *assignor.Assignment) {
	starts := map[assignor.TaskID]string{}
	for i := range a.Members {
		for _, task := range a.Members[i].Active {
			starts[task] = a.Members[i].Member
		}
	}
	for _, k := range w.workers {
		ma, _ := a.For(k.report.ID)
		for task := range k.runs {
			if id, ok := starts[task]; ok && id != k.report.ID && !w.worker(id).runs[task] {
				w.failf("I1: %s starts %v while %s truly runs it", id, task, k.report.ID)
			}
			if !slices.Contains(ma.Active, task) && !slices.Contains(ma.Revoke, task) {
				w.failf("I1: %s truly runs %v and is neither told to go on nor to stop", k.report.ID, task)
			}
		}
	}
}

// checkLanding checks L3: a task with state that comes to another instance comes to one that has caught up with it, or had when
// the last round told its owner to stop. L3 says nothing of tasks whose owner crashed, or is past its drain deadline, or leaves
// while nobody that stays can learn.
func (w *World) checkLanding(members []assignor.Member, a *assignor.Assignment) {
	hot := map[copyAt]bool{}
	for i := range members {
		for _, copies := range [][]assignor.Replica{members[i].Learners, members[i].Standbys} {
			for _, c := range copies {
				at := copyAt{c.Task, instanceOf(&members[i])}
				hot[at] = hot[at] || caughtUp(w.config, c.Lag)
			}
		}
		for _, task := range slices.Concat(members[i].Active, members[i].Revoked) {
			at := copyAt{task, instanceOf(&members[i])}
			hot[at] = hot[at] || !holds(members[i].Standbys, task)
		}
	}
	for i := range a.Members {
		for _, task := range a.Members[i].Active {
			from := w.last[task]
			ran, ever := w.ran[task]
			at := copyAt{task, a.Members[i].Instance}
			if w.stateless(task) || !ever || w.lost[task] || at.instance == from.instance || at.instance == ran || w.excused(from.instance) {
				continue
			}
			if !hot[at] && !(w.revoked[task] && w.hot[at]) {
				w.failf("L3: %v comes from %s to %s, which has not caught up with it", task, from.instance, at.instance)
			}
		}
	}
	for at, was := range w.hot {
		hot[at] = hot[at] || was && w.revoked[at.task]
	}
	w.hot, w.revoked = hot, map[assignor.TaskID]bool{}
	for i := range a.Members {
		for _, task := range a.Members[i].Revoke {
			w.revoked[task] = true
			if w.excused(a.Members[i].Instance) {
				w.lost[task] = true
			}
		}
	}
}

// excused reports whether the tasks of an instance go elsewhere although nothing there has caught up: it leaves, and is past its
// deadline (R7.2), or nobody that stays speaks LearnerVersion (R5.6).
func (w *World) excused(instance string) bool {
	leaving, longest, speaks := true, int64(0), false
	for _, k := range w.workers {
		switch {
		case k.instance() == instance:
			leaving = leaving && k.report.Leaving
			longest = max(longest, int64(k.report.LeavingFor))
		case !k.report.Leaving:
			speaks = speaks || k.report.Version == 0 || k.report.Version >= assignor.LearnerVersion
		}
	}
	overdue := w.config.ScaleDownTimeout > 0 && longest >= int64(w.config.ScaleDownTimeout)
	return leaving && (overdue || !speaks)
}

// has reports whether the topology has a task now.
func (w *World) has(task assignor.TaskID) bool {
	return slices.ContainsFunc(w.config.Topology, func(s assignor.Subtopology) bool { return s.ID == task.Subtopology && task.Partition < s.Partitions })
}

func (w *World) stateless(task assignor.TaskID) bool {
	for _, s := range w.config.Topology {
		if s.ID == task.Subtopology {
			return s.Stateless
		}
	}
	return false
}

// checkIdle checks the other half of L3: a task runs at all times but for the one round of a Revoke. Whoever misses an answer makes that
// two rounds, since it is told to stop what it was given in vain; three rounds later that has to be over.
func (w *World) checkIdle(a *assignor.Assignment) {
	runs, stops := map[assignor.TaskID]bool{}, map[assignor.TaskID]bool{}
	for i := range a.Members {
		for _, task := range a.Members[i].Active {
			runs[task] = true
		}
		for _, task := range a.Members[i].Revoke {
			stops[task] = true
		}
	}
	for task := range w.last {
		switch {
		case runs[task] || !w.has(task):
			delete(w.idle, task)
		case w.lost[task] && !stops[task]:
		default:
			w.idle[task]++
			if !stops[task] {
				w.failf("L3: %v stops running although nobody is told to stop it", task)
			}
			if w.idle[task] > 1 && w.dirty < w.Rounds-3 {
				w.failf("L3: %v runs nowhere for the second round", task)
			}
		}
	}
}

// change is what a move tells: who starts or stops something.
type change struct {
	kind   assignor.MoveKind
	task   assignor.TaskID
	member string
}

// tellings are the moves of one answer.
type tellings struct {
	*World
	told   map[change]int
	passed map[change]bool // copies that a member passed on to its sibling
}

// checkMoves checks that every change is told once, with a reason.
func (w *World) checkMoves(members []assignor.Member, memory, a *assignor.Assignment) {
	t := &tellings{w, map[change]int{}, map[change]bool{}}
	for _, m := range a.Moves {
		if m.Reason == assignor.ReasonNone {
			w.failf("no reason: %v", m)
		}
		who := m.To
		switch m.Kind {
		case assignor.MoveRevoke, assignor.MoveStopLearn, assignor.MoveStopStandby, assignor.MoveAwait:
			who = m.From
		case assignor.MoveStandby, assignor.MoveLearn:
			t.passed[change{m.Kind, m.Task, m.From}] = true
		}
		t.told[change{m.Kind, m.Task, who}]++
	}
	for _, n := range t.told {
		if n > 1 {
			w.failf("a move is told twice: %v", a.Moves)
		}
	}
	for i := range members {
		ma, _ := a.For(members[i].ID)
		t.checkStarts(&members[i], &ma, memory)
		t.checkStops(&members[i], &ma)
	}
}

// must fails where no move tells of a change.
func (t *tellings) must(kind assignor.MoveKind, task assignor.TaskID, member string) {
	if t.told[change{kind, task, member}] == 0 {
		t.failf("no move tells of %v %v %s", task, kind, member)
	}
}

// checkStarts looks for the moves that tell of what a member is to run, learn and back up from now on.
func (t *tellings) checkStarts(m *assignor.Member, ma *assignor.MemberAssignment, memory *assignor.Assignment) {
	// The leader knows who ran a task last: it has the last answer, and the member has applied it.
	certain := memory != nil && t.memory != nil && !t.rebuilt && memory.Generation == t.memory.Generation && t.dirty < t.Rounds-3 &&
		(m.Generation == 0 || m.Generation == memory.Generation)
	for _, task := range ma.Active {
		if at, ok := t.last[task]; ok && at.member != m.ID && !slices.Contains(m.Active, task) && !t.lost[task] && certain {
			t.must(assignor.MoveActive, task, m.ID)
		}
	}
	for _, task := range ma.Learners {
		if !holds(m.Learners, task) {
			t.must(assignor.MoveLearn, task, m.ID)
		}
	}
	for _, task := range ma.Standbys {
		if !holds(m.Standbys, task) {
			t.must(assignor.MoveStandby, task, m.ID)
		}
	}
}

// checkStops looks for the moves that tell of what a member must stop, or drops.
func (t *tellings) checkStops(m *assignor.Member, ma *assignor.MemberAssignment) {
	for _, task := range ma.Revoke {
		t.must(assignor.MoveRevoke, task, m.ID)
	}
	runs := func(task assignor.TaskID) bool {
		return slices.Contains(ma.Active, task) || slices.Contains(ma.Revoke, task)
	}
	for _, c := range m.Learners {
		if !slices.Contains(ma.Learners, c.Task) && !runs(c.Task) && !t.passed[change{assignor.MoveLearn, c.Task, m.ID}] {
			t.must(assignor.MoveStopLearn, c.Task, m.ID)
		}
	}
	for _, c := range m.Standbys {
		if t.has(c.Task) && t.stateless(c.Task) {
			continue
		}
		keeps := slices.Contains(ma.Standbys, c.Task) || slices.Contains(ma.Learners, c.Task) || runs(c.Task) || holds(m.Learners, c.Task)
		if !keeps && !t.passed[change{assignor.MoveStandby, c.Task, m.ID}] {
			t.must(assignor.MoveStopStandby, c.Task, m.ID)
		}
	}
}

// holds reports whether a task is among copies.
func holds(copies []assignor.Replica, task assignor.TaskID) bool {
	return slices.ContainsFunc(copies, func(c assignor.Replica) bool { return c.Task == task })
}

// checkDeadlines checks when the next round must come: at once where somebody has something new to stop, later where the same was
// ordered in the last round already.
func (w *World) checkDeadlines(members []assignor.Member, memory, a *assignor.Assignment) {
	revokes, fresh := 0, 0
	newest := int32(0)
	for i := range members {
		newest = max(newest, members[i].Generation)
	}
	remembers := memory != nil && memory.Generation >= newest
	for i := range a.Members {
		for _, task := range a.Members[i].Revoke {
			revokes++
			var before assignor.MemberAssignment
			if remembers {
				before, _ = memory.For(a.Members[i].Member)
			}
			if !slices.Contains(before.Revoke, task) {
				fresh++
			}
		}
		if a.Members[i].FollowUp != a.FollowUp {
			w.failf("%s is told of another FollowUp", a.Members[i].Member)
		}
	}
	if a.FollowUp != (fresh > 0) {
		w.failf("R2: FollowUp is %v with %d orders to stop, %d of them new", a.FollowUp, revokes, fresh)
	}
	if revokes > fresh && (a.NextRebalance <= 0 || a.NextRebalance > assignor.RevokeRetry) {
		w.failf("R2: an order to stop is repeated, and the next round comes after %v", a.NextRebalance)
	}
}
