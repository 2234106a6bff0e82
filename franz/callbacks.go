package franz

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

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
	set := func(option any) bool {
		on, _ := client.OptValue(option).(bool)
		return on
	}
	switch {
	case set(kgo.DisableAutoCommit): // as with transactions
		return nil
	case set(kgo.AutoCommitMarks):
		return client.CommitMarkedOffsets(ctx)
	case set(kgo.GreedyAutoCommit), set(kgo.BlockRebalanceOnPoll):
		return client.CommitUncommittedOffsets(ctx)
	}
	return nil
}

// transactional reports whether the client commits in transactions.
func transactional(client *kgo.Client) bool {
	id, _ := client.OptValue(kgo.TransactionalID).(string)
	return id != ""
}
