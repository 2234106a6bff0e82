package assignor

import (
	"math"
	"time"
)

// report appends m. S1 of generation 7 and version 3, which runs 0_0 and 0_1 and keeps a standby of 0_2 that has caught up, is
//
//	11         header: a report
//	06 09      flags: a version follows (3 << 1), Active (bit 8), Standbys (bit 11); no Instance
//	07         generation
//	02 53 31   "S1"
//	03         version
//	01 00 00   Active: a run (1) from 0 on, two tasks less 2
//	00 02      Standbys: a single task (0), 2
//	00         their lags and ages: all 0
//
// The head says which of the parts follow, so that a member without tags, tasks and memory takes its name and a few
// bytes. What the report itself has is bounded by MaxTasks with an error; the memory that it echoes by leaving it out.
func (e *encoder) report(m *Member) {
	active, revoked := e.normal(m.Active), e.normal(m.Revoked)
	learners, standbys := e.normalReplicas(m.Learners), e.normalReplicas(m.Standbys)
	own := len(active) + len(revoked) + len(learners) + len(standbys)
	memory := e.echo(m.Memory, own)
	flags := flag(flagCapacity, m.Capacity != 0) | flag(flagLeavingFor, m.LeavingFor != 0) | flag(flagTags, len(m.Tags) > 0) |
		flag(flagActive, len(active) > 0) | flag(flagRevoked, len(revoked) > 0) |
		flag(flagReportLearners, len(learners) > 0) | flag(flagReportStandbys, len(standbys) > 0) |
		flag(flagFields, memory != nil)
	e.identity(kindReport, identity{m.Leaving, m.Version, m.Generation, m.ID, m.Instance}, flags)
	if m.Capacity != 0 {
		e.uvarint(uint64(uint32(m.Capacity)))
	}
	if m.LeavingFor != 0 {
		e.uvarint(uint64(m.LeavingFor))
	}
	e.tags(m.Tags)
	e.taskLists(active, revoked)
	e.replicaLists(learners, standbys)
	if memory != nil {
		e.buf = appendField(append(e.buf, 1), tagMemory, memory)
	}
	e.checkTasks(own)
}

// echo returns the encoding of a report's memory: nil where it has none, or it cannot ride along with the member's own tasks. Another
// keeper may have the room, and Recover does without any of them; a report that cannot be read costs its member the round.
func (e *encoder) echo(a *Assignment, own int) []byte {
	if a == nil || own+memoryTasks(a) > MaxTasks || e.err != nil {
		return nil
	}
	lists, err := memoryLists(a.Members)
	memory := encoder{err: err}
	memory.memory(a, lists)
	e.err = memory.err
	return memory.buf
}

// replicaLists appends those of the lists that are not empty.
func (e *encoder) replicaLists(lists ...[]Replica) {
	for _, list := range lists {
		if len(list) > 0 {
			e.replicaList(list)
		}
	}
}

// assignment appends ma. S1 of generation 8 and version 3, whose instance has its name, is to run 0_0 and 0_1 and hands 0_1 over:
//
//	21         header: an assignment
//	0e 03      flags: a version follows (3 << 1), the instance is the member (1 << 3), Active (bit 8), Handover (bit 9)
//	08         generation
//	02 53 31   "S1"
//	03         version
//	01 00 00   Active: a run from 0 on, two tasks
//	00 01      Handover: position 1 in Active
//
// What is being handed over is part of Active, and so is told by its positions there: in a group that grows these
// are few, or a stretch.
func (e *encoder) assignment(ma *MemberAssignment) {
	active, handover, revoke := e.normal(ma.Active), e.normal(ma.Handover), e.normal(ma.Revoke)
	learners, standbys := e.normal(ma.Learners), e.normal(ma.Standbys)
	flags := flag(flagFollowUp, ma.FollowUp) |
		flag(flagActive, len(active) > 0) | flag(flagHandover, len(handover) > 0) | flag(flagRevoke, len(revoke) > 0) |
		flag(flagLearners, len(learners) > 0) | flag(flagStandbys, len(standbys) > 0)
	e.identity(kindAssignment, identity{ma.Leaving, ma.Version, ma.Generation, ma.Member, ma.Instance}, flags)
	e.lists.active = e.taskLists(active)
	e.subset(handover, active)
	e.lists.revoke = e.taskLists(revoke)
	e.taskLists(learners, standbys)
	e.checkTasks(len(active) + len(handover) + len(revoke) + len(learners) + len(standbys))
}

