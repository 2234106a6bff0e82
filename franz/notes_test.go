package franz

import (
	"testing"

	"github.com/incremental-rebalance/assignor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a leader says behind the record of an assignment comes back, and readers of the record do not see it.
func TestNotes(t *testing.T) {
	said := notes{
		frozen: []frozen{{sub: 3, counts: []int32{8, 0}}, {sub: 1 << 30, counts: []int32{1 << 20}}},
		keeps:  []assignor.TaskID{{Subtopology: 7, Partition: 300}},
	}
	record := kmsg.ConsumerMemberAssignment{Version: 2, UserData: []byte("payload")}
	frame := record.AppendTo(nil)
	data := said.append(frame)
	assert.Equal(t, said, readNotes(data[len(frame):]))
	var read kmsg.ConsumerMemberAssignment
	require.NoError(t, read.ReadFrom(data))
	assert.Equal(t, record, read)
	assert.Empty(t, notes{}.append(nil), "nothing to say costs nothing")

	later := append([]byte{'z', 2, 1, 2}, said.append(nil)...)
	assert.Equal(t, said, readNotes(later), "what a later version says is overlooked")
	whole := said.append(nil)
	for n := range whole {
		readNotes(whole[:n]) // and must not panic
	}
	many := notes{frozen: make([]frozen, 10*maxFrozen)}
	assert.Len(t, readNotes(many.append(nil)).frozen, maxFrozen)
}

func FuzzNotes(f *testing.F) {
	f.Add(notes{frozen: []frozen{{sub: 1, counts: []int32{4, 6}}}, keeps: []assignor.TaskID{{Subtopology: 1}}}.append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		said := readNotes(data)
		if len(said.frozen) <= maxFrozen {
			again := readNotes(said.append(nil))
			assert.Len(t, again.frozen, len(said.frozen))
			assert.Len(t, again.keeps, len(said.keeps))
		}
	})
}
