package assignor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every set form comes back, is chosen by exact size, and is the only one that is read.
func TestSetForms(t *testing.T) {
	for seed := range int64(3000) {
		g := newGenerator(seed)
		tasks := g.set(0)
		e := encoder{}
		e.taskList(tasks)
		d := newDecoder(e.buf)
		got, n := d.taskList()
		require.NoError(t, d.err, "seed %d: %v", seed, tasks)
		require.Equal(t, len(tasks), n)
		if got != nil { // else they were only counted
			require.Equal(t, tasks, got)
		}
		s := naiveSet(tasks)
		sizes := naiveSizes(&s)
		plan := s.plan()
		require.Equal(t, plan.size, len(e.buf)-1, "seed %d", seed)
		for form, size := range sizes {
			require.LessOrEqual(t, plan.size, size, "seed %d: form %d, want form %d: %v", seed, plan.form, form, tasks)
			require.False(t, size == plan.size && form < int(plan.form), "seed %d: form %d, want form %d", seed, plan.form, form)
		}
	}
}

func TestSetFormsAllChosen(t *testing.T) {
	var chosen [formStridedBitmap + 1]int
	for seed := range int64(3000) {
		s := naiveSet(newGenerator(seed).set(0))
		chosen[s.plan().form]++
	}
	for form, n := range chosen {
		assert.Positive(t, n, "form %d is never chosen: %v", form, chosen)
	}
}

func naiveSet(tasks []TaskID) partitionSet {
	s := partitionSet{first: uint32(tasks[0].Partition), n: len(tasks)}
	for i := 1; i < len(tasks); i++ {
		s.gaps = appendGap(s.gaps, uint32(tasks[i].Partition-tasks[i-1].Partition))
	}
	return s
}

// naiveSizes writes the set in every form that can hold it, with every parameter, and returns the smallest size of each form.
func naiveSizes(s *partitionSet) map[int]int {
	sizes := map[int]int{}
	eachForm(s, func(p setPlan, data []byte) {
		if size, ok := sizes[int(p.form)]; !ok || len(data) < size {
			sizes[int(p.form)] = len(data)
		}
	})
	return sizes
}

func eachForm(s *partitionSet, visit func(p setPlan, data []byte)) {
	try := func(p setPlan) { visit(p, s.append(nil, p)) }
	if s.n == 1 {
		try(setPlan{form: formSingle, step: 1})
		return
	}
	span, _, step := s.extent()
	switch {
	case len(s.gaps) == 1 && step == 1:
		try(setPlan{form: formRun, step: 1})
	case len(s.gaps) == 1:
		try(setPlan{form: formStride, step: step})
	default:
		try(setPlan{form: formRuns, step: 1})
		if step > 1 {
			try(setPlan{form: formStridedRuns, step: step})
		}
	}
	for k := range uint8(32) {
		if span>>k < 1<<16 {
			try(setPlan{form: formGaps, step: 1, k: k})
		}
	}
	if span > 1 && span < 1<<20 {
		try(setPlan{form: formBitmap, step: 1})
	}
	if step > 1 && span > step && span/step < 1<<20 {
		try(setPlan{form: formStridedBitmap, step: step})
	}
}

// A set in another form than the smallest is no encoding of it.
func TestOnlyTheSmallestFormIsRead(t *testing.T) {
	for seed := range int64(1000) {
		tasks := newGenerator(seed).set(0)
		s := naiveSet(tasks)
		plan := s.plan()
		eachForm(&s, func(p setPlan, data []byte) {
			d := newDecoder(append([]byte{byte(p.form)}, data...))
			d.free = MaxTasks
			got, _ := d.taskList()
			d.finish()
			if p.size = plan.size; p == plan {
				require.NoError(t, d.err)
				require.Equal(t, tasks, got)
			} else {
				require.ErrorIs(t, d.err, ErrCorrupt, "seed %d: form %d in place of %d", seed, p.form, plan.form)
			}
		})
	}
}
