package lead

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

const (
	// DefaultDebounce is how long a member waits for more of its learners to catch up before it calls for a round.
	DefaultDebounce = time.Second
	// NoDebounce is a [Config.Debounce] of 0, which itself stands for the default.
	NoDebounce time.Duration = -1
)

// Config says what a member is and how its group is balanced. The members of a group have equal Assignor: any of them may lead.
type Config struct {
	Instance string // the process or host whose disk holds the state; the same after a restart
	Capacity int32  // relative share of the load; below 1 means 1
	Tags     map[string]string
	Local    []assignor.Replica // the copies that are on the disk already

	// Assignor is how the member decides when it leads. Generation and SincePrevious are the session's to set, and Topology may
	// come with each round instead ([Round.Topology]); what it has here says which tasks are stateless.
	Assignor   assignor.Config
	RejoinMode assignor.RejoinMode // when a member with learners calls for a round

	// OneRound is assignor.OneRound: a join stops every task that another member learns, and if the learner has caught up it
	// starts in that very round. False is assignor.TwoRounds: nothing stops before its turn. All members may differ in it.
	OneRound bool

	// Can says which tasks the member can run. Of others it does nothing that an answer gives it, and reports nothing. Nil: all.
	Can func(assignor.TaskID) bool
	// Restores has a task that starts where no copy of it is count as one that restores, until Progress says that it has caught up.
	Restores bool

	Debounce time.Duration // 0: DefaultDebounce; NoDebounce: none
}

// Session is what one member of a group knows, between its transport and its tasks. It is made by [New] and used by one goroutine
// at a time. It starts nothing and waits for nothing: each event returns what is to be done about it.
type Session struct {
	config Config

	clock time.Duration // the time that has passed as far as the events' clocks tell; it never goes back, and is never 0
	now   time.Time     // the clock of the last event, zero before the first

	me       assignor.Member   // what it runs and has, ages as of the clock's aged
	aged     time.Duration     //
	last     int32             // the generation of the last answer; me has none where the member was lost since
	handover []assignor.TaskID // those of me.Active that others learn
	kept     []assignor.TaskID // the standbys of the last answer; what else is in me.Standbys was left, or is being restored
	revoking []assignor.TaskID // what the last answer told it to stop
	broken   []assignor.TaskID // those of me.Active that lost their state since the last report
	suspect  []assignor.TaskID // those of its copies that it ran when it was lost, and of which nobody has said since how far they are
	learning learning
	told     bool          // the last answer was given to a member that leaves
	leftAt   time.Duration // the clock when it was told to leave; counts while me.Leaving
	left     time.Time     // and the clock of that event

	phase  phase
	lost   bool            // it has lost its place, and nothing has been delivered since
	place  Place           // of the last Begin
	sent   assignor.Member // the report of the last join
	due    [numReasons]time.Duration
	misses int // answers in a row that did not come or could not be read

	assignor assignor.Assignor // keeps the memory that a leader's rounds work in
	decided  *decision         // what it answered as leader, until an answer comes back
	memory   remembered        // the last assignment that was delivered, as far as it knows
	leads    bool              // it decided the answer that it applies
	insisted int               // rounds in a row that it made one to follow up, because an order was missed
	retry    time.Duration
}

// phase says where a member stands in a round. Only one that has begun a round takes its answer.
type phase uint8

const (
	out     phase = iota // it has no place: never joined, lost or gone
	joining              // it has reported
	begun                // the round of that report has begun
	settled              // the round's answer has come
)

// remembered is an assignment, and the clock when the member got to know it.
type remembered struct {
	assignment *assignor.Assignment
	at         time.Duration
}

// Place is a member's place in a round.
type Place struct {
	Round  int32  // the round's number, as Assignor.Generation counts: the broker's generation. Later rounds have greater ones.
	Member string // the id that the group knows the member by
	Leads  bool   // it decides the round: it will be asked to (Decide), or it has returned to the place of a leader
}

// Todo is what an event leads to, in the order in which it is to be done.
type Todo struct {
	Stop    []assignor.TaskID    // stop these, and go on when they have stopped: nothing of them is written any more
	Report  []byte               // join with this report; nil: do not
	Send    []Payload            // one a member of the round that was to be decided; nil: none was
	Plan    *assignor.Assignment // what Send says, with the reason of each move; not to be changed. Nil: everybody goes on as it is.
	Start   []assignor.TaskID    // run these: from the copy on this disk where there is one, else from nothing
	Learn   []assignor.TaskID    // replay these in order to take them over, and say how far they are (Progress)
	Keep    []assignor.TaskID    // keep these warm, and say how far they are
	Drop    []assignor.TaskID    // nobody needs these copies any more; they may be deleted
	Call    string               // call for a round, and why; "": do not
	Drained bool                 // told to leave, and nothing is left: leave the group
	Wake    time.Duration        // call Tick after that time; 0: not at all. It takes the place of the Wake before.
	Trouble []error              // what is wrong, each with what the session did about it
}

// Payload is what a leader sends to a member. Empty Data says: go on as you are.
type Payload struct {
	Member string
	Data   []byte
}

