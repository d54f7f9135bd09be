package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

//go:embed testdata
var testdata embed.FS

// use is a program that requires one of the libraries.
type use struct{ module, program, prints string }

var uses = []use{
	{rootModule, "root", "[a-0-p0 a-0-p1]"},
	{rootModule + "/evictor/clientgo", "clientgo", "a-0 NodeRegistered"},
	{rootModule + "/evictor/manager", "manager", "true <nil>"},
	{rootModule + "/evictor/compat", "compat", "a-0"},
}

// used makes a module that gets a library, builds the program in it, and runs it.
func (r *rehearsal) used(ctx context.Context, env []string, with toolchain, u use) error {
	dir := r.at("uses", with.version, u.program)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := testdata.ReadFile(path.Join("testdata", u.program, "main.go"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), text, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"mod", "init", "example.org/" + u.program},
		{"get", u.module + "@" + r.version},
		{"build", "-mod=mod", "-o", "program"}, // finds the program's other imports
	} {
		if _, err := command(ctx, dir, env, with.program, args...); err != nil {
			return err
		}
	}
	printed, err := command(ctx, dir, nil, filepath.Join(dir, "program"))
	if err == nil && printed != u.prints {
		err = fmt.Errorf("it printed %q, not %q", printed, u.prints)
	}
	return err
}
