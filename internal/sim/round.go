package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// groupPhase is where the group is in its protocol.
type groupPhase uint8

const (
	stable  groupPhase = iota
	joining            // waits for everybody to join
	syncing            // the leader has decided, and the answers are on their way
	stalled            // the leader has died before its answers arrived, and the group waits for its session to end
)

// group is the broker's view of the group, and the round that is being held.
type group struct {
	phase      groupPhase
	rounds     int // counts the rounds that were begun: a timer of an older one is void
	again      bool
	awaits     bool // the last answer has deadlines or a follow-up
	generation int32
	leader     *instance
	ghosts     []ghost
}

// ghost is a member that has died and whose session has not ended.
type ghost struct {
	id     string
	life   int
	leader bool
}

// maxRounds is more than any spec needs: who gets there goes round in circles.
const maxRounds = 200_000

// callRound begins a round, for which by has called. While one is being held by joins it, or there will be another.
func (r *run) callRound(by *instance) {
	switch g := &r.group; g.phase {
	case stable:
		r.beginRound(func(in *instance) bool { return in == by })
	case joining:
		r.joinAfter(by, r.v.Costs.Poll)
	case syncing:
		g.again = true
	case stalled: // by joins with everybody else
	}
}

// beginRound calls everybody. Who knows of the round joins at once, the others when they hear of it.
func (r *run) beginRound(knows func(*instance) bool) {
	g := &r.group
	g.phase, g.again = joining, false
	g.rounds++
	if g.rounds > maxRounds {
		r.fail("%d rounds and no end", g.rounds)
	}
	for _, in := range r.instances {
		in.joined = false
		if !in.member {
			continue
		}
		delay := r.v.Costs.Poll
		if !knows(in) {
			delay += r.randomTime(r.v.Costs.Heartbeat)
		}
		r.joinAfter(in, delay)
	}
	r.fireLeaderCrash(JoinPhase)
}

// randomTime draws a time below limit.
func (r *run) randomTime(limit time.Duration) time.Duration {
	return time.Duration(r.rng.Int63n(int64(limit/time.Millisecond)+1)) * time.Millisecond
}

func (r *run) joinAfter(in *instance, delay time.Duration) {
	if in == nil {
		return
	}
	round, life := r.group.rounds, in.lives
	r.after(delay, func() {
		if r.group.rounds == round && r.group.phase == joining && in.lives == life && in.member && !in.joined {
			r.join(in)
		}
	})
}

// join lets a member join the round: it stops what its mode says, and reports.
func (r *run) join(in *instance) {
	in.joined = true
	in.report = r.reportOf(in)
	for _, task := range in.report.Revoked {
		r.pauseTask(r.number[task], in)
	}
	r.decideIfComplete()
}

// decideIfComplete ends the joining when everybody is there whom the broker knows.
func (r *run) decideIfComplete() {
	g := &r.group
	if g.phase != joining || len(g.ghosts) > 0 {
		return
	}
	var reports []assignor.Member
	for _, in := range r.instances {
		if in.member && !in.joined {
			return
		}
		if in.member {
			reports = append(reports, in.report)
		}
	}
	if len(reports) > 0 {
		r.decide(reports)
	}
}

// decide lets the leader answer. The answers arrive after a while, if it lives as long.
func (r *run) decide(reports []assignor.Member) {
	g := &r.group
	g.phase = syncing
	g.generation++
	config, memory := r.leaderMemory(reports)
	config.Generation = g.generation
	answer, err := r.protocol()(reports, memory, config)
	if err == nil && r.v.Protocol == Learners {
		err = assignor.Check(reports, answer, config)
	}
	if err != nil {
		r.fail("%w", err)
		return
	}
	r.meter.round(reports, answer)
	round := g.rounds
	r.after(r.v.Costs.Sync, func() {
		if g.rounds == round && g.phase == syncing {
			r.deliver(answer)
		}
	})
	r.fireLeaderCrash(SyncPhase)
}

