package assignor

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A valid value comes back as it was, and what came back is coded in the same bytes.
func TestEncodingRoundTrip(t *testing.T) {
	for seed := int64(0); seed < 400; seed++ {
		g := newGenerator(seed)
		m, ma, a := g.member(), g.memberAssignment(), g.assignment()
		m.Memory = a

		data, err := m.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var m2 Member
		require.NoError(t, m2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, m, m2, "seed %d", seed)

		data, err = ma.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var ma2 MemberAssignment
		require.NoError(t, ma2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, ma, ma2, "seed %d", seed)

		data, err = a.MarshalBinary()
		require.NoError(t, err, "seed %d", seed)
		var a2 Assignment
		require.NoError(t, a2.UnmarshalBinary(data), "seed %d", seed)
		require.Equal(t, *a, a2, "seed %d", seed)
	}
}

// Every set form comes back, is chosen by exact size, and is the only one that is read.
func TestSetForms(t *testing.T) {
	for seed := int64(0); seed < 3000; seed++ {
		g := newGenerator(seed)
		tasks := g.set(0)
		e := encoder{}
		e.taskList(tasks)
		d := newDecoder(e.buf)
		got, n := d.taskList()
		require.NoError(t, d.err, "seed %d: %v", seed, tasks)
		require.Equal(t, len(tasks), n)
		if got != nil { // else they were only counted
			require.Equal(t, tasks, got)
		}
		s := naiveSet(tasks)
		sizes := naiveSizes(&s)
		plan := s.plan()
		require.Equal(t, plan.size, len(e.buf)-1, "seed %d", seed)
		for form, size := range sizes {
			require.LessOrEqual(t, plan.size, size, "seed %d: form %d, want form %d: %v", seed, plan.form, form, tasks)
			require.False(t, size == plan.size && form < int(plan.form), "seed %d: form %d, want form %d", seed, plan.form, form)
		}
	}
}

func TestSetFormsAllChosen(t *testing.T) {
	var chosen [formStridedBitmap + 1]int
	for seed := int64(0); seed < 3000; seed++ {
		s := naiveSet(newGenerator(seed).set(0))
		chosen[s.plan().form]++
	}
	for form, n := range chosen {
		assert.Positive(t, n, "form %d is never chosen: %v", form, chosen)
	}
}

func naiveSet(tasks []TaskID) partitionSet {
	s := partitionSet{first: uint32(tasks[0].Partition), n: len(tasks)}
	for i := 1; i < len(tasks); i++ {
		s.gaps = appendGap(s.gaps, uint32(tasks[i].Partition-tasks[i-1].Partition))
	}
	return s
}

// naiveSizes writes the set in every form that can hold it, with every parameter, and returns the smallest size of each form.
func naiveSizes(s *partitionSet) map[int]int {
	sizes := map[int]int{}
	eachForm(s, func(p setPlan, data []byte) {
		if size, ok := sizes[int(p.form)]; !ok || len(data) < size {
			sizes[int(p.form)] = len(data)
		}
	})
	return sizes
}

func eachForm(s *partitionSet, visit func(p setPlan, data []byte)) {
	try := func(p setPlan) {
		e := encoder{}
		e.set(s, p)
		visit(p, e.buf)
	}
	if s.n == 1 {
		try(setPlan{form: formSingle, step: 1})
		return
	}
	span, step := s.extent()
	switch {
	case len(s.gaps) == 1 && step == 1:
		try(setPlan{form: formRun, step: 1})
	case len(s.gaps) == 1:
		try(setPlan{form: formStride, step: step})
	default:
		try(setPlan{form: formRuns, step: 1})
		if step > 1 {
			try(setPlan{form: formStridedRuns, step: step})
		}
	}
	for k := uint8(0); k < 32; k++ {
		if span>>k < 1<<16 {
			try(setPlan{form: formGaps, step: 1, k: k})
		}
	}
	if span > 1 && span < 1<<20 {
		try(setPlan{form: formBitmap, step: 1})
	}
	if step > 1 && span > step && span/step < 1<<20 {
		try(setPlan{form: formStridedBitmap, step: step})
	}
}

