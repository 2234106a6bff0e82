package assignor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check reports every way in which a is not a safe answer to its input, as docs/design.md lists them (I1 to I6), one error per
// violation (errors.Join), each naming the task and the members; nil where there is none. It is meant for the tests of
// frameworks: it judges from the reports alone, so what only the leader's memory shows is not held against an answer: whether a
// member that missed the last answer may still run what it reports as Revoked, for one.
//
// It fails with the errors of [Assign] where its input is such that Assign fails. It costs O(n log n) in all tasks.
func Check(members []Member, a *Assignment, config Config) error {
	if err := errors.Join(validateMembers(members), config.Validate()); err != nil {
		return err
	}
	if a == nil {
		return errors.New("assignor: no assignment")
	}
	c := newChecker(members, a, config)
	c.checkShape()
	if len(c.errs) > 0 {
		return errors.Join(c.errs...) // what follows relies on it
	}
	list, end := c.list()
	first := 0
	for n := range end {
		c.checkTask(c.taskOf(list[first:end[n]]))
		first = end[n]
	}
	return errors.Join(c.errs...)
}

// The checker knows nothing of how Assign decides: it shares no code with what it judges, or a mistake in that code would be one
// that it cannot see. All it has is a list of who says what of which task. Here A may still run the task when B starts, which is
// against I1:
//
//	0_1  inTopology
//	0_1  A reportsRunning
//	0_1  B reportsCopy, caught up
//	0_1  B toRun
//	0_1  A toStop
//
// The list is sorted by counting (list), so that all mentions of a task stand together, and each task is checked by itself: no check
// looks at two tasks. Members are numbers into members here, as tasks are by number.
type checker struct {
	answer   *Assignment
	config   Config
	topology []Subtopology   // sorted by ID
	first    []int32         // the number of the first task of each, and at the end that of the first foreign one
	foreign  []TaskID        // what somebody mentions and the topology does not have, sorted
	members  []checkedMember // sorted by id, as the answers to them are
	seen     int32           // the highest generation that a member reports
	task     checkedTask     // that is being checked
	errs     []error
}

// checkedMember is a member as the checks need it.
type checkedMember struct {
	*Member
	instance    string
	generation  int32 // 0 for none
	leaves      bool  // its instance does, and another stays
	mayRunOther bool  // the leader's memory may have shown that it runs more than it reports: it is behind
}

// mention is one line of the list.
type mention struct {
	task     TaskID
	who      int32 // index in members; in topology for inTopology; in the Departed for waits
	what     saying
	caughtUp bool // only of reportsCopy
}

// saying is what is said of a task: the topology has it, a member reports it, or the answer gives it to somebody.
type saying uint8

const (
	inTopology saying = iota
	reportsRunning
	reportsStopped
	reportsCopy
	toRun
	toHandOver
	toStop
	toLearn
	toKeep
	waits
	numSayings
)

// checkedTask is what is said of one task, by saying, each in the order of the members.
type checkedTask struct {
	id                 TaskID
	foreign, stateless bool // foreign: the topology does not have it
	who                [numSayings][]mention
}

// newChecker indexes the input. An answer that is two generations ahead of every report shows that the leader has a memory which says
// more than the reports do: what it gave a member that is behind cannot be judged from outside.
func newChecker(members []Member, a *Assignment, config Config) *checker {
	c := &checker{answer: a, config: config, members: make([]checkedMember, len(members))}
	c.topology = slices.Clone(config.Topology)
	slices.SortFunc(c.topology, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	c.first = make([]int32, len(c.topology)+1)
	for s, sub := range c.topology {
		c.first[s+1] = c.first[s] + sub.Partitions
	}
	stays := map[string]bool{}
	for i := range members {
		m := &members[i]
		c.members[i] = checkedMember{Member: m, instance: m.instanceName(), generation: knownGeneration(m.Generation)}
		c.seen = max(c.seen, c.members[i].generation)
		if !m.Leaving {
			stays[m.instanceName()] = true
		}
	}
	ahead := a.Generation > c.seen+1 // only a memory newer than every report makes it so
	for i := range c.members {
		m := &c.members[i]
		m.leaves = len(stays) > 0 && !stays[m.instance]
		m.mayRunOther = m.generation > 0 && (ahead || m.generation < c.seen)
	}
	slices.SortFunc(c.members, func(a, b checkedMember) int { return strings.Compare(a.ID, b.ID) })
	return c
}

// fail notes a violation. Which of them come first does not say which is the cause: all are told.
func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("assignor: "+format, args...))
}

