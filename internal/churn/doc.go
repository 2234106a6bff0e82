// Package churn has groups that live: members that obey, copies that catch up, and whatever else happens to a group.
//
// A [World] is drawn from a seed, and so is all that happens in it: members join, leave, crash, restart and come back under other
// names, answers are missed or applied late, leaders forget, topologies change. It knows what every member truly runs, which a
// leader only knows from reports. Each answer is held against the guarantees of docs/design.md: I1 to I6 by [assignor.Check], I1
// once more against what truly runs, L3, every move with its reason, every deadline; and each answer must be the same when
// everything is given in another order, or over the wire. When the events end, the group must settle in as many rounds as a formula says, with as few
// moves as another says, in a state that is fair by a third; the formulas share no code with the library.
//
// A wild world ([Roam]) promises nothing: reports and memories say what cannot be. It is for comparing Assign with its naive twin.
//
// A [Group] is a world without chance: everybody obeys, everything catches up.
package churn

import "github.com/incremental-rebalance/assignor"

// Assign decides a round, as assignor.Assign does.
type Assign func(members []assignor.Member, memory *assignor.Assignment, config assignor.Config) (*assignor.Assignment, error)
