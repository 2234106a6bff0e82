package assignor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/internal/churn"
)

// sharing is a group that obeys, for tests of what it settles in.
type sharing struct {
	*churn.Group
	t *testing.T
}

func newSharing(t *testing.T, topology ...assignor.Subtopology) *sharing {
	t.Helper()
	return &sharing{&churn.Group{Config: assignor.Config{Topology: topology}}, t}
}

func (g *sharing) settle() int {
	g.t.Helper()
	n, err := g.Settle()
	require.NoError(g.t, err)
	return n
}

// apart returns by how many tasks the instances differ at most in one subtopology.
func (g *sharing) apart() int {
	most := 0
	for _, sub := range g.Config.Topology {
		lo, hi := int(sub.Partitions), 0
		for _, ma := range g.Memory.Members {
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
		g := newSharing(t, assignor.Subtopology{ID: 0, Partitions: 24}, assignor.Subtopology{ID: 1, Partitions: 8},
			assignor.Subtopology{ID: 2, Partitions: 40}, assignor.Subtopology{ID: 3, Partitions: 12})
		for i := range 3 + rng.IntN(3) {
			g.Join(fmt.Sprintf("S%d", i))
		}
		g.settle()
		require.LessOrEqual(t, g.apart(), 1, "seed %d: a cold start", seed)
		for event := range 8 {
			if n := len(g.Members); n == 3 || n < 5 && rng.IntN(2) == 0 {
				g.Join(fmt.Sprintf("J%d", event))
				g.settle()
			} else {
				require.NoError(t, g.Leave(g.Members[rng.IntN(n)].ID))
			}
			settled++
			if g.apart() <= 2 {
				near++
			}
			worst = max(worst, g.apart())
			require.LessOrEqual(t, g.apart(), 6, "seed %d, event %d\n%v", seed, event, g.Memory)
		}
	}
	t.Logf("%d of %d settled states have no subtopology more than 2 apart, the worst is %d apart", near, settled, worst)
	require.GreaterOrEqual(t, 5*near, 4*settled)
}

// TestStandbysOfOneOwnerAreSpread looks at what the failure of one instance does to its neighbours: after a cold start and after a
// scale-up none of them keeps more than twice its share of the standbys of any one.
func TestStandbysOfOneOwnerAreSpread(t *testing.T) {
	g := newSharing(t, assignor.Subtopology{Partitions: 1000})
	g.Config.Standbys = 1
	for i := range 10 {
		g.Join(fmt.Sprintf("S%02d", i))
	}
	g.settle()
	g.requireSpread(1000 / 10)
	g.Join("S10")
	g.settle()
	g.requireSpread(1000 / 11)
}

// requireSpread checks that the standbys of one instance's tasks, of which it has about n, are spread.
func (g *sharing) requireSpread(n int) {
	g.t.Helper()
	owner := map[assignor.TaskID]string{}
	for _, ma := range g.Memory.Members {
		for _, task := range ma.Active {
			owner[task] = ma.Member
		}
	}
	share := n/(len(g.Members)-1) + 1
	for _, ma := range g.Memory.Members {
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
	g := newSharing(t, assignor.Subtopology{Partitions: 450})
	add := func(instance string) {
		for m := range 10 {
			g.Members = append(g.Members, assignor.Member{ID: fmt.Sprintf("%s-%d", instance, m), Instance: instance})
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

func (g *sharing) requireEven() {
	g.t.Helper()
	lo, hi := map[string]int{}, map[string]int{}
	for _, ma := range g.Memory.Members {
		if n, ok := lo[ma.Instance]; !ok || len(ma.Active) < n {
			lo[ma.Instance] = len(ma.Active)
		}
		hi[ma.Instance] = max(hi[ma.Instance], len(ma.Active))
	}
	for instance := range lo {
		require.LessOrEqual(g.t, hi[instance]-lo[instance], 1, "members of %s\n%v", instance, g.Memory)
	}
}

// TestEveryoneGetsSome starts 40 members with 100 tasks: 20 get three, 20 get two, none is idle.
func TestEveryoneGetsSome(t *testing.T) {
	g := newSharing(t, assignor.Subtopology{Partitions: 100})
	for i := range 40 {
		g.Join(fmt.Sprintf("S%02d", i))
	}
	g.settle()
	count := map[int]int{}
	for _, ma := range g.Memory.Members {
		count[len(ma.Active)]++
	}
	require.Equal(t, map[int]int{3: 20, 2: 20}, count)
}

// TestStretches: tasks that are placed at once come in contiguous stretches of each subtopology, at a start and when they are learned,
// so that lists of them are short to write down.
func TestStretches(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := newSharing(t)
		for s := range int32(1 + rng.IntN(4)) {
			g.Config.Topology = append(g.Config.Topology, assignor.Subtopology{ID: s, Partitions: rng.Int32N(60)})
		}
		for i := range 1 + rng.IntN(8) {
			g.Join(fmt.Sprintf("S%d", i))
		}
		g.settle()
		require.LessOrEqual(t, g.apart(), 1, "seed %d", seed)
		placed := map[assignor.TaskID]string{}
		for _, ma := range g.Memory.Members {
			for _, task := range ma.Active {
				placed[task] = ma.Member
			}
		}
		requireStretches(t, placed)

		for i := range 1 + rng.IntN(3) {
			g.Join(fmt.Sprintf("T%d", i))
		}
		a, err := assignor.Assign(g.Members, g.Memory, g.Config)
		require.NoError(t, err)
		learned := map[assignor.TaskID]string{}
		for _, ma := range a.Members {
			for _, task := range ma.Learners {
				learned[task] = ma.Member
			}
		}
		requireStretches(t, learned)
	}
}

// requireStretches checks that the tasks of each subtopology, in id order, are with their members in id order.
func requireStretches(t *testing.T, with map[assignor.TaskID]string) {
	t.Helper()
	var tasks []assignor.TaskID
	for task := range with {
		tasks = append(tasks, task)
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	for i := 1; i < len(tasks); i++ {
		if tasks[i].Subtopology == tasks[i-1].Subtopology {
			require.LessOrEqual(t, with[tasks[i-1]], with[tasks[i]], "%v", with)
		}
	}
}

// TestMoves: of 1 000 tasks on 10 members, the eleventh gets 90, and no other task moves; a member that leaves moves its 100, and no
// other.
func TestMoves(t *testing.T) {
	start := func() *sharing {
		g := newSharing(t, assignor.Subtopology{Partitions: 1000})
		for i := range 10 {
			g.Join(fmt.Sprintf("S%02d", i))
		}
		g.settle()
		g.Moved = nil
		return g
	}
	g := start()
	g.Join("S10")
	g.settle()
	require.Len(t, g.Moved, 90)
	for task, to := range g.Moved {
		require.Equal(t, []string{"S10"}, to, "%v", task)
	}

	g = start()
	before := g.Memory
	require.NoError(t, g.Leave("S03"))
	require.Len(t, g.Moved, 100)
	for task, to := range g.Moved {
		owner, _ := before.Owner(task)
		require.Equal(t, "S03", owner, "%v", task)
		require.Len(t, to, 1, "%v", task)
	}
}

// TestManyStandbys: more standbys than an int32 holds became a negative number of them, and Assign panicked. Whatever the number,
// the answer is that of one standby on every other instance, and what is missing is counted as far as an int goes.
func TestManyStandbys(t *testing.T) {
	members := []assignor.Member{{ID: "A"}, {ID: "B"}, {ID: "C"}}
	config := assignor.Config{Topology: []assignor.Subtopology{{Partitions: 4}}, Standbys: 2}
	want, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	for _, standbys := range []int{3, math.MaxInt32, math.MaxInt >> 1, math.MaxInt} {
		config.Standbys = standbys
		a, err := assignor.Assign(members, nil, config)
		require.NoError(t, err)
		require.Equal(t, want.String(), a.String(), "%d standbys", standbys)
		require.Positive(t, a.MissingStandbys, "%d standbys", standbys)
	}
}

// TestHugeCapacities checks that capacities whose sum does not fit are scaled down, not up, and that shares stay what they are.
func TestHugeCapacities(t *testing.T) {
	members := make([]assignor.Member, 1200)
	for i := range members {
		members[i] = assignor.Member{ID: string(rune('a'+i/26/26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26)), Capacity: math.MaxInt32}
	}
	a, err := assignor.Assign(members, nil, assignor.Config{Topology: []assignor.Subtopology{{Partitions: 2400}}})
	require.NoError(t, err)
	for _, ma := range a.Members {
		require.Len(t, ma.Active, 2)
	}
}

// TestTablesTooLargeToKeep gives more pairs of instances and subtopologies than a table is kept of: the tasks are dealt out in id
// order, evenly all the same.
func TestTablesTooLargeToKeep(t *testing.T) {
	members := make([]assignor.Member, 4200)
	for i := range members {
		members[i].ID = string(rune('a'+i/26/26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
	}
	config := assignor.Config{Topology: make([]assignor.Subtopology, 4200), Standbys: 1}
	for s := range config.Topology {
		config.Topology[s] = assignor.Subtopology{ID: int32(s), Partitions: 2}
	}
	a, err := assignor.Assign(members, nil, config)
	require.NoError(t, err)
	require.NoError(t, assignor.Check(members, a, config))
	for _, ma := range a.Members {
		require.Len(t, ma.Active, 2)
		require.Len(t, ma.Standbys, 2)
	}
}
