package level

// Ranking is a binary heap of numbers whose first one changes its rank or goes: all that giving out one by one needs. Unlike
// container/heap it calls no interface and boxes no number, and items that are not first never move up.
type Ranking struct {
	Items []int32 // the first by Less is Items[0], once Init has been called
	Less  func(a, b int32) bool
}

// Init puts the items in order. It costs O(items).
func (h *Ranking) Init() {
	for i := len(h.Items)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// SettleTop restores the order after the first item has come to rank lower; where it does not stay it is removed. It costs
// O(log items).
func (h *Ranking) SettleTop(stays bool) {
	if !stays {
		last := len(h.Items) - 1
		h.Items[0] = h.Items[last]
		h.Items = h.Items[:last]
	}
	h.sink(0)
}

func (h *Ranking) sink(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.Items); c++ {
			if h.Less(h.Items[c], h.Items[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		h.Items[i], h.Items[first] = h.Items[first], h.Items[i]
		i = first
	}
}
