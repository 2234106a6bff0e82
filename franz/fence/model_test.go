package fence

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A model of one partition and of the processes around it, without a client and without time. The broker is a list of records, of
// which compaction removes what it may; a process is a Changelog and a map. Records that were sent may arrive later or never,
// also after their sender has gone on. Who judges is the whole history, which compaction does not touch, by the definition of
// the package comment and not by a Log.
type model struct {
	t        *testing.T
	rng      *rand.Rand
	history  []*kgo.Record // everything that was ever written
	verdicts []bool        // which of it counts
	force    Fence
	log      []*kgo.Record // what compaction has left of it
	procs    []*process
	counts   struct{ takeovers, changes, void, mended, removed, spoilt, swept int }
}

// process replays the partition into a map, and owns the task at times, or believes so.
type process struct {
	m         *model
	name      string
	changelog *Changelog
	store     map[string]string
	tenure    *Tenure
	transit   []*kgo.Record // sent in this order, and not at the broker yet
	awaiting  *kgo.Record   // the fence of an attempt that is under way
	disk      *disk
}

// disk is what a process finds after a restart.
type disk struct {
	at    Checkpoint
	store map[string]string
}

func newModel(t *testing.T, seed uint64, processes int) *model {
	t.Helper()
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 19))}
	for i := range processes {
		p := &process{m: m, name: string(rune('a' + i))}
		p.fresh()
		m.procs = append(m.procs, p)
	}
	return m
}

func (p *process) fresh() {
	p.changelog, p.store = NewChangelog("log", 0, Checkpoint{}), map[string]string{}
	p.tenure, p.awaiting = nil, nil
}

// write appends a record, as the broker does, and judges it: the fence in force is the first one of the highest epoch so far, and
// a change counts if it is under that one.
func (m *model) write(r *kgo.Record) {
	r.Offset = int64(len(m.history))
	m.history = append(m.history, r)
	m.log = append(m.log, r)
	e, err := EntryOf(r)
	require.NoError(m.t, err)
	if e.Kind == Raised && e.By.Epoch > m.force.Epoch {
		m.force = e.By
	}
	m.verdicts = append(m.verdicts, e.Kind == Data && e.By == m.force)
}

// want returns the state that the history gives.
func (m *model) want() map[string]string {
	state := map[string]string{}
	for i, counts := range m.verdicts {
		if counts {
			put(state, m.history[i])
		}
	}
	return state
}

func put(state map[string]string, r *kgo.Record) {
	if r.Value == nil {
		delete(state, string(r.Key))
		return
	}
	state[string(r.Key)] = string(r.Value)
}

// horizon returns the offset up to which compaction looks: a topic's min.compaction.lag.ms keeps it from the first void record
// that nobody has mended.
func (m *model) horizon() int64 {
	first := map[string]int64{}
	for i, counts := range m.verdicts {
		r := m.history[i]
		if e, _ := EntryOf(r); e.Kind != Data {
			continue
		}
		if _, void := first[string(r.Key)]; counts {
			delete(first, string(r.Key))
		} else if !void {
			first[string(r.Key)] = int64(i)
		}
	}
	return slices.Min(append(slices.Collect(maps.Values(first)), int64(len(m.history))))
}

// compact removes some of what compaction may remove: a record with a later one of its key before the horizon; and a tombstone
// that is the only one of its key, once every process has read it (delete.retention.ms). It need not remove all: a pass may be under way.
func (m *model) compact() {
	horizon := m.horizon()
	newest, number := map[string]int64{}, map[string]int{}
	for _, r := range m.log {
		number[string(r.Key)]++
		if r.Offset < horizon {
			newest[string(r.Key)] = r.Offset
		}
	}
	read := int64(len(m.history))
	for _, p := range m.procs {
		read = min(read, p.changelog.Next())
		if p.disk != nil {
			read = min(read, p.disk.at.Next)
		}
	}
	before := len(m.log)
	m.log = slices.DeleteFunc(m.log, func(r *kgo.Record) bool {
		stale := r.Offset < newest[string(r.Key)]
		gone := r.Value == nil && number[string(r.Key)] == 1 && r.Offset < min(horizon, read)
		return (stale || gone) && m.rng.IntN(3) > 0
	})
	m.counts.removed += before - len(m.log)
}