// leaderMemory returns the memory that the leader decides by, after an election if there is none.
func (r *run) leaderMemory(reports []assignor.Member) (assignor.Config, *assignor.Assignment) {
	g, config := &r.group, r.config
	if g.leader == nil {
		g.leader = r.instances[slices.IndexFunc(r.instances, func(in *instance) bool { return in.member })]
	}
	if memory := g.leader.memory; memory != nil {
		config.SincePrevious = r.now - g.leader.memoryAt
		return config, memory
	}
	if g.generation == 1 {
		return config, nil
	}
	return config, assignor.Recover(reports)
}

// deliver brings the answers to the members that are still there, and sees to what they call for.
func (r *run) deliver(answer *assignor.Assignment) {
	g := &r.group
	g.phase = stable
	for _, in := range r.instances {
		haunts := slices.ContainsFunc(g.ghosts, func(gh ghost) bool { return gh.id == in.id })
		if ma, ok := answer.For(in.id); ok && (in.joined || haunts) { // the broker keeps it for a static member
			in.told, in.answered = ma, true
			in.carried = nil
		}
	}
	for _, in := range r.instances {
		if in.joined {
			r.giveUp(in)
		}
	}
	for _, in := range r.instances {
		if in.joined {
			r.takeUp(in)
		}
	}
	g.leader.memory, g.leader.memoryAt = answer, r.now
	r.carryMemory(answer)
	r.meter.copiesChanged()
	g.awaits = answer.FollowUp || answer.NextRebalance > 0
	r.followUp(answer)
}

// carryMemory gives the memory to the members that carry it for the next leader: those that stay, by name.
func (r *run) carryMemory(answer *assignor.Assignment) {
	keepers := slices.DeleteFunc(slices.Clone(r.instances), func(in *instance) bool { return !in.joined || in.leaving })
	slices.SortFunc(keepers, func(a, b *instance) int { return cmp.Compare(a.name, b.name) })
	for _, in := range keepers[:min(len(keepers), assignor.MemoryKeepers)] {
		in.carried = answer
	}
}

// followUp begins the round that an answer, or what happened meanwhile, calls for.
func (r *run) followUp(answer *assignor.Assignment) {
	g := &r.group
	r.fireLeaderCrash(LearnPhase)
	for _, in := range r.instances {
		if in.member && in.drained() {
			r.stop(in, false, true)
		}
	}
	switch {
	case g.phase != stable:
	case answer.FollowUp:
		r.beginRound(func(*instance) bool { return true })
	case g.again:
		r.beginRound(func(in *instance) bool { return in.member && !in.answered })
	default:
		for _, in := range r.instances {
			r.considerRejoin(in)
		}
	}
	if leader, round := g.leader, g.rounds; answer.NextRebalance > 0 && g.phase == stable {
		r.after(answer.NextRebalance.Round(time.Millisecond), func() {
			if g.rounds == round && g.leader == leader {
				r.callRound(leader)
			}
		})
	}
}

// haunt lets the group wait for the session of a member that has died.
func (r *run) haunt(in *instance, wasLeader bool) {
	g := &r.group
	dead := ghost{in.id, in.lives, wasLeader}
	g.ghosts = append(g.ghosts, dead)
	if wasLeader && g.phase == syncing {
		g.phase = stalled
	}
	r.after(r.v.Costs.Session, func() {
		i := slices.Index(g.ghosts, dead)
		if i < 0 {
			return
		}
		g.ghosts = slices.Delete(g.ghosts, i, i+1)
		if g.leader == in {
			g.leader = nil
		}
		r.memberGone(wasLeader)
	})
}

// memberGone is what the broker does when it has dropped a member.
func (r *run) memberGone(wasLeader bool) {
	switch g := &r.group; {
	case g.phase == stalled && wasLeader:
		r.beginRound(func(*instance) bool { return true })
	case g.phase == joining:
		r.decideIfComplete()
	case g.phase == syncing && wasLeader: // it said goodbye in the middle of a round: its answer is lost
		r.beginRound(func(*instance) bool { return true })
	default:
		r.callRound(nil)
	}
}
