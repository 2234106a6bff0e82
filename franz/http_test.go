package franz_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/franz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An instance is told to leave and to stay over HTTP, and its group can be described from outside.
func TestHandler(t *testing.T) {
	c := newCluster(t, nil)
	a := c.start("a")
	b := c.start("b")
	c.eventually(20*time.Second, "two workers share", c.balanced(2))
	server := httptest.NewServer(b.balancer.Handler())
	defer server.Close()
	call := func(method, path string) (int, franz.State) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		var s franz.State
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&s))
		return resp.StatusCode, s
	}

	status, s := call(http.MethodGet, "/state")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "b", s.Instance)
	assert.Len(t, s.Active, 4)
	status, _ = call(http.MethodPost, "/stay")
	assert.Equal(t, http.StatusConflict, status, "it was not leaving")

	for _, w := range c.workers {
		w.stuck.Store(true)
	}
	status, s = call(http.MethodPost, "/leave")
	assert.Equal(t, http.StatusAccepted, status)
	assert.True(t, s.Leaving)
	status, s = call(http.MethodPost, "/stay")
	assert.Equal(t, http.StatusOK, status)
	assert.False(t, s.Leaving)

	for _, w := range c.workers {
		w.stuck.Store(false)
	}
	_, _ = call(http.MethodPost, "/leave")
	select {
	case <-b.balancer.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("it has not left")
	}
	_, s = call(http.MethodGet, "/state")
	assert.True(t, s.Left)
	assert.Empty(t, c.monitor.violated())

	admin := c.admin()
	defer admin.Close()
	c.eventually(10*time.Second, "one worker runs all", c.balanced(1))
	c.eventually(10*time.Second, "the coordinator says so too", func() bool {
		members, state, err := franz.Describe(t.Context(), admin, c.groupID)
		require.NoError(t, err)
		return len(members) == 1 && state == "Stable" && members[0].Report.Instance == "a" &&
			slices.Equal(a.owned(), members[0].Assignment.Active)
	})
}

// A drain that fails is a trouble until the instance is told to stay.
func TestFailedDrain(t *testing.T) {
	b, err := franz.New(valid())
	require.NoError(t, err)
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	post := func(path string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	post("/leave")
	require.Eventually(t, func() bool { return len(ofKind(lasting(b), franz.TroubleDrain)) == 1 }, 10*time.Second, time.Millisecond)
	assert.Contains(t, b.State().Trouble(), "no client")
	post("/stay")
	assert.Empty(t, b.State().Trouble())
}
