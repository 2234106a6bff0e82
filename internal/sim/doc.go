// Package sim answers, before anybody touches a cluster, what a change will cost: it plays the life of a consumer group in
// virtual time, with the assignments that the real [assignor.Assign] decides, and adds up what stopped, what moved and what
// was copied.
//
// It is a discrete-event simulation: nothing happens between two events, the clock jumps from one to the next, and the only
// random numbers (which member hears of a round when, which partition is large) come from the seed of the [Spec]. Two runs
// of one spec are equal to the byte. Times are whole milliseconds, sizes whole bytes: there is no floating point in it.
//
// # What it models
//
// Instances have a capacity, a zone, a disk, and a bandwidth to restore with, which all copies that are catching up on them
// share; what the broker can serve in all is shared by everybody. A stateful task has a state of some size and is written to
// at some rate while it runs. A copy that starts from nothing replays the whole state and what is written meanwhile; one left
// on a disk replays what it missed, at most the whole state. A copy that has caught up follows from then on at no cost.
//
// A round is the protocol of a consumer group. Somebody calls for it; the others hear of it with their next heartbeat, at
// most one heartbeat interval later, and join; the round waits for the slowest, and for a crashed member until its session
// has timed out. Then the leader decides, and the answers are with the members after one more delay. Members are driven by
// the code that users run: what they report is [assignor.Member.Next], what they pause during a round is said by
// [assignor.HandoverMode], and when a learner calls for a round is said by [assignor.RejoinMode]. A new leader has what
// [assignor.Recover] makes of the reports, among them those of the members that carry the memory.
//
// # What it does not
//
// One member an instance. Processing keeps up with the input: there is no backlog, a paused task is a pause and nothing more.
// The broker does not fail. Members that have lost the broker without knowing it are not played here.
//
// # The spec
//
// A spec is a small text file, see [Parse]; testdata/simulate has ten. Every [Variant] of it is the same cluster and the same
// events under another setting or another protocol: besides the assignor's own there are three from the published
// descriptions of how groups are usually balanced, see baseline.go.
package sim
