package fence_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz/fence"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// newReal returns the real broker that franz/testdata/kafka/broker.sh starts.
func newReal(t *testing.T, configs map[string]string) *cluster {
	t.Helper()
	brokers := os.Getenv("KAFKA_BROKERS")
	if brokers == "" {
		t.Skip("no real broker: run franz/testdata/kafka/broker.sh, which needs Java and Maven, or set KAFKA_BROKERS")
	}
	c := &cluster{t: t, addrs: []string{brokers}, topic: fmt.Sprintf("fence-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())}
	c.create(configs)
	return c
}

func TestBrokerManyAtOnce(t *testing.T) {
	manyAtOnce(newReal(t, nil))
}

func TestBrokerTakeOver(t *testing.T) {
	takeOver(newReal(t, map[string]string{"cleanup.policy": "compact"}))
}

// The same on a broker that cleans its log while all this goes on, as soon as it can.
func TestBrokerCompaction(t *testing.T) {
	c := newReal(t, map[string]string{
		"cleanup.policy": "compact", "min.compaction.lag.ms": "0", "max.compaction.lag.ms": "1", "min.cleanable.dirty.ratio": "0.0",
		"segment.ms": "100", "delete.retention.ms": "0",
	})
	compaction(c, c.cleaned)
}

// cleaned waits until a reader from the start finds one fence, and each key once. Only what is not in the newest segment is cleaned,
// which ends when something else is written later.
func (c *cluster) cleaned() {
	filler := c.node("filler")
	require.Eventually(c.t, func() bool {
		filler.write(&kgo.Record{Topic: c.topic, Key: []byte("filler")})
		fences, keys := c.count()
		return fences == 1 && keys == 0
	}, 2*time.Minute, 500*time.Millisecond, "the broker cleans its log")
}

// count returns how many fences the log has, and how many keys other than the filler's it has more than once.
func (c *cluster) count() (fences, twice int) {
	reader := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.topic: {0: kgo.NewOffset().AtStart()}}))
	defer reader.Close()
	keys := map[string]int{}
	for more := true; more; {
		ctx, cancel := context.WithTimeout(c.t.Context(), 300*time.Millisecond)
		fetches := reader.PollFetches(ctx)
		cancel()
		more = fetches.NumRecords() > 0
		fetches.EachRecord(func(r *kgo.Record) {
			if e, _ := fence.EntryOf(r); e.Kind == fence.Raised {
				fences++
			} else if keys[string(r.Key)]++; keys[string(r.Key)] == 2 && string(r.Key) != "filler" {
				twice++
			}
		})
	}
	return fences, twice
}
