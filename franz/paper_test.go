package franz_test

import (
	"log/slog"
	"testing"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/incremental-rebalance/assignor/franz/internal/paper"
	"github.com/stretchr/testify/require"
)

// paperGroup is a group without a broker, of a test.
type paperGroup struct {
	*paper.Group
	t *testing.T
}

func newPaper(t *testing.T, topics, partitions int, change func(*franz.Config)) *paperGroup {
	t.Helper()
	config := franz.Config{Logger: slog.New(slog.DiscardHandler)}
	change(&config)
	p := &paperGroup{paper.New(topics, partitions, config), t}
	t.Cleanup(p.Close)
	return p
}

func (p *paperGroup) add(n int) {
	p.t.Helper()
	require.NoError(p.t, p.Add(n))
}

func (p *paperGroup) join() {
	p.t.Helper()
	require.NoError(p.t, p.Join())
}

func (p *paperGroup) round() {
	p.t.Helper()
	require.NoError(p.t, p.Round())
}

func (p *paperGroup) running() int {
	p.t.Helper()
	n, err := p.Running()
	require.NoError(p.t, err)
	return n
}
