package main

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// change is a record of the changelog: the count of a word after an input record. A fence has no word: whoever takes a task over
// writes one, and from there on changes of an older generation are void. So a process that was cut off may write on without
// harm: nobody who replays the changelog believes it.
type change struct {
	Generation int32  `json:"g"`
	Word       string `json:"w,omitempty"`
	Count      int64  `json:"c,omitempty"`
	Input      int64  `json:"i"` // offset of the input record, -1 in a fence
}

// store is the local state of a task, as far as its changelog is replayed.
type store struct {
	mu         sync.Mutex
	counts     map[string]int64
	generation int32 // of the newest fence
	input      int64 // the last input record that is counted, -1: none
	next       int64 // offset in the changelog up to which it is replayed
}

func newStore() *store { return &store{counts: map[string]int64{}, input: -1} }

// replay applies a record of the changelog.
func (s *store) replay(r *kgo.Record) {
	var c change
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = r.Offset + 1
	if json.Unmarshal(r.Value, &c) != nil || c.Generation < s.generation {
		return
	}
	s.generation = c.Generation
	if c.Word != "" && c.Input > s.input {
		s.counts[c.Word], s.input = c.Count, c.Input
	}
}

// count counts an input record, and returns the change to write; nil where it has been counted already.
func (s *store) count(r *kgo.Record, generation int32) *change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Offset <= s.input {
		return nil
	}
	word := string(r.Value)
	s.counts[word]++
	s.input = r.Offset
	return &change{Generation: generation, Word: word, Count: s.counts[word], Input: r.Offset}
}

// written notes that the changelog has the store's change at an offset.
func (s *store) written(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = offset + 1
}

// position returns the offset up to which the changelog is replayed.
func (s *store) position() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// snapshot returns the counts.
func (s *store) snapshot() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// changelogRecord is the change as a record of the changelog's partition.
func changelogRecord(topic string, partition int32, c change) *kgo.Record {
	value, _ := json.Marshal(c) // it has nothing that cannot be marshaled
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(c.Word), Value: value}
}
