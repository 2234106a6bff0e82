package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/incremental-rebalance/assignor"
)

// FuzzRun shows that no text makes the runner panic, that what ends a run is always a Fault with a place, and that a
// rewritten file does what it says.
func FuzzRun(f *testing.F) {
	paths, err := filepath.Glob("../../testdata/walkthroughs/*.txt")
	require.NoError(f, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("config standbys=1 mode=eager spreadTags=a,b!\n----\nerror: x\n"))
	f.Add([]byte("members\nS1 instance=h capacity=2 tags=a:b generation=3 version=9\n----\n\n" + twoMembers + "settle max=3\n----\n\nexplain T1\n----\n"))
	f.Add([]byte(twoMembers + "rebalance crash=S1 leaving=S2 leavingFor=3s since=2s\n----\n\nassert balanced stable once moves<=1 owner T1=S2 unowned [T2]\n----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		result, err := run("f.txt", text, fuzzLibrary())
		if err != nil {
			var fault *Fault
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "f.txt", fault.Name)
			require.Positive(t, fault.Line)
			return
		}
		again, err := run("f.txt", result.Rewrite(), fuzzLibrary())
		require.NoError(t, err)
		for _, failure := range again.Failures {
			require.NotEmpty(t, failure.Note, "%v", failure)
		}
	})
}

// fuzzLibrary is the fake, with topologies small enough for any number of runs.
func fuzzLibrary() library {
	lib := (&fake{}).library()
	lib.validate = func(c assignor.Config) error {
		for _, sub := range c.Topology {
			if sub.Partitions > 20 || len(c.Topology) > 10 {
				return errors.New("too large")
			}
		}
		return nil
	}
	return lib
}
