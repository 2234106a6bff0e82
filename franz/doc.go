// Package franz puts the assignor into a franz-go client: a Go service with a kgo consumer group gets learners, standbys, drains and
// hand-overs without a pause by adding this balancer.
//
//	balancer, err := franz.New(franz.Config{
//		Instance: hostname,
//		Topology: []franz.Subtopology{{ID: 0, Topics: []string{"orders"}}},
//		Assignor: assignor.Config{Standbys: 1},
//		OnChange: func(s franz.State) { service.Run(s.Active, s.Learning, s.Standby) },
//	})
//	client, err := kgo.NewClient(append(opts, balancer.Opts()...)...)
//
// # What the service does
//
// It runs what [State.Active] lists, and replays the changelogs of [State.Learning] and [State.Standby], with a second, direct
// client: the group's client never reads a partition that the member does not own. OnChange gets the whole desired state in
// every session, never a difference, before anything is committed and before a new partition is read; when it returns, nothing runs
// that Active does not list. A task that is new in Active may have records to replay before it runs, as many as AcceptableLag or
// all. Whoever replays says how far it is with [Balancer.Progress]; that is what makes a round due. When the process is to end for
// good, [Balancer.Drain] hands every task over and leaves the group. The second example is a whole service.
//
// A member that has lost its place is told so ([State.Lost]). What it ran until then is in [State.Suspect]: others may have run it
// since, and its local state may hold writes that are void. The service throws that state away, or proves it right, before it
// calls Progress for it.
//
// # What others see
//
// Metadata and assignments are Kafka's own ConsumerProtocol records, so that the broker and its tools can read who owns what. The
// payloads of the assignor are their user data: learners and standbys stand only there.
//
// # Never everything
//
// A kgo member whose balancer fails loses all it has. So this one does not fail: on any trouble (bytes that nobody can read, a
// topic without metadata, answers that are too large, a panic) the round repeats what is, and the trouble is in [State.Troubles],
// the log and the [Observer]. A panic in what the service hands over (OnChange, the callbacks on partitions, Local, the Logger, the
// Observer) is the service's own: it is not recovered, and ends the process as anywhere in Go.
//
// # Two owners
//
// No two members own a task in the protocol at a time. A process cut off from the coordinator may run on for a while without
// knowing that it is out: whoever needs more than that fences its writes, by transactions or with the package fence. The generation is no
// fence: it begins at 1 again with every life of the group.
package franz
