package assignor_test

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// The fuzzers of the decoders take any bytes. What they return is valid, costs a small multiple of itself, and is encoded
// again in the very same bytes, unless these hold fields that this version skips. Run one for longer with
//
//	go test -run '^$' -fuzz FuzzDecode -fuzztime 1m

func FuzzReport(f *testing.F) { fuzzDecoder(f, "report") }

func FuzzDecode(f *testing.F) { fuzzDecoder(f, "assignment") }

func FuzzMemory(f *testing.F) { fuzzDecoder(f, "memory") }

func fuzzDecoder(f *testing.F, kind string) {
	f.Helper()
	for _, step := range goldenSteps(f) {
		f.Add(step.data)
	}
	for seed := range int64(20) {
		g := newGenerator(seed)
		m, ma, a := g.member(), g.memberAssignment(), g.assignment()
		for _, v := range []interface{ MarshalBinary() ([]byte, error) }{m, ma, a} {
			data, err := v.MarshalBinary()
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecoder(t, kind, data) })
}

func checkDecoder(t *testing.T, kind string, data []byte) {
	t.Helper()
	given := bytes.Clone(data)
	var v decoded
	var err error
	cost := allocated(func() { v, err = decodeValue(kind, data) })
	require.Equal(t, given, data, "the data is read only")
	if kind == "report" {
		checkReportDecoder(t, data, v, err)
	}
	bound := 64<<10 + 256*len(data) + 60*v.tasks() // of data that proves to be corrupt only at its end, freeTasks tasks have been read
	require.LessOrEqual(t, cost, uint64(bound), "%d bytes that yield %d tasks", len(data), v.tasks())
	if err != nil {
		require.Equal(t, decoded{}, v)
		return
	}
	v.checkValid(t)
	again, err := v.encode()
	require.NoError(t, err)
	if assignor.SkippedFields(kind, data) == 0 {
		require.Equal(t, data, again)
		return
	}
	require.Less(t, len(again), len(data))
	twice, err := decodeValue(kind, again)
	require.NoError(t, err)
	require.Equal(t, v, twice)
}

// checkReportDecoder checks that a ReportDecoder that has read something else before reads data as UnmarshalBinary does.
func checkReportDecoder(t *testing.T, data []byte, want decoded, wantErr error) {
	t.Helper()
	var r assignor.ReportDecoder
	other, err := newGenerator(1).member().MarshalBinary()
	require.NoError(t, err)
	_, err = r.Decode(other)
	require.NoError(t, err)
	m, err := r.Decode(data)
	require.Equal(t, wantErr, err)
	if err == nil {
		require.Equal(t, *want.member, m)
	}
}

// decoded is a value of any kind and what came with it.
type decoded struct {
	member *assignor.Member
	ma     *assignor.MemberAssignment
	memory *assignor.Assignment
}

func decodeValue(kind string, data []byte) (v decoded, err error) {
	switch kind {
	case "report":
		v.member = new(assignor.Member)
		err = v.member.UnmarshalBinary(data)
	case "assignment":
		var ma assignor.MemberAssignment
		ma, v.memory, err = assignor.Decode(data)
		v.ma = &ma
	case "memory":
		v.memory = new(assignor.Assignment)
		err = v.memory.UnmarshalBinary(data)
	}
	if err != nil {
		return decoded{}, err
	}
	return v, nil
}

func (v decoded) encode() ([]byte, error) {
	switch {
	case v.member != nil:
		return v.member.MarshalBinary()
	case v.ma != nil:
		return encodeDecoded(*v.ma, v.memory)
	}
	return v.memory.MarshalBinary()
}

// lists returns all lists of tasks in v, one a row.
func (v decoded) lists() (lists [][]assignor.TaskID) {
	if m := v.member; m != nil {
		lists = append(lists, m.Active, m.Revoked)
		for _, copies := range [][]assignor.Replica{m.Learners, m.Standbys} {
			var tasks []assignor.TaskID
			for _, c := range copies {
				tasks = append(tasks, c.Task)
			}
			lists = append(lists, tasks[:len(tasks):len(tasks)])
		}
	}
	if ma := v.ma; ma != nil {
		lists = append(lists, ma.Active, ma.Handover, ma.Revoke, ma.Learners, ma.Standbys)
	}
	memory := v.memory
	if v.member != nil {
		memory = v.member.Memory
	}
	if memory != nil {
		for _, ma := range memory.Members {
			lists = append(lists, ma.Active, ma.Revoke)
		}
		for _, d := range memory.Departed {
			lists = append(lists, d.Tasks)
		}
	}
	return lists
}

func (v decoded) tasks() (n int) {
	for _, list := range v.lists() {
		n += len(list)
	}
	return n
}

func (v decoded) checkValid(t *testing.T) {
	t.Helper()
	require.LessOrEqual(t, v.tasks(), assignor.MaxTasks)
	for _, list := range v.lists() {
		require.Equal(t, len(list), cap(list))
		for i, task := range list {
			require.GreaterOrEqual(t, min(task.Subtopology, task.Partition), int32(0))
			if i > 0 {
				require.Negative(t, list[i-1].Compare(task))
			}
		}
	}
	if v.ma == nil && v.memory != nil {
		for i := range v.memory.Members {
			require.True(t, i == 0 || v.memory.Members[i-1].Member < v.memory.Members[i].Member)
		}
	}
}

// FuzzEncode encodes groups of any kind under any limit: the payloads keep it and are complete, or there is an error.
func FuzzEncode(f *testing.F) {
	f.Add(int64(1), 1000, uint8(3))
	f.Add(int64(2), -1, uint8(9))
	f.Add(int64(3), 0, uint8(0))
	f.Add(int64(4), 150, uint8(40))
	f.Fuzz(func(t *testing.T, seed int64, limit int, members uint8) {
		a := newGenerator(seed).assignment()
		if members > 0 {
			a = newGenerator(seed).group(int(members), rand.New(rand.NewSource(seed)).Intn(2000))
		}
		payloads, err := a.Encode(limit)
		if err != nil {
			require.ErrorIs(t, err, assignor.ErrPayloadTooLarge)
			return
		}
		if limit != 0 {
			require.LessOrEqual(t, size(payloads), limit)
		}
		require.Len(t, payloads, len(a.Members))
		for i, payload := range payloads {
			ma, _, err := assignor.Decode(payload)
			require.NoError(t, err)
			want := a.Members[i]
			if want.Version == 1 {
				want.Handover, want.Learners = nil, nil
			}
			require.Equal(t, want, ma)
		}
	})
}
