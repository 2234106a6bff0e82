package layered

type low struct {
	text string
	kind middle // want: kind is declared above
}

func (l low) String() string { return l.text }

func upward(h high) string { return h.name() } // want: the type and the method

type generic[T any] struct{ value T }

func local() string {
	high := "a name of its own is no arrow"
	return high
}
