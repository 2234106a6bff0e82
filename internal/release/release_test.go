package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// The core has to be tagged first, or the others name a version that does not exist yet.
func TestTags(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out, root, ""))
	tags := strings.Fields(out.String())
	require.NotEmpty(t, tags)
	assert.NotContains(t, tags[0], "/", "the core comes first")
	assert.True(t, strings.HasPrefix(tags[1], "franz/"), "then what the examples stand on: %s", tags)
	assert.NotContains(t, out.String(), "internal/")
}

// TestInstall does what somebody does who has never heard of this repository's layout: an empty module cache, a new module, go get
// and go mod tidy. The modules come from a proxy that has this checkout; everything else comes from where it always does.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything from an empty module cache")
	}
	list, err := modules(root)
	require.NoError(t, err)
	proxy := t.TempDir()
	require.NoError(t, serve(proxy, root, list))
	env := stranger(t, proxy)

	t.Run("service", func(t *testing.T) {
		dir := t.TempDir()
		program, err := os.ReadFile("testdata/service.go.txt")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600))
		command(t, dir, env, "go", "mod", "init", "example.com/service")
		command(t, dir, env, "go", "get", list[0].mod.Path+"/franz")
		command(t, dir, env, "go", "mod", "tidy")
		goMod := command(t, dir, env, "cat", "go.mod")
		assert.Contains(t, goMod, list[0].mod.Path+" "+list[0].mod.Version)
		assert.Contains(t, command(t, dir, env, "go", "run", "."), "0_0: worker-1 -> worker-3 (learn)")
	})
	for _, m := range list {
		if !strings.HasPrefix(m.dir, "examples/") {
			continue
		}
		t.Run(m.dir, func(t *testing.T) {
			dir := t.TempDir()
			command(t, dir, env, "go", "mod", "init", "example.com/example")
			command(t, dir, env, "go", "get", "-tool", m.mod.Path)
			command(t, dir, env, "go", "mod", "tidy")
			command(t, dir, env, "go", "build", "-o", os.DevNull, m.mod.Path)
		})
	}
}

// stranger returns the environment of somebody with an empty module cache. What this machine has fetched already is one more
// proxy, so that only what it never had is fetched again.
func stranger(t *testing.T, proxy string) []string {
	t.Helper()
	cache := t.TempDir()
	fetched := filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")
	proxies := []string{"file://" + filepath.ToSlash(proxy), "file://" + filepath.ToSlash(fetched), goEnv(t, "GOPROXY")}
	return append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+cache, // which t.TempDir can remove
		"GOPROXY="+strings.Join(proxies, ","), "GONOSUMDB=github.com/incremental-rebalance")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// What a replace directive hides is told, all of it at once.
func TestVersionsThatCannotBe(t *testing.T) {
	const work = "go 1.26.0\nuse (\n\t.\n\t./a\n\t./b\n\t./internal/c\n)\n"
	for name, c := range map[string]struct {
		a, b string   // what the modules require of the core
		want []string // parts of the error; none: it is right
	}{
		"one":            {a: "v1.3.0", b: "v1.3.0"},
		"none":           {a: "v0.0.0", b: "v1.3.0", want: []string{"a/go.mod requires example.com/core@v0.0.0, want a version that can be tagged"}},
		"pseudo-version": {a: "v1.3.0", b: "v0.0.0-20260918054303-01f206a7e32c", want: []string{"b/go.mod requires"}},
		"two":            {a: "v1.3.0", b: "v1.4.0", want: []string{"b/go.mod requires example.com/core@v1.4.0, others v1.3.0, want one"}},
		"old":            {a: "v1.2.0", b: "v1.2.0", want: []string{"example.com/core@v1.2.0, which is not newer than the last release v1.2.0"}},
		"all wrong":      {a: "v0.0.0", b: "v0.0.0-20260918054303-01f206a7e32c", want: []string{"a/go.mod requires", "b/go.mod requires"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.work", work)
			write(t, dir, ".ci/last-release", "v1.2.0 33303648d136c442bf0bebcd66efb2decfd2e070\n")
			write(t, dir, "go.mod", "module example.com/core\n")
			write(t, dir, "a/go.mod", "module example.com/core/a\nrequire example.com/core "+c.a+"\nreplace example.com/core => ../\n")
			write(t, dir, "b/go.mod", "module example.com/core/b\nrequire example.com/core "+c.b+"\nreplace example.com/core => ../\n")
			write(t, dir, "internal/c/go.mod", "module example.com/core/internal/c\nrequire example.com/core v0.0.0\n")
			var out bytes.Buffer
			err := run(&out, dir, "")
			if len(c.want) == 0 {
				require.NoError(t, err)
				assert.Equal(t, "v1.3.0\na/v1.3.0\nb/v1.3.0\n", out.String())
				return
			}
			require.Error(t, err)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}
