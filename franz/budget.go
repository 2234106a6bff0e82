package franz

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kerr"
)

// What a plan takes of the group's record, and what of it gives way where that is too much. In this order:
//
//	the leader's memory                 nobody misses it but a leader that is new, which rebuilds most of it
//	standbys that have not begun        they wait for a later round, their tasks run
//	learners that have not begun        they wait, the load stays uneven
//	topics and partitions of the frames members read them from their payloads, Kafka's tools show none
//	failover, drains, what goes on      never: where they do not fit either, the round repeats what is
//
// What a round starts comes back in the next round's reports and is given again in its answers. So a plan is weighed twice: the
// record of this round, and that of the next one where everybody does what it is told. A round that looked at itself alone would
// start what leaves no room for the next failover.

const (
	// tight is how much of the budget, in percent, what can wait may fill. The rest is for failover and drains.
	tight = 90
	// strained is how much of the budget, in percent, the record may take before the leader says so.
	strained = 80
	// searches bounds how often a plan is weighed to find out how much of it fits: a part in 2^searches of what can wait stays out.
	searches = 7
)

// weight is what a plan makes of the group's record, in bytes, but for the copies of the memory that it sends.
type weight struct {
	payloads int // what the members get, without Kafka's frames
	now      int // the record of this round
	next     int // the record of the next round, without the copies of the memory that come back in this one
}

// fit returns the plan within the budget, and the assignment that it is of: the same, or without some of what can wait.
func (r *round) fit(a *assignor.Assignment) (*assignor.Assignment, plan, error) {
	r.strain = nil
	if p, err := r.fitEasily(a); p != nil || err != nil {
		return a, p, err
	}
	budget, waiting := r.b.config.Budget, r.waiting(a)
	least, err := r.weigh(without(a, waiting), true)
	if err != nil {
		return nil, nil, err
	}
	named := least.now <= budget || !r.payloadsSuffice()
	fitted, w, err := r.most(a, waiting, named)
	if err != nil {
		return nil, nil, err
	}
	if w.now > budget {
		return nil, nil, fmt.Errorf("%w: the group's record takes %d bytes, of which names and metadata are %d, and Config.Budget is %d: "+
			"raise it, with the broker's message.max.bytes above it, or take fewer members, tasks or topics",
			assignor.ErrPayloadTooLarge, w.now, r.names+r.size, budget)
	}
	room := max(0, r.part(tight)-w.next)
	room = min(room, 2*min(room, budget-w.now)) // Encode counts each copy twice
	if !named && least.next <= budget {
		room = 0 // without the copies that came back in this round, the next one has room for the topics again
	}
	payloads, err := fitted.Encode(w.payloads + room)
	if err != nil {
		return nil, nil, err
	}
	r.judge(w, payloads, len(a.Moves) > len(fitted.Moves), named)
	return fitted, r.frames(fitted, payloads, named), nil
}

// part returns a part of the budget, in percent.
func (r *round) part(percent int64) int { return int(int64(r.b.config.Budget) * percent / 100) }

// smallest returns the plan that takes the fewest bytes, however many those are: partitions alone, or payloads alone.
func (r *round) smallest(a *assignor.Assignment) plan {
	w, err := r.weigh(a, false)
	if err == nil && r.payloadsSuffice() && w.payloads < r.frameBytes(a, true)-r.frameBytes(a, false) {
		if payloads, err := a.Encode(w.payloads); err == nil {
			return r.frames(a, payloads, false)
		}
	}
	return r.frames(a, make([][]byte, len(a.Members)), true)
}

// fitEasily returns the plan where the record is far from the budget, without weighing it: at most 8 times what the payloads take
// is what they take now, what comes back of them, and three copies of the memory, twice. It returns none otherwise.
func (r *round) fitEasily(a *assignor.Assignment) (plan, error) {
	fixed, limit := r.size+r.names+r.frameBytes(a, true), r.part(strained)
	if fixed >= limit {
		return nil, nil
	}
	payloads, err := a.Encode(limit - fixed)
	switch {
	case errors.Is(err, assignor.ErrPayloadTooLarge):
		return nil, nil
	case err != nil:
		return nil, err
	}
	const perCopy = 20 // lag and age, at most
	if fixed+8*sum(payloads)+perCopy*copiesOf(a) > limit {
		return nil, nil
	}
	return r.frames(a, payloads, true), nil
}

