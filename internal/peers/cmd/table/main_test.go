package main

import (
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

func TestTable(t *testing.T) {
	if err := run(options{rounds: 1, limit: time.Minute, markdown: true}, "100x10", "franz", ""); err != nil {
		t.Fatal(err)
	}
}

func TestTooSlow(t *testing.T) {
	b := &bench{options: options{limit: time.Second}, slow: map[string]int{}}
	failing := func() error { return peers.ErrTooSlow }
	for _, c := range []struct {
		tasks int
		once  func() error
		note  string
	}{{100, func() error { return nil }, ""}, {1000, failing, "slow"}, {10_000, nil, "slow"}, {100, failing, "slow"}} {
		r := &row{Case: measure.Case{Tasks: c.tasks}, notes: map[string]string{}}
		if ok := b.inTime(r, sarama, c.once); ok != (c.note == "") || r.notes[sarama] != c.note {
			t.Errorf("%d tasks: %v, %q", c.tasks, ok, r.notes[sarama])
		}
	}
}

func TestParseSize(t *testing.T) {
	if c, err := parseSize("1000x10"); err != nil || c.Tasks != 1000 || c.Members != 10 {
		t.Error(c, err)
	}
	for _, size := range []string{"", "1000", "1005x10", "10x100", "10x0", "axb"} {
		if _, err := parseSize(size); err == nil {
			t.Errorf("%q is taken", size)
		}
	}
}
