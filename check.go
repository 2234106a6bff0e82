package assignor

import (
	"errors"
	"fmt"
	"slices"
)

// Check reports every way in which a is not a safe answer to its input, as docs/design.md lists them (I1 to I6), one
// error per violation (errors.Join), each naming the task and the members; nil where there is none. It is meant for the tests of
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
	c.collect()
	for t := range c.places {
		c.checkTask(int32(t))
	}
	return errors.Join(c.errs...)
}

// checker holds an answer beside its input, by dense numbers.
type checker struct {
	*round
	a      *Assignment
	claims [][]claim // by task: who runs it, and who ran it until now, as reported
	places []places
	ahead  bool // the answer's generation shows that the leader's memory was newer than every report
	errs   []error
}

// places is where an answer has a task.
type places struct {
	on       [numLists][]int32 // members
	departed int
}

func newChecker(members []Member, a *Assignment, config Config) *checker {
	r := newRound(members, nil, config, new(scratch))
	c := &checker{round: r, a: a}
	c.ahead = a.Generation > r.seen+1
	r.topology.foreign = c.foreignTasks()
	n := r.topology.all()
	c.claims = make([][]claim, n)
	r.eachClaim(func(ids []TaskID, m int32, run, certain bool) {
		for _, id := range ids {
			t := r.topology.number(id)
			if t == none { // no such task can be
				continue
			}
			c.claims[t] = append(c.claims[t], claim{t, m, run && certain, certain})
		}
	})
	for t := range c.claims {
		c.claims[t] = r.mergeClaims(c.claims[t])
	}
	c.owner = c.filled(n, none)
	for t, claims := range c.claims {
		if len(claims) > 0 {
			c.owner[t] = claims[0].member
			c.setRunning(int32(t), claims[0].runs)
		}
	}
	r.readCopies()
	c.places = make([]places, n)
	return c
}

// foreignTasks returns what members or the answer mention and the topology does not have.
func (c *checker) foreignTasks() []TaskID {
	var tasks []TaskID
	c.eachClaim(func(ids []TaskID, _ int32, _, _ bool) { tasks = append(tasks, ids...) })
	tasks = slices.DeleteFunc(tasks, func(id TaskID) bool { return !id.valid() })
	for i := range c.a.Members {
		for which := range numLists {
			tasks = append(tasks, *c.a.Members[i].list(which)...)
		}
	}
	for i := range c.a.Departed {
		tasks = append(tasks, c.a.Departed[i].Tasks...)
	}
	tasks = slices.DeleteFunc(tasks, func(id TaskID) bool { return c.topology.number(id) != none })
	return sortedTasks(tasks)
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("assignor: "+format, args...))
}

// checkShape checks I6: one answer a member, all sorted, and a generation that is new.
func (c *checker) checkShape() {
	if c.a.Generation <= c.seen {
		c.fail("I6: the generation %d is not greater than %d, which a member has reported", c.a.Generation, c.seen)
	}
	if len(c.a.Members) != len(c.members) {
		c.fail("I6: %d answers to %d members", len(c.a.Members), len(c.members))
		return
	}
	for m := range c.a.Members {
		ma := &c.a.Members[m]
		if want := c.members[m].in.ID; ma.Member != want {
			c.fail("I6: answer %d is to %q, want %q", m, ma.Member, want)
		}
		for which := range numLists {
			if !strictlySorted(*ma.list(which)) {
				c.fail("I6: %s: %s is not sorted or has a task twice: %v", ma.Member, listNames[which], *ma.list(which))
			}
		}
		for _, id := range ma.Handover {
			if _, ok := slices.BinarySearchFunc(ma.Active, id, TaskID.Compare); !ok {
				c.fail("I6: %s: %v is in Handover, but not in Active", ma.Member, id)
			}
		}
	}
}

var listNames = [numLists]string{"Active", "Handover", "Revoke", "Learners", "Standbys"}