// checkShape checks I6: one answer a member, all sorted, and a generation that is new.
func (c *checker) checkShape() {
	if c.answer.Generation <= c.seen {
		c.fail("I6: the generation %d is not greater than %d, which a member has reported", c.answer.Generation, c.seen)
	}
	if len(c.answer.Members) != len(c.members) {
		c.fail("I6: %d answers to %d members", len(c.answer.Members), len(c.members))
		return
	}
	for i := range c.answer.Members {
		ma := &c.answer.Members[i]
		if want := c.members[i].ID; ma.Member != want {
			c.fail("I6: answer %d is to %q, want %q", i, ma.Member, want)
		}
		c.checkList(ma, "Active", ma.Active)
		c.checkList(ma, "Handover", ma.Handover)
		c.checkList(ma, "Revoke", ma.Revoke)
		c.checkList(ma, "Learners", ma.Learners)
		c.checkList(ma, "Standbys", ma.Standbys)
	}
}

// checkList checks I6 for one list. Sorted, a list also shows a task that it has twice.
func (c *checker) checkList(ma *MemberAssignment, name string, tasks []TaskID) {
	for i := 1; i < len(tasks); i++ {
		if tasks[i-1].Compare(tasks[i]) >= 0 {
			c.fail("I6: %s: %s is not sorted or has a task twice: %v", ma.Member, name, tasks)
			return
		}
	}
}

// list returns all mentions, ordered by task, saying and member, and where those of each task end. It calls each three times: to find the
// foreign tasks, to count, and to fill, where the counts say.
func (c *checker) list() (list []mention, end []int) {
	c.each(func(m mention) {
		if c.number(m.task) == none {
			c.foreign = append(c.foreign, m.task)
		}
	})
	c.foreign = sortedTasks(c.foreign)
	end = make([]int, int(c.first[len(c.topology)])+len(c.foreign))
	c.each(func(m mention) { end[c.number(m.task)]++ })
	sum := 0
	for n, count := range end {
		end[n] = sum
		sum += count
	}
	list = make([]mention, sum)
	c.each(func(m mention) {
		n := c.number(m.task)
		list[end[n]] = m
		end[n]++
	})
	return list, end
}

// each calls f for every mention, by saying and member: so the mentions of one task come in this order, and stay in it when they are
// sorted by task. What a member reports that can be no task is left out, since nobody runs it; an answer that gives it out is judged.
func (c *checker) each(f func(m mention)) {
	for s, sub := range c.topology {
		for p := range sub.Partitions {
			f(mention{task: TaskID{sub.ID, p}, who: int32(s), what: inTopology})
		}
	}
	tasks := func(what saying, of func(m int) []TaskID) {
		for m := range c.members {
			for _, id := range of(m) {
				f(mention{task: id, who: int32(m), what: what})
			}
		}
	}
	tasks(reportsRunning, func(m int) []TaskID { return possible(c.members[m].Active) })
	tasks(reportsStopped, func(m int) []TaskID { return possible(c.members[m].Revoked) })
	for m := range c.members {
		for _, copies := range [][]Replica{c.members[m].Learners, c.members[m].Standbys} {
			for _, r := range copies {
				f(mention{r.Task, int32(m), reportsCopy, r.Lag >= 0 && r.Lag <= c.config.AcceptableLag})
			}
		}
	}
	tasks(toRun, func(m int) []TaskID { return c.answer.Members[m].Active })
	tasks(toHandOver, func(m int) []TaskID { return c.answer.Members[m].Handover })
	tasks(toStop, func(m int) []TaskID { return c.answer.Members[m].Revoke })
	tasks(toLearn, func(m int) []TaskID { return c.answer.Members[m].Learners })
	tasks(toKeep, func(m int) []TaskID { return c.answer.Members[m].Standbys })
	for d := range c.answer.Departed {
		for _, id := range c.answer.Departed[d].Tasks {
			f(mention{task: id, who: int32(d), what: waits})
		}
	}
}

// possible returns those that can be tasks: nobody runs another, whatever a member reports.
func possible(tasks []TaskID) []TaskID {
	impossible := func(id TaskID) bool { return !id.valid() }
	if !slices.ContainsFunc(tasks, impossible) {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), impossible)
}

