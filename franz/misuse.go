package franz

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What a service gets wrong silently is looked for here, as far as it shows: options of the client that take the place of the
// Balancer's, topics that the client and the Topology do not share, a Balancer in two clients, a member that never joins, and
// learners of which nobody says how far they are.

// patience is how long a member waits for its first session, or for progress of a learner, before that is a trouble.
const patience = time.Minute

// misused makes known what is misused in one respect now; what is in others stays.
func (b *Balancer) misused(respect string, f found) {
	b.mu.Lock()
	if b.misuse == nil {
		b.misuse = map[string]found{}
	}
	b.misuse[respect] = f
	all := found{}
	for _, f := range b.misuse {
		maps.Copy(all, f)
	}
	b.mu.Unlock()
	b.trouble(TroubleConfig, all)
}

// attach takes the client that was made with the Balancer's options, and looks at what became of them. A Balancer stays with its
// first client until that is closed.
func (b *Balancer) attach(client *kgo.Client) {
	b.mu.Lock()
	first := b.client == nil || b.closed
	if first {
		b.client, b.closed = client, false
		b.unjoined = time.AfterFunc(patience, b.checkJoined)
	}
	b.mu.Unlock()
	if !first {
		b.misused("clients", found{"client": fmt.Errorf("franz: this Balancer's options were given to a second client: make a Balancer for each")})
		return
	}
	b.misused("options", b.overridden(client))
}

// detach takes note that a client has been closed, and reports whether it is another than the Balancer's.
func (b *Balancer) detach(client *kgo.Client) (other bool) {
	b.mu.Lock()
	other = client != b.client
	if !other {
		b.closed = true
		for _, timer := range []*time.Timer{b.watch, b.unjoined} {
			if timer != nil {
				timer.Stop()
			}
		}
	}
	b.mu.Unlock()
	if other {
		b.misused("clients", nil)
	}
	return other
}

// overridden returns what options of the client after Opts took the place of the Balancer's.
func (b *Balancer) overridden(client *kgo.Client) found {
	f := found{}
	offered, _ := client.OptValue(kgo.Balancers).([]kgo.GroupBalancer)
	if !slices.Contains(offered, b.balancers()[0]) {
		f["Balancers"] = fmt.Errorf("franz: kgo.Balancers after Opts took this balancer's place, which assigns nothing now: put Opts last, " +
			"and other balancers in Config.Fallback")
	}
	callback := func(name string, option any, own PartitionsFunc, consequence string) {
		if used := client.OptValue(option); pointer(used) != pointer(own) {
			f[name] = fmt.Errorf("franz: kgo.%s after Opts took the place of this balancer's: %s; put Opts last, and the callback in Config",
				name, consequence)
		}
	}
	callback("OnPartitionsAssigned", kgo.OnPartitionsAssigned, b.onAssigned, "OnChange is not called")
	if !transactional(client) { // a transaction session has put its own around them
		callback("OnPartitionsLost", kgo.OnPartitionsLost, b.onLost, "OnChange is not called when the member has lost its place")
		callback("OnPartitionsRevoked", kgo.OnPartitionsRevoked, b.onRevoked, "tasks have not stopped when it commits")
	}
	return f
}

// pointer tells functions apart: one method has one, whatever its receiver.
func pointer(f any) uintptr {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func {
		return 0
	}
	return v.Pointer()
}

// checkTopics compares the topics that the client consumes with those of the Topology. Interests are those of them that the client has
// found.
func (b *Balancer) checkTopics(interests []string) {
	consumed, _ := b.consumed()
	for _, topic := range interests {
		consumed[topic] = true
	}
	var without, unread []string
	for topic := range consumed {
		if _, known := b.topology.byTopic[topic]; !known {
			without = append(without, topic)
		}
	}
	for topic := range b.topology.byTopic {
		if !consumed[topic] {
			unread = append(unread, topic)
		}
	}
	f := found{}
	if len(unread) > 0 {
		f["topics that are not consumed"] = fmt.Errorf("franz: the client does not consume %s of Topology, and would get nothing of it: "+
			"add it to kgo.ConsumeTopics", sortedNames(unread))
	}
	if len(without) > 0 {
		f["topics without a subtopology"] = fmt.Errorf("franz: the client consumes %s, which no subtopology of Topology reads, and nobody is "+
			"assigned its partitions: add it to Topology, or consume it with another client", sortedNames(without))
	}
	b.misused("topics", f)
}

