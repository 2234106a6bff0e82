package worlds

import (
	"fmt"
	"math/bits"
	"strings"
)

// Explorer visits the states of a world, breadth first.
type Explorer struct {
	*World
	MaxStates int             // 0: no limit
	Seen      map[State]State // and the state that it was first reached from
	settled   map[State]bool
}

// Explore visits every state that can be reached from the empty group. It returns the first promise that is broken, with the way
// there.
func Explore(w *World, maxStates int) (*Explorer, error) {
	e := &Explorer{World: w, MaxStates: maxStates, Seen: map[State]State{}, settled: map[State]bool{}}
	start := e.Canonical(State{})
	e.Seen[start] = start
	for queue := []State{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		steps, err := e.Next(&s)
		if err == nil {
			err = e.settle(s)
		}
		if err != nil {
			return e, fmt.Errorf("%s: %w\nin the state\n%sreached by\n%s", w.Name, err, w.String(&s), e.history(s))
		}
		for _, step := range steps {
			to := e.Canonical(step.To)
			if _, seen := e.Seen[to]; seen || e.MaxStates > 0 && len(e.Seen) >= e.MaxStates {
				continue
			}
			e.Seen[to] = s
			queue = append(queue, to)
		}
	}
	return e, nil
}

// history tells how a state was first reached: the states on the way, each under its own names.
func (e *Explorer) history(s State) string {
	var way []string
	for from := e.Seen[s]; ; s, from = from, e.Seen[from] {
		if steps, err := e.Next(&from); err == nil {
			for _, step := range steps {
				if e.Canonical(step.To) == s {
					way = append(way, fmt.Sprintf("- %s, from\n%s", step.What, e.World.String(&from)))
					break
				}
			}
		}
		if from == s || from == e.Seen[from] {
			break
		}
	}
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return strings.Join(way, "")
}

// maxQuietRounds is far more than a world of this size needs to come to rest.
const maxQuietRounds = 40

// settle follows the quiet continuation of a state until a round changes nothing.
func (e *Explorer) settle(s State) error {
	var way []State
	for range maxQuietRounds {
		e.quiet(&s)
		canonical := e.Canonical(s)
		if e.settled[canonical] {
			return e.remember(way)
		}
		way = append(way, canonical)
		next, err := e.round(&s, -1)
		if err != nil {
			return err
		}
		rest := next
		e.quiet(&rest)
		if rest != s {
			s = next
			continue
		}
		if !s.passTime() {
			if err := e.checkRest(&s); err != nil {
				return fmt.Errorf("it comes to rest, but %w\nat rest:\n%s", err, e.World.String(&s))
			}
			return e.remember(way)
		}
	}
	return fmt.Errorf("it does not come to rest in %d rounds; the last state:\n%s", maxQuietRounds, e.World.String(&s))
}

// remember notes that states come to rest.
func (e *Explorer) remember(way []State) error {
	for _, s := range way {
		e.settled[s] = true
	}
	return nil
}

// quiet lets everything catch up, and what has drained stop.
func (e *Explorer) quiet(s *State) {
	s.Events = 0
	for i := range s.Instances {
		in := &s.Instances[i]
		in.HotLearners = in.Learners
		in.catchUp(in.Standbys)
		if in.Present && in.Leaving && in.Known && in.Age == s.MemoryAge && s.stays() &&
			in.Active|in.Revoked|in.Learners|in.Standbys|in.LastStop == 0 {
			in.vanish()
		}
	}
	s.rankAges()
}

// stays reports whether any instance stays.
func (s *State) stays() bool {
	for i := range s.Instances {
		if s.Instances[i].Present && !s.Instances[i].Leaving {
			return true
		}
	}
	return false
}

// passTime lets the group stop waiting for those that do not come back. It reports whether it did wait for any.
func (s *State) passTime() bool {
	waited := false
	for i := range s.Instances {
		if in := &s.Instances[i]; in.Awaited != 0 && !in.Late {
			in.Late, waited = true, true
		}
	}
	return waited
}

// checkRest checks a state that no round changes: every task runs on an instance that stays, every instance has its share, nobody
// learns, and every task has its standbys.
func (e *Explorer) checkRest(s *State) error {
	staying := 0
	for i := range s.Instances {
		if s.Instances[i].Present && !s.Instances[i].Leaving {
			staying++
		}
	}
	if staying == 0 {
		return nil // nothing is levelled where everybody leaves
	}
	stateful := e.stateful()
	all := e.tasks()
	var runs mask
	copies := 0
	for i := range s.Instances {
		in := &s.Instances[i]
		if !in.Present {
			continue
		}
		has := in.Active | in.Revoked
		runs |= has
		copies += bits.OnesCount8(uint8(in.Standbys & in.HotStandbys &^ has))
		switch {
		case in.Leaving:
			return fmt.Errorf("%s leaves and never gets rid of what it has", names[i])
		case in.Learners != 0 || in.Revoked != 0 || in.LastStop != 0:
			return fmt.Errorf("%s still learns, or is to stop something", names[i])
		case !fair(has&stateful, stateful, staying):
			return fmt.Errorf("%s runs %v with state, which is not its share", names[i], e.ids(has&stateful))
		case !fair(has, all, staying):
			return fmt.Errorf("%s runs %v, which is not its share", names[i], e.ids(has))
		}
	}
	if runs != all {
		return fmt.Errorf("nobody runs %v", e.ids(all&^runs))
	}
	if want := bits.OnesCount8(uint8(stateful)) * min(e.Config.Standbys, staying-1); copies != want {
		return fmt.Errorf("there are %d standbys, want %d", copies, want)
	}
	return nil
}

// fair reports whether some tasks of all are the share of one of n instances, rounded down or up.
func fair(has, all mask, n int) bool {
	count, total := bits.OnesCount8(uint8(has)), bits.OnesCount8(uint8(all))
	return count >= total/n && count <= (total+n-1)/n
}
