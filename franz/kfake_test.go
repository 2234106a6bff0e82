package franz_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A second worker joins one that runs everything, learns its half and takes it over.
func TestJoinLearnHandOver(t *testing.T) {
	c := newCluster(t, nil)
	c.start("a")
	c.eventually(10*time.Second, "one worker runs all", c.balanced(1))
	c.monitor.reset()
	c.start("b")
	c.eventually(20*time.Second, "two workers share", c.balanced(2))
	assert.Empty(t, c.monitor.violated())
	_, longest := c.monitor.pauses()
	moved, most := c.monitor.moves()
	assert.Equal(t, 4, moved)
	assert.Equal(t, 1, most)
	t.Logf("%d moved, longest pause %v, %d rounds", moved, longest, c.monitor.rounds)
}
