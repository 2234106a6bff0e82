package franz

import (
	"encoding/binary"
	"slices"

	"github.com/incremental-rebalance/assignor"
)

// notes are what a leader tells a member beside its assignment. They stand behind the record of Kafka's consumer protocol, where
// older versions of this package and Kafka's own tools overlook them, as they overlook the fields of later versions of the record.
//
// Each note is a byte that names it, the number of bytes that follow, and these; all numbers are uvarints. Notes of other names are
// overlooked.
type notes struct {
	frozen []frozen          // 'f': each with its id, the number of its topics, and their counts
	alone  bool              // 'a': all members leave, so that nobody is there to hand over to; a byte, 1
	keeps  []assignor.TaskID // 'k': subtopology and partition of tasks that go on although the answer has neither payload nor topics for them
}

// maxFrozen bounds what every member is told of frozen subtopologies: a payload is sent as often as there are members.
const maxFrozen = 16

// append appends the notes to the record of an assignment.
func (n notes) append(b []byte) []byte {
	var body []byte
	for _, f := range n.frozen[:min(len(n.frozen), maxFrozen)] {
		body = appendNumbers(body, f.sub, int32(len(f.counts)))
		body = appendNumbers(body, f.counts...)
	}
	b = appendNote(b, 'f', body)
	if n.alone {
		b = appendNote(b, 'a', []byte{1})
	}
	body = body[:0]
	for _, task := range n.keeps {
		body = appendNumbers(body, task.Subtopology, task.Partition)
	}
	return appendNote(b, 'k', body)
}

func appendNumbers(b []byte, numbers ...int32) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(uint32(n)))
	}
	return b
}

func appendNote(b []byte, name byte, body []byte) []byte {
	if len(body) == 0 {
		return b
	}
	b = append(b, name)
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

// readNotes reads what append appended. Notes are help, not orders: where they cannot be read, there are none.
func readNotes(b []byte) (n notes) {
	for len(b) > 0 {
		name := b[0]
		size, k := binary.Uvarint(b[1:])
		if k <= 0 || size > uint64(len(b)-1-k) {
			return notes{}
		}
		body := b[1+k:][:size]
		b = b[1+k+int(size):]
		ok := true
		switch name {
		case 'f':
			n.frozen, ok = readFrozen(body)
		case 'a':
			n.alone = len(body) == 1 && body[0] == 1
		case 'k':
			n.keeps, ok = readKeeps(body)
		}
		if !ok {
			return notes{}
		}
	}
	return n
}

func readFrozen(body []byte) (list []frozen, ok bool) {
	numbers, ok := readNumbers(body)
	for ok && len(numbers) > 0 {
		if len(numbers) < 2 || int(numbers[1]) > len(numbers)-2 || numbers[1] < 0 {
			return nil, false
		}
		counts := numbers[2:][:numbers[1]]
		list = append(list, frozen{numbers[0], slices.Clone(counts)})
		numbers = numbers[2+len(counts):]
	}
	return list, ok
}

func readKeeps(body []byte) (keeps []assignor.TaskID, ok bool) {
	numbers, ok := readNumbers(body)
	for ; ok && len(numbers) >= 2; numbers = numbers[2:] {
		keeps = append(keeps, assignor.TaskID{Subtopology: numbers[0], Partition: numbers[1]})
	}
	return keeps, ok && len(numbers) == 0
}

func readNumbers(b []byte) (numbers []int32, ok bool) {
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > 1<<32-1 {
			return nil, false
		}
		numbers = append(numbers, int32(uint32(n)))
		b = b[k:]
	}
	return numbers, true
}