// A set in another form than the smallest is no encoding of it.
func TestOnlyTheSmallestFormIsRead(t *testing.T) {
	for seed := int64(0); seed < 1000; seed++ {
		tasks := newGenerator(seed).set(0)
		s := naiveSet(tasks)
		plan := s.plan()
		eachForm(&s, func(p setPlan, data []byte) {
			d := newDecoder(append([]byte{byte(p.form)}, data...))
			d.free = MaxTasks
			got, _ := d.taskList()
			d.finish()
			if p.size = plan.size; p == plan {
				require.NoError(t, d.err)
				require.Equal(t, tasks, got)
			} else {
				require.ErrorIs(t, d.err, ErrCorrupt, "seed %d: form %d in place of %d", seed, p.form, plan.form)
			}
		})
	}
}

// Valid bytes with a few others in place of some: what is read is valid and has no other encoding.
func TestDecodeMutations(t *testing.T) {
	for seed := int64(0); seed < 3000; seed++ {
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
	m := Member{
		ID:     "S1",
		Active: []TaskID{{0, 10}, {0, 2}, {0, 10}},
		Standbys: []Replica{
			{Task: TaskID{1, 1}, Lag: UnknownLag, For: time.Second}, {Task: TaskID{0, 7}, Lag: -9},
			{Task: TaskID{1, 1}, Lag: 7, For: 3 * time.Second}, {Task: TaskID{1, 1}, Lag: 7, For: 2 * time.Second},
		},
	}
	before := fmt.Sprintf("%#v", m)
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, before, fmt.Sprintf("%#v", m), "the caller's lists are as they were")
	var got Member
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, Member{
		ID:       "S1",
		Active:   []TaskID{{0, 2}, {0, 10}},
		Standbys: []Replica{{Task: TaskID{0, 7}, Lag: UnknownLag}, {Task: TaskID{1, 1}, Lag: 7, For: 2 * time.Second}},
	}, got)
}

func TestMarshalBinaryErrors(t *testing.T) {
	everything := make([]TaskID, MaxTasks)
	for i := range everything {
		everything[i].Partition = int32(i)
	}
	for _, test := range []struct {
		value interface{ MarshalBinary() ([]byte, error) }
		want  error
		text  string
	}{
		{Member{ID: "S1", Active: []TaskID{{0, -1}}}, ErrMember, "assignor: invalid member: S1: 0_-1 is no task: negative"},
		{Member{ID: "S1", Learners: []Replica{{Task: TaskID{-1, 0}}}}, ErrMember, "assignor: invalid member: S1: -1_0 is no task: negative"},
		{Member{Standbys: []Replica{{Task: TaskID{-1, 0}}}}, ErrMember, "assignor: invalid member: without a name: -1_0 is no task: negative"},
		{MemberAssignment{Member: "S1", Handover: []TaskID{{0, 1}}}, ErrMember, "assignor: invalid member: S1: Handover 0_1 is not in Active"},
		{&Assignment{Members: []MemberAssignment{{Member: "S1"}, {Member: "S1"}}}, ErrMember, "assignor: invalid member: S1: two members have this id"},
		{&Assignment{Departed: []Departure{{Instance: "h"}, {Instance: "h"}}}, ErrMember, "assignor: invalid member: h: this instance departed twice"},
		{
			Member{ID: "S1", Active: everything, Revoked: []TaskID{{7, 7}}}, ErrPayloadTooLarge,
			"assignor: payload too large: S1: 1048577 tasks, at most 1048576",
		},
		{
			Member{ID: "S1", Memory: &Assignment{Members: []MemberAssignment{{Member: "S2", Revoke: []TaskID{{0, -1}}}}}}, ErrMember,
			"assignor: invalid member: S2: 0_-1 is no task: negative",
		},
	} {
		data, err := test.value.MarshalBinary()
		assert.ErrorIs(t, err, test.want)
		assert.EqualError(t, err, test.text)
		assert.Empty(t, data)
	}
}

