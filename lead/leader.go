package lead

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// ErrUnread is the trouble of a round in which a report cannot be read and the transport does not know what its member runs.
var ErrUnread = errors.New("lead: a report cannot be read")

// Round is what a leader decides.
type Round struct {
	Number   int32
	Topology []assignor.Subtopology // nil: that of Config.Assignor
	Limit    int                    // bytes that all payloads may take together; 0: assignor.MaxPayload

	// Assign decides in place of assignor.Assign, for a transport that knows more of the tasks than their number; nil: it does. It
	// must keep to what assignor.Check asks for, and gets reports that it may not change.
	Assign func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error)
	// Encode returns one payload a member, for a transport that has more to send than payloads and weighs them together, and the
	// assignment that they are of: the one it got, or one without some of the copies that it starts. Nil: Limit says what fits.
	Encode func(a *assignor.Assignment) (*assignor.Assignment, [][]byte, error)

	// Reports are the members', each the one of that member's last join and given for this round. Who is missing runs nothing
	// any more, by the transport's word: its tasks go to others.
	Reports []Report
}

// Report is what a member has reported.
type Report struct {
	Member string // the id that the group knows the member by
	Data   []byte
	// Known is what the transport itself knows of the member, to be used where Data cannot be read: every task that it may run is
	// in Active. Nil: nothing is known.
	Known *assignor.Member
	// Unlisted says that Known does not tell what the member runs. The memory does: what it was given last, and, where Known.Generation
	// is not that answer's, also what that told it to stop. What the memory does not know either, nobody does, and others may get:
	// a transport whose members are not fenced leaves Known nil instead, and the round repeats what is.
	Unlisted bool
}

// ReportError is the trouble with what a member reports.
type ReportError struct {
	Member string
	Err    error
}

// Error names the member.
func (e *ReportError) Error() string {
	return fmt.Sprintf("lead: report of member %q: %v", e.Member, e.Err)
}

// Unwrap returns what is wrong with the report.
func (e *ReportError) Unwrap() error { return e.Err }

// decision is what a leader answered.
type decision struct {
	assignment *assignor.Assignment // nil: everybody goes on as it is
	own        []byte               // the leader's own payload
	again      bool                 // it stands on less than all reports, or repeats what is: another round may know better
}

// sent reports whether the payload is what the leader itself gets by this decision. Of two leaders that sent themselves the same bytes
// and others something else, each takes its own decision for the one delivered. That costs no safety: a member that did not
// get what a memory says it did reports an earlier generation, and then the memory only adds to what counts as running.
func (d *decision) sent(payload []byte) bool { return bytes.Equal(d.own, payload) }

// Decide returns what this member, as leader, sends to whom. The decision counts when the leader's own part of it comes back
// (Deliver), not before: the group may take another's, or none.
//
// Where the round cannot be decided, what is stays: Trouble says why, nobody gains a task, and the leader calls for another round
// after assignor.RevokeRetry, then after twice as long each time up to five minutes. So does one that stood on what the transport
// knows of a member instead of its report. A round that this member has not begun is not decided: Send is nil.
//
// It costs what decoding the reports, Assign and Encode cost.
func (s *Session) Decide(now time.Time, r Round) Todo {
	s.advance(now)
	if s.phase != begun || r.Number != s.place.Round {
		return s.done(Todo{})
	}
	reports := read(r.Reports, s.memory.assignment)
	memory, since := s.recall(reports.members)
	reports.remember(memory)
	members, trouble := reports.members, reports.trouble
	d := &decision{again: len(trouble) > 0}
	var send []Payload
	err := ErrUnread
	if len(reports.unread) == 0 {
		d.assignment, err = s.assign(members, memory, s.config.of(r, since), r)
	}
	if err == nil {
		s.insist(d.assignment, members, memory)
		var p plan
		p, err = fit(d.assignment, members, r)
		if d.assignment, send = p.assignment, p.send; err == nil && p.left != nil {
			trouble = append(trouble, p.left)
		}
	}
	if err != nil {
		trouble = append(trouble, fmt.Errorf("lead: round %d repeats what is: %w", r.Number, err))
		d.again = true
		d.assignment, send = repeat(members, reports.unread, memory, r)
	}
	if i := slices.IndexFunc(send, func(p Payload) bool { return p.Member == s.place.Member }); i >= 0 {
		d.own = send[i].Data
	}
	s.decided = d
	return s.done(Todo{Send: send, Plan: d.assignment, Trouble: trouble})
}