// replay reads up to n records.
func (p *process) replay(n int) {
	m := p.m
	next := p.changelog.Next()
	i, _ := slices.BinarySearchFunc(m.log, next, func(r *kgo.Record, at int64) int { return int(r.Offset - at) })
	for ; i < len(m.log) && n > 0; i, n = i+1, n-1 {
		r := m.log[i]
		v, err := p.changelog.Replay(r)
		if err != nil {
			require.ErrorIs(m.t, err, ErrSpoilt)
			m.counts.spoilt++
			p.fresh()
			return
		}
		switch v {
		case Apply:
			put(p.store, r)
		case Own:
			require.True(m.t, m.verdicts[r.Offset], "offset %d is confirmed and void", r.Offset)
		case Void:
			require.False(m.t, m.verdicts[r.Offset], "offset %d is void here, and counts", r.Offset)
		}
	}
	if i == len(m.log) && !p.changelog.Checkpoint().Dirty {
		require.Equal(m.t, m.want(), p.store, "%s has read everything", p.name)
	}
	p.hold()
}

// hold begins the tenure when the replay has passed the fence. Where another one came first it goes higher, or gives up.
func (p *process) hold() {
	if p.awaiting == nil || p.changelog.Next() <= p.awaiting.Offset || p.awaiting.Offset < 0 {
		return
	}
	t := p.changelog.claim
	p.awaiting = nil
	if !t.held && p.m.rng.IntN(2) == 0 {
		p.takeOver()
		return
	}
	p.changelog.withdraw()
	if t.held {
		p.tenure = t
		p.m.counts.takeovers++
	}
}

// takeOver sends a fence, as TakeOver does. Nobody waits for one that is lost.
func (p *process) takeOver() {
	t, err := p.changelog.attempt(incarnation("same name"))
	if err != nil {
		require.ErrorIs(p.m.t, err, ErrSpoilt)
		p.fresh()
		return
	}
	p.awaiting = t.record("log", 0)
	p.awaiting.Offset = -1
	p.transit = append(p.transit, p.awaiting)
}

// giveUp ends the tenure, or the attempt.
func (p *process) giveUp() {
	p.tenure, p.awaiting = nil, nil
	p.changelog.withdraw()
}

// fail lets a write fail: the service stops the task, and does not write what comes after it.
func (p *process) fail() {
	if len(p.transit) > 0 {
		p.transit = p.transit[:p.m.rng.IntN(len(p.transit))]
		p.giveUp()
	}
}

// change makes a change under the tenure and sends it.
func (p *process) change() {
	if p.tenure == nil {
		return
	}
	key := string(rune('p' + p.m.rng.IntN(5)))
	r := &kgo.Record{Key: []byte(key)}
	if p.m.rng.IntN(4) > 0 {
		r.Value = fmt.Appendf(nil, "%s%d", p.name, len(p.m.history))
	}
	if p.tenure.Stamp(r) != nil {
		p.tenure = nil
		return
	}
	put(p.store, r)
	p.transit = append(p.transit, r)
	p.m.counts.changes++
}

func (p *process) mend() {
	if p.tenure == nil {
		return
	}
	for _, r := range p.tenure.Mend(func(key []byte) []byte {
		if value, ok := p.store[string(key)]; ok {
			return []byte(value)
		}
		return nil
	}) {
		if bytes.HasPrefix(r.Key, []byte(keyPrefix)) {
			p.m.counts.swept++
		} else {
			p.m.counts.mended++
		}
		p.transit = append(p.transit, r)
	}
}

// deliver lets the first n records that are on their way arrive.
func (p *process) deliver(n int) {
	n = min(n, len(p.transit))
	for _, r := range p.transit[:n] {
		p.m.write(r)
	}
	p.transit = p.transit[n:]
}

// restart kills the process, or thinks so: half of the time the old one goes on. The new one begins with what is on disk.
func (p *process) restart() {
	if p.m.rng.IntN(2) == 0 && len(p.m.procs) < 8 { // it was not quite dead
		zombie := *p
		zombie.name, zombie.disk = p.name+"'", nil
		p.m.procs = append(p.m.procs, &zombie)
	}
	p.transit = nil
	p.transit = nil
	p.fresh()
	if d := p.disk; d != nil && !d.at.Dirty {
		p.changelog, p.store = NewChangelog("log", 0, d.at), maps.Clone(d.store)
	} else {
		p.disk = nil
	}
}

