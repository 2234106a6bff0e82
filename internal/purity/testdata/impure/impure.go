// Package impure breaks every rule of the core but those on lengths. A line that breaks one ends with its name, and nothing
// else may be found.
package impure

import (
	"errors"
	"fmt"
	_ "maps"    // want: import
	_ "os"      // want: import
	_ "runtime" // want: import
	_ "sync"    // want: import
	"time"
	_ "unsafe" // want: import
)

// ErrFine is an error sentinel.
var ErrFine = errors.New("fine")

var fineNames = [2]string{"a", "b"}

var _ fmt.Stringer = Documented{}

var calls int // want: var

var table = map[string]int{} // want: var

func init() { // want: init
	ErrFine = nil         // want: write
	calls++               // want: write
	table["a"] = 1        // want: write
	fineNames[0] = "c"    // want: write
	_ = &calls            // want: write
	for calls = range 3 { // want: write
	}
	calls := 0
	calls++
	_ = calls
}

func ranges(m map[string]int) {
	for range m { // want: map-range
	}
	for range m { // order-free: counts
	}
	// order-free: counts
	for range m {
	}
	//order-free:
	for range m { // want: map-range
	}
	for range fineNames {
	}
}

func rangesGeneric[M ~map[string]int | ~[]int, K interface{ ~map[int]int }](m M, k K) int {
	for range k { // want: map-range
	}
	return len(m)
}

func waits() time.Duration {
	_ = time.Now()          // want: clock
	time.Sleep(time.Second) // want: clock
	_ = time.NewTimer       // want: clock
	go ranges(nil)          // want: concurrency
	var c chan int          // want: concurrency
	select {                // want: concurrency
	case c <- 1: // want: concurrency
	case <-c:
	}
	return time.Second
}

func prints() string {
	fmt.Println("a") // want: output
	println("a")     // want: output
	return fmt.Sprint("a")
}

func floats(d time.Duration, f float32) int { // want: float
	_ = d.Hours()     // want: float
	var c []complex64 // want: float
	const whole int = 1e6
	return whole + len(c) + int(f/2) // want: float
}

func Bare() {} // want: doc

// Says something else first.
func Misnamed() {} // want: doc

// Documented has a comment, one of its methods has none.
type Documented struct{}

func (*Documented) Method() {} // want: doc

// String returns "".
func (Documented) String() string { return "" }

type hidden struct{}

func (hidden) Method() {}

type Undocumented struct{} // want: doc

const (
	// First and Second are documented together.
	First  = 1
	Second = 2

	Third = 3

	Fourth = 4 // documented

	Fifth = 5
)
