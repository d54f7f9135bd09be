package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// compile compiles the controller of the module examples in dir.
func compile(ctx context.Context, dir, arch string) ([]byte, error) {
	made, err := os.MkdirTemp("", "evictkit-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(made) }()
	path := filepath.Join(made, "controller")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./controller")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=-mod=readonly", "GOWORK=off",
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0")
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compiling the controller for %s: %w\n%s", arch, err, said)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return program, asEverywhere(program)
}

// settings are the build settings that are the same on every machine.
var settings = []string{"-buildmode", "-compiler", "-trimpath", "DefaultGODEBUG", "CGO_ENABLED", "GOARCH", "GOOS", "GOAMD64", "GOARM64"}

// asEverywhere finds what only this machine sets: an experiment, which is part of the version, or a setting.
func asEverywhere(program []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if info.GoVersion != toolchain {
		return fmt.Errorf("the controller was compiled by %q instead of %s", info.GoVersion, toolchain)
	}
	for _, setting := range info.Settings {
		if !slices.Contains(settings, setting.Key) {
			return fmt.Errorf("the controller was compiled with %s=%s, which other machines do not set", setting.Key, setting.Value)
		}
	}
	return nil
}
