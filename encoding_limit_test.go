package assignor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

func TestEncodePayloads(t *testing.T) {
	for seed := range int64(200) {
		a := newGenerator(seed).assignment()
		payloads, err := a.Encode(0)
		require.NoError(t, err)
		require.Len(t, payloads, len(a.Members))
		memory, err := a.MarshalBinary()
		require.NoError(t, err)
		kept := 0
		for i, payload := range payloads {
			ma, m, err := assignor.Decode(payload)
			require.NoError(t, err)
			want := a.Members[i]
			if want.Version == 1 {
				want.Handover, want.Learners = nil, nil
			}
			require.Equal(t, want, ma)
			if m != nil {
				kept++
				got, err := m.MarshalBinary()
				require.NoError(t, err)
				require.Equal(t, memory, got)
			}
			var alone assignor.MemberAssignment
			require.NoError(t, alone.UnmarshalBinary(payload))
			require.Equal(t, want, alone)
		}
		stay := 0
		for _, ma := range a.Members {
			if !ma.Leaving {
				stay++
			}
		}
		if stay == 0 {
			stay = len(a.Members)
		}
		require.Equal(t, min(stay, assignor.MemoryKeepers), kept, "seed %d", seed)
	}
}

// Below the size with all memories fewer keepers get one, and below that without any there is an error: never a cut list.
func TestEncodeKeepsTheLimit(t *testing.T) {
	a := newGenerator(5).group(20, 400)
	full, err := a.Encode(0)
	require.NoError(t, err)
	total, memories := size(full), assignor.MemoryKeepers
	var needs []int // of as many keepers, of one fewer ...
	for limit := 2 * total; ; limit-- {
		payloads, err := a.Encode(limit)
		if err != nil {
			needs = append(needs, limit+1)
			assert.Zero(t, memories, "the memory goes first")
			require.ErrorIs(t, err, assignor.ErrPayloadTooLarge)
			require.EqualError(t, err, fmt.Sprintf("assignor: payload too large: 20 members need %d bytes, allowed %d", limit+1, limit))
			break
		}
		require.LessOrEqual(t, size(payloads), limit)
		n := 0
		for i, payload := range payloads {
			ma, m, err := assignor.Decode(payload)
			require.NoError(t, err)
			require.Equal(t, a.Members[i], ma)
			if m != nil {
				n++
			}
		}
		require.True(t, n == memories || n == memories-1)
		if n < memories {
			needs = append(needs, limit+1)
		}
		memories = n
	}
	without, copied := needs[assignor.MemoryKeepers], (total-needs[assignor.MemoryKeepers])/assignor.MemoryKeepers
	for k, need := range needs {
		assert.Equal(t, without+2*(assignor.MemoryKeepers-k)*copied, need, "a copy counts twice: it comes back")
	}
	_, err = a.Encode(-1)
	require.ErrorIs(t, err, assignor.ErrPayloadTooLarge)
	_, err = (&assignor.Assignment{}).Encode(-1)
	require.ErrorIs(t, err, assignor.ErrPayloadTooLarge)
	none, err := (&assignor.Assignment{}).Encode(0)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func size(payloads [][]byte) (n int) {
	for _, p := range payloads {
		n += len(p)
	}
	return n
}

// Keepers stay, are on different instances while there are any, and have the smallest names.
func TestKeepers(t *testing.T) {
	member := func(name, instance string, leaving bool) assignor.MemberAssignment {
		return assignor.MemberAssignment{Member: name, Instance: instance, Leaving: leaving}
	}
	for _, test := range []struct {
		why     string
		members []assignor.MemberAssignment
		want    string
	}{
		{"one a host, while there are hosts", []assignor.MemberAssignment{
			member("a", "h3", false), member("b", "h1", false), member("c", "h1", false), member("d", "h2", false),
		}, "b d a"},
		{"few hosts: their further members", []assignor.MemberAssignment{
			member("a", "h2", false), member("b", "h1", false), member("c", "h1", false), member("d", "h1", false),
		}, "b a c"},
		{"nobody that leaves", []assignor.MemberAssignment{member("a", "", true), member("b", "", false), member("c", "", false)}, "b c"},
		{"unless all do", []assignor.MemberAssignment{member("a", "", true), member("b", "", true)}, "a b"},
	} {
		a := &assignor.Assignment{Members: test.members}
		assert.Equal(t, test.want, keepersIn(t, a), test.why)
	}
}

// keepersIn returns the members that get the memory, in the order in which they do: where there is room for fewer, the last go without.
func keepersIn(t *testing.T, a *assignor.Assignment) string {
	t.Helper()
	const plenty = 1000
	var keepers []string
	had := map[string]bool{}
	for limit := plenty; ; limit-- {
		payloads, err := a.Encode(limit)
		if err != nil {
			slices.Reverse(keepers)
			return strings.Join(keepers, " ")
		}
		for _, payload := range payloads {
			ma, memory, err := assignor.Decode(payload)
			require.NoError(t, err)
			if had[ma.Member] && memory == nil {
				keepers = append(keepers, ma.Member)
			}
			had[ma.Member] = memory != nil
		}
	}
}

// A member of an older protocol knows nothing of learners.
func TestEncodeForOlderVersion(t *testing.T) {
	ma := assignor.MemberAssignment{
		Member: "S1", Version: 1, Active: []assignor.TaskID{id(0, 1), id(0, 2)}, Handover: []assignor.TaskID{id(0, 1)}, Learners: []assignor.TaskID{id(0, 3)},
		Standbys: []assignor.TaskID{id(0, 4)},
	}
	payloads, err := (&assignor.Assignment{Members: []assignor.MemberAssignment{ma}}).Encode(0)
	require.NoError(t, err)
	got, _, err := assignor.Decode(payloads[0])
	require.NoError(t, err)
	assert.Equal(t, assignor.MemberAssignment{Member: "S1", Version: 1, Active: ma.Active, Standbys: ma.Standbys}, got)

	data, err := ma.MarshalBinary()
	require.NoError(t, err)
	var all assignor.MemberAssignment
	require.NoError(t, all.UnmarshalBinary(data))
	assert.Equal(t, ma, all, "MarshalBinary writes all of it")
}
