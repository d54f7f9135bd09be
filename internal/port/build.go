package port

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Port is another project's package with our code in it.
type Port struct {
	// Of is their package. This module requires its module.
	Of string
	// As is the package's name when it is built: a package of this module, right below the working directory, that does
	// not exist otherwise.
	As string
	// With are files of ours in the working directory that are added: tests, whose names end with _test.go.
	With []string
	// In is the directory of the ports; empty means the working directory.
	In string

	as bool // build it unchanged
}

// Built is a port that compiles.
type Built struct {
	// Program is its test program. It has the race detector if the caller has.
	Program string
	// Code and Tests count the changes to files without and with tests.
	Code, Tests Lines
	// Gone are the files that are removed completely.
	Gone []string
}

// Build compiles the package and its tests with the ports in the working directory and below it, into a directory of
// the caller. In packages below theirs a port can only remove files.
func (p Port) Build(work string) (Built, error) {
	here, err := os.Getwd()
	if err != nil {
		return Built{}, err
	}
	made, files, err := p.files()
	if err != nil {
		return Built{}, err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, text := range files {
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return Built{}, err
		}
		overlay.Replace[filepath.Join(here, path.Base(p.As), name)] = file
	}
	table, err := json.Marshal(overlay)
	if err != nil {
		return Built{}, err
	}
	replace := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(replace, table, 0o600); err != nil {
		return Built{}, err
	}
	made.Program = filepath.Join(work, path.Base(p.As)+".test")
	args := []string{"test", "-c", "-vet=off", "-race=" + strconv.FormatBool(race), "-overlay", replace, "-o", made.Program, p.As}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return Built{}, fmt.Errorf("building %s of %s: %w\n%s", p.As, p.Of, err, out)
	}
	return made, nil
}

// Files returns the files of the package as it is built, by name, for a program that has it without its tests.
func (p Port) Files() (map[string][]byte, error) {
	_, files, err := p.files()
	return files, err
}

// files is Files, and counts what the ports change.
func (p Port) files() (made Built, files map[string][]byte, err error) {
	out, err := exec.Command("go", "list", "-json=Dir,GoFiles,TestGoFiles,XTestGoFiles", p.Of).Output()
	if err != nil {
		return Built{}, nil, fmt.Errorf("finding %s: %w", p.Of, err)
	}
	var theirs struct {
		Dir                                string
		GoFiles, TestGoFiles, XTestGoFiles []string
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		return Built{}, nil, err
	}
	files = map[string][]byte{}
	for _, name := range slices.Concat(theirs.GoFiles, theirs.TestGoFiles, theirs.XTestGoFiles) {
		if files[name], err = os.ReadFile(filepath.Join(theirs.Dir, name)); err != nil {
			return Built{}, nil, err
		}
	}
	if !p.as {
		if err := made.apply(os.DirFS(cmp.Or(p.In, ".")), theirs.Dir, files); err != nil {
			return Built{}, nil, fmt.Errorf("porting %s: %w", p.Of, err)
		}
	}
	for name, text := range files {
		files[name] = []byte(strings.ReplaceAll(string(text), `"`+p.Of+`"`, `"`+p.As+`"`))
	}
	for _, file := range p.With {
		if files[path.Base(file)], err = os.ReadFile(file); err != nil {
			return Built{}, nil, err
		}
	}
	return made, files, nil
}

// apply changes files according to the ports in a directory.
func (b *Built) apply(in fs.FS, theirs string, files map[string][]byte) error {
	return fs.WalkDir(in, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".port" {
			return err
		}
		name := strings.TrimSuffix(file, ".port") + ".go"
		port, err := fs.ReadFile(in, file)
		if err != nil {
			return err
		}
		old, err := os.ReadFile(filepath.Join(theirs, name))
		if err != nil {
			return err
		}
		text, lines, err := Apply(string(old), string(port))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		of := &b.Code
		if strings.HasSuffix(name, "_test.go") {
			of = &b.Tests
		}
		of.Removed += lines.Removed
		of.Added += lines.Added
		switch {
		case text == "":
			b.Gone = append(b.Gone, name)
			delete(files, name)
		case filepath.Dir(name) != ".":
			return fmt.Errorf("%s: what is left of it is not built", file)
		default:
			files[name] = []byte(text)
		}
		return nil
	})
}
