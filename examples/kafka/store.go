package main

import (
	"encoding/json"
	"errors"
	"maps"
	"sync"

	"github.com/incremental-rebalance/assignor/franz/fence"
	"github.com/twmb/franz-go/pkg/kgo"
)

// change is the value of a record of the changelog: the count of a word, which is the record's key, after an input record. Under
// which fence it was written stands in the record's headers.
type change struct {
	Count int64 `json:"c"`
	Input int64 `json:"i"` // offset of the input record
}

// store is the local state of a task, as far as its changelog is replayed; of a task that runs here, with what it has counted since.
type store struct {
	log *fence.Changelog

	mu      sync.Mutex
	counts  map[string]int64
	input   int64         // the last input record that is counted, -1: none
	counted []*kgo.Record // input records whose changes were not read back yet
}

func newStore(topic string, partition int32) *store {
	return &store{log: fence.NewChangelog(topic, partition, fence.Checkpoint{}), counts: map[string]int64{}, input: -1}
}

// replay applies a record of the changelog, where it counts. It returns the input records that are counted for good by it: a
// change of the task's owner counts once it has been read back. After an error other than fence.ErrStamp the store is worthless.
func (s *store) replay(r *kgo.Record) (done []*kgo.Record, err error) {
	verdict, err := s.log.Replay(r)
	if err != nil && !errors.Is(err, fence.ErrStamp) || verdict != fence.Apply && verdict != fence.Own {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var c change
	switch {
	case r.Value == nil && verdict == fence.Apply:
		delete(s.counts, string(r.Key))
	case r.Value == nil || json.Unmarshal(r.Value, &c) != nil:
	case verdict == fence.Apply:
		s.counts[string(r.Key)], s.input = c.Count, max(s.input, c.Input)
	default:
		n := 0
		for n < len(s.counted) && s.counted[n].Offset <= c.Input {
			n++
		}
		done, s.counted = s.counted[:n], s.counted[n:]
	}
	return done, nil
}

// count counts an input record under a tenure, and returns the change to write; nil where it has been counted already.
func (s *store) count(r *kgo.Record, t *fence.Tenure) (*kgo.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Offset <= s.input {
		return nil, nil
	}
	written := &kgo.Record{Key: r.Value}
	if err := t.Stamp(written); err != nil {
		return nil, err
	}
	word := string(r.Value)
	s.counts[word]++
	s.input = r.Offset
	s.counted = append(s.counted, r)
	written.Value = s.value(word)
	return written, nil
}

// current returns the value of a word's last change, for the changelog to be mended with; nil: there is none.
func (s *store) current(word []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[string(word)] == 0 {
		return nil
	}
	return s.value(string(word))
}

func (s *store) value(word string) []byte {
	value, _ := json.Marshal(change{Count: s.counts[word], Input: s.input}) // it has nothing that cannot be marshaled
	return value
}

// stop forgets the input records that wait, and returns them: they are not committed.
func (s *store) stop() []*kgo.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	counted := s.counted
	s.counted = nil
	return counted
}

// snapshot returns the counts.
func (s *store) snapshot() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}
