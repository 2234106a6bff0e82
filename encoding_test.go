package assignor_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// A leader reads one of the memories that members echo, or none that it knows.
func TestReportDecoder(t *testing.T) {
	g := newGenerator(3)
	report := func(generation int32) []byte {
		m := g.member()
		m.Memory = &assignor.Assignment{Generation: generation, Members: []assignor.MemberAssignment{{Member: "S1", Generation: generation}}}
		data, err := m.MarshalBinary()
		require.NoError(t, err)
		return data
	}
	for _, c := range []struct {
		known   int32
		echoed  []int32
		read    []bool
		thenHas int32
	}{
		{known: 0, echoed: []int32{7, 7, 7}, read: []bool{true, false, false}, thenHas: 7},
		{known: 7, echoed: []int32{7, 6, 7}, read: []bool{false, false, false}, thenHas: 7},
		{known: 7, echoed: []int32{6, 8, 9, 8}, read: []bool{false, true, true, false}, thenHas: 9},
		{known: 0, echoed: []int32{0, 1}, read: []bool{true, true}, thenHas: 1},
		{known: math.MaxInt32, echoed: []int32{1}, read: []bool{true}, thenHas: 1},
		{known: 3, echoed: []int32{math.MaxInt32, -1, 4}, read: []bool{false, false, true}, thenHas: 4},
	} {
		r := assignor.ReportDecoder{Known: c.known}
		for i, generation := range c.echoed {
			data := report(generation)
			var want assignor.Member
			require.NoError(t, want.UnmarshalBinary(data))
			if !c.read[i] {
				want.Memory = nil
			}
			m, err := r.Decode(data)
			require.NoError(t, err)
			require.Equal(t, want, m, "%+v, %d", c, i)
		}
		require.Equal(t, c.thenHas, r.Known, "%+v", c)
	}
}

// What a ReportDecoder skips it does not check, but the memory's beginning, which says how new it is.
func TestReportDecoderCorrupt(t *testing.T) {
	m := assignor.Member{ID: "A", Memory: &assignor.Assignment{Generation: 7, Members: []assignor.MemberAssignment{{Member: "A", Active: []assignor.TaskID{id(0, 1), id(0, 5)}}}}}
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	end := bytes.Clone(data)
	end[len(end)-1] = 0xff
	r := assignor.ReportDecoder{Known: 7}
	_, err = r.Decode(end)
	require.NoError(t, err)
	r.Known = 6
	_, err = r.Decode(end)
	require.ErrorIs(t, err, assignor.ErrCorrupt)
	require.Equal(t, int32(6), r.Known)

	begin := bytes.Clone(data)
	begin[bytes.IndexByte(begin, 0x31)] = 0x3f
	r.Known = 7
	_, err = r.Decode(begin)
	require.ErrorIs(t, err, assignor.ErrVersion)
	_, err = r.Decode(data)
	require.NoError(t, err, "it reads on after an error")
}

// A valid value comes back as it was, and what came back is coded in the same bytes.
func TestEncodingRoundTrip(t *testing.T) {
	for seed := range int64(400) {
		g := newGenerator(seed)
		m, ma, a := g.member(), g.memberAssignment(), g.assignment()
		m.Memory = a

		data, err := m.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var m2 assignor.Member
		require.NoError(t, m2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, m, m2, "seed %d", seed)

		data, err = ma.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var ma2 assignor.MemberAssignment
		require.NoError(t, ma2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, ma, ma2, "seed %d", seed)

		data, err = a.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var a2 assignor.Assignment
		require.NoError(t, a2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, *a, a2, "seed %d", seed)
	}
}