// A memory that would make a report too large to be read again is left out of it.
func TestMarshalBinaryLeavesMemoryOut(t *testing.T) {
	half := make([]TaskID, MaxTasks/2+1)
	for i := range half {
		half[i].Partition = int32(i)
	}
	m := Member{ID: "S1", Active: half, Memory: &Assignment{Members: []MemberAssignment{{Member: "S1", Active: half}}}}
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got Member
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

	got, err = Member{Active: []TaskID{{-1, 0}}}.AppendBinary(slices.Clone(prefix))
	require.ErrorIs(t, err, ErrMember)
	assert.Equal(t, prefix, got, "after an error b is as it was")
}

// A failed decoder leaves its receiver alone.
func TestUnmarshalBinaryFails(t *testing.T) {
	m, ma, a := Member{ID: "S1"}, MemberAssignment{Member: "S1"}, Assignment{Generation: 7}
	for _, data := range [][]byte{nil, {}, {0x11}, []byte("\x11\x00\x00\x00\x00?"), []byte("hello, world")} {
		assert.Error(t, m.UnmarshalBinary(data))
		assert.Error(t, ma.UnmarshalBinary(data))
		assert.Error(t, a.UnmarshalBinary(data))
	}
	assert.Equal(t, Member{ID: "S1"}, m)
	assert.Equal(t, MemberAssignment{Member: "S1"}, ma)
	assert.Equal(t, Assignment{Generation: 7}, a)
	assert.EqualError(t, m.UnmarshalBinary(nil), "assignor: corrupt encoding: kind 0 at byte 0 of 0: ends too early")
	assert.EqualError(t, m.UnmarshalBinary([]byte{0x21, 0, 0}), "assignor: corrupt encoding: assignment at byte 1 of 3: it is no report")
	assert.EqualError(t, m.UnmarshalBinary([]byte{0x12, 0, 0}), "assignor: unknown encoding version: 2, this library reads 1")
	assert.ErrorIs(t, m.UnmarshalBinary([]byte{0x12}), ErrVersion)
	assert.ErrorIs(t, m.UnmarshalBinary([]byte{0x10}), ErrVersion)
}

// A few bytes that stand for a great many tasks yield at most MaxTasks, and cost no more than a multiple of what they yield.
func TestDecodeBoundsTasks(t *testing.T) {
	all := MemberAssignment{Member: "S1", Active: make([]TaskID, MaxTasks)}
	for i := range all.Active {
		all.Active[i].Partition = int32(2 * i)
	}
	data, err := all.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(data), 20)
	got, _, err := Decode(data)
	require.NoError(t, err)
	assert.Equal(t, all, got)
	assert.Equal(t, len(got.Active), cap(got.Active))
	assert.Less(t, allocated(func() { _, _, _ = Decode(data) }), uint64(2*8*MaxTasks))

	// The same and one byte too many, one too few, and one task too many.
	for name, data := range map[string][]byte{
		"too long":       append(slices.Clone(data), 0),
		"too short":      data[:len(data)-1],
		"too many tasks": append(slices.Clone(data[:len(data)-3]), 0xff, 0xff, 0x40), // n-2 = MaxTasks-1
	} {
		_, _, err := Decode(data)
		require.ErrorIs(t, err, ErrCorrupt, name)
		assert.Less(t, allocated(func() { _, _, _ = Decode(data) }), uint64(8<<10), name)
	}
}

// Lists that come back are as long as they are wide, and the decoded value does not change with the bytes.
func TestDecodeSharesNothing(t *testing.T) {
	m := newGenerator(11).member()
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got Member
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
	want := MemberAssignment{Member: "S1", Generation: 5, Active: []TaskID{{0, 7}}}
	memory, err := (&Assignment{Generation: 4, Members: []MemberAssignment{{Member: "S1", Generation: 4}}}).MarshalBinary()
	require.NoError(t, err)
	withField := func(fields ...byte) []byte {
		data := append(slices.Clone(plain), fields...)
		data[2] |= flagFields >> 8
		return data
	}
	known := appendField([]byte{1}, tagMemory, memory)
	newer := appendField(appendField([]byte{3}, 0, []byte("x")), tagMemory, memory)
	newer = appendField(newer, 300, []byte("yes"))

	for _, data := range [][]byte{plain, withField(known...), withField(newer...), withField(1, 9, 0)} {
		ma, _, err := Decode(data)
		require.NoError(t, err)
		assert.Equal(t, want, ma)
	}
	_, a, err := Decode(withField(newer...))
	require.NoError(t, err)
	assert.Equal(t, int32(4), a.Generation)

	for name, data := range map[string][]byte{
		"no fields":        withField(0),
		"descending tags":  withField(2, 9, 0, 8, 0),
		"a tag twice":      withField(2, 9, 0, 9, 0),
		"too long":         withField(1, 9, 1),
		"more than inside": withField(append([]byte{1, 1, byte(len(memory) + 1)}, append(memory, 0)...)...),
	} {
		_, _, err := Decode(data)
		assert.ErrorIs(t, err, ErrCorrupt, name)
	}
}

