// Package worlds visits every state that a small group can get into: up to three instances and three tasks, under every event, in
// every order. What holds in all of them holds for reasons that do not depend on sizes, and what fails, fails here with a
// shortest example.
//
// A state is what every instance will report in the next round and what the leader remembers, as a few bits an instance
// ([State]). From each state every event leads to a next one, and so does a round: the real [assignor.Assign] decides,
// [assignor.Check] must have no objection, the naive twin ([twin.Assign]) must give the same answer, nobody may run what somebody
// else runs, and everybody obeys through [assignor.Member.Next]. An event need not be followed by a round: up to two of them come together, so that a crash meets a
// learner that has just caught up. States that differ only in the names of instances or tasks are one state.
//
// From every state the quiet continuation is followed too: no more events, everything catches up, deadlines pass. It has to come
// to a round that changes nothing, in which the load is balanced, nobody learns and no standby is missing.
package worlds
