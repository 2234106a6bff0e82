package fence

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers. The value of both is a fence: its epoch in decimal, a space, its writer.
//
// A header, and not a field of the value: a tombstone has no value and must be judged all the same, and the value stays the
// service's own, whatever its format is. And not the key: that would end compaction, see "Compaction" in the package comment.
const (
	HeaderBy    = "fenced-by" // of a change: the fence under which it was written
	HeaderFence = "fence"     // of a fence; a tombstone with it removes that fence
)

// keyPrefix begins the key of a fence, which goes on as its header's value does. So each has a key of its own, and compaction
// removes none: a fence that came too late has a later offset than the one that holds, and must not replace it.
const keyPrefix = "\x00fence "

// ErrStamp says that a record's headers are not those of this package.
var ErrStamp = errors.New("fence: a header that this package has not written")

// maxEpoch bounds what is believed: nobody takes a task over so often, and there is always a higher epoch.
const maxEpoch = math.MaxInt64 / 2

func (f Fence) text() string { return strconv.FormatInt(f.Epoch, 10) + " " + f.Writer }

// parseFence returns the fence that a header's value names.
func parseFence(value []byte) (Fence, error) {
	number, writer, _ := strings.Cut(string(value), " ")
	epoch, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch <= 0 || epoch > maxEpoch || writer == "" {
		return Fence{}, fmt.Errorf("%w: %q, want an epoch from 1 on, a space and a writer", ErrStamp, value)
	}
	return Fence{Epoch: epoch, Writer: writer}, nil
}

// EntryOf returns what a Log needs to know of a record. A record without headers is a change under the zero Fence. Where a header
// cannot be read, the error says so, and the entry is a change that no log counts: nobody knows that its writer held the task.
func EntryOf(r *kgo.Record) (Entry, error) {
	e := Entry{Offset: r.Offset, Key: r.Key}
	for _, h := range r.Headers {
		if h.Key != HeaderBy && h.Key != HeaderFence {
			continue
		}
		f, err := parseFence(h.Value)
		switch {
		case err != nil || e.By.Epoch != 0:
			e.Kind, e.By = Data, Fence{Epoch: -1}
			if err == nil {
				err = fmt.Errorf("%w: two of them", ErrStamp)
			}
			return e, err
		case h.Key == HeaderFence && r.Value == nil:
			e.Kind = Removed
		case h.Key == HeaderFence:
			e.Kind = Raised
		}
		e.By = f
	}
	return e, nil
}

// record returns the fence as a record of a partition. Its value only has to be one: a record without is a tombstone.
func (f Fence) record(topic string, partition int32) *kgo.Record {
	r := f.removal(topic, partition)
	r.Value = []byte(f.text())
	return r
}

// removal returns the record that removes the fence.
func (f Fence) removal(topic string, partition int32) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: partition, Key: []byte(keyPrefix + f.text()),
		Headers: []kgo.RecordHeader{{Key: HeaderFence, Value: []byte(f.text())}},
	}
}