func TestEncodePayloads(t *testing.T) {
	for seed := int64(0); seed < 200; seed++ {
		a := newGenerator(seed).assignment()
		payloads, err := a.Encode(0)
		require.NoError(t, err)
		require.Len(t, payloads, len(a.Members))
		memory, err := a.MarshalBinary()
		require.NoError(t, err)
		kept := 0
		for i, payload := range payloads {
			ma, m, err := Decode(payload)
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
			var alone MemberAssignment
			require.NoError(t, alone.UnmarshalBinary(payload))
			require.Equal(t, want, alone)
		}
		stay := 0
		for _, ma := range a.Members {
			stay += flag(1, !ma.Leaving)
		}
		if stay == 0 {
			stay = len(a.Members)
		}
		require.Equal(t, min(stay, MemoryKeepers), kept, "seed %d", seed)
	}
}

// Below the size with all memories fewer keepers get one, and below that without any there is an error: never a cut list.
func TestEncodeKeepsTheLimit(t *testing.T) {
	a := newGenerator(5).group(20, 400)
	full, err := a.Encode(0)
	require.NoError(t, err)
	total, memories := size(full), -1
	for limit := total; ; limit-- {
		payloads, err := a.Encode(limit)
		if err != nil {
			assert.Zero(t, memories, "the memory goes first")
			require.ErrorIs(t, err, ErrPayloadTooLarge)
			assert.EqualError(t, err, fmt.Sprintf("assignor: payload too large: 20 members need %d bytes, allowed %d", limit+1, limit))
			break
		}
		require.LessOrEqual(t, size(payloads), limit)
		n := 0
		for i, payload := range payloads {
			ma, m, err := Decode(payload)
			require.NoError(t, err)
			require.Equal(t, a.Members[i], ma)
			n += flag(1, m != nil)
		}
		require.True(t, memories < 0 || n == memories || n == memories-1)
		memories = n
	}
	_, err = a.Encode(-1)
	require.ErrorIs(t, err, ErrPayloadTooLarge)
	_, err = (&Assignment{}).Encode(-1)
	require.ErrorIs(t, err, ErrPayloadTooLarge)
	none, err := (&Assignment{}).Encode(0)
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
	member := func(name, instance string, leaving bool) MemberAssignment {
		return MemberAssignment{Member: name, Instance: instance, Leaving: leaving}
	}
	for _, test := range []struct {
		why     string
		members []MemberAssignment
		want    string
	}{
		{"one a host, while there are hosts", []MemberAssignment{
			member("a", "h3", false), member("b", "h1", false), member("c", "h1", false), member("d", "h2", false),
		}, "b d a"},
		{"few hosts: their further members", []MemberAssignment{
			member("a", "h2", false), member("b", "h1", false), member("c", "h1", false), member("d", "h1", false),
		}, "b a c"},
		{"nobody that leaves", []MemberAssignment{member("a", "", true), member("b", "", false), member("c", "", false)}, "b c"},
		{"unless all do", []MemberAssignment{member("a", "", true), member("b", "", true)}, "a b"},
	} {
		a := &Assignment{Members: test.members}
		var got []string
		for _, i := range a.keepers() {
			got = append(got, a.Members[i].Member)
		}
		assert.Equal(t, test.want, strings.Join(got, " "), test.why)
	}
}

