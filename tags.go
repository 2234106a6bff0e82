package assignor

import (
	"cmp"
	"slices"
)

// tags is which values of the SpreadTags instances have (R6.5), as numbers: equal values are equal numbers, and nothing else matters of
// them. An instance has the tags of its member with the smallest id (R0.4).
//
//	           zone  rack      values  groups
//	S1         a     1         0 0     0
//	S2         a     2         0 3     1
//	S3         b     1         3 0     2
//	S4         a     1         0 0     0       S1 has the same
type tags struct {
	names  int     // how many SpreadTags there are
	values []int32 // by instance, then tag; nil without tags
	groups []int32 // by instance, the first one with the same values of all tags
}

// numberTags gives every value of every tag a number: its place among the values of that tag. A member without the tag has the value "".
func (g *group) numberTags() tags {
	t := tags{names: len(g.config.SpreadTags)}
	if t.names == 0 {
		return t
	}
	t.values = make([]int32, t.names*len(g.instances))
	for k, tag := range g.config.SpreadTags {
		values := make([]string, len(g.instances))
		for i := range g.instances {
			values[i] = g.members[g.instances[i].members[0]].in.Tags[tag]
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		for i, v := range values {
			number, _ := slices.BinarySearch(sorted, v)
			t.values[i*t.names+k] = int32(number)
		}
	}
	t.group(len(g.instances))
	return t
}

// group finds the instances with the same values of all tags: what holds for one of them holds for the others.
func (t *tags) group(instances int) {
	t.groups = make([]int32, instances)
	order := make([]int32, instances)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(slices.Compare(t.of(a), t.of(b)), cmp.Compare(a, b))
	})
	for k, i := range order {
		t.groups[i] = i
		if k > 0 && slices.Equal(t.of(i), t.of(order[k-1])) {
			t.groups[i] = t.groups[order[k-1]]
		}
	}
}

// of returns the values of an instance, in the order of SpreadTags.
func (t *tags) of(i int32) []int32 { return t.values[int(i)*t.names:][:t.names] }

// same returns how many values two instances share.
func (t *tags) same(a, b int32) int {
	n := 0
	others := t.of(b)
	for k, v := range t.of(a) {
		if others[k] == v {
			n++
		}
	}
	return n
}
