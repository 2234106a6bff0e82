package lead_test

import (
	"strings"
	"testing"

	"github.com/incremental-rebalance/assignor/internal/purity"
	"github.com/incremental-rebalance/assignor/internal/typecheck"
)

// TestPurity holds the package to what makes a session a pure state machine, by the rules of the core. It imports that, and takes
// clocks' times, which it compares and never asks for.
func TestPurity(t *testing.T) {
	p, err := typecheck.Dir(".", "github.com/incremental-rebalance/assignor/lead")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range purity.Check(p) {
		own := violation.Rule == "import" && strings.Contains(violation.Text, `"github.com/incremental-rebalance/assignor"`)
		time := violation.Rule == "clock" && strings.HasSuffix(violation.Text, "not Time")
		if !own && !time {
			t.Error(violation)
		}
	}
}
