package franz

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// round is one call of the leader: what the members report.
type round struct {
	b       *Balancer
	reports []assignor.Member
	joins   []join // what else is known of each of them
	size    int    // bytes of all metadata
	names   int    // bytes that the broker notes beside metadata and assignments
	info    kgo.BalanceInfo
	memory  *assignor.Assignment // what it was decided on
	frozen  []frozen             // the subtopologies that stay as they are
	ghosts  found                // what there is to say of tasks that turn out to have no partition
	again   bool                 // the round has something to try again, though it could be decided
	strain  error                // why the group's record is near the budget
}

// decision is what a leader answered.
type decision struct {
	assignment *assignor.Assignment
	moves      []assignor.Move // its moves, by instances
	resumed    bool            // the leader has restarted, and nobody has asked it,
	differs    bool            // and what was delivered to the members is something else, or there is a deadline to keep
	again      bool            // there was trouble, and it is to be tried again
}

// delivered reports whether the decision is the one of which this came back to the member.
func (d *decision) delivered(member string, ma assignor.MemberAssignment) bool {
	own, ok := d.assignment.For(member)
	return ok && own.Generation == ma.Generation && sameTasks(own, ma, true)
}

// plan is what the leader sends.
type plan []kmsg.SyncGroupRequestGroupAssignment

// IntoSyncAssignment returns the plan.
func (p plan) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment { return p }

// SetBalanceInfo is called by kgo before Balance.
func (r *round) SetBalanceInfo(info kgo.BalanceInfo) { r.info = info }

// Balance decides the round. On any trouble it repeats what is.
func (r *round) Balance(counts map[string]int32) kgo.IntoSyncAssignment {
	start := time.Now()
	b := r.b
	a, p, err := r.decide(counts)
	if err != nil {
		err = fmt.Errorf("franz: the round repeats what is, and is tried again: %w", err)
		a, p = r.repeat()
	}
	b.troubled(TroubleRound, err)
	b.troubled(TroubleBudget, r.strain)
	b.trouble(TroubleGhosts, r.ghosts)
	d := &decision{assignment: a, moves: named(a.Moves, a, r.memory), again: err != nil || r.again}
	b.mu.Lock()
	b.decided = d
	b.mu.Unlock()
	done := r.summary(d, p)
	done.Repeated, done.Took = err != nil, time.Since(start)
	b.tellRound(done, d.moves)
	return p
}

// decide assigns and encodes. A panic is an error.
func (r *round) decide(counts map[string]int32) (a *assignor.Assignment, p plan, err error) {
	defer recovered(&err)
	a, memory, err := r.assign(r.reports, counts)
	if err != nil {
		return nil, nil, err
	}
	r.memory = memory
	r.insist(a, memory)
	return r.fit(a)
}

// assign decides on the subtopologies whose numbers of tasks are known; what there is of others stays as it is.
func (r *round) assign(reports []assignor.Member, counts map[string]int32) (a *assignor.Assignment, memory *assignor.Assignment, err error) {
	now := time.Now()
	r.b.mu.Lock()
	config, memory := r.prepare(counts, now)
	s := sizesOf(config.Topology)
	reports, r.ghosts = r.b.withoutGhosts(reports, s, now)
	r.b.mu.Unlock()
	r.again = len(r.ghosts)+len(r.frozen) > 0
	if len(config.Topology) == 0 {
		return repetition(reports, memory, config.Generation), memory, nil
	}
	if a, err = assignor.Assign(reports, memory, config); err != nil {
		return nil, nil, err
	}
	s.hold(a, reports)
	return a, memory, nil
}

// maxInsist bounds the rounds in a row that follow up on a missed order: one that is always missed must not keep the others busy.
const maxInsist = 3

// insist makes the round one that is followed up where a member has missed the order to stop something, but is here now. The
// assignor does so for the first order only; without it, those that wait for the task would wait for their heartbeats too.
func (r *round) insist(a *assignor.Assignment, memory *assignor.Assignment) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	missed := memory != nil && !a.FollowUp && slices.ContainsFunc(r.reports, func(m assignor.Member) bool {
		ma, _ := a.For(m.ID)
		return len(ma.Revoke) > 0 && m.Generation < memory.Generation
	})
	if !missed {
		r.b.insisted = 0
		return
	}
	if r.b.insisted++; r.b.insisted > maxInsist {
		return
	}
	a.FollowUp = true
	for i := range a.Members {
		a.Members[i].FollowUp = true
	}
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// prepare returns the config of this round, and the memory. The Balancer's lock is held.
func (r *round) prepare(counts map[string]int32, now time.Time) (assignor.Config, *assignor.Assignment) {
	b := r.b
	config := b.config.Assignor
	config.Topology, r.frozen = b.topology.known(func(topic string) int32 {
		return partitionsOf(b.client, topic, counts[topic], b.partition[topic])
	})
	remember(b.partition, counts)
	config.Generation = r.info.Generation
	memory, since := r.recall(b.memory, now)
	config.SincePrevious = since
	return config, memory
}