// Valid bytes with a few others in place of some: what is read is valid and has no other encoding.
func TestDecodeMutations(t *testing.T) {
	for seed := range int64(600) {
		g := newGenerator(seed)
		for kind, v := range map[string]interface{ MarshalBinary() ([]byte, error) }{
			"report": g.member(), "assignment": g.memberAssignment(), "memory": g.assignment(),
		} {
			data, err := v.MarshalBinary()
			require.NoError(t, err)
			for n := 1 + g.Intn(2); n > 0; n-- {
				i := g.Intn(len(data))
				data[i] = data[i] ^ 1<<g.Intn(8)
				if g.one(4) {
					data[i] = byte(g.Intn(256))
				}
			}
			checkDecoder(t, kind, data)
		}
	}
}

// What a member reports in no order, twice or with other negative lags than UnknownLag is put in order.
func TestMarshalBinaryPutsInOrder(t *testing.T) {
	m := assignor.Member{
		ID:     "S1",
		Active: []assignor.TaskID{id(0, 10), id(0, 2), id(0, 10)},
		Standbys: []assignor.Replica{
			{Task: id(1, 1), Lag: assignor.UnknownLag, For: time.Second}, {Task: id(0, 7), Lag: -9},
			{Task: id(1, 1), Lag: 7, For: 3 * time.Second}, {Task: id(1, 1), Lag: 7, For: 2 * time.Second},
		},
	}
	before := fmt.Sprintf("%#v", m)
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, before, fmt.Sprintf("%#v", m), "the caller's lists are as they were")
	var got assignor.Member
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, assignor.Member{
		ID:       "S1",
		Active:   []assignor.TaskID{id(0, 2), id(0, 10)},
		Standbys: []assignor.Replica{{Task: id(0, 7), Lag: assignor.UnknownLag}, {Task: id(1, 1), Lag: 7, For: 2 * time.Second}},
	}, got)
}

func TestMarshalBinaryErrors(t *testing.T) {
	everything := make([]assignor.TaskID, assignor.MaxTasks)
	for i := range everything {
		everything[i].Partition = int32(i)
	}
	for _, test := range []struct {
		value interface{ MarshalBinary() ([]byte, error) }
		want  error
		text  string
	}{
		{assignor.Member{ID: "S1", Active: []assignor.TaskID{id(0, -1)}}, assignor.ErrMember, "assignor: invalid member: S1: 0_-1 is no task: negative"},
		{assignor.Member{ID: "S1", Learners: []assignor.Replica{{Task: id(-1, 0)}}}, assignor.ErrMember, "assignor: invalid member: S1: -1_0 is no task: negative"},
		{assignor.Member{Standbys: []assignor.Replica{{Task: id(-1, 0)}}}, assignor.ErrMember, "assignor: invalid member: without a name: -1_0 is no task: negative"},
		{assignor.MemberAssignment{Member: "S1", Handover: []assignor.TaskID{id(0, 1)}}, assignor.ErrMember, "assignor: invalid member: S1: Handover 0_1 is not in Active"},
		{&assignor.Assignment{Members: []assignor.MemberAssignment{{Member: "S1"}, {Member: "S1"}}}, assignor.ErrMember, "assignor: invalid member: S1: two members have this id"},
		{&assignor.Assignment{Departed: []assignor.Departure{{Instance: "h"}, {Instance: "h"}}}, assignor.ErrMember, "assignor: invalid member: h: this instance departed twice"},
		{
			assignor.Member{ID: "S1", Active: everything, Revoked: []assignor.TaskID{id(7, 7)}}, assignor.ErrPayloadTooLarge,
			"assignor: payload too large: S1: 1048577 tasks, at most 1048576",
		},
		{
			assignor.Member{ID: "S1", Memory: &assignor.Assignment{Members: []assignor.MemberAssignment{{Member: "S2", Revoke: []assignor.TaskID{id(0, -1)}}}}}, assignor.ErrMember,
			"assignor: invalid member: S2: 0_-1 is no task: negative",
		},
	} {
		data, err := test.value.MarshalBinary()
		require.ErrorIs(t, err, test.want)
		require.EqualError(t, err, test.text)
		assert.Empty(t, data)
	}
}

