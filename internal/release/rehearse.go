package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rehearsal is one run of everything that others will do with a release.
type rehearsal struct {
	source  string // the repository
	dir     string // the directory to work in
	version string
	floor   string // the oldest Go that the libraries support
	apart   bool   // with a module cache of its own
	cache   string // the machine's module cache, if it is used
	out     io.Writer
}

// at returns the path of a file or directory of the rehearsal.
func (r *rehearsal) at(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

// step prints what was done and how long it took.
func (r *rehearsal) step(what string, do func() error) error {
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(r.out, "%s: ok, %s\n", what, time.Since(began).Round(time.Second/10))
	return nil
}

func (r *rehearsal) rehearse(ctx context.Context) (err error) {
	var modules []packed
	err = r.step("packed", func() (err error) {
		if err = r.copied(ctx); err != nil {
			return err
		}
		modules, err = prepare(ctx, r.at("repository"), r.version, r.at("proxy"))
		return err
	})
	if err != nil {
		return err
	}
	toolchains, err := r.toolchains(ctx)
	if err != nil {
		return err
	}
	env, err := r.environment(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.forgotten(modules)) }()
	today := toolchains[len(toolchains)-1]
	var all []error
	all = append(all,
		r.step("tags have what was packed", func() error { return r.fetched(ctx, today, modules) }),
		r.step("the tagged commit builds by itself", func() error { return r.built(ctx, env, today) }))
	for _, go_ := range toolchains {
		for _, u := range uses {
			all = append(all, r.step(u.module+" with "+go_.version, func() error { return r.used(ctx, env, go_, u) }))
		}
	}
	for _, p := range programs {
		all = append(all, r.step(p.path+" installed", func() error { return r.installed(ctx, env, today, p) }))
	}
	return errors.Join(all...)
}

// copied commits the files of the working tree, changed or not, to a repository of its own. Ignored files are left out.
func (r *rehearsal) copied(ctx context.Context) error {
	names, err := git(ctx, r.source, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(names, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(r.source, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but not committed yet
		} else if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(r.at("repository", name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(r.at("repository", name), text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return r.gits(ctx, []string{"init", "-q"}, []string{"add", "-A"})
}

func (r *rehearsal) gits(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		if _, err := git(ctx, r.at("repository"), args...); err != nil {
			return err
		}
	}
	return nil
}

// fetched commits and tags what was prepared, makes Go fetch the modules by their tags, and compares.
func (r *rehearsal) fetched(ctx context.Context, with toolchain, modules []packed) error {
	err := r.gits(ctx, []string{"-c", "user.name=release", "-c", "user.email=release@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", r.version})
	if err != nil {
		return err
	}
	env := []string{
		"GOPROXY=direct", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw", "GOMODCACHE=" + r.at("direct"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + r.at("repository") + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + rootModule,
	}
	for _, p := range modules {
		if err := r.gits(ctx, []string{"-c", "tag.gpgsign=false", "tag", p.tag()}); err != nil {
			return err
		}
	}
	for _, p := range modules {
		text, err := command(ctx, r.dir, env, with.program, "mod", "download", "-json", p.version.String())
		if err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		var download struct{ Sum, GoModSum string }
		if err := json.Unmarshal([]byte(text), &download); err != nil {
			return err
		}
		if download.Sum != p.sum || download.GoModSum != p.modSum {
			return fmt.Errorf("tag %s has %+v, packed was %s, %s", p.tag(), download, p.sum, p.modSum)
		}
	}
	return nil
}

// built builds a checkout of the tags. Its go.sum must name everything that was packed.
func (r *rehearsal) built(ctx context.Context, env []string, with toolchain) error {
	for _, dir := range tagged {
		if _, err := command(ctx, r.at("repository", dir), env, with.program, "build", "-mod=readonly", "-buildvcs=false", "./..."); err != nil {
			return err
		}
		if _, err := command(ctx, r.at("repository", dir), env, with.program, "list", "-mod=readonly", "-test", "-deps", "./..."); err != nil {
			return err
		}
	}
	return nil
}
