package main

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
	"github.com/incremental-rebalance/assignor/franz/fence"
	"github.com/twmb/franz-go/pkg/kgo"
)

// settings are what all instances of the word count have in common.
type settings struct {
	brokers   []string
	group     string
	input     string
	changelog string
	rate      int // records a second that an instance replays
	session   time.Duration
	heartbeat time.Duration
	static    bool
	fallback  []kgo.GroupBalancer
	tags      map[string]string
	watch     watcher
	logger    *slog.Logger
}

// watcher sees what an instance does.
type watcher interface {
	started(name string, task assignor.TaskID)
	stopped(name string, task assignor.TaskID)
	session(franz.State)
	round(franz.Round)
	processed(name string, n int)
}

// service is one instance of the word count: it runs the tasks of a group member, and replays the changelogs of others.
type service struct {
	settings
	name     string
	balancer *franz.Balancer
	client   *kgo.Client
	replayer *replayer
	ctx      context.Context
	cancel   context.CancelFunc
	loops    sync.WaitGroup
	cut      atomic.Bool
	conns    sync.Map

	mu     sync.Mutex // held while records are counted, and while the assignment changes
	ended  bool
	stores map[assignor.TaskID]*store
	tasks  map[assignor.TaskID]*task // what the member owns
}

// task is one that the member owns: it runs once its store has replayed the whole changelog.
type task struct {
	cancel  context.CancelFunc
	tenure  *fence.Tenure // nil until it runs
	pending []*kgo.Record // what came in before it ran
}

