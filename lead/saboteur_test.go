package lead_test

import (
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/lead"
	"github.com/incremental-rebalance/assignor/lead/leadtest"
)

// TestPlayFinds shows that the kit can fail: members that break one line of the contract are found out.
func TestPlayFinds(t *testing.T) {
	for _, saboteur := range []struct {
		name string
		host func(leadtest.Host) leadtest.Host
		does func(*member) leadtest.Member
	}{
		{name: "joins before it has stopped", host: func(h leadtest.Host) leadtest.Host { return &lateStop{Host: h} }},
		{name: "keeps what it is to stop", host: func(h leadtest.Host) leadtest.Host { return neverStops{h} }},
		{name: "starts what it learns", host: func(h leadtest.Host) leadtest.Host { return hasty{h} }},
		{name: "sleeps", host: func(h leadtest.Host) leadtest.Host { return sleeper{h} }},
		{name: "is silent", host: func(h leadtest.Host) leadtest.Host { return silent{h} }},
		{name: "takes any answer", does: func(m *member) leadtest.Member { return &credulous{member: m} }},
		{name: "runs on when dropped", does: func(m *member) leadtest.Member { return stubborn{m} }},
		{name: "leads without a decision", does: func(m *member) leadtest.Member { return idler{m} }},
	} {
		t.Run(saboteur.name, func(t *testing.T) {
			for seed := range uint64(2000) {
				err := leadtest.Play(leadtest.Config{Seed: seed, New: func(host leadtest.Host, config lead.Config) leadtest.Member {
					if saboteur.host != nil {
						host = saboteur.host(host)
					}
					m := newMember(t)(host, config).(*member)
					if saboteur.does != nil {
						return saboteur.does(m)
					}
					return m
				}})
				if err != nil {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// lateStop stops the tasks of a Todo when the next one comes.
type lateStop struct {
	leadtest.Host
	waits []assignor.TaskID
}

func (h *lateStop) Stop(tasks []assignor.TaskID) {
	h.Host.Stop(h.waits)
	h.waits = tasks
}

type neverStops struct{ leadtest.Host }

func (neverStops) Stop([]assignor.TaskID) {}

type hasty struct{ leadtest.Host }

func (h hasty) Learn(tasks []assignor.TaskID) { h.Start(tasks) }

type sleeper struct{ leadtest.Host }

func (sleeper) WakeIn(time.Duration) {}

type silent struct{ leadtest.Host }

func (silent) Call(string) {}

// credulous takes every answer for that of the round that it is in.
type credulous struct {
	*member
	round int32
}

func (m *credulous) Begun(place lead.Place) {
	m.round = place.Round
	m.member.Begun(place)
}

func (m *credulous) Answer(_ int32, data []byte) { m.member.Answer(m.round, data) }

type stubborn struct{ *member }

func (stubborn) Dropped() {}

type idler struct{ *member }

func (idler) Elected(lead.Round) {}
