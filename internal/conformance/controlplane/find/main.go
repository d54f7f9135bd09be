// Command find builds missing programs of a control plane and prints their directory, for tests in other modules that
// run it from inside this one.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evictkit/evictkit/internal/conformance/controlplane/binaries"
)

func main() {
	found, err := binaries.Find(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, filepath.Dir(found.APIServer))
}
