//go:build linux || darwin || freebsd || netbsd || openbsd

package measure

import (
	"syscall"
	"time"
)

// now is the processor time that this process has used: what a function takes on an idle machine, however busy this one is. The
// collector's part of it, on whatever processor, is in it.
func now() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // only for an argument that is wrong
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