// New returns the session of a member that has no place in a group yet. It fails with assignor.ErrConfig, every problem at once.
func New(config Config) (*Session, error) {
	checked := config.Assignor
	if checked.Topology == nil { // it comes with the rounds
		checked.Topology = []assignor.Subtopology{{}}
	}
	if err := checked.Validate(); err != nil {
		return nil, err
	}
	config.Debounce = max(0, cmp.Or(config.Debounce, DefaultDebounce))
	s := &Session{config: config, clock: 1}
	s.me = assignor.Member{
		Instance: config.Instance,
		Capacity: config.Capacity,
		Version:  assignor.CurrentVersion,
		Tags:     config.Tags,
		Standbys: slices.Clone(config.Local),
	}
	slices.SortFunc(s.me.Standbys, compareCopies)
	s.me.Standbys = slices.CompactFunc(s.me.Standbys, func(a, b assignor.Replica) bool { return a.Task == b.Task })
	s.tidy(nil)
	return s, nil
}

func compareCopies(a, b assignor.Replica) int { return a.Task.Compare(b.Task) }

// Join returns the report of a member that is to join a round. With Config.OneRound it is to stop first what others learn, and
// reports that it has. What was still to come of earlier rounds is void from now on. A join that is asked twice returns what
// the member knows at the second time.
func (s *Session) Join(now time.Time) Todo {
	s.advance(now)
	var todo Todo
	if s.config.OneRound && len(s.handover) > 0 {
		todo.Stop = s.handover
		s.me.Active = without(s.me.Active, s.handover)
		s.me.Revoked = union(s.me.Revoked, s.handover)
		s.handover = nil
	}
	s.age()
	s.phase, s.decided, s.due = joining, nil, [numReasons]time.Duration{}
	s.due[unanswered] = s.in(maxRetry) // longer than a round takes whose members all stop tasks
	s.sent = s.me
	if s.me.Leaving {
		s.sent.LeavingFor = s.clock - s.leftAt
	}
	s.sent.Learners, s.sent.Standbys = slices.Clone(s.me.Learners), slices.Clone(s.me.Standbys)
	s.broken, s.learning.fresh = nil, 0
	data, err := s.sent.MarshalBinary()
	if err != nil {
		todo.Trouble = append(todo.Trouble, fmt.Errorf("lead: the report of %q cannot be encoded, the group sees one that cannot be read and nobody gains a task: %w",
			s.me.Instance, err))
		data = []byte{}
	}
	todo.Report = data
	return s.done(todo)
}

// Begin says that a round has begun with the report of the last Join. A static member that returns to the place of its former life,
// which has ended, joins, begins the current round and gets that one's answer, without a round. It does nothing where no join
// has been made since the last round.
func (s *Session) Begin(now time.Time, place Place) Todo {
	s.advance(now)
	if s.phase == joining || s.phase == begun && place.Round == s.place.Round {
		s.phase, s.place = begun, place
		s.due[unanswered] = s.in(backoff(assignor.RevokeRetry, s.misses))
	}
	return s.done(Todo{})
}

// Deliver gives the member what the leader of a round sent to it. An answer of another round than the one begun last, or one that
// came before, changes nothing. One that cannot be read, or was given to who this member was before, leaves everything as it
// is: the member asks for another round.
func (s *Session) Deliver(now time.Time, round int32, payload []byte) Todo {
	s.advance(now)
	if s.phase != begun || round != s.place.Round {
		return s.done(Todo{})
	}
	s.phase, s.due = settled, [numReasons]time.Duration{}
	decided := s.decided
	s.decided, s.leads = nil, false
	todo := s.take(payload)
	s.last, s.lost = s.me.Generation, false
	switch {
	case decided == nil && s.place.Leads: // it has returned to the place of a leader, and nobody keeps that one's deadlines
		s.set(again, s.grace())
	case decided != nil && decided.sent(payload): // else another's answer was taken
		s.lead(decided)
	}
	s.look()
	return s.done(todo)
}

// take applies a payload.
func (s *Session) take(payload []byte) Todo {
	if len(payload) == 0 { // the leader tries again; an echo that made its plan too large must not come back
		s.me.Memory = nil
		s.due[unanswered] = s.in(maxRetry) // and if it does not
		return Todo{}
	}
	ma, memory, err := assignor.Decode(payload)
	if err == nil && s.me.Generation > 0 && ma.Generation <= s.me.Generation {
		err = fmt.Errorf("it has generation %d, and %d came before", ma.Generation, s.me.Generation)
	}
	if err != nil {
		s.due[unanswered] = s.in(backoff(assignor.RevokeRetry, s.misses))
		s.misses++
		return Todo{Trouble: []error{fmt.Errorf("lead: the answer to %q in round %d cannot be taken, it goes on as it is and asks again: %w",
			s.me.Instance, s.place.Round, err)}}
	}
	s.misses = 0
	return s.adopt(ma, memory)
}

