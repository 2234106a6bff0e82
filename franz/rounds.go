package franz

import (
	"time"

	"github.com/incremental-rebalance/assignor"
)

// timers are the rounds that a member will call for. They stop when a join begins, and when it ends the member looks again at
// what it has to say. The lock of its Balancer guards them.
type timers struct {
	soon, later *time.Timer
	soonAt      time.Time
}

func (t *timers) stop() {
	for _, timer := range []*time.Timer{t.soon, t.later} {
		if timer != nil {
			timer.Stop()
		}
	}
	*t = timers{}
}

// ask calls for a round in d, unless one is due sooner.
func (t *timers) ask(b *Balancer, d time.Duration, why string) {
	t.in(d, func() { b.ask(why) })
}

// look looks again in d at what the leader should know, unless it does so sooner.
func (t *timers) look(b *Balancer, d time.Duration) {
	t.in(d, b.tell)
}

func (t *timers) in(d time.Duration, f func()) {
	at := time.Now().Add(d)
	if t.soon != nil && !at.Before(t.soonAt) {
		return
	}
	if t.soon != nil {
		t.soon.Stop()
	}
	t.soon, t.soonAt = time.AfterFunc(d, f), at
}

// lead calls for a round in d, where that is not 0, if the member leads the same generation still.
func (t *timers) lead(b *Balancer, d time.Duration) {
	if d <= 0 {
		return
	}
	session := b.sessions
	t.later = time.AfterFunc(d, func() {
		b.mu.Lock()
		current := b.leads && b.inSession && b.sessions == session
		b.mu.Unlock()
		if current {
			b.ask("a deadline of the last round has passed")
		}
	})
}

// ask calls for a round now, unless a join is under way anyway.
func (b *Balancer) ask(why string) {
	b.mu.Lock()
	client := b.client
	ok := client != nil && b.inSession && !b.left
	b.mu.Unlock()
	if !ok {
		return
	}
	b.config.Logger.Debug("asks for a round", "reason", why)
	b.config.Observer.Asked(why)
	client.ForceRebalance()
}

// askIn calls for a round in d.
func (b *Balancer) askIn(d time.Duration, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timers.ask(b, d, why)
}

// look sets a timer if the member has something to tell the leader. During a join it does nothing: what the join has not
// said is looked for when it has ended.
func (b *Balancer) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.inSession {
		return
	}
	n := b.local.newsSince(b.sent.report, time.Now())
	if !n.standby {
		b.probes = 0
	}
	switch {
	case n.leaving:
		b.timers.look(b, 0)
	case n.ready || n.broken:
		b.timers.look(b, b.config.Debounce)
	case n.standby:
		b.timers.ask(b, b.probe(), "it only keeps copies that others may have replaced by now")
	case n.recheck > 0:
		b.timers.look(b, n.recheck)
	}
}

// probe returns how long a leaving member waits until it asks for what nobody tells it: from Debounce on, twice as long each time.
func (b *Balancer) probe() time.Duration {
	if b.probedIn != b.sessions {
		b.probedIn = b.sessions
		b.probes++
	}
	return min(b.config.settle()<<min(b.probes-1, 16), assignor.RevokeRetry)
}

// tell calls for a round if there still is something to tell.
func (b *Balancer) tell() {
	b.mu.Lock()
	b.timers.soon = nil
	n := b.local.newsSince(b.sent.report, time.Now())
	b.mu.Unlock()
	switch {
	case n.leaving:
		b.ask("told to leave, or to stay")
	case n.ready:
		b.ask("learners have caught up")
	case n.broken:
		b.ask("an active task has lost its state")
	default:
		b.look()
	}
}

// Progress says how many records a copy on this member's disk still has to replay: a learner's, a standby's, or that of an
// active task that restores before it runs. 0 is caught up, assignor.UnknownLag takes back what was said. It reports false, and
// does nothing, where the member has no such copy. When learners have caught up as RejoinMode asks, the member calls for a round,
// after Config.Debounce. It costs the same with one learner and with thousands: call it as often as the lag changes.
func (b *Balancer) Progress(task assignor.TaskID, lag int64) bool {
	b.mu.Lock()
	has, turned := b.local.progress(task, lag, time.Now())
	b.mu.Unlock()
	if turned {
		b.look()
	}
	return has
}

// Broken says that an active task has lost its state and restores, with the records it still has to replay, or
// assignor.UnknownLag. The member calls for a round, in which a copy that has caught up elsewhere takes the task over. Progress
// follows the restoration, and ends it at a lag of at most AcceptableLag. It reports false where the member does not run the task.
func (b *Balancer) Broken(task assignor.TaskID, lag int64) bool {
	b.mu.Lock()
	runs := b.local.fail(task, lag)
	b.mu.Unlock()
	if runs {
		b.look()
	}
	return runs
}