// DecideAgain says, between Decide and Deliver, that the transport knows of something that the decision left open: when it has been
// delivered, its leader calls for another round, as after trouble.
func (s *Session) DecideAgain() {
	if s.decided != nil {
		s.decided.again = true
	}
}

// of returns how a round is decided.
func (c *Config) of(r Round, since time.Duration) assignor.Config {
	config := c.Assignor
	config.Generation, config.SincePrevious = r.Number, since
	if r.Topology != nil {
		config.Topology = r.Topology
	}
	return config
}

// assign decides a round.
func (s *Session) assign(members []assignor.Member, memory *assignor.Assignment, config assignor.Config, r Round) (*assignor.Assignment, error) {
	if r.Assign != nil {
		return r.Assign(members, memory, config)
	}
	return s.assignor.Assign(members, memory, config)
}

// maxInsist bounds the rounds in a row that follow up on a missed order: one that is always missed must not keep the others busy.
const maxInsist = 3

// insist makes the round one that is followed up where a member has missed the order to stop something, but is here now. Assign does so
// for the first order only; without it, those that wait for the task would wait for assignor.RevokeRetry too.
func (s *Session) insist(a *assignor.Assignment, members []assignor.Member, memory *assignor.Assignment) {
	missed := memory != nil && !a.FollowUp && slices.ContainsFunc(members, func(m assignor.Member) bool {
		ma, _ := a.For(m.ID)
		return len(ma.Revoke) > 0 && m.Generation < memory.Generation
	})
	if !missed {
		s.insisted = 0
		return
	}
	if s.insisted++; s.insisted > maxInsist {
		return
	}
	a.FollowUp = true
	for i := range a.Members {
		a.Members[i].FollowUp = true
	}
}

// reading is what a leader reads of the reports.
type reading struct {
	members []assignor.Member
	known   map[string]Report // of those among the members for whom the transport speaks
	unread  []string          // the other ids whose reports cannot be read
	trouble []error           // what is wrong with them all
}

// read reads the reports. A member that reports two things at once has said nothing: which of them is old cannot be told. Memories that
// are not newer than own are skipped. It costs O(bytes).
func read(reports []Report, own *assignor.Assignment) reading {
	decoder := &assignor.ReportDecoder{}
	if own != nil {
		decoder.Known = own.Generation
	}
	first := make(map[string][]byte, len(reports))
	r := reading{members: make([]assignor.Member, 0, len(reports)), known: map[string]Report{}}
	for _, report := range reports {
		data, twice := first[report.Member]
		if twice && bytes.Equal(data, report.Data) {
			continue
		}
		first[report.Member] = report.Data
		m, err := decoder.Decode(report.Data)
		stands := err != nil && report.Known != nil && report.Member != "" && !twice
		switch {
		case report.Member == "":
			err = errors.New("it has no id")
		case twice:
			err = errors.New("there are two of them")
			r.members = slices.DeleteFunc(r.members, func(m assignor.Member) bool { return m.ID == report.Member })
		case stands:
			m, r.known[report.Member] = standIn(*report.Known), report
		}
		if err != nil {
			r.trouble = append(r.trouble, &ReportError{report.Member, err})
		}
		if err != nil && !stands {
			r.unread = append(r.unread, report.Member)
			continue
		}
		m.ID = report.Member
		r.members = append(r.members, sound(m))
	}
	r.boundKnown()
	return r
}

// standIn returns what the transport knows of a member as its report. It learns nothing: whether it could, nobody can read.
func standIn(m assignor.Member) assignor.Member {
	m.Version, m.Memory = assignor.LearnerVersion-1, nil
	return m
}

// sound returns a report without numbers that no leader can have given.
func sound(m assignor.Member) assignor.Member {
	m.Generation = generation(m.Generation)
	if m.Memory != nil && generation(m.Memory.Generation) == 0 {
		m.Memory = nil
	}
	return m
}

// boundKnown lowers the generations of members that the transport speaks for to what the others know: they must not outdate the
// memory. Behind it, such a member also counts as running what the memory gave it.
func (r *reading) boundKnown() {
	newest := int32(1)
	for _, m := range r.members {
		if _, known := r.known[m.ID]; !known {
			newest = max(newest, m.Generation)
		}
	}
	for i, m := range r.members {
		if _, known := r.known[m.ID]; known {
			r.members[i].Generation = min(max(1, m.Generation), newest)
		}
	}
}

