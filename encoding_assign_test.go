package assignor

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Groups that lose, gain and drain members live on what comes over the wire alone: every round is decided from the reports and
// the memory as they were sent and as they arrive, with the same answer.
func TestAssignAfterRoundTrip(t *testing.T) {
	for seed := range int64(60) {
		w := wireGroup{rng: rand.New(rand.NewSource(seed)), config: Config{
			Topology:       []Subtopology{{ID: 0, Partitions: 20}, {ID: 3, Partitions: 15, Stateless: true}, {ID: 40, Partitions: 9, Weight: 2}},
			Standbys:       int(seed % 3),
			RejoinDelay:    time.Duration(seed%2) * 30 * time.Second,
			AcceptableLag:  10,
			SincePrevious:  7 * time.Second,
			MaxLearners:    int(seed % 5),
			LearnerTimeout: time.Minute,
		}}
		for round := range 25 {
			w.change(round)
			w.rebalance(t, fmt.Sprintf("seed %d, round %d", seed, round))
		}
	}
}

// wireGroup is a group whose members know only what was sent to them.
type wireGroup struct {
	rng     *rand.Rand
	config  Config
	members []Member
	memory  *Assignment
	joined  int
}

// change lets members join, vanish, leave and catch up.
func (w *wireGroup) change(round int) {
	if round < 3 || w.rng.Intn(4) == 0 {
		w.joined++
		m := Member{ID: fmt.Sprintf("host-%d-%d", w.joined%7, w.joined), Capacity: int32(w.rng.Intn(3)), Version: uint8(w.rng.Intn(4))}
		if w.rng.Intn(2) == 0 {
			m.Instance = fmt.Sprintf("host-%d", w.joined%7)
		}
		w.members = append(w.members, m)
	}
	if i := w.rng.Intn(len(w.members)); len(w.members) > 2 && w.rng.Intn(5) == 0 {
		w.members = slices.Delete(w.members, i, i+1)
	}
	for i := range w.members {
		m := &w.members[i]
		m.Leaving = m.Leaving || w.rng.Intn(15) == 0
		for _, copies := range [][]Replica{m.Learners, m.Standbys} {
			for k := range copies {
				copies[k].Lag = max(0, w.rng.Int63n(100)-60)
				copies[k].For += w.config.SincePrevious
			}
		}
	}
}

// rebalance decides a round twice and hands everybody the answer.
func (w *wireGroup) rebalance(t *testing.T, where string) {
	t.Helper()
	answer, err := Assign(w.members, w.memory, w.config)
	require.NoError(t, err, where)

	members, memory := make([]Member, len(w.members)), w.memory
	for i, m := range w.members {
		data, err := m.MarshalBinary()
		require.NoError(t, err, where)
		require.NoError(t, members[i].UnmarshalBinary(data), where)
	}
	if w.memory != nil {
		data, err := w.memory.MarshalBinary()
		require.NoError(t, err, where)
		memory = new(Assignment)
		require.NoError(t, memory.UnmarshalBinary(data), where)
	}
	again, err := Assign(members, memory, w.config)
	require.NoError(t, err, where)
	require.Equal(t, answer, again, where)

	payloads, err := answer.Encode(0)
	require.NoError(t, err, where)
	for i := range w.members {
		m := &w.members[i]
		k := slices.IndexFunc(answer.Members, func(ma MemberAssignment) bool { return ma.Member == m.ID })
		ma, kept, err := Decode(payloads[k])
		require.NoError(t, err, where)
		mode := HandoverMode(w.rng.Intn(int(numHandoverModes)))
		*m = m.Next(ma, mode)
		m.Memory = kept
	}
	w.memory = answer
	if echoed := Recover(w.members); w.rng.Intn(4) == 0 {
		w.memory = echoed // another member leads
	}
}
