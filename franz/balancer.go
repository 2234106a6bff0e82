package franz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Balancer is the group balancer of one client. Its methods may be called by several goroutines at once. What kgo calls is behind
// [Balancer.Opts].
type Balancer struct {
	config   Config
	topology topology

	mu         sync.Mutex
	client     *kgo.Client
	memberID   string
	local      *local
	partition  map[string]int32    // the last known number of partitions of each topic
	ghosts     map[int32]time.Time // since when it knows, as leader, that tasks of a subtopology have no partition
	sent       sentReport
	elected    *round     // the round that this member is asked to decide
	decided    *decision  // its answer, until it is delivered
	insisted   int        // rounds in a row of this leader that followed up on an order which its member missed
	memory     remembered // the last assignment that was delivered, as far as this member knows it
	leads      bool       // it decided the current generation
	sessions   int        // how many have begun
	told       bool       // the service knows of the last one
	inSession  bool       // no join is under way, and the member has its place
	followUp   bool       // the session asks for another round at once
	timers     timers     // the rounds that this member will call for
	probes     int        // sessions in a row in which this member, leaving, had nothing but standbys, and the last one
	probedIn   int
	retry      time.Duration // how long it waited, as leader, to try again what it could not decide
	changed    chan struct{} // closed at the next session
	undrain    func()        // ends the drain that is under way
	done       chan struct{} // closed when the member has drained and left
	departing  *departure    // its way out of the group, which nothing takes back
	drains     int           // in the background, so far
	background int           // the one that goes on, 0: none does
	left       bool
	alone      bool            // by the session, there is nobody to hand over to: all leave
	followed   bool            // another balancer decided the session
	moves      []assignor.Move // what it decided for the last generation that it led, by instances
	missing    int             // and the standbys that nobody could take

	closed   bool             // its client has been closed
	misuse   map[string]found // what the service gets wrong, by respects that are looked at on their own
	watch    *time.Timer      // looks at the learners again
	unjoined *time.Timer      // looks whether the member has joined
	troubles troubles         // has a lock of its own
}

// remembered is an assignment and when this member got to know it.
type remembered struct {
	assignment *assignor.Assignment
	at         time.Time
}

// sentReport is the report of a join. A join asks several times, and gets the same bytes.
type sentReport struct {
	frame    []byte // what kgo asked with: the metadata without the payload
	metadata []byte
	report   assignor.Member
}

// New returns a balancer for one client, to whose options [Balancer.Opts] are added last. It fails with [ErrConfig], every
// problem at once. It starts no goroutine and connects to nothing.
func New(config Config) (*Balancer, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	b := &Balancer{
		config:    config,
		topology:  newTopology(config.Topology),
		partition: map[string]int32{},
		changed:   make(chan struct{}),
		done:      make(chan struct{}),
	}
	b.local = newLocal(&b.config, &b.topology)
	return b, nil
}

// Opts returns the options of the client: the balancer, hooks and the callbacks on partitions. They come after those of the
// service, which name its group, consume the topics of all subtopologies, and set no balancers and no such callbacks.
func (b *Balancer) Opts() []kgo.Opt {
	return []kgo.Opt{
		kgo.Balancers(b.balancers()...),
		kgo.WithHooks(hooks{b}),
		kgo.OnPartitionsAssigned(b.onAssigned),
		kgo.OnPartitionsRevoked(b.onRevoked),
		kgo.OnPartitionsLost(b.onLost),
	}
}

func (b *Balancer) balancers() []kgo.GroupBalancer {
	balancers := []kgo.GroupBalancer{protocol{b}}
	for _, f := range b.config.Fallback {
		balancers = append(balancers, fallback{f, b})
	}
	return balancers
}

// protocol is a Balancer as kgo calls it. Its methods are not the Balancer's, because a call of them by anybody else would count
// as a join or as a session.
type protocol struct{ b *Balancer }

// ProtocolName returns [Protocol].
func (p protocol) ProtocolName() string { return Protocol }

// IsCooperative returns true: what a member keeps runs on while the group rebalances.
func (p protocol) IsCooperative() bool { return true }

// JoinGroupMetadata returns the metadata of a join.
func (p protocol) JoinGroupMetadata(interests []string, owned map[string][]int32, generation int32) []byte {
	return p.b.joinGroupMetadata(interests, owned, generation)
}

// ParseSyncAssignment returns the partitions of an assignment.
func (p protocol) ParseSyncAssignment(data []byte) (map[string][]int32, error) {
	return p.b.parseSyncAssignment(data)
}

// MemberBalancer returns the round that the members ask this one to decide.
func (p protocol) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	return p.b.memberBalancer(members)
}

