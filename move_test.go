package assignor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Move survives JSON, with names like all others, so that tools can read what a service writes of them.
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
	text, err := json.Marshal(Move{Task: TaskID{0, 3}, From: "S2", Kind: MoveRevoke, Reason: ReasonLeaving})
	require.NoError(t, err)
	assert.JSONEq(t, `{"task":"0_3","from":"S2","to":"","kind":"revoke","reason":"instance leaves"}`, string(text))
	var move Move
	require.NoError(t, json.Unmarshal([]byte(`{"Task":"0_3","From":"S2","To":"","Kind":"revoke","Reason":"instance leaves"}`), &move))
	assert.Equal(t, Move{Task: TaskID{0, 3}, From: "S2", Kind: MoveRevoke, Reason: ReasonLeaving}, move, "as 0.1.0 wrote it")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Kind": "fly"}`), &move), `assignor: no MoveKind "fly"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Reason": "whim"}`), &move), `assignor: no Reason "whim"`)
}