func strictlySorted(tasks []TaskID) bool {
	for i := 1; i < len(tasks); i++ {
		if tasks[i-1].Compare(tasks[i]) >= 0 {
			return false
		}
	}
	return true
}

// collect notes where the answer has every task.
func (c *checker) collect() {
	for m := range c.a.Members {
		for which := range numLists {
			for _, id := range *c.a.Members[m].list(which) {
				p := &c.places[c.topology.number(id)]
				p.on[which] = append(p.on[which], int32(m))
			}
		}
	}
	for i := range c.a.Departed {
		for _, id := range c.a.Departed[i].Tasks {
			c.places[c.topology.number(id)].departed++
		}
	}
}

func (c *checker) checkTask(t int32) {
	if t >= c.topology.size() {
		c.checkForeign(t)
		return
	}
	c.checkOwners(t)
	c.checkPlaced(t)
	c.checkLearners(t)
	c.checkStandbys(t)
	c.checkLeaving(t)
}

// checkForeign checks I6: a task that the topology does not have is given to nobody but a member that runs it.
func (c *checker) checkForeign(t int32) {
	p := &c.places[t]
	for _, m := range slices.Concat(p.on[learnerList], p.on[standbyList]) {
		c.fail("I6: %s: has a copy of %v, which the topology does not have", c.nameOf(m), c.topology.id(t))
	}
	for _, m := range p.on[activeList] {
		if !c.claimedBy(t, m) && !c.mayRunMore(m) {
			c.fail("I6: %s: runs %v, which the topology does not have and it did not run", c.nameOf(m), c.topology.id(t))
		}
	}
	c.checkOwners(t)
}

// mayRunMore reports whether the leader's memory may have shown that a member runs more than it reports: one that is behind.
func (c *checker) mayRunMore(m int32) bool {
	gen := c.members[m].gen
	return gen > 0 && (c.ahead || gen < c.seen)
}

func (c *checker) claimedBy(t, m int32) bool {
	return slices.ContainsFunc(c.claims[t], func(cl claim) bool { return cl.member == m })
}

// checkOwners checks I1: one member at most runs a task, and none while another may still run it, but for an owner that runs it
// already and whose generation is the higher one. Who runs it and may not go on is told to stop.
func (c *checker) checkOwners(t int32) {
	p := &c.places[t]
	if len(p.on[activeList]) > 1 {
		c.fail("I1: %v is active on %s and %s", c.topology.id(t), c.nameOf(p.on[activeList][0]), c.nameOf(p.on[activeList][1]))
	}
	for _, cl := range c.claims[t] {
		if !cl.runs || slices.Contains(p.on[activeList], cl.member) {
			continue
		}
		for _, m := range p.on[activeList] {
			if !c.runsAbove(t, m, c.members[cl.member].gen) {
				c.fail("I1: %v is active on %s while %s may still run it", c.topology.id(t), c.nameOf(m), c.nameOf(cl.member))
			}
		}
		if !slices.Contains(p.on[revokeList], cl.member) {
			c.fail("I1: %s runs %v, may not go on and is not told to stop", c.nameOf(cl.member), c.topology.id(t))
		}
	}
	for _, m := range p.on[revokeList] {
		if slices.Contains(p.on[activeList], m) {
			c.fail("I1: %s is to run and to stop %v", c.nameOf(m), c.topology.id(t))
		}
	}
}

// runsAbove reports whether the member reports to run the task in a higher generation.
func (c *checker) runsAbove(t, m, gen int32) bool {
	return slices.ContainsFunc(c.claims[t], func(cl claim) bool { return cl.member == m && cl.certain && c.members[m].gen > gen })
}

// checkPlaced checks I2: every task is active once, or waits in a Revoke or in a Departure.
func (c *checker) checkPlaced(t int32) {
	p := &c.places[t]
	switch id := c.topology.id(t); {
	case len(p.on[activeList]) == 0 && len(p.on[revokeList]) == 0 && p.departed == 0:
		c.fail("I2: %v is lost: nobody runs it, and it waits for nobody", id)
	case p.departed > 1, p.departed > 0 && len(p.on[activeList])+len(p.on[revokeList]) > 0:
		c.fail("I2: %v waits for an instance and is somewhere else too", id)
	}
}