// start starts an instance and returns at once.
func start(name string, s settings) (*service, error) {
	w := &service{settings: s, name: name, stores: map[assignor.TaskID]*store{}, tasks: map[assignor.TaskID]*task{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	var err error
	w.balancer, err = franz.New(franz.Config{
		Instance: name,
		Tags:     s.tags,
		Topology: []franz.Subtopology{{Topics: []string{s.input}}},
		Assignor: assignor.Config{Standbys: 1, AcceptableLag: 200, ScaleDownTimeout: time.Minute},
		Fallback: s.fallback,
		OnChange: w.change,
		Debounce: 200 * time.Millisecond,
		Logger:   s.logger,
		Observer: observer{w: w},
	})
	if err != nil {
		return nil, err
	}
	base := []kgo.Opt{
		kgo.SeedBrokers(s.brokers...), kgo.Dialer(w.dial), kgo.WithContext(w.ctx), kgo.DisableClientMetrics(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}
	if w.replayer, err = newReplayer(base, s.changelog, s.rate); err != nil {
		return nil, err
	}
	w.replayer.lag, w.replayer.failed = w.progress, w.failed
	w.replayer.done = func(inputs []*kgo.Record) { w.client.MarkCommitRecords(inputs...) }
	opts := append(base,
		kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(s.input), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(500*time.Millisecond),
		kgo.SessionTimeout(s.session), kgo.HeartbeatInterval(s.heartbeat), kgo.RebalanceTimeout(s.session-time.Second),
	)
	if s.static {
		opts = append(opts, kgo.InstanceID(name))
	}
	w.mu.Lock() // the first change needs the client
	w.client, err = kgo.NewClient(append(opts, w.balancer.Opts()...)...)
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.loop(w.poll)
	w.loop(w.mend)
	w.loop(func() { w.replayer.run(w.ctx) })
	w.loop(func() { w.replayer.watch(w.ctx) })
	return w, nil
}

func (w *service) loop(f func()) {
	w.loops.Add(1)
	go func() {
		defer w.loops.Done()
		f()
	}()
}

// change makes the instance do what the state says, and nothing else: when it returns, no task runs that is not active.
func (w *service) change(s franz.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	for id, t := range w.tasks {
		if !slices.Contains(s.Active, id) {
			w.stop(id, t)
		}
	}
	for _, id := range s.Active {
		if w.tasks[id] == nil {
			w.take(id)
		}
	}
	copies := map[assignor.TaskID]bool{}
	for _, c := range slices.Concat(s.Learning, s.Standby) {
		copies[c.Task] = true
		w.replayer.follow(c.Task.Partition, w.store(c.Task), false)
	}
	for id := range w.stores {
		if w.tasks[id] == nil && !copies[id] {
			w.replayer.leave(id.Partition)
			if !slices.Contains(s.Revoking, id) { // the leader may yet want it
				delete(w.stores, id)
			}
		}
	}
	w.watch.session(s)
}

func (w *service) store(id assignor.TaskID) *store {
	if w.stores[id] == nil {
		w.stores[id] = newStore(w.changelog, id.Partition)
	}
	return w.stores[id]
}

func (w *service) stop(id assignor.TaskID, t *task) {
	t.cancel()
	delete(w.tasks, id)
	if s := w.stores[id]; s != nil {
		s.stop()
	}
	if t.tenure != nil {
		w.watch.stopped(w.name, id)
	}
}

// take makes the instance run a task: it takes the task over in the changelog, and counts from there. It goes on reading the
// changelog, which tells whether what it writes counts.
func (w *service) take(id assignor.TaskID) {
	ctx, cancel := context.WithCancel(w.ctx)
	t := &task{cancel: cancel}
	w.tasks[id] = t
	s := w.store(id)
	w.replayer.follow(id.Partition, s, true)
	w.loop(func() {
		defer cancel()
		tenure, err := s.log.TakeOver(ctx, w.client, w.name)
		if err != nil {
			w.again(ctx, id, t, err)
			return
		}
		w.ready(ctx, id, t, tenure)
		select {
		case <-tenure.Lost():
			w.again(ctx, id, t, fence.ErrFenced)
		case <-ctx.Done():
		}
	})
}

// again takes over a task once more, unless it is no longer to run here: another process has taken it over, or it could not be
// taken over. A process that is out of the group and does not know it soon will; until then the two may take turns.
func (w *service) again(ctx context.Context, id assignor.TaskID, t *task, err error) {
	if ctx.Err() != nil || errors.Is(err, fence.ErrSpoilt) { // failed sees to that
		return
	}
	w.logger.Warn("takes a task over again", "instance", w.name, "task", id, "err", err)
	sleep(ctx, 200*time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil && !w.ended && w.tasks[id] == t {
		w.retake(id, t, w.stores[id])
	}
}

// retake starts a task afresh, with the input that came in meanwhile and that of which the changes may be void: the client does
// not fetch it again. What is counted by the changelog is skipped then.
func (w *service) retake(id assignor.TaskID, t *task, s *store) {
	pending := append(s.stop(), t.pending...)
	w.stop(id, t)
	w.take(id)
	w.tasks[id].pending = pending
}

// failed replays a task into a new store, since the one it has cannot be trusted: what this process counted there after somebody
// else took the task over is void. A record that nobody can judge harms no store.
func (w *service) failed(id assignor.TaskID, s *store, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.stores[id] != s { // another record of that store has said so
		return
	}
	w.logger.Warn("replay", "instance", w.name, "task", id, "err", err)
	if errors.Is(err, fence.ErrStamp) {
		return
	}
	delete(w.stores, id)
	if t := w.tasks[id]; t != nil {
		w.retake(id, t, s)
		return
	}
	w.replayer.follow(id.Partition, w.store(id), false)
}

// progress says how far a copy is, or a task that does not run yet.
func (w *service) progress(id assignor.TaskID, lag int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.tasks[id]; t == nil || t.tenure == nil {
		w.balancer.Progress(id, lag)
	}
}

// ready begins to count, first what has come in meanwhile.
func (w *service) ready(ctx context.Context, id assignor.TaskID, t *task, tenure *fence.Tenure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	w.replayer.follow(id.Partition, w.stores[id], false)
	t.tenure = tenure
	w.watch.started(w.name, id)
	w.balancer.Progress(id, 0)
	w.count(t.pending)
	t.pending = nil
}

// poll counts what comes in until the client is closed.
func (w *service) poll() {
	for w.ctx.Err() == nil {
		fetches := w.client.PollRecords(w.ctx, 1000)
		if fetches.IsClientClosed() {
			return
		}
		w.mu.Lock()
		w.count(fetches.Records())
		w.mu.Unlock()
	}
}

// mend writes what void records have to be written over with, again and again.
func (w *service) mend() {
	for w.ctx.Err() == nil {
		w.mu.Lock()
		var records []*kgo.Record
		for id, t := range w.tasks {
			if t.tenure != nil && !w.ended {
				records = append(records, t.tenure.Mend(w.stores[id].current)...)
			}
		}
		w.write(records)
		w.mu.Unlock()
		sleep(w.ctx, 200*time.Millisecond)
	}
}

// count counts records of tasks that run, and writes the changes; it keeps those of tasks that do not run yet, and drops those of
// tasks that the member has lost. A record is marked as consumed when its change has been read back.
func (w *service) count(records []*kgo.Record) {
	var changes []*kgo.Record
	for _, r := range records {
		id := assignor.TaskID{Partition: r.Partition}
		t := w.tasks[id]
		switch {
		case t == nil || w.ended:
		case t.tenure == nil:
			t.pending = append(t.pending, r)
		default:
			c, err := w.stores[id].count(r, t.tenure)
			if err != nil { // another process has taken it over: it is to be taken back
				t.pending = append(t.pending, r)
			} else if c != nil {
				changes = append(changes, c)
			}
		}
	}
	w.write(changes)
	if !w.ended {
		w.watch.processed(w.name, len(changes))
	}
}

// write writes changes. Without them in the changelog the stores are wrong: then the instance must not go on.
func (w *service) write(records []*kgo.Record) {
	if err := w.produce(w.ctx, records...); err != nil && !w.ended {
		w.ended = true
		w.logger.Error("stops, as its changes are not in the changelog", "instance", w.name, "err", err)
	}
}

// produce writes records and waits until the broker has them, or ctx has ended. kgo's own ProduceSync does not end with ctx: a
// record that may have arrived is tried until the client is closed.
func (w *service) produce(ctx context.Context, records ...*kgo.Record) error {
	results := make(chan error, len(records))
	for _, r := range records {
		w.client.Produce(ctx, r, func(_ *kgo.Record, err error) { results <- err })
	}
	for range records {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// drain hands everything over and ends the instance.
func (w *service) drain(ctx context.Context) error {
	err := w.balancer.Drain(ctx)
	w.close()
	return err
}

// close ends the instance: first its tasks, then its place in the group.
func (w *service) close() {
	w.halt()
	w.client.CloseAllowingRebalance()
	w.cancel()
	w.replayer.client.Close()
	w.loops.Wait()
}

// halt stops all tasks for good.
func (w *service) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for id, t := range w.tasks {
		w.stop(id, t)
	}
}

// kill ends the instance as a power cut does: nobody is told.
func (w *service) kill() {
	w.cut.Store(true)
	w.conns.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
	w.cancel()
	w.halt()
	w.client.CloseAllowingRebalance()
	w.replayer.client.Close()
	w.loops.Wait()
}

func (w *service) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.cut.Load() {
		return nil, errors.New("cut off")
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		w.conns.Store(conn, true)
	}
	return conn, err
}

// counts returns the counts of the tasks that the instance runs.
func (w *service) counts() map[int32]map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[int32]map[string]int64{}
	for id, t := range w.tasks {
		if t.tenure != nil {
			counts[id.Partition] = w.stores[id].snapshot()
		}
	}
	return counts
}

type observer struct {
	franz.NopObserver
	w *service
}

// Balanced counts the rounds.
func (o observer) Balanced(r franz.Round) { o.w.watch.round(r) }
