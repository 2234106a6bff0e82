package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// instance is one host with the one member that runs on it.
type instance struct {
	Instance
	n            int
	name, id     string // id is the member's, which is new after every restart unless it is static
	lives        int
	up           bool // its process runs
	member       bool // it is in the group
	joined       bool // it has joined the round that is being held
	comesBack    bool // it is down for a while
	leaving      bool
	leavingSince time.Duration
	answered     bool // told is an answer to report
	report       assignor.Member
	told         assignor.MemberAssignment
	carried      *assignor.Assignment // the leader's memory, where this member is one of those that carry it
	memory       *assignor.Assignment // where this member leads: the last answer that arrived
	memoryAt     time.Duration
	copies       []replica // by task
}

// addInstance makes a new host, whose process does not run yet.
func (r *run) addInstance(like Instance) *instance {
	n := len(r.instances)
	like.Static = like.Static || r.v.Static
	in := &instance{Instance: like, n: n, name: fmt.Sprintf("S%d", n+1), copies: make([]replica, len(r.tasks))}
	r.instances = append(r.instances, in)
	return in
}

// start lets the process of an instance run: it joins the group with what it finds on its disk.
func (r *run) start(in *instance) {
	in.lives++
	in.up, in.comesBack = true, false
	if in.Static && r.rejoinStatic(in) {
		return
	}
	in.id = in.name
	if in.lives > 1 && !in.Static {
		in.id = fmt.Sprintf("%s.%d", in.name, in.lives)
	}
	in.member, in.joined, in.answered = true, false, false
	in.memory, in.carried = nil, nil
	in.told = assignor.MemberAssignment{}
	in.report = assignor.Member{ID: in.id, Instance: in.name, Capacity: in.Capacity}
	if in.Zone != "" {
		in.report.Tags = map[string]string{"zone": in.Zone}
	}
	for t := range in.copies {
		if in.copies[t].role != noCopy {
			in.report.Standbys = append(in.report.Standbys, assignor.Replica{Task: r.tasks[t].id})
		}
	}
	r.callRound(in)
}

// rejoinStatic lets a static member take up what it had, if its session has not ended. It reports whether that is so.
func (r *run) rejoinStatic(in *instance) bool {
	g := &r.group
	i := slices.IndexFunc(g.ghosts, func(gh ghost) bool { return gh.id == in.id })
	if i < 0 {
		return false
	}
	ledBefore := g.ghosts[i].leader
	g.ghosts = slices.Delete(g.ghosts, i, i+1)
	in.member, in.memory = true, nil
	switch {
	case g.phase == stalled && ledBefore:
		r.beginRound(func(*instance) bool { return true })
	case g.phase == syncing: // it takes up what the answer says that is on its way
		in.joined = true
	default:
		r.takeUp(in)
		if g.phase == joining {
			r.join(in)
		}
	}
	r.meter.copiesChanged()
	return true
}

// stop ends the process of an instance. If it is killed the group finds out when its session has timed out, else it says
// goodbye; a static member never does.
func (r *run) stop(in *instance, killed, diskLost bool) {
	if !in.up {
		return
	}
	wasLeader := r.group.leader == in
	in.up, in.member, in.joined = false, false, false
	for t := range r.tasks {
		if r.tasks[t].owner == in.n {
			r.stopTask(t, killed)
		}
		r.leaveCopy(copyRef{in.n, t}, !diskLost)
	}
	r.meter.copiesChanged()
	if killed || in.Static && in.comesBack {
		r.haunt(in, wasLeader)
		return
	}
	if wasLeader {
		r.group.leader = nil
	}
	r.memberGone(wasLeader)
}

// reportOf returns what the member reports now: what Next makes of its last report and the answer to it, with the lags of
// this moment.
func (r *run) reportOf(in *instance) assignor.Member {
	m := in.report
	if in.answered {
		m = m.Next(in.told, r.v.Handover)
	}
	m.Leaving = in.leaving
	if in.leaving {
		m.LeavingFor = r.now - in.leavingSince
	}
	m.Memory = in.carried
	m.Standbys = slices.DeleteFunc(slices.Clone(m.Standbys), func(c assignor.Replica) bool {
		return in.copies[r.number[c.Task]].role == active
	})
	for _, task := range m.Active { // what is still being restored is listed as a copy too
		t := r.number[task]
		if c := &in.copies[t]; r.tasks[t].stateful && r.tasks[t].lag(c) > 0 {
			m.Standbys = append(m.Standbys, assignor.Replica{Task: task})
		}
	}
	r.fillLags(in, m.Standbys)
	m.Learners = slices.Clone(m.Learners)
	r.fillLags(in, m.Learners)
	if r.v.Protocol == StopTheWorld {
		m.Active, m.Revoked = nil, slices.Concat(m.Active, m.Revoked)
	}
	return m
}

// fillLags sets how far the copies are behind.
func (r *run) fillLags(in *instance, copies []assignor.Replica) {
	for i := range copies {
		t := r.number[copies[i].Task]
		c := &in.copies[t]
		copies[i].Lag, copies[i].For = r.records(r.tasks[t].lag(c)), r.now-c.since
	}
}

// learners returns the copies that the member learns, with their lags.
func (r *run) learners(in *instance) []assignor.Replica {
	copies := make([]assignor.Replica, len(in.told.Learners))
	for i, task := range in.told.Learners {
		copies[i].Task = task
	}
	r.fillLags(in, copies)
	return copies
}

// considerRejoin lets a member call for a round if what it learns has caught up as far as its mode asks for.
func (r *run) considerRejoin(in *instance) {
	if r.v.Protocol == Learners && in.member && r.group.phase == stable && r.v.Rejoin.ShouldRejoin(r.learners(in), r.config) {
		r.callRound(in)
	}
}

// drained reports whether an instance that leaves has nothing left.
func (in *instance) drained() bool {
	t := &in.told
	return in.leaving && in.answered && len(t.Active)+len(t.Revoke)+len(t.Learners)+len(t.Standbys) == 0
}