// weigh returns what the plan takes, where the frames name topics or do not.
func (r *round) weigh(a *assignor.Assignment, named bool) (w weight, err error) {
	var buf []byte
	for i := range a.Members {
		if buf, err = a.Members[i].AppendBinary(buf[:0]); err != nil {
			return w, err
		}
		w.payloads += len(buf)
	}
	reports, err := r.nextReports(a)
	answers := r.names + r.frameBytes(a, named) + w.payloads
	w.now, w.next = r.size+answers, reports+answers
	return w, err
}

// nextReports returns what the members will join with in the next round, if all obey: as many bytes. A report that cannot be read
// stays as long as it is.
func (r *round) nextReports(a *assignor.Assignment) (n int, err error) {
	var buf []byte
	for i, j := range r.joins {
		n += j.frame
		m := &r.reports[i]
		ma, _ := a.For(m.ID)
		if j.owns {
			n += r.b.topology.partitionBytes(ma.Active) - r.b.topology.partitionBytes(m.Active)
		}
		if j.unread {
			continue
		}
		next := m.Next(ma, assignor.TwoRounds)
		next.ID = "" // the coordinator gives it
		if buf, err = next.AppendBinary(buf[:0]); err != nil {
			return 0, err
		}
		n += len(buf)
	}
	return n, nil
}

// payloadsSuffice reports whether every member reads what it runs from its payload.
func (r *round) payloadsSuffice() bool {
	return !slices.ContainsFunc(r.reports, func(m assignor.Member) bool { return m.Version < assignor.PayloadVersion })
}

// most returns the assignment with as much of what can wait as the record has room for, the first of it first, and its weight.
// Where it has no room for any of it, it leaves all out.
func (r *round) most(a *assignor.Assignment, waiting []assignor.Move, named bool) (*assignor.Assignment, weight, error) {
	fits := func(w weight) bool { return w.now <= r.b.config.Budget && w.next <= r.part(tight) }
	all, err := r.weigh(a, named)
	if err != nil || len(waiting) == 0 || fits(all) {
		return a, all, err
	}
	// What the copies of the memory that came back in this round keep out is to be tried again when they are gone.
	r.again = r.again || all.next <= r.part(tight)
	best := without(a, waiting)
	w, err := r.weigh(best, named)
	low, high := 0, len(waiting)
	for s := 0; s < searches && high-low > 1 && err == nil && fits(w); s++ {
		middle := (low + high) / 2
		more := without(a, waiting[middle:])
		var heavier weight
		if heavier, err = r.weigh(more, named); fits(heavier) {
			best, w, low = more, heavier, middle
		} else {
			high = middle
		}
	}
	return best, w, err
}

// waiting returns the starts of the plan that can wait, what is to wait last first: learners, but for those of instances that
// leave, then standbys. A copy of which its member has state has begun.
func (r *round) waiting(a *assignor.Assignment) []assignor.Move {
	reports := make(map[string]*assignor.Member, len(r.reports))
	for i := range r.reports {
		reports[r.reports[i].ID] = &r.reports[i]
	}
	var waiting []assignor.Move
	for _, move := range a.Moves {
		learns := move.Kind == assignor.MoveLearn && move.Reason != assignor.ReasonLeaving
		if (learns || move.Kind == assignor.MoveStandby) && !hasState(reports[move.To], move.Task) {
			waiting = append(waiting, move)
		}
	}
	slices.SortStableFunc(waiting, func(a, b assignor.Move) int { return cmp.Compare(a.Kind, b.Kind) }) // MoveLearn comes first
	return waiting
}

// hasState reports whether a member reports any state of a task.
func hasState(m *assignor.Member, task assignor.TaskID) bool {
	if m == nil {
		return false
	}
	for _, copies := range [][]assignor.Replica{m.Standbys, m.Learners} {
		if _, has := slices.BinarySearchFunc(copies, task, func(c assignor.Replica, t assignor.TaskID) int { return c.Task.Compare(t) }); has {
			return true
		}
	}
	for _, tasks := range [][]assignor.TaskID{m.Active, m.Revoked} {
		if _, has := slices.BinarySearchFunc(tasks, task, assignor.TaskID.Compare); has {
			return true
		}
	}
	return false
}

