// Package lead is the part of a group that is no transport and no service: what one member reports, when its answer counts, what a
// leader remembers, and who calls for a round and when. The package assignor decides a round; this one goes from round to round.
//
// # The model
//
// A [Session] is one member of a group. It is a state machine without a network, a clock, a goroutine or a lock: things that
// happen are its methods, and each returns a [Todo], the list of what is to be done about it, in that order. What happens, in
// a round:
//
//   - a round is wanted, so the transport asks every member to join: [Session.Join], and the member reports what it runs;
//   - the round has begun with these reports, under a number, and one of the members leads it: [Session.Begin];
//   - the leader gets all reports and decides: [Session.Decide], and sends each member its part;
//   - each member gets its part: [Session.Deliver], stops, starts and learns.
//
// Between rounds copies catch up ([Session.Progress]), active tasks lose their state ([Session.Broken]), members are told to leave
// or to stay ([Session.Leave], [Session.Stay]), the group loses members ([Session.Lost]), and time passes ([Session.Tick]).
//
// # A worked example
//
// S1 runs 0_0 and 0_1, and S2 joins. S1 is asked to join again and reports, S2 reports that it has nothing. The round is number 8 and
// S1 leads: it decides, and each gets its row. Nothing has stopped; S2 learns.
//
//	S1(assigned: [0_0, 0_1], revoked: [], learning: [])   Join, Begin, Decide, Deliver: -
//	S2(assigned: [], revoked: [], learning: [0_0])        Join, Begin, Deliver: Learn [0_0]
//
// S2 has replayed all there is: Progress, and after [Config.Debounce] Tick says to call for a round. In round 9 S1 is told to stop
// 0_0. It does, and all join at once, since the answer is one to follow up.
//
//	S1(assigned: [0_1], revoked: [0_0], learning: [])     Deliver: Stop [0_0], Call
//	S2(assigned: [], revoked: [], learning: [0_0])        Deliver: Call
//
// In round 10 nobody runs 0_0, and S2 has all of it:
//
//	S1(assigned: [0_1], revoked: [], learning: [])        Deliver: -
//	S2(assigned: [0_0], revoked: [], learning: [])        Deliver: Start [0_0]
//
// With [Config.OneRound] S1 stops 0_0 already when it joins round 9 (Join: Stop [0_0], Report), whether or not S2 turns out to have
// caught up, and S2 starts in that round.
//
// # The contract
//
// A task never runs on two members that keep to their Todos, whatever the transport loses, delays, doubles or reorders, as long as
//
//   - one goroutine at a time uses a session, and does what a Todo says before the next event: above all, what was to stop has
//     stopped before a report goes out or an answer to it is asked for;
//   - a round has a number that no earlier one of the group had (where a group is made anew, its members lose their places first,
//     [Session.Lost]), and its leader gets the report of the last Join of each member, before that
//     Join's Begin names the round. A report that comes later, or is of an earlier Join, is of another round;
//   - of the plans that leaders of one round send, the group takes one, whole; any part of it may get lost;
//   - a member that is not in a round runs nothing any more when its leader decides: it has been told so ([Session.Lost]), or its
//     lease ended before, or whatever it still writes is fenced.
//
// What a session itself promises is listed at [Session.Check], which tests call after every event; the package leadtest plays groups
// of them on a bad transport.
//
// What can be late or wrong without harm: an answer (it counts only for the round that the member began last), a clock, the count of
// how far a copy is behind, a call for a round, a leader that dies at any point, two leaders at once.
//
// # What it decides, and the road not taken
//
// A decision is not the leader's memory when it is made but when the leader's own part of it comes back: the group may have taken
// another's. A leader that made it its memory at once would, after a failed round, count as running what nobody was given.
//
// A plan that is too large for its payloads starts fewer copies: standbys wait first, then learners, but for those of instances that
// leave. Failover and drains do not wait for room that only a standby needs.
//
// A report that cannot be read, a plan that is too large even so and an error of Assign lead to the same: what is stays, by one answer
// that gives every member what it runs and nobody else claims. Deciding on the readable reports alone would give away what the
// member of the other one runs. Where even that does not fit, everybody gets an empty payload: go on as you are. Nobody gains a
// task by any of it, and the leader tries again after assignor.RevokeRetry, then twice as long each time.
//
// A member that has stopped a task for a round (OneRound) and gets no answer does not start it again: another may have it. It waits
// for the next answer that it can read.
//
// An order to stop something that its member missed is followed up in the next rounds too, three times: the others wait for the task.
// Without a bound, a member that misses every answer would keep the group in rounds.
//
// Time is only ever compared with limits that say when to ask again or how long to wait for somebody: no task starts because of a
// clock. One that was set back stands still for the session; one that jumped ahead makes everything older.
package lead