// consumed returns the topics that the client consumes, and whether those are all that it ever will: where they are expressions, it may
// yet find some.
func (b *Balancer) consumed() (topics map[string]bool, all bool) {
	b.mu.Lock()
	client := b.client
	b.mu.Unlock()
	topics = map[string]bool{}
	if client == nil {
		return topics, false
	}
	for _, topic := range client.GetConsumeTopics() {
		topics[topic] = true
	}
	expressions, _ := client.OptValue(kgo.ConsumeRegex).(bool)
	return topics, !expressions
}

// dropUnread takes out of an assignment what the client does not consume. kgo would give it up at the end of the session without a
// word, while the service ran it on beside its next owner.
func (b *Balancer) dropUnread(assigned map[string][]int32) {
	if consumed, all := b.consumed(); all {
		maps.DeleteFunc(assigned, func(topic string, _ []int32) bool { return !consumed[topic] })
	}
}

// sortedNames returns names as text, at most ten of them.
func sortedNames(names []string) string {
	slices.Sort(names)
	if more := len(names) - 10; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), more)
	}
	return strings.Join(names, ", ")
}

// checkTasks looks for tasks that the member is given and cannot run.
func (b *Balancer) checkTasks(strange []assignor.TaskID) {
	f := found{}
	if len(strange) > 0 {
		f["tasks"] = fmt.Errorf("franz: the leader gives this member %d tasks, such as %s, of subtopologies that its Topology does not have: "+
			"nobody runs them; give all members the same Topology", len(strange), strange[0])
	}
	b.misused("tasks", f)
}

// checkJoined looks whether the member has ever been in the group.
func (b *Balancer) checkJoined() {
	b.mu.Lock()
	joined, asked := b.sessions > 0 || b.closed, b.sent.frame != nil
	b.mu.Unlock()
	switch {
	case joined:
	case asked:
		b.troubled(TroubleJoin, fmt.Errorf("franz: the member has asked to join the group for %v and has no answer: see whether the coordinator "+
			"can be reached, and what the client's log says", patience))
	default:
		b.troubled(TroubleJoin, fmt.Errorf("franz: the member has not asked to join the group for %v: kgo does when it has found one of the "+
			"client's topics; see whether they exist and the client may describe them", patience))
	}
}

// checkLearners looks for learners that do not get nearer to the end of their changelogs, and when to look again.
func (b *Balancer) checkLearners() {
	b.mu.Lock()
	stuck, next := b.local.stuck(time.Now())
	if b.watch != nil {
		b.watch.Stop()
	}
	if next > 0 && !b.closed {
		b.watch = time.AfterFunc(next, b.checkLearners)
	}
	b.mu.Unlock()
	var err error
	if len(stuck) > 0 {
		names := make([]string, len(stuck))
		for i, task := range stuck {
			names[i] = task.String()
		}
		err = fmt.Errorf("franz: learners make no progress: %s: call Progress whenever the lag of a learner changes, with 0 for one whose "+
			"changelog is empty, or see what keeps them from replaying", sortedNames(names))
	}
	b.troubled(TroubleLearner, err)
}

// stuck returns the learners that have not come nearer for longer than the smaller of patience and LearnerTimeout, and when others may
// have been; 0: there are none.
func (l *local) stuck(now time.Time) (stuck []assignor.TaskID, next time.Duration) {
	limit := patience
	if timeout := l.config.Assignor.LearnerTimeout; timeout > 0 {
		limit = min(limit, timeout)
	}
	for task, h := range l.held {
		if h.since.IsZero() || l.caughtUp(h.lag) || l.lost {
			continue
		}
		nearer := h.since
		if h.nearer.After(nearer) {
			nearer = h.nearer
		}
		left := limit - now.Sub(nearer)
		if left <= 0 {
			stuck, left = append(stuck, task), limit
		}
		next = soonest(next, left)
	}
	return stuck, next
}
