package twin

import (
	"cmp"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// Recover is Recover of members that echo no memory: it sorts all claims by task, the latest generation first, where Recover
// counts in arrays.
//
//	S1 generation 7 claims 0_0 0_1    0_0 S1
//	S2 generation 6 claims 0_1 0_2    0_1 S1, the later claim; 0_2 S2
//	S3 generation 7 claims 0_0        0_0 nobody after all: two claims of the highest generation
func Recover(members []assignor.Member) *assignor.Assignment {
	known := withGeneration(members)
	a := &assignor.Assignment{Members: []assignor.MemberAssignment{}}
	for i := range members {
		a.Generation = max(a.Generation, knownGeneration(members[i].Generation))
	}
	type claim struct {
		task   assignor.TaskID
		gen    int32
		member int
	}
	var claims []claim
	for i, m := range known {
		a.Members = append(a.Members, assignor.MemberAssignment{
			Member: m.ID, Instance: cmp.Or(m.Instance, m.ID), Leaving: m.Leaving, Version: m.Version, Generation: a.Generation,
		})
		for _, task := range slices.Concat(m.Active, m.Revoked) {
			claims = append(claims, claim{task, m.Generation, i})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(a.task.Compare(b.task), cmp.Compare(b.gen, a.gen), cmp.Compare(a.member, b.member))
	})
	claims = slices.Compact(claims)
	for i, c := range claims {
		first := i == 0 || claims[i-1].task != c.task
		tied := i+1 < len(claims) && claims[i+1].task == c.task && claims[i+1].gen == c.gen
		if first && !tied {
			a.Members[c.member].Active = append(a.Members[c.member].Active, c.task)
		}
	}
	return a
}

// withGeneration returns the members that have a generation, by id, of several with one id the first; of those that have none and
// of those that come after it under its id, none.
func withGeneration(members []assignor.Member) []assignor.Member {
	seen := map[string]bool{"": true}
	var known []assignor.Member
	for _, m := range members {
		if !seen[m.ID] && knownGeneration(m.Generation) > 0 {
			known = append(known, m)
		}
		seen[m.ID] = true
	}
	slices.SortFunc(known, func(a, b assignor.Member) int { return cmp.Compare(a.ID, b.ID) })
	return known
}