// joinGroupMetadata returns the ConsumerMemberMetadata (version 3) of a join, with the member's report as its user data. What the
// member owns is in the report; only where there is none, the metadata lists it.
func (b *Balancer) joinGroupMetadata(interests []string, owned map[string][]int32, generation int32) []byte {
	meta := kmsg.ConsumerMemberMetadata{Version: 3, Topics: interests, Generation: generation}
	for _, topic := range slices.Sorted(maps.Keys(owned)) {
		meta.OwnedPartitions = append(meta.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic, Partitions: owned[topic]})
	}
	if b.config.Rack != "" {
		meta.Rack = &b.config.Rack
	}
	frame := meta.AppendTo(nil)
	metadata, err := b.metadata(meta, frame, owned)
	if err != nil {
		err = fmt.Errorf("franz: the report cannot be encoded, the leader sees what is owned: %w", err)
	}
	b.troubled(TroubleMetadata, err)
	b.checkTopics(interests)
	if metadata == nil {
		return frame
	}
	return metadata
}

// metadata adds the report to the metadata, or returns what it returned for the same frame.
// A panic is an error, and then it returns none.
func (b *Balancer) metadata(meta kmsg.ConsumerMemberMetadata, frame []byte, owned map[string][]int32) (metadata []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer recovered(&err)
	if b.sent.metadata != nil && bytes.Equal(b.sent.frame, frame) {
		return slices.Clone(b.sent.metadata), nil
	}
	b.inSession = false
	b.timers.stop()
	if len(owned) == 0 && len(b.local.assigned) > 0 {
		b.local.lose() // kgo has dropped everything
	}
	report := b.local.report(owned, time.Now())
	data, err := report.MarshalBinary()
	if err == nil {
		slim(&meta, &report)
	}
	meta.UserData = data
	b.sent = sentReport{frame, meta.AppendTo(nil), report}
	return slices.Clone(b.sent.metadata), err
}

// parseSyncAssignment returns the partitions of an assignment. It never fails: of bytes that nobody can read, the member
// keeps what it has.
func (b *Balancer) parseSyncAssignment(data []byte) (assigned map[string][]int32, err error) {
	assigned, h, err := b.parse(data)
	b.sessionTroubles(h, err)
	return assigned, nil
}

// parse begins the session of an assignment. The error says what of it could not be read; a panic is one.
func (b *Balancer) parse(data []byte) (assigned map[string][]int32, h heard, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("franz: panic while reading an assignment, the previous one stays: %v", p)
			assigned = b.previous()
		}
	}()
	var ka kmsg.ConsumerMemberAssignment
	if err := ka.ReadFrom(data); err != nil {
		assigned = b.previous()
		b.begin(assigned, nil, nil)
		b.askIn(assignor.RevokeRetry, "an assignment could not be read")
		return assigned, h, fmt.Errorf("franz: assignment of %d bytes cannot be read, the previous one stays: %w", len(data), err)
	}
	assigned = map[string][]int32{}
	for _, t := range ka.Topics {
		assigned[t.Topic] = append(assigned[t.Topic], t.Partitions...)
	}
	if frame := ka.AppendTo(nil); len(frame) < len(data) {
		h.notes = readNotes(data[len(frame):])
	}
	ma, memory, err := assignor.Decode(ka.UserData)
	if err == nil {
		b.topology.complete(assigned, ma.Active)
		h.strange = b.topology.unknown(ma.Active)
		b.dropUnread(assigned)
		if ma.FollowUp {
			time.Sleep(followUpGrace)
		}
		b.begin(assigned, &ma, memory)
		return assigned, h, nil
	}
	b.topology.complete(assigned, h.keeps)
	b.dropUnread(assigned)
	b.begin(assigned, nil, nil)
	if len(ka.UserData) > 0 || len(assigned) == 0 {
		b.askIn(assignor.RevokeRetry, "an assignment could not be read")
	}
	if len(ka.UserData) == 0 { // the leader could not send more, and tries again
		return assigned, h, nil
	}
	return assigned, h, fmt.Errorf("franz: the assignment's user data cannot be read, copies stay as they are: %w", err)
}

// followUpGrace is how long a member waits, before it stops anything, in a session that ends at once: peers that have not yet
// fetched their part of it would be told to join again instead, and miss it. Nothing pauses meanwhile.
const followUpGrace = 20 * time.Millisecond

// previous returns what the member was assigned last.
func (b *Balancer) previous() map[string][]int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return clonePartitions(b.local.assigned)
}

