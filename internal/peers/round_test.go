package peers

import (
	"testing"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

func TestRoundsAreDecidedRight(t *testing.T) {
	rounds := map[string]func(*measure.Input) (Round, error){
		"assign": Assign, "leader": LeaderStep, "adapter": Adapter, "franz": Franz, "franz leader": FranzLeader, "sarama": Sarama,
	}
	for name, round := range rounds {
		for _, state := range []string{measure.Cold, measure.Steady, measure.Join, measure.Leave, measure.Leave10, measure.Drain} {
			c := measure.Case{State: state, Tasks: 1000, Members: 10}
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				in, err := c.Input()
				if err != nil {
					t.Fatal(err)
				}
				r, err := round(in)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Decide(); err != nil {
					t.Fatal(err)
				}
				if err := r.Check(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
