// Package assignor decides who runs, who learns and who backs up each task of a stateful stream application on a Kafka consumer
// group, so that the group scales out, scales in, swaps hosts and survives crashes without stopping a task to rebuild its state.
//
// # The model
//
// A task is one partition of one subtopology. A stateful task has local state that a changelog can rebuild, which takes minutes to
// hours; a stateless one has none. Tasks run on members; a member belongs to an instance, the process or host whose disk it
// shares. In every rebalance, a round, each member reports what it runs and what state it has ([Member]), and the leader of the
// group calls [Assign], which answers with what each member is to do ([MemberAssignment]): run these tasks, stop those, learn
// these, keep those warm.
//
// Three things are decided apart. Where should each task be: as even as the instances' capacities ask for, with as few tasks moved
// as that takes. How does it get there: a stateful task is learned by its next owner while the old one runs on, and changes hands
// when the learner has caught up; a stateless one stops in one round and starts in the next. And when: [RejoinMode] says when a
// member that learns calls for a round, [HandoverMode] what an owner does with tasks that others learn when a round begins.
//
// # A worked example
//
// S1, S2 and S3 run five tasks, and S4 joins. These are the rows of the answer: what each member is assigned, must revoke, learns.
//
//	S1(assigned: [0_0, 0_1], revoked: [], learning: [])
//	S2(assigned: [0_2, 0_3], revoked: [], learning: [])
//	S3(assigned: [0_4], revoked: [], learning: [])
//	S4(assigned: [], revoked: [], learning: [0_0])
//
// Nothing has stopped. S4 replays the changelog of 0_0 and rejoins when it has caught up, and in that round the task moves:
//
//	S1(assigned: [0_1], revoked: [], learning: [])
//	S2(assigned: [0_2, 0_3], revoked: [], learning: [])
//	S3(assigned: [0_4], revoked: [], learning: [])
//	S4(assigned: [0_0], revoked: [], learning: [])
//
// # What it takes from where
//
// Learners, the two rejoin modes and the scale-down that drains come from the incremental cooperative rebalancing of KIP-415 and
// KIP-429 and the design that grew out of them; caught-up copies, acceptable lag and warm-ups from KIP-441; tags that copies should
// differ in from KIP-708; tasks and their assignments by a pure function from KIP-925. It departs from them in this:
//
//   - A new owner learns beside the standbys, not as one of them, and nothing moves before it has caught up, so there is no probing
//     rebalance: the members say when a round is due.
//   - Targets start from what the instances run. So the plan costs the fewest moves, and an instance that is told to leave and then
//     to stay keeps everything.
//   - A leader that dies takes nothing with it: who runs what is in the reports, and the rest of its memory either comes back with
//     one of them or is rebuilt ([Recover]).
//   - The answer says why: every decision that is not "stays where it was" is a [Move] with its [Reason].
//
// The rules are in docs/design.md: R0 to R8, I1 to I6 and L1 to L3 in comments and reasons are numbered as there.
//
// # What it costs
//
// Assign takes O(tasks + copies + members log members) time and memory, and O(n log n) in the n tasks that change hands. It keeps
// no state, reads no clock, draws no random numbers and starts no goroutines: equal reports give equal answers, in whatever order
// they come, on every leader. An [Assignor] keeps the memory that it works in for the next round.
package assignor