// begin records the session that an assignment begins.
func (b *Balancer) begin(assigned map[string][]int32, ma *assignor.MemberAssignment, memory *assignor.Assignment) {
	memberID, generation := b.groupMetadata()
	elected, decided := b.takeDecision(generation)
	switch {
	case elected == nil || ma == nil:
	case decided == nil:
		decided = elected.resume(*ma, memory)
	case !decided.delivered(elected.info.LeaderID, *ma):
		elected, decided = nil, nil // the coordinator has taken another's answer
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.memberID = memberID
	b.leads = elected != nil
	b.inSession = true
	b.sessions++
	b.told = false
	b.followUp = ma != nil && ma.FollowUp
	b.alone, b.followed = false, false
	b.sent.metadata = nil // the next join reports anew
	b.timers.stop()
	b.local.adopt(assigned, ma, memory, now)
	if memory != nil {
		b.memory = remembered{memory, now}
	}
	if decided != nil {
		b.lead(decided, b.local.last.Generation, now)
	}
}

// takeDecision returns what this member was asked to decide for the generation, nil where it does not lead, and what it
// decided, nil where it was not asked.
func (b *Balancer) takeDecision(generation int32) (*round, *decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	elected, decided := b.elected, b.decided
	b.elected, b.decided = nil, nil
	if elected == nil || elected.info.Generation != generation {
		return nil, nil
	}
	return elected, decided
}

// lead takes up what the leader of a generation has to do later, once its decision has come back to it.
func (b *Balancer) lead(d *decision, generation int32, now time.Time) {
	switch {
	case d.differs:
		b.timers.ask(b, 0, "the group has changed while its leader restarted")
	case d.resumed || d.assignment.Generation == generation:
		if !d.resumed {
			b.memory = remembered{d.assignment, now}
			b.moves, b.missing = d.moves, d.assignment.MissingStandbys
		}
		b.timers.lead(b, d.assignment.NextRebalance)
	}
	if !d.again {
		b.retry = 0
		return
	}
	b.retry = min(max(2*b.retry, assignor.RevokeRetry), maxRetry)
	b.timers.lead(b, b.retry)
}

// maxRetry is the longest that a leader waits before it tries again what it could not decide. It begins with RevokeRetry.
const maxRetry = 5 * time.Minute

func (b *Balancer) groupMetadata() (memberID string, generation int32) {
	b.mu.Lock()
	client := b.client
	b.mu.Unlock()
	if client == nil {
		return "", -1
	}
	return client.GroupMetadata()
}

// fallback is another balancer that the member offers too. The Balancer follows what it assigns.
type fallback struct {
	kgo.GroupBalancer
	b *Balancer
}

// ParseSyncAssignment records what the other balancer assigned: tasks to run, without copies.
func (f fallback) ParseSyncAssignment(data []byte) (map[string][]int32, error) {
	assigned, err := f.GroupBalancer.ParseSyncAssignment(data)
	if err == nil {
		f.b.sessionTroubles(heard{}, f.follow(assigned))
	}
	return assigned, err
}

// follow begins the session of what the other balancer assigned. A panic is an error.
func (f fallback) follow(assigned map[string][]int32) (err error) {
	defer recovered(&err)
	f.b.begin(assigned, nil, nil)
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	f.b.local.last = assignor.MemberAssignment{} // no answer of this balancer is acted on
	f.b.followed = true
	return nil
}

// hooks are what kgo calls on its own: they are no methods of Balancer, so that they are not part of its API.
type hooks struct{ b *Balancer }

// OnNewClient is called before the client does anything.
func (h hooks) OnNewClient(client *kgo.Client) {
	h.b.attach(client)
	if h.b.config.OnRevoked == nil && commitsPlainly(client) {
		h.b.config.Logger.Warn("nothing is committed when a task moves, and its next owner processes again what came in since the last "+
			"autocommit", "set", "kgo.AutoCommitMarks, kgo.BlockRebalanceOnPoll or Config.OnRevoked")
	}
}

// OnClientClosed ends the timers, and what the member runs.
func (h hooks) OnClientClosed(client *kgo.Client) {
	if h.b.detach(client) {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.leads, h.b.inSession = false, false
	h.b.local.close()
	h.b.timers.stop()
}

// OnGroupManageError notes why the member has lost its place. It is called after onLost.
func (h hooks) OnGroupManageError(err error) {
	if !h.b.knows() {
		h.b.publish(placeLost)
	}
	if !errors.Is(err, context.Canceled) {
		h.b.troubled(TroublePlace, fmt.Errorf("franz: the member has lost its place, and joins again: %w%s", err, h.b.refused(err)))
	}
}
