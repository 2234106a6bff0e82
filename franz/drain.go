package franz

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	// ErrStays is what a drain returns that [Balancer.Stay] ended.
	ErrStays = errors.New("franz: told to stay")
	// ErrAlone is what a drain returns where all instances of the group leave: there is nobody to hand over to.
	ErrAlone = errors.New("franz: nobody to hand over to: all instances of the group leave")
	// ErrNotJoined is what a drain returns where the member has never been in the group: there is nothing to hand over.
	ErrNotJoined = errors.New("franz: the member has not joined its group yet")
	// ErrNoClient is what a drain returns where the options of the Balancer are not those of any client.
	ErrNoClient = errors.New("franz: no client")
)

// Drain tells the group that this instance leaves, waits until it has nothing left to run, learn or keep, and leaves the group:
// as a static member by its instance id, which no restart undoes, else with the client's own leave. The client can be closed
// then. While a Fallback balances the group, which knows no leaving, it leaves at once, as that balancer's members do. Past
// ScaleDownTimeout the leader takes the tasks away whether or not anybody has caught up.
//
// It returns nil when the member is out of the group. ErrStays is what Stay ends it with. ErrAlone comes within a round where
// all instances leave: the member runs on, and leaves still; close the client to stop it, or call Drain again when there are
// others. Where ctx ends first, its cause comes back, the instance goes on draining, and Drain may be called again.
// ErrNotJoined and ErrNoClient come at once, and change nothing. Do not call it from a callback.
func (b *Balancer) Drain(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.mu.Lock()
	client, joined, left := b.client, b.sessions > 0, b.left
	if client != nil && joined && !left {
		b.leave(cancel)
	}
	b.mu.Unlock()
	switch {
	case client == nil:
		return ErrNoClient
	case left:
		return nil
	case !joined:
		return ErrNotJoined
	}
	return b.drain(ctx, client)
}

// drain is Drain for a member that counts as leaving.
func (b *Balancer) drain(ctx context.Context, client *kgo.Client) error {
	b.look()
	if err := b.awaitIdle(ctx, client); err != nil {
		return err
	}
	return b.depart(ctx, client)
}

// drainInBackground drains, unless it does so already. The instance counts as leaving when it returns. Where there is nobody to
// hand over to, that is a trouble until there is; a member that has not joined yet drains when it has.
func (b *Balancer) drainInBackground() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left || b.background != 0 {
		return
	}
	if b.client == nil {
		go b.troubled(TroubleDrain, ErrNoClient)
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	b.leave(cancel)
	b.drains++
	this := b.drains
	b.background = this
	client := b.client
	go func() {
		defer cancel(nil)
		err := b.drainPatiently(ctx, client)
		switch {
		case errors.Is(err, ErrStays):
			err = nil
		case err != nil:
			err = fmt.Errorf("franz: the drain has failed, tell the instance to leave again: %w", err)
		}
		b.mu.Lock()
		last := b.background == this // else Stay has ended it, and there may be another by now
		if last {
			b.background = 0
		}
		b.mu.Unlock()
		if last {
			b.troubled(TroubleDrain, err)
		}
	}()
}

// drainPatiently drains again in each session that has somebody to hand over to.
func (b *Balancer) drainPatiently(ctx context.Context, client *kgo.Client) error {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		err := b.drain(ctx, client)
		if !errors.Is(err, ErrAlone) {
			return err
		}
		b.troubled(TroubleDrain, err)
		select {
		case <-changed:
		case <-client.Context().Done():
			return kgo.ErrClientClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitIdle waits until the member has had nothing to do for a while: those that have just taken over what it
// had must hear of it before its leave makes the group rebalance again. Under another balancer there is nothing to wait for.
func (b *Balancer) awaitIdle(ctx context.Context, client *kgo.Client) error {
	for {
		b.mu.Lock()
		idle, alone, changed := b.local.idle(), b.alone, b.changed
		atOnce := b.departing != nil || b.followed && b.inSession
		b.mu.Unlock()
		var settled <-chan time.Time
		switch {
		case atOnce:
			return nil
		case idle:
			settled = time.After(b.config.settle())
		case alone:
			return ErrAlone
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
// false, and does nothing, where the instance was not leaving, has left, or is on its way out of the group already.
func (b *Balancer) Stay() bool {
	b.mu.Lock()
	leaving := !b.local.leaving.IsZero() && b.departing == nil
	undrain := b.undrain
	if leaving {
		b.local.leaving, b.undrain, b.alone, b.background = time.Time{}, nil, false, 0
	}
	stays := b.local.leaving.IsZero()
	b.mu.Unlock()
	if leaving && undrain != nil {
		undrain()
	}
	if stays { // also where a drain could not even begin
		b.troubled(TroubleDrain, nil)
	}
	b.look()
	return leaving
}

// Done is closed when the member has drained and left the group: for a main that ends when it is told to leave from outside.
func (b *Balancer) Done() <-chan struct{} { return b.done }

// departure is a leave that is on its way. It goes on when nobody waits for it any more.
type departure struct {
	done chan struct{}
	err  error // once done
}

// depart leaves the group for good, or waits for the leave that is on its way. Once it is, Stay comes too late: the client has no
// way back. One that has failed is tried again.
func (b *Balancer) depart(ctx context.Context, client *kgo.Client) error {
	b.mu.Lock()
	if b.local.leaving.IsZero() {
		b.mu.Unlock()
		return ErrStays
	}
	d := b.departing
	if d == nil || d.failed() {
		d = &departure{done: make(chan struct{})}
		b.departing = d
		go func() {
			defer close(d.done)
			d.err = b.leaveGroup(client)
		}()
	}
	b.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *departure) failed() bool {
	select {
	case <-d.done:
		return d.err != nil
	default:
		return false
	}
}

// leaveGroup takes the member out of the group.
func (b *Balancer) leaveGroup(client *kgo.Client) error {
	ctx := client.Context()
	memberID, _ := client.GroupMetadata()
	err := client.LeaveGroupContext(ctx)
	id, _ := client.OptValues(kgo.InstanceID)[0].(string)
	if id != "" { // the client itself has not told the coordinator
		if err := leaveStatic(ctx, client, memberID, id); err != nil {
			return err
		}
	} else if err != nil {
		err = fmt.Errorf("franz: the member has left, and the coordinator gives its tasks away only after its session timeout: %w", err)
	}
	b.noteLeft()
	return err
}

// noteLeft ends everything that a member of the group does.
func (b *Balancer) noteLeft() {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.left
	b.left, b.inSession, b.leads = true, false, false
	b.local.close()
	b.timers.stop()
	if first {
		close(b.done)
	}
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
