package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// pack writes the module, as it is in a git tree, to a directory with the layout of a module proxy, and records its
// checksums.
func (p *packed) pack(repository, tree, proxy string) (err error) {
	escaped, err := module.EscapePath(p.version.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, p.version.Version)
	file, err := os.Create(base + ".zip")
	if err != nil {
		return err
	}
	if err := errors.Join(zip.CreateFromVCS(file, p.version, repository, tree, p.dir), file.Close()); err != nil {
		return err
	}
	if p.sum, err = dirhash.HashZip(base+".zip", dirhash.Hash1); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(repository, p.dir, "go.mod"))
	if err != nil {
		return err
	}
	p.modSum, err = dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(mod))), nil
	})
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{p.version.Version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{base + ".mod", mod}, {base + ".info", info}, {filepath.Join(dir, "list"), []byte(p.version.Version + "\n")}} {
		if err := os.WriteFile(f.name, f.text, 0o644); err != nil {
			return fmt.Errorf("packing: %w", err)
		}
	}
	return nil
}
