package assignor_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// twinWorld is a small group that goes from round to round: its members obey (Member.Next), now and then one misses an answer, and
// everything that the design speaks of happens to it. It does not care whether the group ever settles; it is there to bring
// Assign and its twin into every state.
type twinWorld struct {
	*rand.Rand
	config   assignor.Config
	mode     assignor.HandoverMode
	members  []assignor.Member // what they report when the next round begins
	memory   *assignor.Assignment
	older    *assignor.Assignment
	gone     []assignor.Member // members that crashed; their disks are still there
	named    int
	large    int // how much larger than usual the world is
	careless int // percent of the answers that are missed
	garbage  int // percent of the reports that say something that cannot be
}

func newTwinWorld(seed uint64) *twinWorld {
	w := &twinWorld{Rand: rand.New(rand.NewPCG(seed, 0x7 /* any constant */))}
	w.mode = assignor.HandoverMode(w.IntN(2))
	w.large = 1
	if w.chance(2) {
		w.large = 1 + w.IntN(5)
	}
	w.careless = twinOne(w, 0, 0, 5, 20)
	w.garbage = twinOne(w, 0, 0, 0, 5, 40)
	w.newTopology()
	w.newConfig()
	for range 1 + w.IntN(3+2*w.large) {
		w.joinInstance()
	}
	if w.chance(20) {
		for range 1 + w.IntN(3) {
			w.mangleMemory()
		}
	}
	return w
}

// twinOne returns one of its arguments.
func twinOne[T any](w *twinWorld, from ...T) T { return from[w.IntN(len(from))] }

func (w *twinWorld) chance(percent int) bool { return w.IntN(100) < percent }

func (w *twinWorld) newTopology() {
	ids := []int32{0, 1, 2, 5, 70}
	weights := twinOne(w, []int32{0}, []int32{0, 1}, []int32{0, 1}, []int32{3}, []int32{1, 2, 3, 5}, []int32{1, 1000})
	stateless := twinOne(w, 0, 30, 30, 100)
	w.config.Topology = nil
	for range twinOne(w, 1, 1, 2, 3, 4) {
		k := w.IntN(len(ids))
		sub := assignor.Subtopology{ID: ids[k], Partitions: w.Int32N(int32(9 * w.large)), Weight: twinOne(w, weights...), Stateless: w.chance(stateless)}
		ids = slices.Delete(ids, k, k+1)
		if w.chance(30) {
			for range sub.Partitions {
				sub.RestoreCost = append(sub.RestoreCost, w.Int64N(3))
			}
		}
		w.config.Topology = append(w.config.Topology, sub)
	}
}

func (w *twinWorld) newConfig() {
	c := &w.config
	c.Standbys = twinOne(w, 0, 0, 0, 1, 1, 1, 2, 3, 7)
	c.MaxLearners = twinOne(w, 0, 0, 0, 1, 2, 3)
	c.AcceptableLag = twinOne(w, int64(0), 10, 100)
	c.LearnerTimeout = twinOne(w, 0, 0, time.Minute, 3*time.Minute)
	c.ScaleDownTimeout = twinOne(w, 0, 0, time.Minute, 3*time.Minute)
	c.RejoinDelay = twinOne(w, 0, 0, time.Minute, 3*time.Minute)
	c.ImbalancePercent = twinOne(w, 0, 0, 0, 10, 25, 50, 100)
	c.NewInstancesOnly = w.chance(15)
	c.SpreadTags = twinOne(w, nil, nil, []string{"zone"}, []string{"zone", "rack"})
	c.Generation = twinOne(w, 0, 0, 0, w.Int32N(20), math.MaxInt32)
}

// joinInstance adds an instance of one or more members.
func (w *twinWorld) joinInstance() {
	host := ""
	members := twinOne(w, 1, 1, 1, 2, 2, 3)
	if members > 1 || w.chance(30) {
		w.named++
		host = fmt.Sprintf("h%d", w.named)
	}
	for range members {
		w.joinMember(host)
	}
}

func (w *twinWorld) joinMember(host string) {
	w.named++
	m := assignor.Member{ID: fmt.Sprintf("%c%d", 'a'+w.IntN(26), w.named), Instance: host}
	m.Capacity = twinOne(w, int32(0), 1, 1, 1, 2, 3, 1000)
	m.Version = twinOne(w, uint8(0), 0, 0, 0, 0, 2, 3, 1)
	m.Tags = map[string]string{}
	for _, tag := range []string{"zone", "rack"} {
		if w.chance(80) {
			m.Tags[tag] = twinOne(w, "x", "y", "z")
		}
	}
	w.members = append(w.members, m)
}

func (w *twinWorld) someMember() *assignor.Member { return &w.members[w.IntN(len(w.members))] }

