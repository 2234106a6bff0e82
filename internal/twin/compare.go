package twin

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// Difference returns the first difference between two answers, "" where they are equal. Of errors only the kinds are compared. What is
// printed is compared line by line, so that a test says "the owner of 0_3" and not "one of forty fields".
func Difference(got *assignor.Assignment, err error, want *assignor.Assignment, wantErr error) string {
	for _, kind := range []error{assignor.ErrNoMembers, assignor.ErrConfig, assignor.ErrMember} {
		if errors.Is(err, kind) != errors.Is(wantErr, kind) {
			return fmt.Sprintf("the errors are %v and %v", err, wantErr)
		}
	}
	if (err == nil) != (wantErr == nil) || (got == nil) != (want == nil) {
		return fmt.Sprintf("the errors are %v and %v", err, wantErr)
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	a, b := strings.Split(Print(got), "\n"), strings.Split(Print(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("Assign has %q, its twin %q", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("Assign also has %q, its twin %q", a[min(len(a), len(b)):], b[min(len(a), len(b)):])
	}
	return "they differ in what is not printed: nil and empty lists"
}

// Print prints everything that an answer says, a line each.
func Print(a *assignor.Assignment) string {
	if a == nil {
		return "no answer"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d, missing standbys %d, follow-up %v, next %v\n", a.Generation, a.MissingStandbys, a.FollowUp, a.NextRebalance)
	for _, ma := range a.Members {
		fmt.Fprintf(&b, "%v handover=%v instance=%s leaving=%v version=%d generation=%d follow-up=%v\n",
			ma, ma.Handover, ma.Instance, ma.Leaving, ma.Version, ma.Generation, ma.FollowUp)
	}
	for _, d := range a.Departed {
		fmt.Fprintf(&b, "departed: %s%v absent for %v\n", d.Instance, d.Tasks, d.Absent)
	}
	for _, m := range a.Moves {
		fmt.Fprintf(&b, "%v\n", m)
	}
	return b.String()
}
