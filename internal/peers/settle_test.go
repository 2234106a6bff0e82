package peers

import (
	"testing"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

var (
	joins  = measure.Case{State: measure.Join, Tasks: 100, Members: 4}
	leaves = measure.Case{State: measure.Leave, Tasks: 100, Members: 5}
)

func withStandby(c measure.Case) measure.Case {
	c.Standbys = 1
	return c
}

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		measure.Case
		maxLearners int
		want        Settled
	}{
		{joins, 0, Settled{Rounds: 2, Moves: 20}},
		{joins, 2, Settled{Rounds: 11, Moves: 20}},
		{leaves, 0, Settled{Rounds: 1, Moves: 20, Cold: 20}},
		{withStandby(joins), 0, Settled{Rounds: 2, Moves: 20}},
	} {
		got, err := Settle(c.Case, c.maxLearners)
		if err != nil || got != c.want {
			t.Errorf("%v, at most %d learners: %+v, %v, want %+v", c.Case, c.maxLearners, got, err, c.want)
		}
	}
	if _, err := Settle(measure.Case{State: measure.Drain, Tasks: 100, Members: 4}, 0); err == nil {
		t.Error("a drain has an end")
	}
}

func TestPlannersSettle(t *testing.T) {
	for name, c := range map[string]struct {
		Planner
		measure.Case
		want Settled
	}{
		"franz, join":   {FranzPlan, joins, Settled{Rounds: 2, Moves: 20, Cold: 20}},
		"franz, leave":  {FranzPlan, leaves, Settled{Rounds: 1, Moves: 20, Cold: 20}},
		"sarama, join":  {SaramaPlan, joins, Settled{Rounds: 1, Moves: 20, Cold: 20}},
		"sarama, leave": {SaramaPlan, leaves, Settled{Rounds: 1, Moves: 20, Cold: 20}},
	} {
		if got, err := c.Settle(c.Case); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	lazy := Planner(func(*measure.Input) (Plan, error) { return Plan{}, nil })
	if _, err := lazy.Settle(joins); err == nil {
		t.Error("an end without a task assigned")
	}
}
