package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const rootModule = "github.com/evictkit/evictkit"

// tagged are the directories of the modules in a release, each after those that it requires.
var tagged = []string{"", "evictor/clientgo", "evictor/manager", "evictor/compat", "examples"}

// packed is a module of a release.
type packed struct {
	dir     string // in the repository
	version module.Version
	sum     string // of its zip, as in go.sum
	modSum  string // of its go.mod
}

func (p packed) tag() string { return path.Join(p.dir, p.version.Version) }

// lines returns the module's lines for go.sum.
func (p packed) lines() string {
	return fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", p.version.Path, p.version.Version, p.sum, p.modSum)
}

// prepare makes every module of a repository one that others can require, stages that, and packs the modules for a
// proxy. Each module's go.sum names the modules before it, so they are packed in that order.
func prepare(ctx context.Context, repository, version, proxy string) ([]packed, error) {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return nil, fmt.Errorf("version %q is not like v0.1.0", version)
	}
	var done []packed
	for _, dir := range tagged {
		p := packed{dir: dir, version: module.Version{Path: path.Join(rootModule, dir), Version: version}}
		folder := filepath.Join(repository, dir)
		if err := edit(folder, done); err != nil {
			return done, fmt.Errorf("module %s: %w", p.version.Path, err)
		}
		if _, err := git(ctx, folder, "add", "go.mod", "go.sum"); err != nil {
			return done, err
		}
		tree, err := git(ctx, repository, "write-tree")
		if err != nil {
			return done, err
		}
		if err := p.pack(repository, tree, proxy); err != nil {
			return done, fmt.Errorf("module %s: %w", p.version.Path, err)
		}
		done = append(done, p)
	}
	return done, nil
}

// edit changes go.mod and go.sum of a module that may require those before it.
func edit(folder string, before []packed) error {
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	edited, required, err := editMod(name, text, before)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, edited, 0o644); err != nil {
		return err
	}
	name = filepath.Join(folder, "go.sum")
	if text, err = os.ReadFile(name); err != nil {
		return err
	}
	return os.WriteFile(name, editSum(text, required), 0o644)
}

// editMod sets the version of requirements on our modules and drops their replace directives.
func editMod(name string, text []byte, before []packed) (edited []byte, required []packed, err error) {
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, replace := range file.Replace {
		if !ours(replace.Old.Path) {
			return nil, nil, fmt.Errorf("%s is replaced, and who requires this module does not see that", replace.Old.Path)
		}
	}
	for _, p := range before {
		for _, requirement := range file.Require {
			if requirement.Mod.Path == p.version.Path {
				required = append(required, p)
			}
		}
	}
	for _, p := range required {
		err = errors.Join(err, file.AddRequire(p.version.Path, p.version.Version))
	}
	for _, requirement := range file.Require {
		if ours(requirement.Mod.Path) && (len(required) == 0 || requirement.Mod.Version != required[0].version.Version) {
			err = errors.Join(err, fmt.Errorf("requires %s, which is packed after it or never", requirement.Mod.Path))
		}
	}
	for _, replace := range file.Replace {
		err = errors.Join(err, file.DropReplace(replace.Old.Path, replace.Old.Version))
	}
	if err != nil {
		return nil, nil, err
	}
	file.Cleanup()
	edited, err = file.Format()
	return edited, required, err
}

// editSum replaces the checksums of our modules by those of the required versions.
func editSum(text []byte, required []packed) []byte {
	var edited bytes.Buffer
	for _, p := range required {
		edited.WriteString(p.lines())
	}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); !ours(name) {
			edited.WriteString(line)
		}
	}
	return edited.Bytes()
}

func ours(name string) bool { return name == rootModule || strings.HasPrefix(name, rootModule+"/") }
