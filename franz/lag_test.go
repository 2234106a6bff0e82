//go:build synctests

package franz_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// end returns the first offset of a partition that a reader of committed records cannot read yet.
func (c *cluster) end(topic string, partition int32) int64 {
	c.t.Helper()
	admin := c.admin()
	defer admin.Close()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	resp, err := req.RequestWith(c.t.Context(), admin)
	require.NoError(c.t, err)
	require.Zero(c.t, resp.Topics[0].Partitions[0].ErrorCode)
	return resp.Topics[0].Partitions[0].Offset
}

// A lag measured as the README says comes down to 0: end minus the offset behind the last record that was read, control records
// included. Without those it never does where the changelog is written in transactions; and of an empty one nothing is ever polled.
func TestVirtualLagOfAChangelog(t *testing.T) {
	for name, write := range map[string]func(*testing.T, *kgo.Client){
		"empty": func(*testing.T, *kgo.Client) {},
		"committed": func(t *testing.T, producer *kgo.Client) {
			t.Helper()
			inTransaction(t, producer, kgo.TryCommit)
		},
		"aborted": func(t *testing.T, producer *kgo.Client) {
			t.Helper()
			inTransaction(t, producer, kgo.TryCommit)
			inTransaction(t, producer, kgo.TryAbort)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t.(*testing.T)
				base := []kgo.Opt{kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.net.DialContext), kgo.DisableClientMetrics()}
				producer, err := kgo.NewClient(append(base, kgo.TransactionalID("owner"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
				require.NoError(t, err)
				write(t, producer)
				producer.Close()
				for _, control := range []bool{true, false} {
					opts := append(base, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond),
						kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.topic: {0: kgo.NewOffset().At(0)}}))
					if control {
						opts = append(opts, kgo.KeepControlRecords())
					}
					reader, err := kgo.NewClient(opts...)
					require.NoError(t, err)
					next := int64(0)
					for range 20 {
						ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
						reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) { next = r.Offset + 1 })
						cancel()
					}
					reader.Close()
					lag := c.end(c.topic, 0) - next
					if control || name == "empty" {
						assert.Zero(t, lag)
					} else {
						assert.Positive(t, lag, "the markers of transactions take offsets")
					}
				}
			})
		})
	}
}

// inTransaction writes a record to partition 0.
func inTransaction(t *testing.T, producer *kgo.Client, end kgo.TransactionEndTry) {
	t.Helper()
	require.NoError(t, producer.BeginTransaction())
	require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr())
	require.NoError(t, producer.EndTransaction(t.Context(), end))
}
