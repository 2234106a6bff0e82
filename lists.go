package assignor

import (
	"cmp"
	"slices"
)

// lists collects the tasks of every list of every member, by dense numbers.
type lists struct {
	space   *listSpace
	entries [numLists][]entry // in task order, once sort has been called; none of activeList
	active  []int32           // by member: how many tasks it runs; which ones can be read off the plan
}

// entry puts a task in a list of a member.
type entry struct{ task, member int32 }

// listSpace is the arrays that the lists are worked out in.
type listSpace struct {
	entries   arena[entry]
	newCopies arena[newCopy]
}

// begin makes the arrays ready for a round.
func (s *listSpace) begin() {
	s.entries.begin()
	s.newCopies.begin()
}

// add puts a task in a list of a member.
func (l *lists) add(which list, t, m int32) {
	l.entries[which] = append(l.entries[which], entry{t, m})
}

// sort puts the entries of a list in task order, where they are not: lists are mostly made in that order.
func (l *lists) sort(which list) {
	order := func(a, b entry) int { return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.member, b.member)) }
	if entries := l.entries[which]; !slices.IsSortedFunc(entries, order) {
		slices.SortFunc(entries, order)
	}
}

// newCopy is a copy that an instance is to hold and none of its members has, or one whose member leaves.
type newCopy struct {
	task, instance int32
	which          list
	at             int   // its entry in that list, which is in task order
	from           int32 // the member of the instance that had it, or none
}