func (w *twinWorld) someTask() assignor.TaskID {
	sub := twinOne(w, w.config.Topology...)
	if sub.Partitions == 0 || w.chance(5) {
		return assignor.TaskID{Subtopology: w.Int32N(4), Partition: w.Int32N(11) - 1}
	}
	return assignor.TaskID{Subtopology: sub.ID, Partition: w.Int32N(sub.Partitions)}
}

// next lets the members obey, then time pass and things happen.
func (w *twinWorld) next(a *assignor.Assignment) {
	w.older = twinOne(w, w.older, w.memory)
	w.memory = a
	for i := range w.members {
		if ma, ok := a.For(w.members[i].ID); ok && !w.chance(w.careless) {
			w.members[i] = w.members[i].Next(ma, w.mode)
		}
	}
	w.stopDrained(a)
	w.pass(time.Duration(w.IntN(60)) * time.Second)
	for range twinOne(w, 0, 0, 0, 1, 1, 2, 3) {
		w.happen()
	}
	if len(w.members) == 0 {
		w.joinInstance()
	}
	if w.chance(w.garbage / 4) {
		w.mangleMemory()
	}
}

func (w *twinWorld) stopDrained(a *assignor.Assignment) {
	w.members = slices.DeleteFunc(w.members, func(m assignor.Member) bool {
		ma, ok := a.For(m.ID)
		return ok && m.Leaving && len(ma.Active)+len(ma.Revoke)+len(ma.Learners)+len(ma.Standbys) == 0 && w.chance(80)
	})
}

func (w *twinWorld) pass(d time.Duration) {
	w.config.SincePrevious = twinOne(w, d, d, d, 0)
	for i := range w.members {
		m := &w.members[i]
		if m.Leaving {
			m.LeavingFor += d
		}
		for _, copies := range [][]assignor.Replica{m.Learners, m.Standbys} {
			for k := range copies {
				copies[k].For += d
				switch w.IntN(6) {
				case 0, 1:
					copies[k].Lag = 0
				case 2:
					copies[k].Lag = w.Int64N(2*w.config.AcceptableLag + 5)
				case 3:
					copies[k].Lag = w.Int64N(1000)
				case 4:
					if copies[k].Lag > 0 {
						copies[k].Lag /= 2
					}
				default: // stuck
				}
			}
		}
	}
}

// happen is one event.
func (w *twinWorld) happen() {
	if len(w.members) == 0 {
		w.joinInstance()
	}
	switch w.IntN(16) {
	case 0, 1:
		w.joinInstance()
	case 2:
		w.joinMember(cmp.Or(w.someMember().Instance, w.someMember().ID))
	case 3, 4:
		w.crash(w.someMember().ID)
	case 5:
		host := twinHost(w.someMember())
		for _, m := range slices.Clone(w.members) {
			if twinHost(&m) == host {
				w.crash(m.ID)
			}
		}
	case 6, 7:
		w.comeBack()
	case 8, 9:
		w.leaveInstance()
	case 10:
		m := w.someMember()
		m.Leaving = !m.Leaving
		m.LeavingFor = time.Duration(w.IntN(200)) * time.Second
	case 11:
		w.someMember().Capacity = twinOne(w, int32(1), 1, 2, 5)
	case 12:
		w.retopologize()
	case 13:
		w.memory = twinOne(w, nil, w.older, assignor.Recover(w.members))
	case 14:
		w.restart(w.someMember())
	default:
		w.newConfig()
	}
}

func twinHost(m *assignor.Member) string { return cmp.Or(m.Instance, m.ID) }

func (w *twinWorld) crash(id string) {
	i := slices.IndexFunc(w.members, func(m assignor.Member) bool { return m.ID == id })
	w.gone = append(w.gone, w.members[i])
	w.members = slices.Delete(w.members, i, i+1)
}

// comeBack returns a member that crashed, under its own id or another, with what is left of its disk.
func (w *twinWorld) comeBack() {
	if len(w.gone) == 0 {
		return
	}
	k := w.IntN(len(w.gone))
	m := w.gone[k]
	w.gone = slices.Delete(w.gone, k, k+1)
	w.named++
	m.Instance = twinHost(&m)
	m.ID = twinOne(w, m.ID, fmt.Sprintf("%s-%d", m.ID, w.named))
	w.members = append(w.members, m)
	w.restart(&w.members[len(w.members)-1])
}

