package fence

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// attempts is how many fences in a row may fail to be written. kgo retries what is worth it by itself.
const attempts = 5

// TakeOver makes this process the owner of the task, by the log alone: it writes a fence that is higher than the one in force,
// waits until the replay has reached it, and goes higher where another one came first. It returns the tenure that begins there,
// when the store has everything that counts; it may be Lost already.
//
// Somebody else goes on calling Replay meanwhile, with everything from Next on. It is best called when the replay is near the end: behind
// it the first fence is too low, as a rule, and is written in vain. The client writes to the partitions it is told
// (kgo.ManualPartitioner) and is idempotent, as kgo's clients are. The name is for people; the writer is the name and 128 random
// bits. A fence that is not written, or of which nobody knows, is followed by a higher one; after five in a row the error says
// so. One process takes over one partition at a time, the second call waits.
func (c *Changelog) TakeOver(ctx context.Context, client *kgo.Client, name string) (*Tenure, error) {
	if err := check(client); err != nil {
		return nil, err
	}
	select {
	case c.taking <- struct{}{}:
		defer func() { <-c.taking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer c.withdraw()
	writer := incarnation(name)
	for failed := 0; ; {
		t, err := c.attempt(writer)
		if err != nil {
			return nil, err
		}
		offset, err := write(ctx, client, t.record(c.topic, c.partition))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			if failed++; failed == attempts {
				return nil, fmt.Errorf("fence: no fence can be written to %s: %w", c.name(), err)
			}
			pause(ctx, failed)
			continue
		}
		failed = 0
		if held, err := c.await(ctx, t, offset); err != nil {
			return nil, err
		} else if held {
			return t, nil
		}
	}
}

// await waits until the replay has passed the fence of an attempt, and reports whether it came into force.
func (c *Changelog) await(ctx context.Context, t *Tenure, offset int64) (held bool, err error) {
	err = c.wait(ctx, func() bool {
		held = t.held
		return held || c.log.Next() > offset
	})
	return held, err
}

// attempt returns the next fence to try: higher than the one in force, and than those that were tried.
func (c *Changelog) attempt(writer string) (*Tenure, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spoilt != nil {
		return nil, c.spoilt
	}
	c.tried = max(c.tried, c.log.InForce().Epoch) + 1
	if c.tried > maxEpoch {
		return nil, fmt.Errorf("%w: %s is at epoch %d, the last one: begin a new changelog", ErrStamp, c.name(), c.log.InForce().Epoch)
	}
	c.claim = &Tenure{
		Fence: Fence{Epoch: c.tried, Writer: writer}, changelog: c, lost: make(chan struct{}),
		mending: map[string]bool{}, removing: map[Fence]bool{},
	}
	return c.claim, nil
}

// withdraw ends the attempt. If its fence arrives yet, nobody writes under it, and the next owner goes higher.
func (c *Changelog) withdraw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim = nil
}

// incarnation returns a writer that nobody else is, though another process may have the same name: the one before a restart, or
// a static member that was replaced and goes on.
func incarnation(name string) string {
	var unique [16]byte
	_, _ = rand.Read(unique[:]) // it never fails
	return name + "." + hex.EncodeToString(unique[:])
}

// check reports what would make a client's fences worthless. One that chooses partitions itself would fence off the owner of
// another task. One that is not idempotent may write changes twice or in another order.
func check(client *kgo.Client) error {
	partitioner, _ := client.OptValue(kgo.RecordPartitioner).(kgo.Partitioner)
	if partitioner == nil || !obeys(partitioner.ForTopic("")) {
		return errPartitioner
	}
	if disabled, _ := client.OptValue(kgo.DisableIdempotentWrite).(bool); disabled {
		return errors.New("fence: the client may write records twice: take kgo.DisableIdempotentWrite out of its options")
	}
	return nil
}

// obeys reports whether a partitioner takes the partition that a record has: in no order that another one would happen to take.
func obeys(p kgo.TopicPartitioner) bool {
	if _, chooses := p.(kgo.TopicBackupPartitioner); chooses {
		return false
	}
	for _, partition := range []int32{5, 2, 2, 6} {
		if p.Partition(&kgo.Record{Partition: partition}, 7) != int(partition) {
			return false
		}
	}
	return true
}

var errPartitioner = errors.New("fence: the client chooses partitions itself: give it kgo.RecordPartitioner(kgo.ManualPartitioner())")

// write writes a record and returns its offset. It returns when ctx ends, where kgo goes on with what may have arrived.
func write(ctx context.Context, client *kgo.Client, r *kgo.Record) (int64, error) {
	written := make(chan error, 1)
	client.Produce(ctx, r, func(_ *kgo.Record, err error) { written <- err })
	select {
	case err := <-written:
		return r.Offset, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// pause lets a broker recover, for longer each time: 0.1 s, 0.2 s, 0.4 s, 0.8 s.
func pause(ctx context.Context, failed int) {
	timer := time.NewTimer(50 * time.Millisecond << failed)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
