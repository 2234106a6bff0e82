package lead

import (
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Resume is for a static member that has returned to the place of a leader: the group has given everybody what they had, nobody has
// asked it to decide, and nobody keeps the deadlines of the round. Given the reports of that round it decides it once more, with
// its own new report, and calls for no round where that comes to what was delivered: to itself, and, where it got the memory,
// to the others. Without Resume, and where anything differs, it calls for a round after Config.Debounce.
func (s *Session) Resume(now time.Time, r Round) Todo {
	s.advance(now)
	if s.phase == settled && s.place.Leads && s.place.Round == r.Number && !s.leads && s.decidesAgain(r) {
		s.leads, s.due[again] = true, 0
	}
	return s.done(Todo{})
}

// decidesAgain reports whether the round would be decided as it was. A deadline counts from reports that are as old as the round,
// which nobody knows, so that only new reports tell.
func (s *Session) decidesAgain(r Round) bool {
	others := slices.DeleteFunc(slices.Clone(r.Reports), func(r Report) bool { return r.Member == s.place.Member })
	reports := read(others, nil) // its own memory is that of the round, not the one that the round was decided with
	own := s.sent
	own.ID = s.place.Member
	members := append(reports.members, own)
	memory := assignor.Recover(members)
	if memory.Generation == 0 {
		memory = nil
	}
	reports.remember(memory)
	a, err := s.assign(members, memory, s.config.of(r, 0), r)
	if err != nil || len(reports.unread) > 0 || a.NextRebalance > 0 || a.FollowUp {
		return false
	}
	ma, _ := a.For(own.ID)
	mine := slices.Equal(ma.Active, s.me.Active) && slices.Equal(ma.Revoke, s.revoking) &&
		slices.Equal(ma.Learners, tasksOf(s.me.Learners)) && slices.Equal(ma.Standbys, s.kept)
	return mine && (s.me.Memory == nil || sameGroup(a, s.me.Memory))
}

// sameGroup reports whether two assignments give every instance the same to run and to stop. Members are compared by their
// instances, because a member that has restarted has another id.
func sameGroup(a, b *assignor.Assignment) bool {
	byInstance := map[string][]assignor.MemberAssignment{}
	for _, ma := range b.Members {
		byInstance[ma.Instance] = append(byInstance[ma.Instance], ma)
	}
	for _, ma := range a.Members {
		others := byInstance[ma.Instance]
		i := slices.IndexFunc(others, func(other assignor.MemberAssignment) bool {
			return slices.Equal(ma.Active, other.Active) && slices.Equal(ma.Revoke, other.Revoke)
		})
		if i < 0 {
			return false
		}
		byInstance[ma.Instance] = slices.Delete(others, i, i+1)
	}
	return len(a.Members) == len(b.Members)
}