// restart makes a member forget everything but its disk.
func (w *twinWorld) restart(m *assignor.Member) {
	m.Generation, m.Leaving, m.LeavingFor = 0, false, 0
	disk := slices.Concat(m.Learners, m.Standbys)
	for _, t := range slices.Concat(m.Active, m.Revoked) {
		disk = append(disk, assignor.Replica{Task: t, Lag: twinOne(w, 0, 0, 5, w.Int64N(300))})
	}
	m.Active, m.Revoked, m.Learners = nil, nil, nil
	m.Standbys = slices.DeleteFunc(disk, func(assignor.Replica) bool { return w.chance(20) })
}

func (w *twinWorld) leaveInstance() {
	host, leaving := twinHost(w.someMember()), w.chance(80)
	for i := range w.members {
		if twinHost(&w.members[i]) == host {
			w.members[i].Leaving, w.members[i].LeavingFor = leaving, 0
		}
	}
}

func (w *twinWorld) retopologize() {
	if w.chance(30) {
		w.newTopology()
		return
	}
	w.config.Topology = slices.Clone(w.config.Topology)
	sub := &w.config.Topology[w.IntN(len(w.config.Topology))]
	sub.Partitions = max(0, sub.Partitions+w.Int32N(5)-2)
	sub.RestoreCost = nil
	sub.Stateless = sub.Stateless != w.chance(10)
}

// reports returns what the members say, some of it impossible.
func (w *twinWorld) reports() []assignor.Member {
	said := slices.Clone(w.members)
	for i := range said {
		for w.chance(w.garbage) {
			w.mangle(&said[i])
		}
	}
	return said
}

// shuffle reorders members, their lists and the topology: nothing may depend on it.
func (w *twinWorld) shuffle(members []assignor.Member) {
	twinShuffle(w, members)
	for i := range members {
		m := &members[i]
		m.Active, m.Revoked = slices.Clone(m.Active), slices.Clone(m.Revoked)
		m.Learners, m.Standbys = slices.Clone(m.Learners), slices.Clone(m.Standbys)
		twinShuffle(w, m.Active)
		twinShuffle(w, m.Revoked)
		twinShuffle(w, m.Learners)
		twinShuffle(w, m.Standbys)
	}
	w.config.Topology = slices.Clone(w.config.Topology)
	twinShuffle(w, w.config.Topology)
}

func twinShuffle[T any](w *twinWorld, s []T) {
	w.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

func (w *twinWorld) mangle(m *assignor.Member) {
	add := func(tasks []assignor.TaskID) []assignor.TaskID { return append(slices.Clip(tasks), w.someTask()) }
	addCopy := func(copies []assignor.Replica) []assignor.Replica {
		c := assignor.Replica{Task: w.someTask(), Lag: twinOne(w, 0, 0, 7, w.Int64N(200), -1, -5, math.MaxInt64), For: time.Duration(w.IntN(300)) * time.Second}
		return append(slices.Clip(copies), c)
	}
	switch w.IntN(13) {
	case 0, 1:
		m.Active = add(m.Active)
	case 2:
		m.Revoked = add(m.Revoked)
	case 3, 4:
		m.Learners = addCopy(m.Learners)
	case 5, 6, 7:
		m.Standbys = addCopy(m.Standbys)
	case 8:
		m.Generation = twinOne(w, m.Generation-1, m.Generation+1, 0, -3, math.MaxInt32)
	case 9:
		m.Version = twinOne(w, uint8(1), 2)
	case 10:
		m.Capacity = twinOne(w, int32(-4), 3, math.MaxInt32)
	case 11:
		m.LeavingFor = twinOne(w, -time.Second, math.MaxInt64)
	default:
		m.Instance = twinHost(w.someMember())
	}
}

// mangleMemory makes the leader remember something that it never said.
func (w *twinWorld) mangleMemory() {
	mem := &assignor.Assignment{Generation: twinOne(w, int32(0), 5, -1)}
	if w.memory != nil {
		*mem = *w.memory
	}
	mem.Members, mem.Departed = slices.Clone(mem.Members), slices.Clone(mem.Departed)
	switch w.IntN(4) {
	case 0:
		mem.Departed = append(mem.Departed, assignor.Departure{
			Instance: twinOne(w, "h1", "h2", "h9"), Absent: time.Duration(w.IntN(300)-9) * time.Second, Tasks: []assignor.TaskID{w.someTask(), w.someTask()},
		})
	case 1:
		mem.Generation += w.Int32N(5) - 2
	default:
		ma := assignor.MemberAssignment{Member: twinOne(w, "ghost", "h2", "h9"), Leaving: w.chance(30)}
		if len(w.members) > 0 {
			ma.Member = w.someMember().ID
			ma.Instance = twinOne(w, "", w.someMember().Instance, "ghosts")
		}
		ma.Active, ma.Revoke = []assignor.TaskID{w.someTask(), w.someTask()}, []assignor.TaskID{w.someTask()}
		mem.Members = append(mem.Members, ma)
	}
	w.memory = mem
}
