package figures

import (
	"testing"

	"github.com/incremental-rebalance/assignor/internal/purity"
)

// TestLayers compares the table of files that a newcomer reads with the one that the core is held to.
func TestLayers(t *testing.T) {
	section(t, "CONTRIBUTING.md", "layers", purity.Table(purity.Layers))
}
