//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package measure

import "time"

var started = time.Now()

// now is the time, where that of the processor is not to be had.
func now() time.Duration { return time.Since(started) }