// recallOwn is recall with what this member knows now.
func (r *round) recallOwn() (*assignor.Assignment, time.Duration) {
	r.b.mu.Lock()
	own := r.b.memory
	r.b.mu.Unlock()
	return r.recall(own, time.Now())
}

// recall returns the memory: this member's own unless the reports know a newer one, and nil where nobody has ever been
// assigned anything. Since is how long this member has known it. A leader that has decided the last round recalls its own without
// looking at what the others report to run.
func (r *round) recall(own remembered, now time.Time) (memory *assignor.Assignment, since time.Duration) {
	newest := r.newest()
	switch {
	case own.assignment != nil && own.assignment.Generation >= newest:
		return own.assignment, max(0, now.Sub(own.at))
	case newest > 0:
		return assignor.Recover(r.reports), 0
	}
	return nil, 0
}

// newest returns the latest generation that the members know of: that of what Recover returns.
func (r *round) newest() int32 {
	newest := int32(0)
	for i := range r.reports {
		m := &r.reports[i]
		newest = max(newest, known(m.Generation))
		if m.Memory != nil {
			newest = max(newest, known(m.Memory.Generation))
		}
	}
	return newest
}

// known returns g, or 0 (none) where no leader can have given it.
func known(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// repeat returns what is, as an assignment: every member goes on with what nobody else claims, and keeps its copies. By it
// nobody gains a task. Where even that does not fit, the members get what takes less of partitions and payloads, and where they get
// no payload they keep their copies on their own; and where it panics, they get nothing that anybody can read, and keep what they
// have.
func (r *round) repeat() (a *assignor.Assignment, p plan) {
	defer func() {
		if recover() != nil {
			a, p = &assignor.Assignment{Generation: unsent}, r.unreadable()
		}
	}()
	memory, _ := r.recallOwn()
	a = repetition(r.reports, memory, r.info.Generation)
	if _, p, err := r.tryFit(a); err == nil {
		return a, p
	}
	return a, r.smallest(a)
}

// unsent is the generation of an assignment that nobody gets: no member is ever in it.
const unsent = -1

// unreadable is the plan of last resort.
func (r *round) unreadable() plan {
	p := make(plan, len(r.reports))
	for i := range r.reports {
		p[i].MemberID = r.reports[i].ID
	}
	return p
}

// tryFit is fit; a panic is an error. A repetition starts nothing that could wait.
func (r *round) tryFit(a *assignor.Assignment) (_ *assignor.Assignment, p plan, err error) {
	defer recovered(&err)
	return r.fit(a)
}

// repetition is the assignment that changes nothing. It has every member that has an id, whatever it reports.
func repetition(reports []assignor.Member, memory *assignor.Assignment, generation int32) *assignor.Assignment {
	now := slices.Clone(reports)
	for i := range now {
		now[i].Memory = nil // who runs what is to come from the reports alone,
		if g := now[i].Generation; g <= 0 || g == math.MaxInt32 {
			now[i].Generation = 1 // and from all of them: Recover leaves out who has no generation
		}
	}
	a := assignor.Recover(now)
	a.Generation = max(after(a.Generation), generation)
	if memory != nil {
		a.Generation = max(a.Generation, after(memory.Generation))
		a.Departed = slices.Clone(memory.Departed)
	}
	for i := range now {
		if k, known := indexOf(a, now[i].ID); known {
			ma := &a.Members[k]
			ma.Learners, ma.Standbys = tasksOf(now[i].Learners, ma.Active), tasksOf(now[i].Standbys, ma.Active)
		}
	}
	for i := range a.Members {
		a.Members[i].Generation = a.Generation
	}
	return a
}

// indexOf returns the place of a member in an assignment.
func indexOf(a *assignor.Assignment, member string) (int, bool) {
	return slices.BinarySearchFunc(a.Members, member, func(ma assignor.MemberAssignment, id string) int {
		return strings.Compare(ma.Member, id)
	})
}

// after returns a generation greater than g, as long as there is one: math.MaxInt32 is none.
func after(g int32) int32 { return max(0, min(g, math.MaxInt32-2)) + 1 }

// tasksOf returns the tasks of copies that the member does not run.
func tasksOf(copies []assignor.Replica, active []assignor.TaskID) []assignor.TaskID {
	var tasks []assignor.TaskID
	for _, c := range copies {
		if _, runs := slices.BinarySearchFunc(active, c.Task, assignor.TaskID.Compare); !runs {
			tasks = append(tasks, c.Task)
		}
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return slices.Clip(slices.Compact(tasks))
}
