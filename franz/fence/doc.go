// Package fence lets the changelog of a task decide who may write to it. A process that has lost a task, and does not know it yet,
// writes on; what it writes does not count, for nobody who reads the changelog. No clock, no group and no coordinator is asked.
//
// # Why not the generation
//
// A fence needs a number that grows with every owner. The generation of a consumer group is none: it begins at 1 again when the
// group is deleted, expires or moves to another cluster; under another balancer a member may not know it; and a static member that
// is replaced under its name has the generation of the process before it. So the number comes from the log itself.
//
// # The rules
//
// A fence is a record of the changelog with an epoch and a writer. Every change has, in a header, the fence under which it was
// written. It is the header of a record and not a field of its value, since a tombstone has no value and must be judged too,
// and so that the value stays the service's own.
//
//  1. In force is the first fence with the highest epoch so far. A change counts if it was written under the fence in force.
//  2. Who takes a task over replays its changelog, writes a fence with the epoch of the one in force plus one, and replays up to its
//     own fence. Where another one with as high an epoch came first, it does so again. Its writer is unique: the name of the
//     process and 128 random bits.
//  3. Who has read that its fence is in force writes changes under it, and goes on reading. When it reads a higher fence, it has
//     lost the task.
//
// B takes over from A, who does not know it. C takes over at the same time as B: both had read 1a. (F 2b is a fence with epoch 2 of
// writer b, 1a k=2 a change under the fence 1a. The rows are those of testdata, which the tests play.)
//
//	offset  record  verdict  in force
//	0       F 1a    skip     1a
//	1       1a k=1  apply    1a
//	2       F 2b    skip     2b        B holds
//	3       F 2c    skip     2b        C came second, and goes higher
//	4       1a k=2  void     2b        A was too late
//	5       2b k=3  apply    2b
//	6       F 3c    skip     3c        C holds, and B will read so
//	7       2b k=4  void     3c
//	8       3c k=5  apply    3c
//
// # Why that is enough
//
// Verdicts are the same for everybody: rule 1 looks at nothing but the records before, in the order in which the log has them.
//
// One owner at a time: at every offset one fence is in force. Of two fences with one epoch only the first ever is, so each epoch has
// one writer that writes under it (rule 3), and no two take-overs share a writer (rule 2).
//
// Nothing that counts is lost: the new owner has read every record before its fence when it begins. From there on no change of
// anybody else counts until a higher fence, whose owner then has read everything up to that one.
//
// Somebody gets through: each of several that take over at once either holds or reads a higher epoch than it had; the last fence
// with the highest epoch of those that are written holds, and its writer writes no other. A process that is out of its
// group may take the task from its owner in this way. The owner reads so, and takes it back ([Tenure.Lost]); it goes on until the other hears that
// it is out, and in the meantime nothing is counted twice.
//
// # What a service does
//
// It keeps a [Changelog] for each store, and asks it about each record that it replays:
//
//	v, err := changelog.Replay(record)  // err: see Replay
//	if v == fence.Apply {
//		store.Apply(record)
//	}
//
// To own the task it takes over, while another goroutine replays, and stamps each change before it makes it. It goes on replaying:
//
//	tenure, err := changelog.TakeOver(ctx, client, hostname)
//	...
//	if err := tenure.Stamp(record); err != nil {
//		return err // ErrFenced: another process has the task
//	}
//	store.Apply(record)
//	client.Produce(ctx, record, ...)
//
// The broker's acknowledgement says that a change is in the log, not that it counts. It counts when it has been read back: Replay
// then says [Own]. What a service does because of a change that must not be lost, it does then: to commit the offset of the input that led to
// it, above all. Else the owner commits input whose changes are void, and nobody will read it again. The word count in
// examples/kafka does all this.
//
// # A store that holds void changes
//
// An owner changes its store before it knows that the change counts. When a higher fence is read, and not all of its changes were
// read back before it, the store holds changes that are void, or nowhere in the log. From then on every call returns [ErrSpoilt]: drop the
// store and replay into a new one, with a new Changelog. Otherwise the store is as good as any copy, and goes on as one.
//
// A store on disk has a [Checkpoint] beside it, written in one go with it. It says how far the log was read, under which fence,
// and whether the store was [Checkpoint.Dirty]: with changes of its own that were not read back. Such a store is worth nothing after a
// restart, and a Changelog that begins there says so. Before a process ends, [Tenure.Settle] waits until it is clean. So after the
// group has lost a member, its stores are judged by the log: whether a fence of somebody else came before their last changes.
//
// # Compaction
//
// Compaction removes a record when a later one has its key. Each fence has a key of its own, so none is replaced by one that came
// too late. But of each key the last record is kept, whatever it is worth: without the last one of these, 3 is what it keeps of k.
//
//	0  F 1a    skip   1a
//	1  1a k=1  apply  1a
//	2  F 2b    skip   2b
//	3  1a k=2  void   2b
//	4  2b k=1  apply  2b        B mends k
//
// So the owner writes each key again of which the last record is void ([Tenure.Mend]), and the topic leaves it the time for it:
//
//	cleanup.policy=compact
//	min.compaction.lag.ms=86400000   # longer than a task may be without an owner that replays it
//
// With the default, 0, a broker may remove record 1 before 4 is written, and then k is lost when B's process is lost too. To put the
// epoch into the keys of changes does not help: A's record 3 has the epoch of its record 1.
//
// Once no key is void, the owner removes the fences before its own (Mend does that too), so that they do not pile up. What they
// voided has been written over by then; what counted under them counts by rule 4:
//
//  4. A change is proof that its fence was in force, by rule 3. If it is not the one in force by what was read, and not lower, its record has been
//     removed, or one that came second with the same epoch is left: then the change counts, and its fence is in force.
//
// A reader that comes after that may believe some void record for a while, of a key that was mended, and reads its mend later: the
// state at the end of the log is right, which the tests check after every kind of compaction. Where cleanup.policy is compact,delete, what is
// retained must be older than any process that may still write. A reader must be done within delete.retention.ms, as on any
// compacted topic.
//
// # Without headers
//
// Records without headers count until the first fence, and are void after it: who writes them cannot know whether it has lost the
// task. So a service begins to use fences in two rolling restarts. In the first one every process learns to replay by
// [Changelog.Replay], and takes over only where [Changelog.InForce] is not the zero Fence; else it writes without a tenure, as before.
// In the second one all take over. The way back is to drop the fences together with the changelog.
//
// A record with headers of these names that are not as this package writes them is void, and Replay's error is [ErrStamp].
//
// # What it costs
//
// A take-over is one record and the time until it is read back. A change costs a header of some 50 bytes, which compresses well, and is read back by its
// owner: as much traffic again as the replay of one standby. A Changelog keeps the keys that are void, and a few words.
//
// # The road not taken
//
// Kafka's transactions refuse the writes of a zombie at the broker: with a transactional id for each task, or with offsets committed
// in the transaction. Then no record is void, and none of this is needed; each commit costs a round of the transaction's coordinator,
// and readers wait for it. Whoever uses them already does not need this package.
package fence
