package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// architectures are those that a test builds for: all with EVICTKIT_FULL, otherwise only this machine's.
func architectures() []string {
	if os.Getenv("EVICTKIT_FULL") == "" && slices.Contains(platforms, runtime.GOARCH) {
		return []string{runtime.GOARCH}
	}
	return platforms
}

// checkout copies the sources to another directory, with other modification times.
func checkout(t *testing.T) (examples string) {
	t.Helper()
	const from = "../../.."
	to := t.TempDir()
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(entry.Name(), ".") || name == "internal/conformance":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o600)
	}))
	return filepath.Join(to, "examples")
}

// TestTheDigestIsThatOfTheSources: it does not depend on the directory or on the machine's settings.
func TestTheDigestIsThatOfTheSources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	var out bytes.Buffer
	require.NoError(t, program(t.Context(), []string{"--out", dir}, &out, architectures()))
	first := written(t, dir)
	for name, value := range map[string]string{
		"GOFLAGS": "-tags=here", "GOAMD64": "v3", "GOARM64": "v9.0", "CGO_ENABLED": "1", "TZ": "Asia/Tokyo", "TMPDIR": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	second, err := build(t.Context(), checkout(t), architectures())
	require.NoError(t, err)
	one, err := first.Digest()
	require.NoError(t, err)
	other, err := second.Digest()
	require.NoError(t, err)
	require.Equal(t, one, other)
	require.Equal(t, one.String()+"\n", out.String())
	t.Log(one)
	hasWhatItNeeds(t, first)
}

// written returns the index of a layout in which every digest is right.
func written(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	all, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(all))
	manifest, err := all.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	return index
}

// hasWhatItNeeds checks the images of an index.
func hasWhatItNeeds(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, len(architectures()))
	for i, arch := range architectures() {
		entry := manifest.Manifests[i]
		require.Equal(t, "linux/"+arch, entry.Platform.String())
		image, err := index.Image(entry.Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, "linux/"+arch, config.OS+"/"+config.Architecture)
		require.Equal(t, []string{"/controller"}, config.Config.Entrypoint)
		require.Regexp(t, "^[1-9][0-9]*:[1-9][0-9]*$", config.Config.User, "a number, by which a kubelet knows that it is not root")
		require.EqualValues(t, 0, config.Created.Unix())

		files := contents(t, image)
		require.Len(t, files, 2, "and nothing else")
		require.Equal(t, []byte("-----BEGIN CERTIFICATE-----"), files["etc/ssl/certs/ca-certificates.crt"][:27])
		pool := x509.NewCertPool()
		require.True(t, pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]))
		require.Greater(t, bytes.Count(files["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")), 100)

		program, err := elf.NewFile(bytes.NewReader(files["controller"]))
		require.NoError(t, err)
		require.Equal(t, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch], program.Machine)
		for _, part := range program.Progs {
			require.NotEqual(t, elf.PT_INTERP, part.Type, "the image has no loader and no libraries")
		}
		if runtime.GOOS+"/"+runtime.GOARCH == "linux/"+arch {
			path := filepath.Join(t.TempDir(), "controller")
			require.NoError(t, os.WriteFile(path, files["controller"], 0o700))
			help, err := exec.CommandContext(t.Context(), path, "--help").CombinedOutput()
			require.NoError(t, err)
			require.Contains(t, string(help), "--node-monitor-grace-period")
		}
	}
}

// contents returns the files of an image, which only root may write.
func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	flat := mutate.Extract(image)
	defer flat.Close()
	for archive := tar.NewReader(flat); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Zero(t, header.FileInfo().Mode().Perm()&0o022, header.Name)
		require.Zero(t, header.Uid, header.Name)
		require.EqualValues(t, 0, header.ModTime.Unix(), header.Name)
		if header.FileInfo().IsDir() {
			continue
		}
		files[header.Name], err = io.ReadAll(archive)
		require.NoError(t, err)
	}
}

// TestWhatTheCommandRefuses: wrong toolchains and directories are errors.
func TestWhatTheCommandRefuses(t *testing.T) {
	require.NoError(t, right(toolchain))
	require.EqualError(t, right("go1.27.0"), "this is go1.27.0, which makes another digest: set GOTOOLCHAIN="+toolchain)
	for _, args := range [][]string{nil, {"--out", t.TempDir(), "more"}} {
		require.EqualError(t, program(t.Context(), args, io.Discard, nil), "give --out DIRECTORY and nothing else")
	}
	require.ErrorIs(t, program(t.Context(), []string{"--out", t.TempDir()}, io.Discard, nil), fs.ErrExist)
}

// TestThePageNamesTheLibrary: the page names the tool that copies an image in the version that is required here.
func TestThePageNamesTheLibrary(t *testing.T) {
	const library = "github.com/google/go-containerregistry"
	required, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(library + " (v\\S+)").FindSubmatch(required)
	require.NotNil(t, version)
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "go run "+library+"/cmd/crane@"+string(version[1])+" push ")
}

// TestThePagesNameTheToolchain on which the digest depends.
func TestThePagesNameTheToolchain(t *testing.T) {
	for _, page := range []string{"main.go", "../README.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Contains(t, string(text), "GOTOOLCHAIN="+toolchain+" go run -C examples/controller/image . --out ")
	}
}