// A memory that would make a report too large to be read again is left out of it.
func TestMarshalBinaryLeavesMemoryOut(t *testing.T) {
	half := make([]assignor.TaskID, assignor.MaxTasks/2+1)
	for i := range half {
		half[i].Partition = int32(i)
	}
	m := assignor.Member{ID: "S1", Active: half, Memory: &assignor.Assignment{Members: []assignor.MemberAssignment{{Member: "S1", Active: half}}}}
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got assignor.Member
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Nil(t, got.Memory)
	assert.Equal(t, half, got.Active)
}

func TestAppendBinary(t *testing.T) {
	prefix := []byte("prefix")
	a := newGenerator(3).assignment()
	want, err := a.MarshalBinary()
	require.NoError(t, err)
	got, err := a.AppendBinary(slices.Clone(prefix))
	require.NoError(t, err)
	assert.Equal(t, append(slices.Clone(prefix), want...), got)

	got, err = assignor.Member{Active: []assignor.TaskID{id(-1, 0)}}.AppendBinary(slices.Clone(prefix))
	require.ErrorIs(t, err, assignor.ErrMember)
	assert.Equal(t, prefix, got, "after an error b is as it was")
}

// A failed decoder leaves its receiver alone.
func TestUnmarshalBinaryFails(t *testing.T) {
	m, ma, a := assignor.Member{ID: "S1"}, assignor.MemberAssignment{Member: "S1"}, assignor.Assignment{Generation: 7}
	for _, data := range [][]byte{nil, {}, {0x11}, []byte("\x11\x00\x00\x00\x00?"), []byte("hello, world")} {
		require.Error(t, m.UnmarshalBinary(data))
		require.Error(t, ma.UnmarshalBinary(data))
		require.Error(t, a.UnmarshalBinary(data))
	}
	assert.Equal(t, assignor.Member{ID: "S1"}, m)
	assert.Equal(t, assignor.MemberAssignment{Member: "S1"}, ma)
	assert.Equal(t, assignor.Assignment{Generation: 7}, a)
	require.EqualError(t, m.UnmarshalBinary(nil), "assignor: corrupt encoding: kind 0 at byte 0 of 0: ends too early")
	require.EqualError(t, m.UnmarshalBinary([]byte{0x21, 0, 0}), "assignor: corrupt encoding: assignment at byte 1 of 3: it is no report")
	require.EqualError(t, m.UnmarshalBinary([]byte{0x12, 0, 0}), "assignor: unknown encoding version: 2, this library reads 1")
	require.ErrorIs(t, m.UnmarshalBinary([]byte{0x12}), assignor.ErrVersion)
	require.ErrorIs(t, m.UnmarshalBinary([]byte{0x10}), assignor.ErrVersion)
}

// A few bytes that stand for a great many tasks yield at most MaxTasks, and cost no more than a multiple of what they yield.
func TestDecodeBoundsTasks(t *testing.T) {
	all := assignor.MemberAssignment{Member: "S1", Active: make([]assignor.TaskID, assignor.MaxTasks)}
	for i := range all.Active {
		all.Active[i].Partition = int32(2 * i)
	}
	data, err := all.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(data), 20)
	got, _, err := assignor.Decode(data)
	require.NoError(t, err)
	assert.Equal(t, all, got)
	assert.Equal(t, len(got.Active), cap(got.Active))
	assert.Less(t, allocated(func() { _, _, _ = assignor.Decode(data) }), uint64(2*8*assignor.MaxTasks))

	// The same and one byte too many, one too few, and one task too many.
	for name, data := range map[string][]byte{
		"too long":       append(slices.Clone(data), 0),
		"too short":      data[:len(data)-1],
		"too many tasks": append(slices.Clone(data[:len(data)-3]), 0xff, 0xff, 0x40), // n-2 = MaxTasks-1
	} {
		_, _, err := assignor.Decode(data)
		require.ErrorIs(t, err, assignor.ErrCorrupt, name)
		assert.Less(t, allocated(func() { _, _, _ = assignor.Decode(data) }), uint64(8<<10), name)
	}
}

