package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// serve writes modules into dir as a module proxy serves them, so that GOPROXY=file://dir finds them. What each zip has is what
// the go command would make of the tag: the files of the module's directory, without those of modules below it.
func serve(dir, root string, list []released) error {
	for _, m := range list {
		if err := serveModule(dir, filepath.Join(root, filepath.FromSlash(m.dir)), m.mod); err != nil {
			return fmt.Errorf("%s: %w", m.mod, err)
		}
	}
	return nil
}

func serveModule(dir, source string, m module.Version) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{ // order-free: one file each
		"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": goMod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(archive, m, source), archive.Close())
}