// subset appends the positions of tasks in of, both of which are in order, unless there are none. It costs O(of).
func (e *encoder) subset(tasks, of []TaskID) {
	if len(tasks) == 0 || e.err != nil {
		return
	}
	positions, p := make([]uint32, 0, len(tasks)), 0
	for _, t := range tasks {
		for p < len(of) && of[p] != t {
			p++
		}
		if p == len(of) {
			e.fail(ErrMember, "Handover %v is not in Active", t)
			return
		}
		positions = append(positions, uint32(p))
	}
	e.positions(positions)
}

// report reads a Member. The order is that of the encoder; whatever goes wrong is kept as the first error, and what is read behind it is
// zero, so there is nothing to be asked in between.
func (d *decoder) report() Member {
	id, flags := d.identity(kindReport, reportFlags)
	m := Member{ID: id.name, Instance: id.instance, Version: id.version, Generation: id.generation, Leaving: id.leaving}
	if flags&flagCapacity != 0 {
		m.Capacity = int32(uint32(d.nonZero(math.MaxUint32, "capacity")))
	}
	if flags&flagLeavingFor != 0 {
		m.LeavingFor = time.Duration(d.nonZero(math.MaxUint64, "leavingFor"))
	}
	if flags&flagTags != 0 {
		m.Tags = d.tags()
	}
	m.Active, _ = d.listIf(flags & flagActive)
	m.Revoked, _ = d.listIf(flags & flagRevoked)
	if flags&flagReportLearners != 0 {
		m.Learners = d.replicaList()
	}
	if flags&flagReportStandbys != 0 {
		m.Standbys = d.replicaList()
	}
	if flags&flagFields != 0 {
		m.Memory = d.memoryField()
	}
	d.finish()
	return m
}

// memoryField reads the tagged fields of a report or an assignment, and returns the memory among them if it is wanted.
func (d *decoder) memoryField() (memory *Assignment) {
	d.fields(func(tag uint64) bool {
		if tag != tagMemory || !d.wantsMemory() {
			return false
		}
		outer, who := d.kind, d.who
		a := d.memoryBody()
		d.kind, d.who = outer, who
		memory = &a
		return true
	})
	return memory
}

// wantsMemory reports whether the memory that follows is newer than newerThan. It looks at the head and reads it again if it is wanted. One
// that is corrupt at its beginning is to be read, so that the error is told.
func (d *decoder) wantsMemory() bool {
	if d.newerThan == anyMemory || d.newerThan == noMemory {
		return d.newerThan == anyMemory
	}
	peek := *d
	generation, _ := peek.memoryHead()
	return peek.err != nil || int64(knownGeneration(generation)) > d.newerThan
}

// assignment reads a MemberAssignment and the memory that came with it. Handover is looked up in Active, of which only the number is known
// while tasks are counted.
func (d *decoder) assignment() (ma MemberAssignment, memory *Assignment) {
	id, flags := d.identity(kindAssignment, assignmentFlags)
	ma.Member, ma.Instance, ma.Version, ma.Generation, ma.Leaving = id.name, id.instance, id.version, id.generation, id.leaving
	ma.FollowUp = flags&flagFollowUp != 0
	var n int
	ma.Active, n = d.listIf(flags & flagActive)
	if flags&flagHandover != 0 {
		ma.Handover = d.subset(ma.Active, n)
	}
	ma.Revoke, _ = d.listIf(flags & flagRevoke)
	ma.Learners, _ = d.listIf(flags & flagLearners)
	ma.Standbys, _ = d.listIf(flags & flagStandbys)
	if flags&flagFields != 0 {
		memory = d.memoryField()
	}
	d.finish()
	return ma, memory
}
