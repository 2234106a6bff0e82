package assignor_test

import (
	"testing"

	"github.com/incremental-rebalance/assignor/internal/purity"
	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// TestPurity holds the core to what makes Assign a pure function whose answers are the same everywhere.
func TestPurity(t *testing.T) {
	core, err := typecheck.Dir(".", "github.com/incremental-rebalance/assignor")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range purity.Check(core) {
		t.Error(violation)
	}
}
