package franz_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readsBack checks that a state survives JSON, which is how tools get it.
func readsBack(t *testing.T, s franz.State) {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var back franz.State
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, s, back)
}

// The JSON of a State that has everything. Tools and dashboards read it: a change here breaks them.
func TestStateJSON(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	task := func(p int32) assignor.TaskID { return assignor.TaskID{Subtopology: 1, Partition: p} }
	s := franz.State{
		Instance: "host-a", Member: "kgo-5e4db", Generation: 7, Leader: true,
		Active: []assignor.TaskID{task(0), task(1)}, Handover: []assignor.TaskID{task(1)}, Revoking: []assignor.TaskID{task(2)},
		Learning: []assignor.Replica{{Task: task(3), Lag: 1200, For: 90 * time.Second}},
		Standby:  []assignor.Replica{{Task: task(4), Lag: assignor.UnknownLag}},
		Restores: []assignor.Replica{{Task: task(0), Lag: 30}},
		Suspect:  []assignor.TaskID{task(0)},
		Leaving:  true, LeavingSince: at,
		Troubles: []franz.Trouble{
			{Kind: franz.TroublePlace, Text: "lost", Since: at, Until: at.Add(time.Second)},
			{Kind: franz.TroubleReport, About: "kgo-1", Text: "cannot be read", Since: at},
		},
		Moves: []assignor.Move{
			{Task: task(2), From: "host-a", To: "host-b", Kind: assignor.MoveRevoke, Reason: assignor.ReasonLeaving},
			{Task: task(4), To: "host-a", Kind: assignor.MoveStandby, Reason: assignor.ReasonTooFewStandbys},
		},
		MissingStandbys: 3,
	}
	text, err := json.MarshalIndent(s, "", "\t")
	require.NoError(t, err)
	golden, err := os.ReadFile("testdata/state.json")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(string(golden)), string(text))
	readsBack(t, s)
}

// A list without anything in it is [], so that tools need not know of null.
func TestEmptyStateJSON(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/state", nil))
	assert.JSONEq(t, `{"instance":"a","member":"","generation":0,"leader":false,"active":[],"handover":[],"revoking":[],"learning":[],`+
		`"standby":[],"restores":[],"suspect":[],"leaving":false,"left":false,"lost":false,"closed":false,"troubles":[],"moves":[],"missingStandbys":0}`, w.Body.String())
	readsBack(t, b.State())
}

// Moments read back too.
func TestStateReadsBack(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	_, err = b.GroupBalancer().ParseSyncAssignment([]byte{9})
	require.NoError(t, err)
	client, err := kgo.NewClient(append(b.Opts(), kgo.SeedBrokers("nowhere:1"), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("lines"))...)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Drain(ctx), context.Canceled)
	s := b.State()
	require.NotEmpty(t, s.Troubles)
	require.False(t, s.LeavingSince.IsZero())
	readsBack(t, s)
}

// What is asked for as 0 is 0, and not the default that a field which is 0 stands for.
func TestRealZero(t *testing.T) {
	for lag, restores := range map[int64]int{franz.NoLag: 1, 0: 0, 3: 1, 4: 0} {
		config := valid()
		config.Assignor.AcceptableLag = lag
		config.Local = func() []assignor.Replica { return nil }
		b, err := franz.New(config)
		require.NoError(t, err)
		task := assignor.TaskID{Partition: 2}
		_, err = b.GroupBalancer().ParseSyncAssignment(assignmentOf(task))
		require.NoError(t, err)
		require.Len(t, b.State().Restores, 1)
		b.Progress(task, 4)
		assert.Len(t, b.State().Restores, restores, "AcceptableLag %d, and 4 behind", lag)
		b.Progress(task, 0)
		assert.Empty(t, b.State().Restores)
	}
}
