package assignor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Move survives JSON, so that tools can read what a service writes of them.
func TestMoveJSON(t *testing.T) {
	for kind := range numMoveKinds {
		for reason := range numReasons {
			move := Move{Task: TaskID{0, 3}, From: "S2", To: "S4", Kind: kind, Reason: reason}
			text, err := json.Marshal(move)
			require.NoError(t, err)
			var back Move
			require.NoError(t, json.Unmarshal(text, &back))
			assert.Equal(t, move, back)
		}
	}
	var move Move
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Kind": "fly"}`), &move), `assignor: no MoveKind "fly"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Reason": "whim"}`), &move), `assignor: no Reason "whim"`)
}
