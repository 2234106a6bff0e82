// Command apicheck compares the exported API of this module with that of its last release and fails on an incompatible
// change. Run it in the module: go run ./internal/apicheck.
//
// The last release is the newest version tag that HEAD descends from, or, where the clone has no such tag, the commit that
// .ci/last-release names in a line "v1.2.3 <commit>". Both sides are read as source, so that the compiler's export format
// and its changes do not matter.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
}

var errIncompatible = errors.New("incompatible with the last release: rename and remove nothing, add beside it")

// run compares the module in root with its last release and writes the differences to w.
func run(w io.Writer, root string) error {
	last, err := lastRelease(root)
	if err != nil {
		return err
	}
	if last.commit == "" {
		_, err := fmt.Fprintln(w, "no release yet: nothing to compare with")
		return err
	}
	released, err := os.MkdirTemp("", "apicheck")
	if err != nil {
		return err
	}
	defer os.RemoveAll(released)
	if err := checkOut(root, last.commit, released); err != nil {
		return fmt.Errorf("check out %s: %w", last.version, err)
	}
	before, err := packages(released)
	if err != nil {
		return err
	}
	after, err := packages(root)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "compared with %s\n", last.version)
	return compare(w, before, after)
}

type release struct{ version, commit string }

// lastRelease returns the release to compare with, or the zero release where there has been none. A release that is HEAD
// itself does not count: it is compared with the one before.
func lastRelease(root string) (release, error) {
	tags, err := git(root, "tag", "--list", "v[0-9]*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname")
	if err != nil {
		return release{}, err
	}
	if tags := strings.Fields(string(tags)); len(tags) > 0 {
		return release{tags[0], "refs/tags/" + tags[0]}, nil
	}
	const file = ".ci/last-release"
	text, err := os.ReadFile(filepath.Join(root, file))
	if errors.Is(err, os.ErrNotExist) {
		return release{}, nil
	}
	if err != nil {
		return release{}, err
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return release{}, fmt.Errorf("%s: %q, want a version and a commit", file, text)
	}
	return release{fields[0], fields[1]}, nil
}

// checkOut writes the files of a commit into dir.
func checkOut(root, commit, dir string) error {
	archive, err := git(root, "archive", "--format=tar", commit)
	if err != nil {
		return err
	}
	files := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			continue
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(header.Name)), files); err != nil {
			return err
		}
	}
}

func writeFile(name string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

func git(root string, args ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", root}, args...)...)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
