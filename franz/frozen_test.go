//go:build synctests

package franz_test

import (
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// two is a Topology of the topic's tasks and four of two more topics.
func two(s *settings) {
	s.config.Topology = []franz.Subtopology{{ID: 0, Topics: []string{topic}}, {ID: 1, Topics: []string{"left", "right"}}}
	s.config.Assignor.Standbys = 1
	s.opts = append(s.opts, kgo.ConsumeTopics(topic, "left", "right"), kgo.MetadataMaxAge(10*time.Second), kgo.MetadataMinAge(time.Second))
}

// startTwo starts a worker of two subtopologies, which fetches nothing of the second: from a deleted topic, kgo would fetch again and
// again in no time, because kfake refuses it in no time.
func (c *cluster) startTwo(name string) *worker {
	w := c.start(name, two)
	w.client.PauseFetchTopics("left", "right")
	return w
}

// A topic that is missing, is deleted or differs from its like in partitions freezes its own subtopology: nobody takes its tasks,
// or loses one. The others fail over, grow and drain; every member says what is wrong, and that it is over.
func TestVirtualFrozenSubtopology(t *testing.T) {
	for _, test := range []struct {
		name        string
		first       int // tasks of the second subtopology at first,
		then        int // and when it has been mended
		text        string
		start, harm func(*cluster)
		mend        func(*cluster)
	}{
		{
			"differs", 4, 6, "right has 6", func(c *cluster) { c.createTopic("right", 4) },
			func(c *cluster) { c.growTopic("right", 6) }, func(c *cluster) { c.growTopic("left", 6) },
		},
		{
			"is deleted", 4, 4, "no metadata of right", func(c *cluster) { c.createTopic("right", 4) },
			func(c *cluster) { c.deleteTopic("right") }, func(c *cluster) { c.createTopic("right", 4) },
		},
		{
			"is missing", 0, 4, "no metadata of right", func(*cluster) {},
			func(*cluster) {}, func(c *cluster) { c.createTopic("right", 4) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				t := c.t
				c.createTopic("left", 4)
				test.start(c)
				for _, name := range "abc" {
					c.startTwo(string(name))
				}
				time.Sleep(time.Minute)
				require.Len(t, c.monitor.tasksOf(0), partitions)
				require.Len(t, c.monitor.tasksOf(1), test.first)
				test.harm(c)
				time.Sleep(time.Minute)

				c.monitor.reset()
				victim := c.follower()
				before := c.monitor.tasksOf(1)
				copies := standbysOf(c, 1)
				victim.kill()
				c.eventually(time.Minute, "the others take over", func() bool { return len(c.monitor.tasksOf(0)) == partitions })
				c.eventually(time.Minute, "everybody says so", everyTrouble(c, test.text))
				newcomer := c.startTwo("d")
				c.eventually(time.Minute, "a newcomer gets its share", func() bool { return len(newcomer.owned()) >= partitions/3 })
				c.eventually(time.Minute, "it says so too", everyTrouble(c, test.text))

				leaving := c.follower()
				ended := make(chan error, 1)
				go func() { ended <- leaving.balancer.Drain(t.Context()) }()
				c.eventually(time.Minute, "it drains what is not frozen", func() bool { return outside(leaving.owned(), 1) == 0 })
				c.unchanged(1, before, victim.name)
				for name, tasks := range standbysOf(c, 1) {
					assert.True(t, name == leaving.name || slices.Equal(copies[name], tasks), "the copies of %s", name)
				}
				leaving.balancer.Stay()
				c.triesAgain()

				test.mend(c)
				c.eventually(10*time.Minute, "all tasks run", func() bool { return len(c.monitor.tasksOf(1)) == test.then })
				c.eventually(time.Minute, "it is over", func() bool { return !everyTroubleOf(c, franz.TroubleTopics)() })
				require.Empty(t, c.monitor.violated())
			})
		})
	}
}

// unchanged checks that the tasks of a subtopology run where they ran and did not pause, and that nobody has those of a worker that is gone.
func (c *cluster) unchanged(sub int32, before map[assignor.TaskID]string, gone string) {
	c.t.Helper()
	after := c.monitor.tasksOf(sub)
	for task, name := range before {
		if name == gone {
			assert.NotContains(c.t, after, task, "nobody gains it")
			continue
		}
		assert.Equal(c.t, name, after[task], "%s stays where it is", task)
		assert.NotContains(c.t, pausedTasks(c), task)
	}
}

// triesAgain checks that rounds are called at least every five minutes, and not much more often.
func (c *cluster) triesAgain() {
	c.t.Helper()
	time.Sleep(10 * time.Minute)
	c.monitor.reset()
	time.Sleep(time.Hour)
	c.monitor.mu.Lock()
	defer c.monitor.mu.Unlock()
	assert.GreaterOrEqual(c.t, c.monitor.rounds, 10)
	assert.LessOrEqual(c.t, c.monitor.rounds, 14)
}

// outside returns how many of the tasks are of another subtopology.
func outside(tasks []assignor.TaskID, sub int32) (n int) {
	for _, task := range tasks {
		if task.Subtopology != sub {
			n++
		}
	}
	return n
}

func pausedTasks(c *cluster) []assignor.TaskID {
	tasks, _ := c.monitor.pauses()
	return tasks
}

// standbysOf returns the standbys of a subtopology that each worker has.
func standbysOf(c *cluster, sub int32) map[string][]assignor.TaskID {
	each := map[string][]assignor.TaskID{}
	for _, w := range alive(c) {
		each[w.name] = nil
		for _, task := range tasksIn(w.balancer.State().Standby) {
			if task.Subtopology == sub {
				each[w.name] = append(each[w.name], task)
			}
		}
	}
	return each
}

// A static leader that restarts while a subtopology is frozen goes on trying, though nobody asks it.
func TestVirtualStaticLeaderOfAFrozenSubtopology(t *testing.T) {
	bubble(t, func(c *cluster) {
		t := c.t
		c.likeABroker()
		c.createTopic("left", 4)
		for _, name := range "abc" {
			c.start(string(name), two, static)
		}
		time.Sleep(time.Minute)
		require.Len(t, c.monitor.tasksOf(0), partitions)
		leader := c.leader()
		leader.close()
		time.Sleep(time.Second)
		again := c.start(leader.name, two, static)
		time.Sleep(5 * time.Minute)
		require.True(t, again.balancer.Leader())
		require.True(t, everyTrouble(c, "no metadata of right")())
		c.triesAgain()
		require.Empty(t, c.monitor.violated())
	})
}
