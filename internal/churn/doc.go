// Package churn has groups that live: members that obey, copies that catch up, and whatever else happens to a group.
//
// A [World] is drawn from a seed, and so is all that happens in it: members join, leave, crash, restart and come back under other
// names, answers are missed or applied late, leaders forget, topologies change. It knows what every member truly runs, which a
// leader only knows from reports. Each answer is held against the guarantees of docs/design.md: I1 to I6 by [assignor.Check], I1
// once more against what truly runs, L3, every move with its reason, every deadline; and each answer must be the same when
// everything is given in another order, or over the wire. When the events end, the group must settle in as many rounds as a formula
// says, with as few moves as another says, in a state that is fair by a third; the formulas share no code with the library.
//
// What fails is printed as the seed and the last rounds, each with the events before it, what was reported and what was answered:
//
//	--- round 3: m4 joins on i4, m2 misses answer 2
//	memory: generation 2
//	  m1(assigned: [0_0, 0_1], revoked: [], learning: []) gen=2 instance=i1 ...
//	answer 3: missing standbys: 0
//	  m1(assigned: [0_0, 0_1], revoked: [], learning: [])
//
// [Play] plays the same seed again, which is the whole of what it takes to look closer. A seed draws everything in one order, so a
// change of what is drawn changes all seeds that follow it in a world: it is made once, and not for the sake of one failure.
//
// A wild world ([Roam]) promises nothing: reports and memories say what cannot be. It is for comparing Assign with its naive twin.
//
// A [Group] is a world without chance: everybody obeys, everything catches up.
package churn

import "github.com/incremental-rebalance/assignor"

// Assign decides a round, as assignor.Assign does.
type Assign func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error)
