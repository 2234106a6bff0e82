package main

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// instances is a group of services whose copies catch up at once.
type instances struct {
	brokers []string
	client  *kgo.Client
	all     map[string]*franz.Balancer

	standbys int // that each of its tasks is to have
}

func startInstances(t *testing.T, standbys int, names ...string) *instances {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(8, "lines"))
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	is := &instances{brokers: fake.ListenAddrs(), all: map[string]*franz.Balancer{}, standbys: standbys}
	is.client, err = kgo.NewClient(kgo.SeedBrokers(is.brokers...))
	require.NoError(t, err)
	t.Cleanup(is.client.Close)
	for _, name := range names {
		is.start(t, name)
	}
	require.Eventually(t, func() bool {
		for _, b := range is.all {
			if s := b.State(); len(s.Active) != 8/len(names) || len(s.Learning) > 0 {
				return false
			}
		}
		return true
	}, 30*time.Second, 20*time.Millisecond, "the instances share the tasks")
	return is
}

func (is *instances) start(t *testing.T, name string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	var b *franz.Balancer
	b, err := franz.New(franz.Config{
		Instance: name, Tags: map[string]string{"http": server.Listener.Addr().String()},
		Topology: []franz.Subtopology{{Topics: []string{"lines"}}}, Assignor: assignor.Config{Standbys: is.standbys}, Debounce: 100 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
		OnChange: func(s franz.State) {
			for _, c := range s.Learning {
				b.Progress(c.Task, 0)
			}
		},
	})
	require.NoError(t, err)
	server.Config.Handler = b.Handler()
	server.Start()
	t.Cleanup(server.Close)
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(is.brokers...), kgo.ConsumerGroup("words"), kgo.ConsumeTopics("lines"), kgo.HeartbeatInterval(200 * time.Millisecond),
	}, b.Opts()...)
	client, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	is.all[name] = b
}

// ctl runs a command against the group, and returns what it wrote.
func (is *instances) ctl(t *testing.T, o options, command func(*group) error) string {
	t.Helper()
	var out bytes.Buffer
	o.group, o.tag, o.deadline = "words", "http", 20*time.Second
	g := &group{options: o, client: is.client, out: &out}
	require.NoError(t, g.load(t.Context()))
	require.NoError(t, command(g))
	return out.String()
}

func TestScalectl(t *testing.T) {
	is := startInstances(t, 0, "a", "b", "c", "d")
	table := is.ctl(t, options{}, func(g *group) error { g.list(); return nil })
	for _, name := range []string{"a", "b", "c", "d"} {
		assert.Regexp(t, `(?m)^`+name+` .* 1 +2 +0 +0 +0`, table)
	}
	assert.Equal(t, 1, strings.Count(table, "leads"), table)
	assert.NotContains(t, table, "misses")

	progress := is.ctl(t, options{to: "75%"}, func(g *group) error { return g.leave(t.Context(), nil) })
	assert.Contains(t, progress, "d: told leave")
	assert.Contains(t, progress, "d: gone")
	<-is.all["d"].Done()

	is.ctl(t, options{}, func(g *group) error { return g.leave(t.Context(), []string{"a", "b"}) })
	<-is.all["a"].Done()
	<-is.all["b"].Done()
	table = is.ctl(t, options{}, func(g *group) error { g.list(); return nil })
	assert.Contains(t, table, "c ")
	assert.NotContains(t, table, "a ")
}

// What the leader could not give anybody is in the list: there are too few instances.
func TestScalectlMissingStandbys(t *testing.T) {
	is := startInstances(t, 2, "a", "b")
	table := is.ctl(t, options{}, func(g *group) error { g.list(); return nil })
	assert.Contains(t, table, "leads; misses 8 standbys", table)
}

// What an instance says of itself is in its row, else what the coordinator knows.
func TestScalectlNotes(t *testing.T) {
	m := franz.Described{Report: assignor.Member{Instance: "a", Learners: []assignor.Replica{{For: 2 * time.Second}}}}
	g := &group{states: map[string]franz.State{}}
	assert.Equal(t, "does not answer", g.note(m))
	assert.Equal(t, "2s", g.age(m))
	g.states["a"] = franz.State{
		Leader: true, MissingStandbys: 2, Learning: []assignor.Replica{{For: time.Second}, {For: 90 * time.Second}},
		Troubles: []franz.Trouble{{Text: "is over", Until: time.Now()}, {Text: "lasts"}},
	}
	assert.Equal(t, "leads; misses 2 standbys; lasts", g.note(m))
	assert.Equal(t, "1m30s", g.age(m))
}

func TestScalectlRefuses(t *testing.T) {
	is := startInstances(t, 0, "a")
	for want, command := range map[string]func(*group) error{
		`no instance "z" in the group`: func(g *group) error { return g.leave(t.Context(), []string{"z"}) },
		"nobody to tell to leave":      func(g *group) error { g.to = "100%"; return g.leave(t.Context(), nil) },
		"-to 0%, want 1% to 100%":      func(g *group) error { g.to = "0%"; return g.leave(t.Context(), nil) },
		"instance a: 409 Conflict":     func(g *group) error { return g.tell(t.Context(), "/stay", []string{"a"}) },
	} {
		is.ctl(t, options{}, func(g *group) error {
			assert.ErrorContains(t, command(g), want)
			return nil
		})
	}
}
