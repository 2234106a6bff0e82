package franz_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// worker is a service on one client: it runs tasks, and replays copies.
type worker struct {
	c        *cluster
	name     string
	balancer *franz.Balancer
	client   *kgo.Client
	disk     *disk
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup
	cut      atomic.Bool // no connection gets through
	dead     atomic.Bool
	zombie   atomic.Bool // out of the group without knowing it
	conns    sync.Map
	mu       sync.Mutex
	runs     map[assignor.TaskID]bool
	block    atomic.Pointer[chan struct{}]
	stuck    atomic.Bool // it replays nothing
	sessions atomic.Int32
	troubles atomic.Int32
	lost     atomic.Int32
	rounds   atomic.Int32 // decided as leader
	repeats  atomic.Int32
	record   atomic.Int32 // bytes, by its count
}

// settings of a worker beside the defaults.
type settings struct {
	config franz.Config
	opts   []kgo.Opt
	late   []kgo.Opt // behind those of the Balancer, where none should be
	sticky bool      // it offers its fallback only, as before a migration
}

func (c *cluster) start(name string, change ...func(*settings)) *worker {
	c.t.Helper()
	w := &worker{c: c, name: name, disk: c.disks[name], runs: map[assignor.TaskID]bool{}}
	if w.disk == nil {
		w.disk = &disk{lag: map[assignor.TaskID]int64{}}
		c.disks[name] = w.disk
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	s := settings{
		config: franz.Config{
			Instance: name, Topology: []franz.Subtopology{{Topics: []string{c.topic}}},
			OnChange: w.onChange, Local: w.local, Observer: observer{w: w}, Logger: slog.New(slog.DiscardHandler),
		},
		// The rebalance timeout is the shorter one: kfake drops members that wait in a join for longer than a session.
		opts: []kgo.Opt{
			kgo.SeedBrokers(c.addrs...), kgo.Dialer(w.dial), kgo.WithContext(w.ctx), kgo.ConsumerGroup(c.groupID),
			kgo.ConsumeTopics(c.topic), kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(time.Second),
			kgo.RebalanceTimeout(2 * time.Second), kgo.DisableClientMetrics(),
		},
	}
	for _, f := range change {
		f(&s)
	}
	var err error
	w.balancer, err = franz.New(s.config)
	require.NoError(c.t, err)
	s.opts = append(s.opts, w.balancer.Opts()...)
	if s.sticky {
		s.opts = append(s.opts, kgo.Balancers(w.balancer.Fallbacks()...))
	}
	w.client, err = kgo.NewClient(append(s.opts, s.late...)...)
	require.NoError(c.t, err)
	c.workers = append(c.workers, w)
	w.done.Add(1)
	go w.replay()
	return w
}

// dial connects to the broker unless the worker is cut off.
func (w *worker) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.cut.Load() {
		return nil, errors.New("cut off")
	}
	var dialer net.Dialer
	dial := dialer.DialContext
	if w.c.net != nil {
		dial = w.c.net.DialContext
	}
	conn, err := dial(ctx, network, address)
	if err == nil {
		w.conns.Store(conn, true)
	}
	return conn, err
}

// cutOff ends all connections, and lets none through until mend.
func (w *worker) cutOff() {
	w.cut.Store(true)
	w.conns.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		w.conns.Delete(conn)
		return true
	})
}

// mend lets connections through again.
func (w *worker) mend() { w.cut.Store(false) }

// kill ends the process without a word: the coordinator has to find out.
func (w *worker) kill() {
	if !w.die() {
		return
	}
	w.cutOff()
	w.cancel()
	w.client.Close()
	w.done.Wait()
}

// die stops all tasks, once.
func (w *worker) die() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead.Swap(true) {
		return false
	}
	for task := range w.runs {
		w.c.monitor.stop(task, w)
	}
	return true
}

// close ends the process in order: first the tasks, then the client, which leaves the group.
func (w *worker) close() {
	if !w.die() {
		return
	}
	w.client.Close()
	w.cancel()
	w.done.Wait()
}

// onChange runs what the state lists, and nothing else.
func (w *worker) onChange(s franz.State) {
	if block := w.block.Load(); block != nil {
		<-*block
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead.Load() {
		return
	}
	for task := range w.runs {
		if !slices.Contains(s.Active, task) {
			delete(w.runs, task)
			w.c.monitor.stop(task, w)
		}
	}
	for _, task := range s.Active {
		if !w.runs[task] {
			w.runs[task] = true
			w.c.monitor.start(task, w)
		}
	}
	w.disk.keep(s)
	w.sessions.Add(1)
	if s.Lost {
		w.lost.Add(1)
	}
	w.zombie.Store(false)
}

// keep drops the state of tasks that the instance has nothing to do with any more.
func (d *disk) keep(s franz.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lag := map[assignor.TaskID]int64{}
	for _, task := range slices.Concat(s.Active, s.Revoking, copied(s.Learning), copied(s.Standby)) {
		lag[task] = fullLag
		if l, ok := d.lag[task]; ok {
			lag[task] = l
		}
	}
	d.lag = lag
}

func copied(copies []assignor.Replica) []assignor.TaskID {
	tasks := make([]assignor.TaskID, len(copies))
	for i := range copies {
		tasks[i] = copies[i].Task
	}
	return tasks
}

func (w *worker) local() []assignor.Replica {
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	var found []assignor.Replica
	for task, lag := range w.disk.lag {
		found = append(found, assignor.Replica{Task: task, Lag: lag})
	}
	return found
}

// replay brings every copy nearer to the end of its changelog, tick by tick.
func (w *worker) replay() {
	defer w.done.Done()
	ticker := time.NewTicker(replayTick)
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
		}
		if w.stuck.Load() {
			continue
		}
		for task, lag := range w.disk.advance() {
			w.balancer.Progress(task, lag)
		}
	}
}

func (d *disk) advance() map[assignor.TaskID]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen {
		return nil
	}
	now := make(map[assignor.TaskID]int64, len(d.lag))
	for task, lag := range d.lag {
		d.lag[task] = max(0, lag-perTick)
		now[task] = d.lag[task]
	}
	return now
}