// A member of an older protocol knows nothing of learners.
func TestEncodeForOlderVersion(t *testing.T) {
	ma := MemberAssignment{
		Member: "S1", Version: 1, Active: []TaskID{{0, 1}, {0, 2}}, Handover: []TaskID{{0, 1}}, Learners: []TaskID{{0, 3}},
		Standbys: []TaskID{{0, 4}},
	}
	payloads, err := (&Assignment{Members: []MemberAssignment{ma}}).Encode(0)
	require.NoError(t, err)
	got, _, err := Decode(payloads[0])
	require.NoError(t, err)
	assert.Equal(t, MemberAssignment{Member: "S1", Version: 1, Active: ma.Active, Standbys: ma.Standbys}, got)

	data, err := ma.MarshalBinary()
	require.NoError(t, err)
	var all MemberAssignment
	require.NoError(t, all.UnmarshalBinary(data))
	assert.Equal(t, ma, all, "MarshalBinary writes all of it")
}

// An assignment whose members are in no order is remembered in order.
func TestMemoryPutsInOrder(t *testing.T) {
	a := &Assignment{
		Members:  []MemberAssignment{{Member: "b", Active: []TaskID{{0, 2}, {0, 1}}}, {Member: "a"}},
		Departed: []Departure{{Instance: "y"}, {Instance: "x", Absent: -time.Second, Tasks: []TaskID{{1, 1}}}},
	}
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	var got Assignment
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, Assignment{
		Members:  []MemberAssignment{{Member: "a"}, {Member: "b", Active: []TaskID{{0, 1}, {0, 2}}}},
		Departed: []Departure{{Instance: "x", Absent: -time.Second, Tasks: []TaskID{{1, 1}}}, {Instance: "y"}},
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
	last := TaskID{math.MaxInt32, math.MaxInt32}
	m := Member{
		Capacity: math.MinInt32, Version: math.MaxUint8, Generation: -1, LeavingFor: math.MinInt64, Tags: map[string]string{"": ""},
		Active: []TaskID{{0, 0}, {0, math.MaxInt32}, {15, 5}, {31, 5}, last},
		Learners: []Replica{
			{last, math.MaxInt64, math.MinInt64},
		},
		Standbys: []Replica{{TaskID{}, 0, math.MaxInt64}, {last, UnknownLag, math.MinInt64}},
	}
	data, err := m.MarshalBinary()
	require.NoError(t, err)
	var got Member
	require.NoError(t, got.UnmarshalBinary(data))
	assert.Equal(t, m, got)
}

// generator makes random valid values.
type generator struct{ *rand.Rand }

func newGenerator(seed int64) generator { return generator{rand.New(rand.NewSource(seed))} }

func (g generator) one(n int) bool { return g.Intn(n) == 0 }

func (g generator) name() string {
	switch g.Intn(4) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("host-%d", g.Intn(10))
	}
	return fmt.Sprintf("host-%d-%0*d", g.Intn(10), g.Intn(200)+1, g.Intn(100))
}

func (g generator) number() int32 {
	switch g.Intn(6) {
	case 0:
		return g.Int31() - g.Int31()
	case 1:
		return 0
	}
	return g.Int31n(100)
}

// set returns tasks of one subtopology, of one of the patterns that the forms are made for.
func (g generator) set(subtopology int32) []TaskID {
	first, step := g.Int31n(1<<g.Intn(20)), int32(1)
	if g.one(3) {
		step = 1 + g.Int31n(1<<g.Intn(12))
	}
	n, holes, sparse := 1+g.Intn(1<<g.Intn(9)), g.Intn(10), 1+g.Intn(1<<g.Intn(10))
	if g.one(4) {
		holes = 0
	}
	var tasks []TaskID
	for p := int64(first); len(tasks) < n && p <= math.MaxInt32; p += int64(step) {
		if holes > 0 && g.one(11-holes) {
			p += int64(step) * int64(g.Intn(sparse))
		}
		if p <= math.MaxInt32 {
			tasks = append(tasks, TaskID{subtopology, int32(p)})
		}
	}
	return tasks
}

