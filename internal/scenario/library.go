package scenario

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// library is what a scenario runs on: the functions of the package assignor, so that the tests of this package can put
// others in their place.
type library struct {
	assign   func([]assignor.Member, *assignor.Assignment, assignor.Config) (*assignor.Assignment, error)
	check    func([]assignor.Member, *assignor.Assignment, assignor.Config) error
	recover  func([]assignor.Member) *assignor.Assignment
	validate func(assignor.Config) error

	// roundTrip encodes the members and the memory of a rerun and decodes them again. Where it is nil the rerun goes without.
	roundTrip func([]assignor.Member, *assignor.Assignment) ([]assignor.Member, *assignor.Assignment, error)
}

var realLibrary = library{
	assign:   assignor.Assign,
	check:    assignor.Check,
	recover:  assignor.Recover,
	validate: assignor.Config.Validate,

	roundTrip: roundTrip,
}

// roundTrip returns the members and the memory as a broker hands them on: each member's report, and the memory both alone and
// echoed in the reports. What is echoed has to be what is remembered.
func roundTrip(members []assignor.Member, memory *assignor.Assignment) ([]assignor.Member, *assignor.Assignment, error) {
	var remembered *assignor.Assignment
	if memory != nil {
		data, err := memory.MarshalBinary()
		if err != nil {
			return nil, nil, fmt.Errorf("memory: %w", err)
		}
		remembered = new(assignor.Assignment)
		if err := remembered.UnmarshalBinary(data); err != nil {
			return nil, nil, fmt.Errorf("memory: %w", err)
		}
	}
	decoded := make([]assignor.Member, len(members))
	for i, m := range members {
		m.Memory = memory
		data, err := m.MarshalBinary()
		if err != nil {
			return nil, nil, err
		}
		if err := decoded[i].UnmarshalBinary(data); err != nil {
			return nil, nil, fmt.Errorf("report of %s: %w", m.ID, err)
		}
		if !reflect.DeepEqual(decoded[i].Memory, remembered) {
			return nil, nil, fmt.Errorf("report of %s echoes %#v\nremembered: %#v", m.ID, decoded[i].Memory, remembered)
		}
	}
	return decoded, remembered, nil
}

// refusal is an error by which the library refuses its input. Unlike a Fault it is the output of a step.
type refusal struct{ err error }

func (r refusal) Error() string { return r.err.Error() }

// round is one call of Assign.
type round struct {
	members []assignor.Member // in natural order of their ids
	memory  *assignor.Assignment
	config  assignor.Config
	answer  *assignor.Assignment
}

// reruns is how often every round is decided again, each time in another order.
const reruns = 2

// decide fills in the answer of the round. It returns a refusal where Assign fails, and any other error where the answer
// breaks a promise of the library: if Check objects to it, if the same input in another order has another answer, or if an
// argument was changed.
func (l library) decide(r *round, seed int64) error {
	before := fingerprint(r)
	answer, err := l.assign(r.members, r.memory, r.config)
	if now := fingerprint(r); now != before {
		return fmt.Errorf("assignor.Assign changed its arguments:\nbefore: %s\nafter:  %s", before, now)
	}
	if err != nil {
		return refusal{err}
	}
	if err := l.check(r.members, answer, r.config); err != nil {
		return fmt.Errorf("assignor.Check: %w\nreports:\n%s\nanswer:\n%v", err, reportLines(r.members), answer)
	}
	r.answer = answer
	rng := rand.New(rand.NewSource(seed))
	for range reruns {
		if err := l.rerun(*r, rng); err != nil {
			return err
		}
	}
	return nil
}

// rerun decides the round again, shuffled and after the encoding round trip, and compares the answers.
func (l library) rerun(r round, rng *rand.Rand) error {
	members, memory := shuffled(r.members, rng), r.memory
	r.config.Topology = shuffle(r.config.Topology, rng)
	if l.roundTrip != nil {
		var err error
		if members, memory, err = l.roundTrip(members, memory); err != nil {
			return fmt.Errorf("encoding round trip: %w", err)
		}
	}
	again, err := l.assign(members, memory, r.config)
	if err != nil {
		return fmt.Errorf("assignor.Assign fails if the same input comes in another order: %w\nreports:\n%s", err, reportLines(members))
	}
	if !reflect.DeepEqual(again, r.answer) {
		return fmt.Errorf("assignor.Assign depends on the order of its input:\nreports:\n%s\nanswer:\n%s\nreports again:\n%s\nanswer:\n%s",
			reportLines(r.members), detailed(r.answer), reportLines(members), detailed(again))
	}
	return nil
}

// shuffled returns the same members with the same lists, all in another order.
func shuffled(members []assignor.Member, rng *rand.Rand) []assignor.Member {
	members = shuffle(members, rng)
	for i := range members {
		m := &members[i]
		m.Active, m.Revoked = shuffle(m.Active, rng), shuffle(m.Revoked, rng)
		m.Learners, m.Standbys = shuffle(m.Learners, rng), shuffle(m.Standbys, rng)
	}
	return members
}

func shuffle[E any](list []E, rng *rand.Rand) []E {
	list = slices.Clone(list)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// fingerprint tells whether any argument of Assign has changed.
func fingerprint(r *round) string {
	if r.memory == nil {
		return fmt.Sprintf("%#v %#v", r.members, r.config)
	}
	return fmt.Sprintf("%#v %#v %#v", r.members, r.config, *r.memory)
}

// detailed returns the rows of an answer and what they do not show.
func detailed(a *assignor.Assignment) string {
	return fmt.Sprintf("%v\nall of it: %#v", a, *a)
}

func reportLines(members []assignor.Member) string {
	var lines []byte
	for i, m := range members {
		if i > 0 {
			lines = append(lines, '\n')
		}
		lines = fmt.Appendf(lines, "%v generation %d", m, m.Generation)
	}
	return string(lines)
}

// isRefusal tells the output of a step from a fault.
func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}