// number returns the place of a task among all: those of the topology in id order, then the foreign ones.
func (c *checker) number(id TaskID) int32 {
	s, ok := slices.BinarySearchFunc(c.topology, id.Subtopology, func(sub Subtopology, id int32) int { return cmp.Compare(sub.ID, id) })
	if ok && id.Partition >= 0 && id.Partition < c.topology[s].Partitions {
		return c.first[s] + id.Partition
	}
	if n, ok := slices.BinarySearchFunc(c.foreign, id, TaskID.Compare); ok {
		return c.first[len(c.topology)] + int32(n)
	}
	return none
}

// taskOf returns the task of which these are all mentions.
func (c *checker) taskOf(list []mention) *checkedTask {
	t := &c.task
	*t = checkedTask{id: list[0].task}
	for len(list) > 0 {
		what, n := list[0].what, 1
		for n < len(list) && list[n].what == what {
			n++
		}
		t.who[what], list = list[:n:n], list[n:]
	}
	t.foreign = len(t.who[inTopology]) == 0
	t.stateless = !t.foreign && c.topology[t.who[inTopology][0].who].Stateless
	return t
}

// says reports whether a member says, or is told, this of the task.
func (t *checkedTask) says(what saying, who int32) bool {
	return slices.ContainsFunc(t.who[what], func(s mention) bool { return s.who == who })
}

// claims reports whether a member ran the task until now, as far as it says so.
func (t *checkedTask) claims(who int32) bool {
	return t.says(reportsRunning, who) || t.says(reportsStopped, who)
}

// checkTask checks all that is said of one task. Of a foreign one there is less to say: it need not run, and nobody may learn or keep it.
func (c *checker) checkTask(t *checkedTask) {
	c.checkOwners(t)
	if t.foreign {
		c.checkForeign(t)
		return
	}
	c.checkPlaced(t)
	c.checkLearners(t)
	c.checkStandbys(t)
	c.checkLeaving(t)
	c.checkCopies(t)
}

// checkForeign checks I6: a task that the topology does not have is given to nobody but a member that runs it.
func (c *checker) checkForeign(t *checkedTask) {
	for _, what := range []saying{toLearn, toKeep} {
		for _, s := range t.who[what] {
			c.fail("I6: %s: has a copy of %v, which the topology does not have", c.members[s.who].ID, t.id)
		}
	}
	for _, s := range t.who[toRun] {
		if m := &c.members[s.who]; !t.claims(s.who) && !m.mayRunOther {
			c.fail("I6: %s: runs %v, which the topology does not have and it did not run", m.ID, t.id)
		}
	}
}

// checkOwners checks I1: one member at most runs a task, and none while another may still run it, but for an owner that runs it
// already and whose generation is the higher one. Who runs it and may not go on is told to stop.
//
//	S1 and S2 report to run T1, both of generation 7    neither may go on: both are told to stop
//	S1 of generation 7, S2 of generation 6              S1 goes on, S2 is told to stop
//	S1 reports to run T1                                S2 may not start it, whoever is told to stop
func (c *checker) checkOwners(t *checkedTask) {
	if owners := t.who[toRun]; len(owners) > 1 {
		c.fail("I1: %v is active on %s and %s", t.id, c.members[owners[0].who].ID, c.members[owners[1].who].ID)
	}
	for i, s := range t.who[reportsRunning] { // a report may list a task twice
		if t.says(toRun, s.who) || i > 0 && t.who[reportsRunning][i-1].who == s.who {
			continue
		}
		m := &c.members[s.who]
		for _, owner := range t.who[toRun] {
			o := &c.members[owner.who]
			if !t.says(reportsRunning, owner.who) || o.generation <= m.generation {
				c.fail("I1: %v is active on %s while %s may still run it", t.id, o.ID, m.ID)
			}
		}
		if !t.says(toStop, s.who) {
			c.fail("I1: %s runs %v, may not go on and is not told to stop", m.ID, t.id)
		}
	}
	for _, s := range t.who[toStop] {
		if t.says(toRun, s.who) {
			c.fail("I1: %s is to run and to stop %v", c.members[s.who].ID, t.id)
		}
	}
	for _, s := range t.who[toHandOver] {
		if !t.says(toRun, s.who) {
			c.fail("I6: %s: %v is in Handover, but not in Active", c.members[s.who].ID, t.id)
		}
	}
}

