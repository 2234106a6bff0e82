//go:build !linux

package measure

import "time"

var started = time.Now()

// now is the time, where a thread's share of the processor is not to be had.
func now() time.Duration { return time.Since(started) }
