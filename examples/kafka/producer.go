package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var words = []string{"task", "state", "learner", "standby", "owner", "round", "drain", "lag", "host", "leader"}

// producer sends words, and keeps account of them.
type producer struct {
	client     *kgo.Client
	topic      string
	partitions int32
	rng        *rand.Rand

	mu   sync.Mutex
	sent map[int32]map[string]int64
	n    int
	err  error
}

func newProducer(s settings, partitions int32) (*producer, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	return &producer{
		client: client, topic: s.input, partitions: partitions, rng: rand.New(rand.NewPCG(1, 2)), sent: map[int32]map[string]int64{},
	}, nil
}

// send sends n words. It counts those that the broker has acknowledged.
func (p *producer) send(ctx context.Context, n int) {
	for range n {
		record := &kgo.Record{Topic: p.topic, Partition: p.rng.Int32N(p.partitions), Value: []byte(words[p.rng.IntN(len(words))])}
		p.client.Produce(ctx, record, func(r *kgo.Record, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if err != nil {
				p.err = err
				return
			}
			if p.sent[r.Partition] == nil {
				p.sent[r.Partition] = map[string]int64{}
			}
			p.sent[r.Partition][string(r.Value)]++
			p.n++
		})
	}
}

// run sends rate words a second until ctx ends, and returns when all are acknowledged.
func (p *producer) run(ctx context.Context, rate int) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = p.client.Flush(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			p.send(context.WithoutCancel(ctx), rate/100)
		}
	}
}

// check compares what was sent with what was counted.
func (p *producer) check(counted map[int32]map[string]int64) (total int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.n, fmt.Errorf("the producer failed: %w", p.err)
	}
	for partition, words := range p.sent {
		for word, n := range words {
			if got := counted[partition][word]; got != n {
				return p.n, fmt.Errorf("partition %d: %q was sent %d times, and counted %d times", partition, word, n, got)
			}
		}
	}
	return p.n, nil
}
