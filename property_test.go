package assignor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// group is members that obey, whose copies catch up between rounds.
type group struct {
	t       *testing.T
	config  assignor.Config
	members []assignor.Member
	memory  *assignor.Assignment
}

func (g *group) join(ids ...string) {
	for _, id := range ids {
		g.members = append(g.members, assignor.Member{ID: id})
	}
}

// settle plays rounds until one moves nothing and nobody learns, and returns how many did.
func (g *group) settle() int {
	g.t.Helper()
	for n := range 50 {
		a, err := assignor.Assign(g.members, g.memory, g.config)
		require.NoError(g.t, err)
		require.NoError(g.t, assignor.Check(g.members, a, g.config))
		learning := false
		for i, m := range g.members {
			told, _ := a.For(m.ID)
			learning = learning || len(told.Learners) > 0
			next := m.Next(told, assignor.OneRound)
			for k := range next.Learners {
				next.Learners[k].Lag = 0
			}
			for k := range next.Standbys {
				next.Standbys[k].Lag = 0
			}
			g.members[i] = next
		}
		g.memory = a
		if len(a.Moves) == 0 && !learning && n > 0 {
			return n
		}
	}
	g.t.Fatal("not settled after 50 rounds")
	return 0
}

// remove takes the members with an id out of the group.
func (g *group) remove(id string) {
	var kept []assignor.Member
	for _, m := range g.members {
		if m.ID != id {
			kept = append(kept, m)
		}
	}
	g.members = kept
}

func (g *group) drain(id string) {
	for i := range g.members {
		g.members[i].Leaving = g.members[i].Leaving || g.members[i].ID == id
	}
	g.settle()
	told, _ := g.memory.For(id)
	require.Empty(g.t, told.Active, "%s is not drained", id)
	g.remove(id)
	g.settle()
}

// apart returns by how many tasks the instances differ at most in one subtopology.
func (g *group) apart() int {
	most := 0
	for _, sub := range g.config.Topology {
		lo, hi := int(sub.Partitions), 0
		for _, ma := range g.memory.Members {
			n := 0
			for _, task := range ma.Active {
				if task.Subtopology == sub.ID {
					n++
				}
			}
			lo, hi = min(lo, n), max(hi, n)
		}
		most = max(most, hi-lo)
	}
	return most
}

// TestSubtopologiesStaySpread scales a group up and down at random. No task moves for the sake of the spread alone, and yet the
// tasks of a subtopology do not pile up on one instance.
func TestSubtopologiesStaySpread(t *testing.T) {
	settled, near, worst := 0, 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := &group{t: t, config: assignor.Config{Topology: []assignor.Subtopology{
			{ID: 0, Partitions: 24}, {ID: 1, Partitions: 8}, {ID: 2, Partitions: 40}, {ID: 3, Partitions: 12},
		}}}
		for i := range 3 + rng.IntN(3) {
			g.join(fmt.Sprintf("S%d", i))
		}
		g.settle()
		require.LessOrEqual(t, g.apart(), 1, "seed %d: a cold start", seed)
		for event := range 8 {
			if n := len(g.members); n == 3 || n < 5 && rng.IntN(2) == 0 {
				g.join(fmt.Sprintf("J%d", event))
				g.settle()
			} else {
				g.drain(g.members[rng.IntN(n)].ID)
			}
			settled++
			if g.apart() <= 2 {
				near++
			}
			worst = max(worst, g.apart())
			require.LessOrEqual(t, g.apart(), 6, "seed %d, event %d\n%v", seed, event, g.memory)
		}
	}
	t.Logf("%d of %d settled states have no subtopology more than 2 apart, the worst is %d apart", near, settled, worst)
	require.GreaterOrEqual(t, 5*near, 4*settled)
}

// TestStandbysOfOneOwnerAreSpread looks at what the failure of one instance does to its neighbours: after a cold start and after a
// scale-up none of them keeps more than twice its share of the standbys of any one.
func TestStandbysOfOneOwnerAreSpread(t *testing.T) {
	g := &group{t: t, config: assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 1000}}, Standbys: 1}}
	for i := range 10 {
		g.join(fmt.Sprintf("S%02d", i))
	}
	g.settle()
	g.requireSpread(1000 / 10)
	g.join("S10")
	g.settle()
	g.requireSpread(1000 / 11)
}

// requireSpread checks that the standbys of one instance's tasks, of which it has about n, are spread.
func (g *group) requireSpread(n int) {
	g.t.Helper()
	owner := map[assignor.TaskID]string{}
	for _, ma := range g.memory.Members {
		for _, task := range ma.Active {
			owner[task] = ma.Member
		}
	}
	share := n/(len(g.members)-1) + 1
	for _, ma := range g.memory.Members {
		keeps := map[string]int{}
		for _, task := range ma.Standbys {
			keeps[owner[task]]++
			require.LessOrEqual(g.t, keeps[owner[task]], 2*share, "%s keeps too many standbys of %s", ma.Member, owner[task])
		}
	}
}

// TestMembersShareEvenly scales a group of instances with ten members each: the members of one instance are at most one task
// apart, after two rounds beside the learning.
func TestMembersShareEvenly(t *testing.T) {
	g := &group{t: t, config: assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 450}}}}
	add := func(instance string) {
		for m := range 10 {
			g.members = append(g.members, assignor.Member{ID: fmt.Sprintf("%s-%d", instance, m), Instance: instance})
		}
	}
	add("a")
	add("b")
	g.settle()
	g.requireEven()
	add("c")
	require.LessOrEqual(t, g.settle(), 3, "a round to learn, a round to take over, and at most one more")
	g.requireEven()
}

func (g *group) requireEven() {
	g.t.Helper()
	lo, hi := map[string]int{}, map[string]int{}
	for _, ma := range g.memory.Members {
		if n, ok := lo[ma.Instance]; !ok || len(ma.Active) < n {
			lo[ma.Instance] = len(ma.Active)
		}
		hi[ma.Instance] = max(hi[ma.Instance], len(ma.Active))
	}
	for instance := range lo {
		require.LessOrEqual(g.t, hi[instance]-lo[instance], 1, "members of %s\n%v", instance, g.memory)
	}
}

// TestEveryoneGetsSome starts 40 members with 100 tasks: 20 get three, 20 get two, none is idle.
func TestEveryoneGetsSome(t *testing.T) {
	g := &group{t: t, config: assignor.Config{Topology: []assignor.Subtopology{{ID: 0, Partitions: 100}}}}
	for i := range 40 {
		g.join(fmt.Sprintf("S%02d", i))
	}
	g.settle()
	count := map[int]int{}
	for _, ma := range g.memory.Members {
		count[len(ma.Active)]++
	}
	require.Equal(t, map[int]int{3: 20, 2: 20}, count)
}
