package layered

type middle struct{ *low }

func (m middle) text() generic[string] { return generic[string]{m.low.String()} }
