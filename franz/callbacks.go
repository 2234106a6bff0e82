package franz

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// onAssigned is called when a session has begun, and behind onRevoked where it takes something away.
func (b *Balancer) onAssigned(ctx context.Context, client *kgo.Client, added map[string][]int32) {
	if !b.knows() {
		b.publish(sessionBegun)
	}
	if b.config.OnAssigned != nil {
		b.config.OnAssigned(ctx, client, added)
	}
	b.guard("begin a session", func() {
		b.mu.Lock()
		followUp := b.followUp
		b.mu.Unlock()
		if followUp {
			b.ask("somebody has stopped a task that runs elsewhere next")
		}
		b.look()
	})
	b.checkLearners()
}

// onRevoked is called when a session takes partitions away, before onAssigned; when kgo gives partitions up outside of a session,
// because it leaves the group or no longer consumes a topic; and at the end of each session, with nothing. What stops has stopped
// when the service commits.
func (b *Balancer) onRevoked(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
	if len(revoked) > 0 {
		event := sessionBegun
		if b.release(revoked) {
			event = tasksGivenUp
		}
		// A transaction session calls this with a lock that its End takes too, so that an OnChange which waits for an End would
		// never return. It aborts the transaction that is under way, and nothing has to stop before that.
		if !transactional(client) {
			b.publish(event)
		}
	}
	if b.config.OnRevoked != nil {
		b.config.OnRevoked(ctx, client, revoked)
		return
	}
	if err := commit(ctx, client); err != nil {
		b.config.Logger.Warn("commit failed", "err", err)
	}
}

// onLost is called when the coordinator has dropped the member, or the group cannot be reached.
func (b *Balancer) onLost(ctx context.Context, client *kgo.Client, lost map[string][]int32) {
	b.guard("end a session", func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.local.lose()
		b.leads, b.inSession = false, false
		b.alone, b.followed = false, false
		b.elected, b.decided = nil, nil
		b.sent = sentReport{}
		b.timers.stop()
		b.told = false
	})
	if !transactional(client) { // else as in onRevoked: OnGroupManageError comes next
		b.publish(placeLost)
	}
	switch {
	case b.config.OnLost != nil:
		b.config.OnLost(ctx, client, lost)
	case b.config.OnRevoked != nil:
		b.config.OnRevoked(ctx, client, lost)
	}
	b.checkLearners()
}

// publish tells everybody how the member stands, and wakes those that wait for a session.
func (b *Balancer) publish(event string) {
	var s State
	if !b.guard("tell the state", func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		s = b.state()
		b.told = true
		close(b.changed)
		b.changed = make(chan struct{})
	}) {
		return // an empty state would stop everything
	}
	b.logState(event, s)
	if b.config.OnChange != nil {
		b.config.OnChange(s)
	}
	b.config.Observer.Session(s)
}

// knows reports whether the service knows of the last session.
func (b *Balancer) knows() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

// release drops what kgo gives up without a session that says so, and reports whether it did so.
func (b *Balancer) release(revoked map[string][]int32) (outside bool) {
	b.guard("give up partitions", func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if outside = b.told; outside {
			b.local.release(revoked)
		}
	})
	return outside
}

// commit is what stands in for kgo's own commit of a client without OnRevoked: kgo does its own before anything that this package
// is called for. It commits what the client's options say has been processed, and nothing where they do not say it: kgo's plain
// autocommit takes a record as processed at the next poll, of which nobody can ask.
func commit(ctx context.Context, client *kgo.Client) error {
	switch {
	case isSet(client, kgo.DisableAutoCommit): // as with transactions
		return nil
	case isSet(client, kgo.AutoCommitMarks):
		return client.CommitMarkedOffsets(ctx)
	case isSet(client, kgo.GreedyAutoCommit), isSet(client, kgo.BlockRebalanceOnPoll):
		return client.CommitUncommittedOffsets(ctx)
	}
	return nil
}

// commitsPlainly reports whether commit commits nothing, though the client does now and then.
func commitsPlainly(client *kgo.Client) bool {
	return !transactional(client) && !slices.ContainsFunc(
		[]any{kgo.DisableAutoCommit, kgo.AutoCommitMarks, kgo.GreedyAutoCommit, kgo.BlockRebalanceOnPoll},
		func(option any) bool { return isSet(client, option) })
}

func isSet(client *kgo.Client, option any) bool {
	on, _ := client.OptValue(option).(bool)
	return on
}

// transactional reports whether the client commits in transactions.
func transactional(client *kgo.Client) bool {
	id, _ := client.OptValue(kgo.TransactionalID).(string)
	return id != ""
}
