package assignor

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/incremental-rebalance/assignor/internal/taskset"
)

// Encoding and decoding fail with one of these, wrapped with the member or the bytes they concern.
var (
	// ErrPayloadTooLarge: the payloads of a group exceed the limit even without any memory, or one value has more than
	// [MaxTasks] tasks.
	ErrPayloadTooLarge = errors.New("assignor: payload too large")
	// ErrCorrupt: the bytes are truncated, are of another kind, or are not the encoding of any value.
	ErrCorrupt = errors.New("assignor: corrupt encoding")
	// ErrVersion: the bytes are of a major version of the format that this library does not know.
	ErrVersion = errors.New("assignor: unknown encoding version")
)

// wireVersion is the major version of the format in the header byte.
const wireVersion = 1

// wireKind is what a header byte announces.
type wireKind uint8

const (
	kindReport     wireKind = 1 // a Member
	kindAssignment wireKind = 2 // a MemberAssignment, with or without a memory
	kindMemory     wireKind = 3 // an Assignment
)

// String returns how errors call what such a header announces.
func (k wireKind) String() string {
	switch k {
	case kindReport:
		return "report"
	case kindAssignment:
		return "assignment"
	case kindMemory:
		return "memory"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// header returns the first byte of a value. With the kind in it bytes that came to the wrong place are told from corrupt ones.
func (k wireKind) header() byte { return byte(k)<<4 | wireVersion }

// wireSet is one set of a list that is being read. Its gaps are the next ones in decoder.reader.
type wireSet struct {
	subtopology int32
	first       uint32
	gaps        int
}

// Generations that memories are newer than: all of them, and none.
const (
	anyMemory = math.MinInt64
	noMemory  = math.MaxInt64
)

// encoder appends values to buf. The first error sticks: later calls append bytes that nobody gets to see.
type encoder struct {
	buf   []byte
	who   string // the member of whom errors speak
	gaps  []taskset.Gaps
	lists memberLists // of the assignment appended last
	err   error
}

// memberLists are the encodings of the lists that a memory keeps of a member: empty where the list is.
type memberLists struct{ active, revoke []byte }

// result returns what was appended to the first n bytes of buf, or those alone and the error.
func (e *encoder) result(n int) ([]byte, error) {
	if e.err != nil {
		return e.buf[:n], e.err
	}
	return e.buf, nil
}

// fail notes the first error, which names the member that is being encoded.
func (e *encoder) fail(sentinel error, format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s: %s", sentinel, cmp.Or(e.who, "without a name"), fmt.Sprintf(format, args...))
	}
}

// byte appends one.
func (e *encoder) byte(b byte) { e.buf = append(e.buf, b) }

// uvarint appends a number in as few bytes as it takes, seven bits a byte.
func (e *encoder) uvarint(v uint64) { e.buf = binary.AppendUvarint(e.buf, v) }

// string appends a string behind its length.
func (e *encoder) string(s string) {
	e.uvarint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// maxPrefix bounds the prefix that a name shares with another: what a few bytes decode to stays a small multiple of them.
const maxPrefix = 127

// name appends s as the prefix that it shares with base, and the rest.
func (e *encoder) name(s, base string) {
	n := sharedPrefix(s, base)
	e.uvarint(uint64(n))
	e.string(s[n:])
}

// sharedPrefix returns how many bytes s has in common with base at the beginning, at most maxPrefix. Ids of one client differ at their
// end, so in a sorted list of them most is told once.
func sharedPrefix(s, base string) int {
	n := 0
	for n < min(len(s), len(base), maxPrefix) && s[n] == base[n] {
		n++
	}
	return n
}

// appendField appends a tagged field: tag, length, content. By the length a reader skips what it does not know.
func appendField(b []byte, tag uint64, content []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// decoder reads values from data. The first error sticks: later calls return zero values and read nothing.
type decoder struct {
	data     []byte
	off, end int      // the next byte, and the end of what may be read: of the data or of a tagged field
	kind     wireKind // announced by the header
	who      string   // the member of whom errors speak, once its name has been read
	err      error
	skipped  int // tagged fields with unknown tags

	newerThan int64 // only a memory of a later generation is read

	// A few bytes may stand for a great many tasks. So that bytes which turn out to be corrupt never cost more memory than a
	// multiple of their length, tasks are only counted once there are more than free of them; where nothing was corrupt,
	// recount starts again and they are all returned.
	tasks, free int
	sets        []wireSet // of the list being read
	reader      taskset.Reader
}

// freeTasks is the number of tasks that n bytes may stand for without being read twice: eight a byte is what a bitmap has, and small
// values have more.
func freeTasks(n int) int { return 256 + 8*n }

// newDecoder returns one that stands before the header.
func newDecoder(data []byte) decoder {
	return decoder{data: data, end: len(data), free: freeTasks(len(data)), newerThan: anyMemory}
}

// recount reports whether the data must be read again from its beginning, now that all of it is known to be valid.
func (d *decoder) recount() bool {
	if d.err != nil || !d.counting() {
		return false
	}
	*d = decoder{data: d.data, end: len(d.data), free: MaxTasks, newerThan: d.newerThan, sets: d.sets[:0], reader: taskset.Reader{Gaps: d.reader.Gaps[:0]}}
	return true
}

// counting is true while tasks are counted and not returned.
func (d *decoder) counting() bool { return d.tasks > d.free }

// left returns how many bytes may still be read, of the data or of the field that is being read.
func (d *decoder) left() int { return d.end - d.off }

// fail notes that the bytes before off are not what a writer writes. It leaves nothing to be read, so that no loop goes on.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s at byte %d of %d: %s", ErrCorrupt, d.subject(), d.off, len(d.data), fmt.Sprintf(format, args...))
	}
	d.off = d.end
}

// subject returns what errors speak of.
func (d *decoder) subject() string {
	if d.who == "" {
		return d.kind.String()
	}
	return d.kind.String() + " of " + d.who
}

// byte reads one.
func (d *decoder) byte() byte {
	if d.err != nil || d.left() < 1 {
		d.fail("ends too early")
		return 0
	}
	d.off++
	return d.data[d.off-1]
}

// uvarint reads a number. Most take a byte, so that case is one that the compiler can inline.
func (d *decoder) uvarint() uint64 {
	if d.off < d.end && d.data[d.off] < 0x80 {
		d.off++
		return uint64(d.data[d.off-1])
	}
	return d.longUvarint()
}

// longUvarint reads a number of several bytes, and refuses one that could have been written in fewer.
func (d *decoder) longUvarint() uint64 {
	v, n := binary.Uvarint(d.data[d.off:d.end])
	switch {
	case d.err != nil || n == 0:
		d.fail("ends too early")
		return 0
	case n < 0 || n > 1 && d.data[d.off+n-1] == 0:
		d.fail("a number is too long")
		return 0
	}
	d.off += n
	return v
}

// number reads a uvarint of at most limit.
func (d *decoder) number(limit uint64, what string) uint64 {
	v := d.uvarint()
	if v > limit {
		d.fail("%s: %d, at most %d", what, v, limit)
		return 0
	}
	return v
}

// count reads how many of something follow, each of which takes at least size bytes.
func (d *decoder) count(size int, what string) int {
	n := d.uvarint()
	if n > uint64(d.left()/size) {
		d.fail("%s: %d, more than the bytes left hold", what, n)
		return 0
	}
	return int(n)
}

// bytes reads n bytes, which are part of the data: who keeps them copies them.
func (d *decoder) bytes(n int) []byte {
	if d.err != nil || n > d.left() {
		d.fail("ends too early")
		return nil
	}
	d.off += n
	return d.data[d.off-n : d.off]
}

// string reads a string behind its length.
func (d *decoder) string() string { return string(d.bytes(d.count(1, "length of a string"))) }

// name reads a name that begins like base. It refuses a prefix that could have been longer, or one name could be written in two ways.
func (d *decoder) name(base string) string {
	n := int(d.number(uint64(min(len(base), maxPrefix)), "shared prefix"))
	rest := d.bytes(d.count(1, "length of a name"))
	if n < min(len(base), maxPrefix) && len(rest) > 0 && rest[0] == base[n] {
		d.fail("a name shares a longer prefix than it says")
	}
	return base[:n] + string(rest)
}

// header reads the header byte of the wanted kind.
func (d *decoder) header(want wireKind) {
	h := d.byte()
	d.kind = wireKind(h >> 4)
	switch {
	case d.err != nil:
	case h&0xf != wireVersion:
		d.err = fmt.Errorf("%w: %d, this library reads %d", ErrVersion, h&0xf, wireVersion)
		d.off = d.end
	case d.kind != want:
		d.fail("it is no %v", want)
	}
}

// finish checks that everything has been read.
func (d *decoder) finish() {
	if d.err == nil && d.left() > 0 {
		d.fail("%d bytes too many", d.left())
	}
}

// fields reads tagged fields. It calls known for each, with d narrowed to the field's content; where known returns false the
// field is skipped.
func (d *decoder) fields(known func(tag uint64) bool) {
	n := d.count(2, "tagged fields")
	if n == 0 {
		d.fail("no tagged fields")
	}
	end, last := d.end, uint64(0)
	for i := 0; i < n && d.err == nil; i++ {
		tag := d.uvarint()
		if i > 0 && tag <= last {
			d.fail("tag %d follows tag %d", tag, last)
		}
		last = tag
		size := d.count(1, "length of a tagged field")
		if d.err != nil {
			return
		}
		d.end = d.off + size
		if known(tag) {
			d.finish()
		} else {
			d.skipped++
			d.off = d.end
		}
		if d.err == nil {
			d.end = end
		}
	}
}
