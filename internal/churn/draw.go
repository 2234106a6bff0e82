package churn

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// newWorld draws a group and its configuration from a seed. The seed itself says some more, by its remainders, so that these cover each
// other in a few hundred seeds: odd ones crash, every third misses no answer, of every four one has small capacities and one very
// unequal ones, and every fifth has members of old versions.
func newWorld(seed uint64, assign, again Assign) *World {
	w := &World{
		assign: assign, again: again,
		rng: rand.New(rand.NewPCG(seed, 2)), seed: seed,
		disks: map[string]diskState{}, last: map[assignor.TaskID]place{}, ran: map[assignor.TaskID]string{}, lost: map[assignor.TaskID]bool{},
		idle: map[assignor.TaskID]int{}, hot: map[copyAt]bool{}, revoked: map[assignor.TaskID]bool{},
	}
	w.partitions = 16
	w.mode = pick(w, assignor.OneRound, assignor.TwoRounds)
	w.rejoin = pick(w, assignor.Conservative, assignor.Eager)
	w.dirty = -10
	w.drawConfig()
	w.drawTopology()
	for range 1 + w.rng.IntN(6) {
		w.drawMember()
	}
	return w
}

// Start takes everybody out of a world that nothing has happened to and sets its config, for groups that are not random.
func (w *World) Start(config assignor.Config) {
	w.workers, w.named, w.disks, w.config = nil, 0, map[string]diskState{}, config
}

// Join adds a member with this capacity, on an instance of its own.
func (w *World) Join(capacity int32) {
	w.join(fmt.Sprintf("i%d", w.named)).report.Capacity = capacity
}

// LeaveFirst tells the member that joined first to leave.
func (w *World) LeaveFirst() { w.leave(w.workers[0]) }

// drawConfig draws a config. Defaults come up more often than their number says: most groups have them, and what several settings do
// together is seen in a world only where the others are quiet.
func (w *World) drawConfig() {
	c := &w.config
	c.Standbys = pick(w, 0, 0, 1, 1, 1, 2, 2, 3)
	c.MaxLearners = pick(w, 0, 0, 0, 1, 2, 5)
	c.AcceptableLag = pick[int64](w, 0, 100, 10_000)
	c.LearnerTimeout = pick(w, 0, 0, 30*time.Second)
	c.ScaleDownTimeout = pick(w, 0, 0, time.Minute)
	c.RejoinDelay = pick(w, 0, 0, time.Minute)
	c.ImbalancePercent = pick(w, 0, 0, 0, 0, 10, 30, 100)
	c.NewInstancesOnly = w.chance(15)
	c.SpreadTags = pick(w, nil, nil, nil, []string{"zone"}, []string{"zone", "rack"})
}

// drawTopology draws up to four subtopologies, some of them without any task. Ids with gaps and weights are for a few worlds only,
// since L1 and L2 say less where tasks have several weights. Restore costs are few different numbers, so that ties are frequent.
func (w *World) drawTopology() {
	w.config.Topology = nil
	weighted, sparse := w.chance(25), w.chance(20)
	stateless := pick(w, 0, 0, 30, 60)
	id := int32(0)
	for range 1 + w.rng.IntN(4) {
		if sparse {
			id += w.rng.Int32N(5)
		}
		s := assignor.Subtopology{ID: id, Partitions: w.rng.Int32N(w.partitions), Stateless: w.chance(stateless)}
		id++
		if weighted {
			s.Weight = pick[int32](w, 0, 1, 2, 3, 7, 1000)
		}
		if w.chance(30) {
			for range s.Partitions {
				s.RestoreCost = append(s.RestoreCost, w.rng.Int64N(4))
			}
		}
		w.config.Topology = append(w.config.Topology, s)
	}
}

// drawMember lets a member join, one in four on an instance that is there already.
func (w *World) drawMember() {
	instance := ""
	if names := w.instances(); len(names) > 0 && w.chance(25) {
		instance = pick(w, names...)
	}
	w.drawMemberOn(instance)
}

// drawMemberOn lets a member join, on a new instance where it is not told one. The seed says what its group is like.
func (w *World) drawMemberOn(instance string) {
	k := w.join(instance)
	switch w.seed % 4 {
	case 0:
		k.report.Capacity = 1 + w.rng.Int32N(4)
	case 1:
		k.report.Capacity = pick[int32](w, 0, 1, 1, 1, 1000)
	}
	if w.seed%5 == 0 {
		k.report.Version = pick[uint8](w, 0, 1, 1, 2, 3)
	}
	if len(w.config.SpreadTags) > 0 {
		k.report.Tags = map[string]string{"zone": pick(w, "a", "b", "c"), "rack": pick(w, "r", "s")}
		if w.chance(10) {
			k.report.Tags = nil
		}
	}
}