// Lists that come back are as long as they are wide, and the decoded value does not change with the bytes.
func TestDecodeSharesNothing(t *testing.T) {
	m := newGenerator(11).member()
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got assignor.Member
	require.NoError(t, got.UnmarshalBinary(data))
	for i := range data {
		data[i] = 0xff
	}
	assert.Equal(t, m, got)
	assert.Equal(t, len(got.Active), cap(got.Active))
	assert.Equal(t, len(got.Standbys), cap(got.Standbys))
}

// A field with a tag of a newer minor version is skipped, wherever it stands.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	plain := []byte{0x21, 0x00, 0x01, 0x05, 0x02, 'S', '1', 0x00, 0x07} // S1 runs 0_7
	want := assignor.MemberAssignment{Member: "S1", Generation: 5, Active: []assignor.TaskID{id(0, 7)}}
	memory, err := (&assignor.Assignment{Generation: 4, Members: []assignor.MemberAssignment{{Member: "S1", Generation: 4}}}).MarshalBinary()
	require.NoError(t, err)
	withField := func(fields ...byte) []byte {
		data := append(slices.Clone(plain), fields...)
		data[2] |= taggedFields
		return data
	}
	known := appendField([]byte{1}, tagMemory, memory)
	newer := appendField(appendField([]byte{3}, 0, []byte("x")), tagMemory, memory)
	newer = appendField(newer, 300, []byte("yes"))

	for _, data := range [][]byte{plain, withField(known...), withField(newer...), withField(1, 9, 0)} {
		ma, _, err := assignor.Decode(data)
		require.NoError(t, err)
		assert.Equal(t, want, ma)
	}
	_, a, err := assignor.Decode(withField(newer...))
	require.NoError(t, err)
	assert.Equal(t, int32(4), a.Generation)

	for name, data := range map[string][]byte{
		"no fields":        withField(0),
		"descending tags":  withField(2, 9, 0, 8, 0),
		"a tag twice":      withField(2, 9, 0, 9, 0),
		"too long":         withField(1, 9, 1),
		"more than inside": withField(append([]byte{1, 1, byte(len(memory) + 1)}, append(memory, 0)...)...),
	} {
		_, _, err := assignor.Decode(data)
		require.ErrorIs(t, err, assignor.ErrCorrupt, name)
	}
}

// An assignment whose members are in no order is remembered in order.
func TestMemoryPutsInOrder(t *testing.T) {
	a := &assignor.Assignment{
		Members:  []assignor.MemberAssignment{{Member: "b", Active: []assignor.TaskID{id(0, 2), id(0, 1)}}, {Member: "a"}},
		Departed: []assignor.Departure{{Instance: "y"}, {Instance: "x", Absent: -time.Second, Tasks: []assignor.TaskID{id(1, 1)}}},
	}
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	var got assignor.Assignment
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, assignor.Assignment{
		Members:  []assignor.MemberAssignment{{Member: "a"}, {Member: "b", Active: []assignor.TaskID{id(0, 1), id(0, 2)}}},
		Departed: []assignor.Departure{{Instance: "x", Absent: -time.Second, Tasks: []assignor.TaskID{id(1, 1)}}, {Instance: "y"}},
	}, got)
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestExtremeNumbers(t *testing.T) {
	last := id(math.MaxInt32, math.MaxInt32)
	m := assignor.Member{
		Capacity: math.MinInt32, Version: math.MaxUint8, Generation: -1, LeavingFor: math.MinInt64, Tags: map[string]string{"": ""},
		Active: []assignor.TaskID{id(0, 0), id(0, math.MaxInt32), id(15, 5), id(31, 5), last},
		Learners: []assignor.Replica{
			{last, math.MaxInt64, math.MinInt64},
		},
		Standbys: []assignor.Replica{{assignor.TaskID{}, 0, math.MaxInt64}, {last, assignor.UnknownLag, math.MinInt64}},
	}
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got assignor.Member
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, m, got)
}