// step lets one thing happen to one process or to the broker.
func (m *model) step() {
	p := m.procs[m.rng.IntN(len(m.procs))]
	for n, what := m.rng.IntN(100), 0; what < len(happenings); what++ {
		if n -= happenings[what].percent; n < 0 {
			happenings[what].to(p)
			return
		}
	}
}

// happenings are what a step may be, and how often.
var happenings = []struct {
	percent int
	to      func(*process)
}{
	{25, func(p *process) { p.replay(1 + p.m.rng.IntN(15)) }},
	{20, func(p *process) { p.deliver(1 + p.m.rng.IntN(4)) }},
	{22, (*process).change},
	{10, (*process).mend},
	{4, (*process).takeOver}, // also where it owns the task, or does not know whether an earlier fence arrives
	{1, (*process).giveUp},   // the task went elsewhere, or so this process hears
	{3, func(p *process) { p.disk = &disk{p.changelog.Checkpoint(), maps.Clone(p.store)} }},
	{2, (*process).restart},
	{1, (*process).fail},
	{12, func(p *process) { p.m.compact() }},
}

// end lets everything arrive, one process take over and mend, compaction do all it can, and everybody read to the end.
func (m *model) end() {
	for _, p := range m.procs {
		p.deliver(len(p.transit))
		p.tenure, p.awaiting, p.disk = nil, nil, nil
		p.changelog.withdraw()
	}
	owner := m.procs[0]
	for owner.tenure == nil {
		if owner.awaiting == nil {
			owner.takeOver()
		}
		owner.deliver(len(owner.transit))
		owner.replay(len(m.log))
	}
	for range 4 {
		owner.mend()
		owner.deliver(len(owner.transit))
		owner.replay(len(m.log))
	}
	m.check(owner.store, "the owner")
	for range 50 {
		m.compact()
		reader := &process{m: m, name: "reader"}
		reader.fresh()
		reader.replay(len(m.log))
		m.check(reader.store, "who reads from the start")
	}
	for _, p := range m.procs {
		p.tenure = nil
		p.replay(len(m.log))
		p.replay(len(m.log)) // the first may have found the store spoilt
		m.check(p.store, p.name)
	}
	fences := 0
	for _, r := range m.log {
		if e, _ := EntryOf(r); e.Kind == Raised {
			fences++
		}
	}
	require.Equal(m.t, 1, fences, "the other fences were removed, and compaction has removed them")
}

func (m *model) check(got map[string]string, who string) {
	require.Equal(m.t, m.want(), got, "%s, after %d records", who, len(m.history))
}

func (m *model) run(steps int) {
	for range steps {
		m.step()
	}
	m.end()
	for i, counts := range m.verdicts {
		if e, _ := EntryOf(m.history[i]); e.Kind == Data && !counts {
			m.counts.void++
		}
	}
}

// Owners, zombies, take-overs, restarts, lost writes and compaction in any order: everybody who reads the log comes to the state
// that the changes that count give.
func TestModel(t *testing.T) {
	seeds := 3000
	if testing.Short() {
		seeds = 300
	}
	var total model
	for seed := range uint64(seeds) {
		m := newModel(t, seed, 3)
		if !t.Run("", func(t *testing.T) { m.t = t; m.run(400) }) {
			t.Fatalf("seed %d", seed)
		}
		total.add(m)
	}
	t.Logf("%+v", total.counts)
}

func (m *model) add(other *model) {
	c, o := &m.counts, other.counts
	c.takeovers += o.takeovers
	c.changes += o.changes
	c.void += o.void
	c.mended += o.mended
	c.removed += o.removed
	c.spoilt += o.spoilt
	c.swept += o.swept
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1), uint8(2), uint16(100))
	f.Add(uint64(2), uint8(5), uint16(1000))
	f.Fuzz(func(t *testing.T, seed uint64, processes uint8, steps uint16) {
		newModel(t, seed, 1+int(processes)%5).run(int(steps) % 1500)
	})
}
