package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// platforms are the architectures of the image.
var platforms = []string{"amd64", "arm64"}

const (
	entrypoint   = "/controller"
	certificates = "/etc/ssl/certs/ca-certificates.crt" // where Go looks first
	user         = "65532:65532"
)

// build makes the image of the controller in the module examples in dir.
func build(ctx context.Context, dir string, architectures []string) (v1.ImageIndex, error) {
	roots, err := layer(file{"/etc/", nil, 0o755}, file{"/etc/ssl/", nil, 0o755}, file{"/etc/ssl/certs/", nil, 0o755}, file{certificates, bundled(), 0o444})
	if err != nil {
		return nil, err
	}
	var index v1.ImageIndex = empty.Index
	for _, arch := range architectures {
		program, err := compile(ctx, dir, arch)
		if err != nil {
			return nil, err
		}
		controller, err := layer(file{entrypoint, program, 0o555})
		if err != nil {
			return nil, err
		}
		image, err := assemble(arch, roots, controller)
		if err != nil {
			return nil, err
		}
		platform := v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: platform})
	}
	return index, nil
}

func assemble(arch string, layers ...v1.Layer) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Created: v1.Time{Time: always}, OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: user, Entrypoint: []string{entrypoint}, WorkingDir: "/",
			Labels: map[string]string{"org.opencontainers.image.title": "evictkit-controller", "org.opencontainers.image.licenses": "Apache-2.0"},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layers...)
}

// file is a file owned by root. A name that ends in a slash is a directory.
type file struct {
	name    string
	content []byte
	mode    int64
}

// always is the time of every file.
var always = time.Unix(0, 0).UTC()

func layer(files ...file) (v1.Layer, error) {
	var archive bytes.Buffer
	to := tar.NewWriter(&archive)
	for _, f := range files {
		kind := byte(tar.TypeReg)
		if f.name[len(f.name)-1] == '/' {
			kind = tar.TypeDir
		}
		header := &tar.Header{Typeflag: kind, Name: f.name[1:], Size: int64(len(f.content)), Mode: f.mode, ModTime: always, Format: tar.FormatUSTAR}
		if err := to.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}

// bundled returns the certificates of all authorities that are trusted unconditionally, because a file cannot express a
// condition.
func bundled() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}