func (g generator) tasks() (tasks []TaskID) {
	if g.one(3) {
		return nil
	}
	subtopology := g.Int31n(3)
	for n := 1 + g.Intn(4); n > 0; n-- {
		tasks = append(tasks, g.set(subtopology)...)
		subtopology += 1 + g.Int31n(1<<g.Intn(8))
	}
	return slices.Clip(tasks)
}

func (g generator) duration() time.Duration {
	switch g.Intn(5) {
	case 0:
		return time.Duration(g.Int63()) - time.Duration(g.Int63())
	case 1:
		return time.Duration(g.Intn(1000)) * time.Millisecond
	case 2:
		return time.Duration(g.Intn(100000)) * time.Second
	}
	return 0
}

func (g generator) replicas() (replicas []Replica) {
	same, lagging := g.one(3), 1+g.Intn(12)
	lag, age := g.Int63n(3)-1, g.duration()
	for _, t := range g.tasks() {
		r := Replica{t, lag, age}
		if !same {
			r = Replica{Task: t}
			if g.one(lagging) {
				r.Lag = g.Int63n(1<<g.Intn(60)) - 1
			}
			if g.one(lagging) {
				r.For = g.duration()
			}
		}
		replicas = append(replicas, r)
	}
	return slices.Clip(replicas)
}

func (g generator) member() Member {
	m := Member{
		ID: g.name(), Instance: g.name(), Capacity: g.number(), Version: uint8(g.Intn(5)), Generation: g.number(),
		Leaving: g.one(2), Active: g.tasks(), Revoked: g.tasks(), Learners: g.replicas(), Standbys: g.replicas(),
	}
	if g.one(2) {
		m.LeavingFor = g.duration()
	}
	if n := g.Intn(4); n > 0 {
		m.Tags = map[string]string{}
		for ; n > 0; n-- {
			m.Tags[g.name()] = g.name()
		}
	}
	return m
}

func (g generator) memberAssignment() MemberAssignment {
	ma := MemberAssignment{
		Member: g.name(), Instance: g.name(), Leaving: g.one(2), Version: uint8(g.Intn(5)), Generation: g.number(), FollowUp: g.one(2),
		Active: g.tasks(), Revoke: g.tasks(), Learners: g.tasks(), Standbys: g.tasks(),
	}
	for one := 1 + g.Intn(8); one < 8; one += 8 {
		for _, t := range ma.Active {
			if g.one(one) {
				ma.Handover = append(ma.Handover, t)
			}
		}
	}
	ma.Handover = slices.Clip(ma.Handover)
	return ma
}

// assignment returns one that has only what a memory keeps, so that it comes back equal.
func (g generator) assignment() *Assignment {
	a := &Assignment{Generation: g.number()}
	seen := map[string]bool{}
	for n := g.Intn(20); n > 0; n-- {
		ma := g.memberAssignment()
		ma.Generation, ma.FollowUp, ma.Handover, ma.Learners, ma.Standbys = a.Generation, false, nil, nil, nil
		if !seen[ma.Member] {
			a.Members = append(a.Members, ma)
		}
		seen[ma.Member] = true
	}
	slices.SortFunc(a.Members, func(x, y MemberAssignment) int { return strings.Compare(x.Member, y.Member) })
	a.Members = slices.Clip(a.Members)
	for n := max(g.Intn(6)-3, 0); n > 0; n-- {
		name := fmt.Sprintf("gone-%d", 9-n)
		a.Departed = append(a.Departed, Departure{Instance: name, Absent: g.duration(), Tasks: g.tasks()})
	}
	a.Departed = slices.Clip(a.Departed)
	return a
}

// group returns an assignment of n tasks, spread at random over members on two instances each.
func (g generator) group(members, n int) *Assignment {
	a := &Assignment{Generation: 7, Members: make([]MemberAssignment, members)}
	for i := range a.Members {
		a.Members[i] = MemberAssignment{Member: fmt.Sprintf("worker-%05d", i), Instance: fmt.Sprintf("h%d", i/2), Generation: 7}
	}
	for p := 0; p < n; p++ {
		ma := &a.Members[g.Intn(members)]
		ma.Active = append(ma.Active, TaskID{0, int32(p)})
	}
	for i := range a.Members {
		a.Members[i].Active = slices.Clip(a.Members[i].Active)
	}
	return a
}
