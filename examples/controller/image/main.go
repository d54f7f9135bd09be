// Command image builds the controller's image from this checkout, for linux on amd64 and arm64, as an OCI layout in a
// new directory:
//
//	GOTOOLCHAIN=go1.26.8 go run -C examples/controller/image . --out /tmp/evictkit-image
//
// It contacts no registry. The image holds the controller and Mozilla's CA certificates, from
// golang.org/x/crypto/x509roots/fallback, and nothing else. It runs as user 65532. The digest, which is printed,
// depends only on the sources and on the version of Go, which is therefore fixed. It does not depend on the time, the
// machine or its settings.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/spf13/pflag"
)

// toolchain compiles the controller. Its standard library also compresses the layers.
const toolchain = "go1.26.8"

// examples is the module of the controller, relative to the directory of this one.
const examples = "../.."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := right(runtime.Version())
	if err == nil {
		err = program(ctx, os.Args[1:], os.Stdout, platforms)
	}
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// right says whether this version of Go produces the same digest as everywhere.
func right(version string) error {
	if version != toolchain {
		return fmt.Errorf("this is %s, which makes another digest: set GOTOOLCHAIN=%s", version, toolchain)
	}
	return nil
}

func program(ctx context.Context, args []string, out io.Writer, architectures []string) error {
	flags := pflag.NewFlagSet("image", pflag.ContinueOnError)
	dir := flags.String("out", "", "directory of the OCI layout, in full; there must be none yet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 {
		return errors.New("give --out DIRECTORY and nothing else")
	}
	if err := os.Mkdir(*dir, 0o755); err != nil {
		return err
	}
	index, err := build(ctx, examples, architectures)
	if err != nil {
		return err
	}
	digest, err := write(index, *dir)
	if err != nil {
		return fmt.Errorf("writing %s: %w", *dir, err)
	}
	fmt.Fprintln(out, digest)
	return nil
}

// write writes an OCI layout to the directory. It holds only this index.
func write(index v1.ImageIndex, dir string) (v1.Hash, error) {
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := to.AppendIndex(index); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
