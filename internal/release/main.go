// Command release says what is to be tagged, and in which order, and writes it as a module proxy would serve it, so that a release
// can be tried before it is made:
//
//	go run ./internal/release              # the tags, one a line, the core's first
//	go run ./internal/release -out DIR     # and GOPROXY=file://DIR/... serves them
//
// A version stands in the go.mod files of the modules that require it, nowhere else: they must agree, and it must be one that
// can be tagged. The replace directives there serve whoever works on the repository. Those who import a module get none of
// them, so a version that does not exist would show only to them; the test of this command stands in for them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	out := flag.String("out", "", "write the modules into this directory, as a file proxy")
	root := flag.String("root", ".", "the root of the repository")
	flag.Parse()
	if err := run(os.Stdout, *root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root, out string) error {
	list, err := modules(root)
	if err != nil {
		return err
	}
	if err := current(root, list); err != nil {
		return err
	}
	for _, m := range list {
		fmt.Fprintln(w, m.tag())
	}
	if out == "" {
		return nil
	}
	return serve(out, root, list)
}