// checkLearners checks I3: at most one learner, on another instance than the active task, of a task with state.
func (c *checker) checkLearners(t int32) {
	p := &c.places[t]
	id := c.topology.id(t)
	if len(p.on[learnerList]) > 1 {
		c.fail("I3: %v is learned by %s and %s", id, c.nameOf(p.on[learnerList][0]), c.nameOf(p.on[learnerList][1]))
	}
	for _, m := range p.on[learnerList] {
		if c.stateless(t) {
			c.fail("I3: %s learns %v, which has no state", c.nameOf(m), id)
		}
		for _, owner := range p.on[activeList] {
			if c.instanceOf(owner) == c.instanceOf(m) {
				c.fail("I3: %s learns %v, which %s runs on the same instance", c.nameOf(m), id, c.nameOf(owner))
			}
		}
	}
	c.checkHandover(t)
}

// checkHandover checks that the owner of a task is told of the learner.
func (c *checker) checkHandover(t int32) {
	p := &c.places[t]
	for _, m := range p.on[activeList] {
		_, told := slices.BinarySearchFunc(c.a.Members[m].Handover, c.topology.id(t), TaskID.Compare)
		if told != (len(p.on[learnerList]) > 0) {
			c.fail("I3: %s: Handover does not say whether %v is being learned", c.nameOf(m), c.topology.id(t))
		}
	}
}

// checkStandbys checks I4: a standby is on no instance that runs the task, learns it or has another standby of it.
func (c *checker) checkStandbys(t int32) {
	p := &c.places[t]
	id := c.topology.id(t)
	for k, m := range p.on[standbyList] {
		if c.stateless(t) {
			c.fail("I4: %s has a standby of %v, which has no state", c.nameOf(m), id)
		}
		for _, other := range slices.Concat(p.on[activeList], p.on[learnerList], p.on[standbyList][:k]) {
			if c.instanceOf(other) == c.instanceOf(m) {
				c.fail("I4: %s has a standby of %v, which %s has on the same instance", c.nameOf(m), id, c.nameOf(other))
			}
		}
	}
}

// checkLeaving checks I5: a leaving instance gets nothing it does not have, while another stays, but for a task of which it has
// the only caught-up copy; and no learner is given to a member that does not know them.
func (c *checker) checkLeaving(t int32) {
	p := &c.places[t]
	id := c.topology.id(t)
	for _, m := range p.on[learnerList] {
		if !c.members[m].speaks {
			c.fail("I5: %s learns %v, but speaks version %d only", c.nameOf(m), id, c.members[m].in.Version)
		}
	}
	for _, m := range slices.Concat(p.on[activeList], p.on[learnerList], p.on[standbyList]) {
		i := c.instanceOf(m)
		if c.instances[i].stays || c.had(t, i) || c.mayRunMore(m) {
			continue
		}
		c.fail("I5: %s leaves and is handed %v", c.nameOf(m), id)
	}
	for _, m := range p.on[activeList] {
		i := c.instanceOf(m)
		if !c.instances[i].stays && !c.claimedOn(t, i) && c.hotElsewhere(t) && !c.mayRunMore(m) {
			c.fail("I5: %s leaves and is handed %v, which another copy could run", c.nameOf(m), id)
		}
	}
}

// had reports whether an instance reported the task in any way.
func (c *checker) had(t, i int32) bool {
	if c.claimedOn(t, i) {
		return true
	}
	if c.stateless(t) {
		return false
	}
	return c.bestCopy(t, func(k int32) bool { return c.holderInstance(k) == i }, c.lessLag) != none
}

func (c *checker) claimedOn(t, i int32) bool {
	return slices.ContainsFunc(c.claims[t], func(cl claim) bool { return c.members[cl.member].instance == i })
}
