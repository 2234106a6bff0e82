package layered

import "strings"

type high struct{ low }

func (h high) name() string { return strings.ToUpper(h.text) + h.String() }