// adopt makes the answer what the member does, and returns how that differs from what it did.
func (s *Session) adopt(ma assignor.MemberAssignment, memory *assignor.Assignment) Todo {
	s.age()
	// An answer that contradicts itself is a wrong leader's. What it says to stop does not run, and what runs is no copy.
	ma.Active, ma.Handover = without(ma.Active, ma.Revoke), without(ma.Handover, ma.Revoke)
	ma.Learners = without(ma.Learners, ma.Active)
	for _, list := range []*[]assignor.TaskID{&ma.Active, &ma.Handover, &ma.Learners, &ma.Standbys} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(task assignor.TaskID) bool { return s.config.Can != nil && !s.config.Can(task) })
	}
	before, kept := s.me, s.kept
	s.me = before.Next(ma, assignor.TwoRounds)
	s.me.Memory = memory
	if memory != nil {
		s.memory = remembered{memory, s.clock}
	} else if own := s.memory.assignment; own != nil && own.Generation > ma.Generation {
		s.memory = remembered{} // of another life of the group
	}
	s.handover, s.kept, s.revoking, s.told = ma.Handover, ma.Standbys, slices.Clone(ma.Revoke), ma.Leaving
	had := union(copies(before), union(before.Active, before.Revoked))
	s.tidy(had)
	if before.Generation == 0 { // it may be the answer to what a former life reported
		s.sent.Leaving = ma.Leaving
	}
	if ma.FollowUp {
		s.due[followUp] = s.clock
	}
	return Todo{
		Stop:  without(before.Active, s.me.Active),
		Start: without(s.me.Active, before.Active),
		Learn: without(tasksOf(s.me.Learners), tasksOf(before.Learners)),
		Keep:  without(s.kept, kept),
		Drop:  without(had, union(copies(s.me), s.me.Active)),
	}
}

// tidy makes the lists of copies those of what the member runs and learns now. Had are the tasks of which it had any state before.
func (s *Session) tidy(had []assignor.TaskID) {
	s.me.Standbys = slices.DeleteFunc(s.me.Standbys, func(c assignor.Replica) bool {
		return s.stateless(c.Task) || has(s.me.Active, c.Task) && s.caughtUp(c.Lag)
	})
	for i := range s.me.Standbys {
		s.me.Standbys[i].For = 0
	}
	for _, task := range s.me.Active {
		if s.config.Restores && !has(had, task) && !s.stateless(task) {
			s.remember(task, assignor.UnknownLag)
		}
	}
	all := copies(s.me)
	s.suspect = slices.DeleteFunc(s.suspect, func(task assignor.TaskID) bool { return !has(all, task) })
	s.broken = slices.DeleteFunc(s.broken, func(task assignor.TaskID) bool { return !has(s.me.Active, task) })
	s.learn()
}

// stateless reports whether a task has no state that could be copied, as far as Config.Assignor.Topology says so.
func (s *Session) stateless(task assignor.TaskID) bool {
	return slices.ContainsFunc(s.config.Assignor.Topology, func(sub assignor.Subtopology) bool {
		return sub.ID == task.Subtopology && sub.Stateless
	})
}

// Lost says that the group has dropped the member, or cannot be reached for so long that it may have. What it runs stops: others may
// run it. What is left of that state is behind by nobody knows how much until Progress says so, and must not be trusted as it is
// where the service may have written to it since ([State.Suspect]). What it learns and keeps goes on: a copy has what the others wrote.
func (s *Session) Lost(now time.Time) Todo {
	s.advance(now)
	todo := Todo{Stop: s.me.Active}
	stateful := slices.DeleteFunc(union(s.me.Active, s.me.Revoked), s.stateless)
	for _, task := range stateful {
		s.remember(task, assignor.UnknownLag)
	}
	s.suspect = union(s.suspect, without(stateful, s.me.Revoked))
	s.me.Active, s.me.Revoked, s.me.Memory, s.me.Generation = nil, nil, nil, 0
	s.handover, s.revoking, s.broken, s.told = nil, nil, nil, false
	s.phase, s.lost, s.decided, s.leads, s.due = out, true, nil, false, [numReasons]time.Duration{}
	return s.done(todo)
}

// Tick says that the time of a Wake has come. It may be called at any time.
func (s *Session) Tick(now time.Time) Todo {
	s.advance(now)
	return s.done(Todo{})
}

// advance moves the session's clock. A clock that was set back stands still for once; one that jumped ahead has aged everything,
// which costs copies, never safety: no task changes hands because of a time.
func (s *Session) advance(now time.Time) {
	if !s.now.IsZero() {
		s.clock = s.in(now.Sub(s.now))
	}
	s.now = now
}

// in returns the clock in d, at least the clock of now and at most the end of time.
func (s *Session) in(d time.Duration) time.Duration {
	return s.clock + min(max(0, d), math.MaxInt64-s.clock)
}

// age makes the ages of the learners those of now.
func (s *Session) age() {
	for i := range s.me.Learners {
		r := &s.me.Learners[i]
		r.For += min(s.clock-s.aged, math.MaxInt64-r.For)
	}
	s.aged = s.clock
}
