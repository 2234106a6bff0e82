package franz

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	// ErrStays is what a drain returns that [Balancer.Stay] ended.
	ErrStays = errors.New("franz: told to stay")
	// ErrNoClient is what a drain returns where the options of the Balancer are not those of any client.
	ErrNoClient = errors.New("franz: no client")
)

// Drain tells the group that this instance leaves, waits until it has nothing left to run, learn or keep, and leaves the group:
// as a static member by its instance id, which no restart undoes, else with the client's own leave. The client can be closed
// then.
//
// It returns nil when the member is out of the group; ErrStays where Stay was called; the context's error where that ended
// first: the instance goes on draining, and Drain may be called again. Past ScaleDownTimeout the leader takes the tasks away
// whether or not anybody has caught up. The last instances cannot drain: with nobody to hand over to, Drain lasts as long as ctx.
// Do not call it from a callback.
func (b *Balancer) Drain(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.mu.Lock()
	client := b.client
	b.leave(cancel)
	b.mu.Unlock()
	if client == nil {
		return ErrNoClient
	}
	b.look()
	if err := b.awaitIdle(ctx, client); err != nil {
		return err
	}
	return b.leaveGroup(ctx, client)
}

// awaitIdle waits until the member has had nothing to do for a while: those that have just taken over what it
// had must hear of it before its leave makes the group rebalance again.
func (b *Balancer) awaitIdle(ctx context.Context, client *kgo.Client) error {
	for {
		b.mu.Lock()
		idle, changed := b.local.idle(), b.changed
		b.mu.Unlock()
		var settled <-chan time.Time
		if idle {
			settled = time.After(b.config.settle())
		}
		select {
		case <-settled:
			return nil
		case <-changed:
		case <-client.Context().Done():
			return kgo.ErrClientClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave marks the instance as leaving, and keeps how to end its drain.
func (b *Balancer) leave(cancel context.CancelCauseFunc) {
	if b.local.leaving.IsZero() {
		b.local.leaving = time.Now()
	}
	before := b.undrain
	b.undrain = func() {
		if before != nil {
			before()
		}
		cancel(ErrStays)
	}
}

// Stay takes back that the instance leaves: drains that are under way return ErrStays, and the group is told. It reports
// false where the instance was not leaving, or has left already.
func (b *Balancer) Stay() bool {
	b.mu.Lock()
	leaving := !b.local.leaving.IsZero() && !b.left
	undrain := b.undrain
	if leaving {
		b.local.leaving, b.undrain = time.Time{}, nil
	}
	b.mu.Unlock()
	if leaving && undrain != nil {
		undrain()
	}
	if leaving {
		b.troubled(TroubleDrain, nil)
	}
	b.look()
	return leaving
}

// Done is closed when the member has drained and left the group: for a main that ends when it is told to leave from outside.
func (b *Balancer) Done() <-chan struct{} { return b.done }

// leaveGroup leaves the group for good.
func (b *Balancer) leaveGroup(ctx context.Context, client *kgo.Client) error {
	memberID, _ := client.GroupMetadata()
	if err := client.LeaveGroupContext(ctx); err != nil {
		return err
	}
	if id, static := client.OptValues(kgo.InstanceID)[0].(string); static && id != "" {
		if err := leaveStatic(ctx, client, memberID, id); err != nil {
			return err
		}
	}
	b.mu.Lock()
	first := !b.left
	b.left, b.inSession, b.leads = true, false, false
	b.timers.stop()
	b.mu.Unlock()
	if first {
		close(b.done)
	}
	return nil
}

// leaveStatic removes a static member, which kgo's own leave lets stand.
func leaveStatic(ctx context.Context, client *kgo.Client, memberID, instanceID string) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, _ = client.OptValue(kgo.ConsumerGroup).(string)
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID, member.InstanceID, member.Reason = memberID, &instanceID, kmsg.StringPtr("drained")
	req.Members = append(req.Members, member)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	codes := []int16{resp.ErrorCode}
	for _, m := range resp.Members {
		codes = append(codes, m.ErrorCode)
	}
	for _, code := range codes {
		if err := kerr.ErrorForCode(code); err != nil && !errors.Is(err, kerr.UnknownMemberID) { // kgo may have left already
			return err
		}
	}
	return nil
}