// at is a task at a member.
type at struct {
	member string
	task   assignor.TaskID
}

// without returns the assignment without these starts: as a round decides that does not start them. A standby that was to move
// stays where it is. It shares with a what it does not change.
func without(a *assignor.Assignment, starts []assignor.Move) *assignor.Assignment {
	if len(starts) == 0 {
		return a
	}
	dropped, stays := map[at]bool{}, map[at]bool{}
	evened := map[assignor.TaskID]bool{}
	c := *a
	for _, move := range starts {
		dropped[at{move.To, move.Task}] = true
		if move.Kind == assignor.MoveStandby {
			evened[move.Task] = move.Reason == assignor.ReasonStandbyBalance
			c.MissingStandbys++
		} else {
			dropped[at{move.From, move.Task}] = true // it no longer hands it over
		}
	}
	c.Moves = slices.DeleteFunc(slices.Clone(a.Moves), func(move assignor.Move) bool {
		switch move.Kind {
		case assignor.MoveLearn, assignor.MoveStandby:
			return dropped[at{move.To, move.Task}]
		case assignor.MoveStopStandby:
			if evened[move.Task] && move.Reason == assignor.ReasonTooManyStandbys {
				evened[move.Task], stays[at{move.From, move.Task}] = false, true
				c.MissingStandbys--
				return true
			}
		}
		return false
	})
	c.Members = slices.Clone(a.Members)
	for i := range c.Members {
		ma := &c.Members[i]
		for _, list := range []*[]assignor.TaskID{&ma.Learners, &ma.Standbys, &ma.Handover} {
			*list = withoutTasks(*list, func(task assignor.TaskID) bool { return dropped[at{ma.Member, task}] })
		}
	}
	for place := range stays {
		if i, known := indexOf(&c, place.member); known {
			list := &c.Members[i].Standbys
			k, _ := slices.BinarySearchFunc(*list, place.task, assignor.TaskID.Compare)
			*list = slices.Insert(slices.Clone(*list), k, place.task)
		}
	}
	return &c
}

func sum(payloads [][]byte) (n int) {
	for _, payload := range payloads {
		n += len(payload)
	}
	return n
}

// copiesOf returns how many learners and standbys there are.
func copiesOf(a *assignor.Assignment) (n int) {
	for i := range a.Members {
		n += len(a.Members[i].Learners) + len(a.Members[i].Standbys)
	}
	return n
}

// judge says what gives way, and from where on the record is near the budget.
func (r *round) judge(w weight, payloads [][]byte, waits, named bool) {
	budget, memory := r.b.config.Budget, sum(payloads)-w.payloads
	percent := int64(max(w.now+memory, w.next+2*memory)) * 100 / int64(budget)
	var gives []string
	if memory == 0 {
		gives = append(gives, "no member keeps the leader's memory")
	}
	if waits {
		gives = append(gives, "new standbys or learners wait")
	}
	if !named {
		gives = append(gives, "the assignments name no topics and partitions, so that Kafka's tools show none")
	}
	if percent < strained && len(gives) == 0 {
		return
	}
	r.strain = fmt.Errorf("franz: the group's record takes over %d %% of Config.Budget, which is %d bytes (%s): raise it, with the "+
		"broker's message.max.bytes above it, or take fewer members, standbys or topics", min(percent, 100)/10*10, budget,
		cmp.Or(strings.Join(gives, "; "), "nothing gives way yet"))
}

// refused returns what else to say of an error that a broker answers to a member of a group that has agreed on another protocol, and of
// that which it answers, among others, where the group's record is larger than it takes: to all members at once, whatever the reason
// that its log gives.
func (b *Balancer) refused(err error) string {
	if errors.Is(err, kerr.InconsistentGroupProtocol) {
		return fmt.Sprintf(" (the group's members do not offer %s: migrate it in two rolling restarts, the first with Config.Fallback)", Protocol)
	}
	if !errors.Is(err, kerr.UnknownServerError) {
		return ""
	}
	return fmt.Sprintf(" (a broker answers so where the group's record is larger than it takes: set Config.Budget, now %d bytes, a tenth below "+
		"message.max.bytes of the broker and max.message.bytes of the topic __consumer_offsets, or raise those)", b.config.Budget)
}