// remember has the memory say what members run of which the transport knows nothing else. What it does not know either, nobody does.
//
// This costs a member that stays unreadable the tasks that it is told to stop: nobody sees that it has stopped them. To give them to
// others all the same would be two owners.
func (r *reading) remember(memory *assignor.Assignment) {
	for i := range r.members {
		m := &r.members[i]
		report := r.known[m.ID]
		if !report.Unlisted || memory == nil {
			continue
		}
		if ma, remembered := memory.For(m.ID); remembered {
			m.Active, m.Instance = slices.Clone(ma.Active), cmp.Or(m.Instance, ma.Instance)
			if report.Known.Generation != memory.Generation {
				m.Active = union(m.Active, ma.Revoke)
			}
		}
	}
}

// generation returns g, or 0 where g is none that a leader can have given: an answer needs a greater one.
func generation(g int32) int32 {
	if g < 0 || g == math.MaxInt32 {
		return 0
	}
	return g
}

// recall returns the leader's memory, and how long it has known it: its own where nobody knows a later one, else what the reports
// hold. Nil is none, where nobody has been assigned anything yet.
func (s *Session) recall(members []assignor.Member) (*assignor.Assignment, time.Duration) {
	own := s.memory.assignment
	later := own == nil || slices.ContainsFunc(members, func(m assignor.Member) bool {
		return m.Generation > own.Generation || m.Memory != nil && m.Memory.Generation > own.Generation
	})
	if !later {
		return own, s.clock - s.memory.at
	}
	if found := assignor.Recover(members); found.Generation > 0 {
		return found, 0
	}
	return nil, 0
}

// repeat returns the answer that changes nothing: every member goes on with what it runs and nobody else claims, and keeps its copies.
// Members whose reports cannot be read go on as they are, all do where even this cannot be encoded.
func repeat(members []assignor.Member, unread []string, memory *assignor.Assignment, r Round) (*assignor.Assignment, []Payload) {
	var a *assignor.Assignment
	var send []Payload
	if len(members) > 0 {
		a = repetition(members, len(unread) > 0, memory, r.Number)
		var err error
		if a, send, err = r.encode(a); err != nil {
			a, send = nil, nil
		}
	}
	if a == nil {
		for _, m := range members {
			send = append(send, Payload{Member: m.ID})
		}
	}
	for _, id := range unread {
		if id != "" && !slices.ContainsFunc(send, func(p Payload) bool { return p.Member == id }) {
			send = append(send, Payload{Member: id})
		}
	}
	return a, send
}

// repetition is the assignment by which nobody gains a task. One that its owner has stopped for the round goes back to it only where
// all reports are there: who has got it since says so, in a later generation.
func repetition(members []assignor.Member, partial bool, memory *assignor.Assignment, number int32) *assignor.Assignment {
	newest := int32(0)
	if memory != nil {
		newest = memory.Generation
	}
	for _, m := range members {
		newest = max(newest, m.Generation)
	}
	now := slices.Clone(members)
	for i := range now {
		if partial {
			now[i].Revoked = nil
		}
		now[i].Memory = nil                           // who runs what is to come from the reports alone,
		now[i].Generation = max(1, now[i].Generation) // and from all of them
	}
	a := assignor.Recover(now)
	a.Generation = max(number, newest+1) // newest is less than the greatest number
	if memory != nil {
		a.Departed = slices.Clone(memory.Departed)
	}
	for _, m := range members {
		i, _ := slices.BinarySearchFunc(a.Members, m, func(ma assignor.MemberAssignment, m assignor.Member) int {
			return strings.Compare(ma.Member, m.ID)
		})
		ma := &a.Members[i]
		ma.Generation = a.Generation
		ma.Learners = without(tasksOf(m.Learners), ma.Active)
		had := union(tasksOf(m.Standbys), union(m.Active, m.Revoked)) // the state of what it no longer runs is not lost
		ma.Standbys = without(without(had, ma.Active), ma.Learners)
	}
	return a
}

// lead takes up what a leader has to do later, once its decision has come back to it.
func (s *Session) lead(d *decision) {
	s.leads = true
	if d.assignment != nil && d.assignment.Generation == s.me.Generation { // else it could not read its own report
		s.memory = remembered{d.assignment, s.clock}
		if d.assignment.NextRebalance > 0 {
			s.set(deadline, d.assignment.NextRebalance)
		}
	}
	if !d.again {
		s.retry = 0
		return
	}
	s.retry = min(max(2*s.retry, assignor.RevokeRetry), maxRetry)
	s.set(again, s.retry)
}
