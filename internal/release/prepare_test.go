package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

const root = "../.."

// Every module is either tagged or listed as not tagged, so that no release forgets one.
func TestEveryModuleIsTaggedOrNot(t *testing.T) {
	untagged := []string{"examples/controller/image", "examples/simulate/page/browser"}
	names, err := git(context.Background(), root, "ls-files", "--cached", "--others", "--exclude-standard", "--", "go.mod", "*/go.mod")
	require.NoError(t, err)
	var found []string
	for _, name := range strings.Fields(names) {
		dir := strings.TrimPrefix(path.Dir("/"+name), "/")
		if !slices.Contains(untagged, dir) && !strings.HasPrefix(dir, "internal/") {
			found = append(found, dir)
		}
	}
	require.ElementsMatch(t, tagged, found)
}

// TestPrepared makes a small repository with our modules, and prepares it.
func TestPrepared(t *testing.T) {
	ctx := context.Background()
	repository, proxy := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(repository, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write("LICENSE", "to all of it")
	for i, dir := range tagged {
		mod := "module " + path.Join(rootModule, dir) + "\n\ngo 1.23.0\n"
		for _, before := range tagged[:i] {
			p := path.Join(rootModule, before)
			mod += "\nrequire " + p + " v0.0.0\n\nreplace " + p + " => " + strings.Repeat("../", strings.Count(dir, "/")+1) + before + "\n"
		}
		write(path.Join(dir, "go.mod"), mod)
		write(path.Join(dir, "go.sum"), "example.org/other v1.0.0 h1:x=\n")
		write(path.Join(dir, "doc.go"), "package p\n")
	}
	_, err := git(ctx, repository, "init", "-q")
	require.NoError(t, err)
	_, err = git(ctx, repository, "add", "-A")
	require.NoError(t, err)
	write("untracked.go", "package p\n")

	modules, err := prepare(ctx, repository, "v0.1.0", proxy)
	require.NoError(t, err)
	require.Equal(t, "evictor/clientgo/v0.1.0", modules[1].tag())
	staged, err := git(ctx, repository, "diff", "--name-only")
	require.NoError(t, err)
	require.Empty(t, staged, "all is staged")

	last := modules[len(modules)-1]
	text, err := os.ReadFile(filepath.Join(proxy, last.version.Path, "@v", "v0.1.0.mod"))
	require.NoError(t, err)
	mod, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	require.Empty(t, mod.Replace)
	require.Len(t, mod.Require, len(tagged)-1)
	sums, err := os.ReadFile(filepath.Join(repository, last.dir, "go.sum"))
	require.NoError(t, err)
	require.Contains(t, string(sums), "example.org/other v1.0.0 h1:x=\n")
	for i, requirement := range mod.Require {
		require.Equal(t, modules[i].version, requirement.Mod)
		require.Contains(t, string(sums), modules[i].lines())
	}

	// Packed again after more files were written, it is the same: a release contains only what is in the index.
	again, err := prepare(ctx, repository, "v0.1.0", t.TempDir())
	require.NoError(t, err)
	require.Equal(t, modules, again)
}

func TestWhatCannotBePrepared(t *testing.T) {
	before := []packed{{version: module.Version{Path: rootModule, Version: "v0.1.0"}}}
	for text, want := range map[string]string{
		"module x\nreplace example.org/other => ../other\n":              "example.org/other is replaced",
		"module x\nrequire " + rootModule + "/evictor/compat v0.0.0\n":   "is packed after it or never",
		"module x\nrequire " + rootModule + "/internal/release v0.1.0\n": "is packed after it or never",
		"module x\nrequire " + rootModule + " v0.0.0\nrequire nothing\n": "go.mod:3",
	} {
		_, _, err := editMod("go.mod", []byte(text), before)
		require.ErrorContains(t, err, want, text)
	}
	for _, version := range []string{"0.1.0", "v0.1", "", "v0.1.0+x"} {
		_, err := prepare(context.Background(), t.TempDir(), version, t.TempDir())
		require.ErrorContains(t, err, "is not like v0.1.0")
	}
}

// Checksums of an older release do not stay.
func TestSumsAreReplaced(t *testing.T) {
	p := packed{version: module.Version{Path: rootModule, Version: "v0.2.0"}, sum: "h1:a=", modSum: "h1:b="}
	text := "example.org/a v1.0.0 h1:x=\n" + rootModule + " v0.1.0 h1:old=\n" + rootModule + "/evictor/clientgo v0.1.0 h1:old=\n"
	require.Equal(t, rootModule+" v0.2.0 h1:a=\n"+rootModule+" v0.2.0/go.mod h1:b=\nexample.org/a v1.0.0 h1:x=\n", string(editSum([]byte(text), []packed{p})))
}

func TestAReleaseHasItsDate(t *testing.T) {
	require.True(t, dated("# Changelog\n\n## v0.1.0 - 2026-01-31\n\ntext", "v0.1.0"))
	require.False(t, dated("## v0.1.0 - unreleased\n", "v0.1.0"))
	require.False(t, dated("## v0.1.0 - 2026-01-31\n", "v0.1"))
	require.False(t, dated("## v0.1.0 - 2026-01-31\n", "v0.2.0"))
}
