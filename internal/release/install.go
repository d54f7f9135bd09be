package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"path"
	"strings"
)

// program is a program that is installed by its path.
type program struct {
	path string
	runs func(ctx context.Context, r *rehearsal, name string) error
}

var programs = []program{
	{rootModule + "/examples/simulate", simulates},
	{rootModule + "/examples/controller", controls},
}

func (r *rehearsal) installed(ctx context.Context, env []string, with toolchain, p program) error {
	if _, err := command(ctx, r.dir, env, with.program, "install", p.path+"@"+r.version); err != nil {
		return err
	}
	name := r.at("bin", path.Base(p.path))
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return err
	}
	if info.Path != p.path || info.Main.Version != r.version {
		return fmt.Errorf("%s is %s %s", name, info.Path, info.Main.Version)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return fmt.Errorf("%s was replaced in %s", m.Path, name)
		}
	}
	if err := p.runs(ctx, r, name); err != nil {
		return err
	}
	return billed(ctx, env, with, name)
}

// simulates runs the built-in scenario, and checks that what needs a checkout says so.
func simulates(ctx context.Context, r *rehearsal, name string) error {
	told, err := command(ctx, r.dir, nil, name)
	if err != nil {
		return err
	}
	if !strings.Contains(told, "of virtual time") {
		return fmt.Errorf("%s told %q", name, told)
	}
	const want = "built from a checkout of " + rootModule
	if _, err := command(ctx, r.dir, nil, name, "--engine", "both"); err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("%s --engine both does not say that upstream's controllers are %s: %w", name, want, err)
	}
	return nil
}
