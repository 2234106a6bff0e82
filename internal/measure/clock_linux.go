package measure

import (
	"syscall"
	"time"
	"unsafe"
)

// now is the processor time that this thread has used: what a function takes on an idle machine, however busy this one is. What the
// collector does meanwhile on other threads is not in it, what it makes the function itself do is. Getrusage would be simpler, but
// of a thread it knows only whole ticks.
func now() time.Duration {
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		panic(err) // only for an argument that is wrong
	}
	return time.Duration(t.Nano())
}
