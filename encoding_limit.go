package assignor

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Encode returns one payload a member, in the order of a.Members: its assignment, which [Decode] reads. Their total is at most
// limit bytes, [MaxPayload] where limit is 0; what the join metadata already takes is the caller's to subtract.
//
// The leader's memory ([Assignment.MarshalBinary]) rides along for [MemoryKeepers] staying members, so that whoever leads next
// gets it back in their reports; for fewer where it does not fit. Keepers are the members of the smallest instance names, on as
// many instances as there are; where everybody leaves, any member may be one. What nobody carries, [Recover] rebuilds but for
// the absences. A memory in every payload would cost members x tasks.
//
// A member that speaks a Version below [LearnerVersion] (but 0, this library's own) knows no learners: its payload has
// neither Learners (Assign gives it none) nor Handover, so it runs what others learn until it is told to revoke it, as in
// [TwoRounds].
//
// Encode fails with [ErrPayloadTooLarge], naming the bytes needed and allowed, where the payloads exceed the limit without any
// memory or limit is negative: no list is ever cut short. It fails with [ErrMember] as the MarshalBinary methods do. It
// costs O(tasks + members).
func (a *Assignment) Encode(limit int) ([][]byte, error) {
	if limit == 0 {
		limit = MaxPayload
	}
	payloads, lists, err := a.encodeMembers()
	if err != nil {
		return nil, err
	}
	total := 0
	for _, payload := range payloads {
		total += len(payload)
	}
	if total > limit {
		return nil, fmt.Errorf("%w: %d members need %d bytes, allowed %d", ErrPayloadTooLarge, len(a.Members), total, limit)
	}
	if err := a.addMemory(payloads, lists, limit-total); err != nil {
		return nil, err
	}
	return payloads, nil
}

// encodeMembers returns the payloads without a memory, which share one array, and the lists in them that a memory keeps.
func (a *Assignment) encodeMembers() ([][]byte, []memberLists, error) {
	payloads, lists, ends := make([][]byte, len(a.Members)), make([]memberLists, len(a.Members)), make([]int, len(a.Members))
	e := encoder{buf: make([]byte, 0, a.guessBytes())}
	for i := range a.Members {
		ma := a.Members[i]
		if ma.Version != 0 && ma.Version < LearnerVersion {
			ma.Handover, ma.Learners = nil, nil
		}
		e.who = ma.Member
		e.assignment(&ma)
		lists[i], ends[i] = e.lists, len(e.buf)
	}
	buf, err := e.result(0)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	for i, end := range ends {
		payloads[i] = buf[start:end:end]
		start = end
	}
	return payloads, lists, nil
}

// guessBytes returns about what the names and the tasks of all members take, to grow no buffer bit by bit.
func (a *Assignment) guessBytes() int { return 32*len(a.Members) + memoryTasks(a)/2 }

// addMemory adds the memory to the payloads of as many keepers as room bytes hold twice: what goes out with the answer comes back with
// the next reports, and both lie in the broker's record at the same time. It stops at the first keeper that has no room for it, so
// that fewer bytes never mean other keepers.
func (a *Assignment) addMemory(payloads [][]byte, lists []memberLists, room int) error {
	tasks := memoryTasks(a)
	if tasks > MaxTasks || room == 0 {
		return nil
	}
	e := encoder{buf: make([]byte, 0, a.guessBytes())}
	e.memory(a, lists)
	memory, err := e.result(0)
	if err != nil {
		return err
	}
	field := appendField([]byte{1}, tagMemory, memory)
	for _, i := range a.keepers() {
		ma := &a.Members[i]
		own := len(ma.Active) + len(ma.Handover) + len(ma.Revoke) + len(ma.Learners) + len(ma.Standbys)
		if 2*len(field) > room || own+tasks > MaxTasks {
			return nil
		}
		room -= 2 * len(field)
		payload := make([]byte, 0, len(payloads[i])+len(field))
		payload = append(append(payload, payloads[i]...), field...)
		binary.LittleEndian.PutUint16(payload[1:], binary.LittleEndian.Uint16(payload[1:])|flagFields)
		payloads[i] = payload
	}
	return nil
}

// keepers returns the indexes of the members that get the memory, in the order in which they get it.
//
//	A1 and A2 on A, B1 on B, C1 on C, which leaves    A1, B1, A2
//
// On as many instances as there are, because what fails is a host; by name and not by load, so that they are the same ones in
// every round and the payloads of the others do not change. Where everybody leaves somebody has to carry it all the same.
func (a *Assignment) keepers() []int {
	everybodyLeaves := true
	for i := range a.Members {
		everybodyLeaves = everybodyLeaves && a.Members[i].Leaving
	}
	var keepers []int
	for len(keepers) < MemoryKeepers {
		best, bestRank := -1, 0
		for i := range a.Members {
			rank, taken := a.keeperRank(i, keepers)
			if taken || a.Members[i].Leaving && !everybodyLeaves {
				continue
			}
			if best < 0 || cmp.Or(cmp.Compare(rank, bestRank), a.compareInstances(i, best)) < 0 {
				best, bestRank = i, rank
			}
		}
		if best < 0 {
			return keepers
		}
		keepers = append(keepers, best)
	}
	return keepers
}

// keeperRank returns how many of the keepers are on the instance of member i, and whether it is one of them.
func (a *Assignment) keeperRank(i int, keepers []int) (rank int, taken bool) {
	for _, k := range keepers {
		taken = taken || k == i
		if a.Members[k].instanceName() == a.Members[i].instanceName() {
			rank++
		}
	}
	return rank, taken
}

// compareInstances orders members by the name of their instance, then by id.
func (a *Assignment) compareInstances(i, j int) int {
	x, y := &a.Members[i], &a.Members[j]
	return cmp.Or(cmp.Compare(x.instanceName(), y.instanceName()), cmp.Compare(x.Member, y.Member))
}