// checkPlaced checks I2: every task is active once, or waits in a Revoke or in a Departure. Several may be told to stop one task, where
// several have claimed it.
func (c *checker) checkPlaced(t *checkedTask) {
	switch held, waiting := len(t.who[toRun])+len(t.who[toStop]), len(t.who[waits]); {
	case held+waiting == 0:
		c.fail("I2: %v is lost: nobody runs it, and it waits for nobody", t.id)
	case waiting > 1, waiting > 0 && held > 0:
		c.fail("I2: %v waits for an instance and is somewhere else too", t.id)
	}
}

// checkLearners checks I3: at most one learner, on another instance than the active task, whose owner is told of it. What runs nowhere
// may have a learner too, and nobody to be told.
func (c *checker) checkLearners(t *checkedTask) {
	learners := t.who[toLearn]
	if len(learners) > 1 {
		c.fail("I3: %v is learned by %s and %s", t.id, c.members[learners[0].who].ID, c.members[learners[1].who].ID)
	}
	for _, owner := range t.who[toRun] {
		o := &c.members[owner.who]
		for _, s := range learners {
			if m := &c.members[s.who]; m.instance == o.instance {
				c.fail("I3: %s learns %v, which %s runs on the same instance", m.ID, t.id, o.ID)
			}
		}
		if t.says(toHandOver, owner.who) != (len(learners) > 0) {
			c.fail("I3: %s: Handover does not say whether %v is being learned", o.ID, t.id)
		}
	}
}

// checkStandbys checks I4: a standby is on no instance that runs the task, learns it or has another standby of it.
func (c *checker) checkStandbys(t *checkedTask) {
	for k, s := range t.who[toKeep] {
		m := &c.members[s.who]
		for _, others := range [][]mention{t.who[toRun], t.who[toLearn], t.who[toKeep][:k]} {
			for _, other := range others {
				if o := &c.members[other.who]; o.instance == m.instance {
					c.fail("I4: %s has a standby of %v, which %s has on the same instance", m.ID, t.id, o.ID)
				}
			}
		}
	}
}

// checkLeaving checks I5: a leaving instance gets nothing that it does not have, while another stays, but for a task of which it has
// the only caught-up copy. A member that is behind may have been given more than it reports, by an answer that is not to be seen from
// here: of it nothing is said.
func (c *checker) checkLeaving(t *checkedTask) {
	for _, what := range []saying{toRun, toLearn, toKeep} {
		for _, s := range t.who[what] {
			if m := &c.members[s.who]; m.leaves && !m.mayRunOther && !c.claimedOn(t, m.instance) {
				c.checkHanded(t, m, what)
			}
		}
	}
}

// checkHanded checks I5 for a member that leaves and is told to have a task of which its instance has a copy at most. Without a copy it
// may get nothing; with one it may keep that, and run the task where no copy that has caught up stays.
func (c *checker) checkHanded(t *checkedTask, m *checkedMember, what saying) {
	if !c.copied(t, func(s mention) bool { return c.members[s.who].instance == m.instance }) {
		c.fail("I5: %s leaves and is handed %v", m.ID, t.id)
	}
	if what == toRun && c.copied(t, func(s mention) bool { return s.caughtUp && !c.members[s.who].leaves }) {
		c.fail("I5: %s leaves and is handed %v, which another copy could run", m.ID, t.id)
	}
}

// claimedOn reports whether a member of the instance ran the task until now.
func (c *checker) claimedOn(t *checkedTask, instance string) bool {
	on := func(s mention) bool { return c.members[s.who].instance == instance }
	return slices.ContainsFunc(t.who[reportsRunning], on) || slices.ContainsFunc(t.who[reportsStopped], on)
}

// copied reports whether a member that does not run the task reports such a copy of it. What has no state has no copies.
func (c *checker) copied(t *checkedTask, such func(s mention) bool) bool {
	return !t.stateless && slices.ContainsFunc(t.who[reportsCopy], func(s mention) bool { return such(s) && !t.says(reportsRunning, s.who) })
}

// checkCopies checks what I3 to I5 say of any copy: the task has state, and who learns it knows learners.
func (c *checker) checkCopies(t *checkedTask) {
	for _, s := range t.who[toLearn] {
		m := &c.members[s.who]
		if t.stateless {
			c.fail("I3: %s learns %v, which has no state", m.ID, t.id)
		}
		if m.Version != 0 && m.Version < LearnerVersion {
			c.fail("I5: %s learns %v, but speaks version %d only", m.ID, t.id, m.Version)
		}
	}
	for _, s := range t.who[toKeep] {
		if t.stateless {
			c.fail("I4: %s has a standby of %v, which has no state", c.members[s.who].ID, t.id)
		}
	}
}
