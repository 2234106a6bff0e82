package assignor_test

import (
	"path"
	"testing"

	"github.com/incremental-rebalance/assignor/internal/purity"
	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// TestPurity holds the core, and the packages below it, to what makes Assign a pure function whose answers are the same everywhere.
func TestPurity(t *testing.T) {
	for _, dir := range []string{".", "internal/level", "internal/taskset"} {
		core, err := typecheck.Dir(dir, path.Join("github.com/incremental-rebalance/assignor", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range purity.Check(core) {
			t.Error(violation)
		}
		if dir == "." {
			for _, violation := range purity.CheckLayers(core, dir, purity.Layers) {
				t.Error(violation)
			}
		}
	}
}
