package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// toolchain is a version of Go and its program.
type toolchain struct{ version, program string }

// toolchains returns the oldest supported Go and today's. The oldest is fetched as a module, through Go's own module
// cache.
func (r *rehearsal) toolchains(ctx context.Context) ([]toolchain, error) {
	var all []toolchain
	for _, name := range []string{r.floor, "local"} {
		text, err := command(ctx, r.dir, []string{"GOTOOLCHAIN=" + name, "GOFLAGS="}, "go", "env", "GOROOT", "GOVERSION")
		if err != nil {
			return nil, err
		}
		root, version, _ := strings.Cut(text, "\n")
		all = append(all, toolchain{version: version, program: filepath.Join(root, "bin", "go")})
	}
	return all, nil
}

// passing returns a version that nobody has used or will use, because a module cache never forgets what it has seen.
func passing(version string) string {
	separator := "-"
	if semver.Prerelease(version) != "" {
		separator = "."
	}
	return fmt.Sprintf("%s%srehearsal.%d.%d", version, separator, time.Now().Unix(), os.Getpid())
}

// environment is that of a user who can get our modules only from the proxy. Other modules come from this machine's
// module cache and are compiled already; ours are in no cache. A separate rehearsal has its own cache: it fills that
// from the machine's and compiles everything, but with -trimpath only once, wherever its directory is.
func (r *rehearsal) environment(ctx context.Context) ([]string, error) {
	text, err := command(ctx, r.dir, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cache, proxy, _ := strings.Cut(text, "\n")
	env := []string{
		"GONOSUMDB=" + rootModule + "," + rootModule + "/*", // the checksum database knows only what was released
		"GOBIN=" + r.at("bin"),
		"GOTOOLCHAIN=local",
		"GOWORK=off",
	}
	if !r.apart {
		r.cache = cache
		return append(env, "GOPROXY=file://"+r.at("proxy")+","+proxy, "GOFLAGS="), nil
	}
	return append(env,
		"GOMODCACHE="+r.at("modules"),
		"GOPROXY=file://"+r.at("proxy")+",file://"+filepath.Join(cache, "cache", "download")+","+proxy,
		"GOFLAGS=-trimpath -modcacherw",
	), nil
}

// forgotten removes the rehearsal's modules from the machine's cache.
func (r *rehearsal) forgotten(modules []packed) error {
	if r.cache == "" {
		return nil
	}
	var all []error
	for _, p := range modules {
		dir := filepath.Join(r.cache, filepath.FromSlash(p.version.Path)+"@"+p.version.Version)
		all = append(all, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && entry.IsDir():
				return os.Chmod(name, 0o755)
			default:
				return err
			}
		}), os.RemoveAll(dir))
		versions := filepath.Join(r.cache, "cache", "download", filepath.FromSlash(p.version.Path), "@v")
		files, err := filepath.Glob(filepath.Join(versions, p.version.Version+".*"))
		all = append(all, err)
		for _, name := range append(files, filepath.Join(versions, "list")) { // which Go writes again
			if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}
