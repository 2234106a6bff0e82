// Package scenario runs scenario files: a behavior of the assignor as a file that a domain person can read, and run.
//
// A file is a comment that says what is shown and why it matters, and in testdata names the rules of docs/design.md that it shows
// (a last line "# R5.2, I1"), then steps. Rows are the notation of the design in both
// directions: what members report, and what the leader answers.
//
//	# S4 joins, learns T1, and takes it over once it has caught up.
//	group
//	S1[T1, T2]
//	S2[T3, T4]
//	S3[T5]
//	----
//
//	rebalance join=S4
//	----
//	S1(assigned: [T1, T2], revoked: [], learning: [])
//	S2(assigned: [T3, T4], revoked: [], learning: [])
//	S3(assigned: [T5], revoked: [], learning: [])
//	S4(assigned: [], revoked: [], learning: [T1])
//
//	rebalance ready=(S4[T1])
//	----
//	S1(assigned: [T2], revoked: [], learning: [])
//	S2(assigned: [T3, T4], revoked: [], learning: [])
//	S3(assigned: [T5], revoked: [], learning: [])
//	S4(assigned: [T1], revoked: [], learning: [])
//
//	assert stable
//	----
//	ok
//
// # Syntax
//
// The layout is that of github.com/cockroachdb/datadriven, and stricter: a step is a directive line, input lines, a line
// "----", the expected output, and a blank line or the end of the file. Comments (#) stand between steps, never inside one;
// neither input nor output has blank lines; a directive is one line. Two things go beyond datadriven: the line of a step
// that expects an error ends in "!" (its output is the error, as "error: ..." on one line), and a value may follow "<=".
//
// A wrong file is not the output of a step: what cannot be read, or makes no sense (a crash of somebody who is not there),
// ends the run as a [Fault] with its file:line, and no "!" expects it. An error output is what the library itself refuses,
// or a settle that does not come to an end. A step that fails changes nothing.
//
// T3 is the task 0_2 (T counts from 1), and 1_4 is written as it is; input may mix the two. Output uses T where the
// topology is one subtopology with the id 0, else 1_4 for every task. Names come in natural order: S2 before S10.
//
// # Directives
//
//	config k=v ...         replaces the keys that it names: standbys, maxLearners, acceptableLag, learnerTimeout,
//	                       scaleDownTimeout, rejoinDelay, imbalance (percent), newInstancesOnly, spreadTags=zone,rack;
//	                       and for obedient members mode=conservative|eager and handover=oneRound|twoRounds
//	topology               a subtopology a line: 0 partitions=5 [stateless] [weight=2] [cost=3,1,1,1,1]
//	members                a member a line: S1 [instance=h1] [capacity=2] [version=1] [generation=3] [tags=zone:a,rack:r1]
//	group                  S1[T1, T2] a line (or a status row, for standbys): the stable state
//	rebalance [k=v ...]    status rows, or none; the answer
//	settle [max=N]         the rounds until one changes nothing and nobody learns
//	assert ...             "ok", or the numbers that fail it
//	explain T2 ...         the moves of the tasks in the last round, with their reasons
//
// # Who takes part
//
// A line of members declares attributes; it lets nobody join. A line for a member that is declared already changes the
// attributes that it names. Who is there is said by group, join= and crash=. A status row of a declared member that is not
// there lets it join too. In the first round of a file without a group everybody joins who is named by a row, and, unless
// join= says who does, everybody who is declared. A row of anybody else is a Fault, since it is most likely a slip.
//
// group is the stable state: every member has applied generation 1, and the leader remembers just that. It begins a new
// group where there was one. Without a step topology, the tasks of the group are one stateful subtopology (so too the tasks
// of the rows, in a first round without group).
//
// # What members report
//
// An obedient member reports what Member.Next makes of its last answer; who joins reports nothing, and generation 0. Copies
// keep their lag from round to round, and new ones have an unknown lag: without ready= or settle nobody catches up. A status
// row replaces all the tasks of a report: no standby list means no standbys. A copy without lag= has an unknown lag, so a
// learner without one has not caught up; for=30s is how long it has been at it. Generation, attributes, and whether it
// leaves are no part of a row: generation= in a line of members is what it reports in the next round, and only then.
//
// The arguments of rebalance, in the order in which they are applied (a name that is no member means all members of the
// instance of that name):
//
//	crash=S1               is gone, with all that it had. It is also how a member that has drained stops.
//	join=(S4, S5)          joins without any tasks, but for what a row says
//	leaving=(S1, S2)       reports from now on that it leaves, until
//	staying=S1             it does not any longer
//	leavingFor=45s         all that leave report this, from now on
//	ready=(S3[T1, T2])     these copies have caught up, whatever the row says: S3's learner, else its standby, else what it
//	                       restores in order to run it
//	since=30s              Config.SincePrevious of this round
//	memory=none            the leader is new and has no memory; from this answer on it has one again
//	memory=recovered       it has what Recover makes of the reports (nobody echoes a memory)
//
// # Settle
//
// Between two rounds, and before the first, members obey and copies catch up. With mode=conservative all learners do; with
// mode=eager, of each member the one that is enough to make it call for a round (RejoinMode.ShouldRejoin), which is the
// smallest task. Standbys, and tasks that are being restored, always catch up.
//
// A round changes nothing if it tells every member to do what it reports (tasks that it stopped for a handover and gets back
// are no change) and the same instances are awaited as before. The first such round in which nobody learns is the last; it
// is neither printed nor counted, so "settled after 2" follows two printed rounds and "settled after 0" none. After more
// than max rounds (100, or 1000 at most) the step fails.
//
// # Assertions
//
//	balanced               every staying instance is within its range (section R4 of the design), by its stateful tasks and,
//	                       where some are stateless, by all tasks
//	stable                 another round, with nobody catching up, changes nothing
//	moves<=2, moves=2      tasks that came to run on another instance than the one that ran them last, since group
//	once                   none of them did so more than once
//	owner T1=S3 T2=S4      who runs the tasks by the last answer; nobody is "nobody"
//	unowned none           the tasks that nobody runs, or a list: unowned [T1, T2]
//	missing=4              Assignment.MissingStandbys
//
// # What is checked beside the outputs
//
// Every round, printed or not, is decided again with members, tasks, copies and subtopologies in another order, and the
// answers must be equal in all that they hold; assignor.Check must have no objection; and the arguments must be as they
// were. Else the run ends with a Fault: a rewrite of the outputs cannot hide it.
package scenario
