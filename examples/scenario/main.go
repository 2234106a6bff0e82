// Command scenario runs scenario files: what members report, round by round, and what the leader must answer.
//
//	go run ./examples/scenario FILE...
//
// It prints a line for each file: "ok  FILE", or "FAIL FILE:LINE" with what that step gave and what the file wants. A
// directory stands for the .txt files below it. The exit code is 1 if any step of any file differs or cannot be run, and 2 if
// the arguments are no such files.
//
// How to write such a file is told by the comment of the package internal/scenario, and shown by those in testdata.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/incremental-rebalance/assignor/internal/scenario"
)

const usage = "usage: scenario FILE..."

const (
	exitOK     = 0
	exitDiffer = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	paths, err := expand(args)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no scenario files\n%s", usage)
	}
	if err != nil {
		fmt.Fprintln(stderr, "scenario:", err)
		return exitUsage
	}
	code := exitOK
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(stderr, "scenario:", err)
			return exitUsage
		}
		verdict, ok := judge(path, text)
		fmt.Fprintln(stdout, verdict)
		if !ok {
			code = exitDiffer
		}
	}
	return code
}

// judge runs one file. It returns what to print of it, and whether every step does what the file says.
func judge(path string, text []byte) (verdict string, ok bool) {
	result, err := scenario.Run(path, text)
	switch {
	case len(result.Failures) > 0:
		verdict = fmt.Sprintf("FAIL %v", result.Failures[0])
		if more := len(result.Failures) - 1; more > 0 {
			verdict += fmt.Sprintf("\nand %d more steps of this file differ", more)
		}
	case err != nil:
		verdict = fmt.Sprintf("FAIL %v", err)
	default:
		return "ok   " + path, true
	}
	return verdict, false
}

// expand returns the arguments with the scenario files below it in the place of each directory, in lexical order.
func expand(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return nil, fmt.Errorf("unknown flag %s\n%s", arg, usage)
		}
		err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (path == arg || filepath.Ext(path) == ".txt") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return paths, nil
}
