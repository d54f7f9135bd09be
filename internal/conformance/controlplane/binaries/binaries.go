// Package binaries finds the programs of a control plane, or builds them.
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of Kubernetes that is built; the go.mod of this module has it too.
const Version = "v1.37.2"

// Paths are the paths of a control plane's programs.
type Paths struct {
	Etcd, APIServer, ControllerManager, Scheduler string
}

// sources are the packages of the programs, by name.
var sources = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
}

// Find takes the programs from the directory KUBEBUILDER_ASSETS, if that is set. It builds missing ones once, from the
// modules that this module requires; that takes about five minutes on two cores. Progress goes to log. Call it from
// inside this module.
func Find(ctx context.Context, log io.Writer) (Paths, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Paths{}, err
	}
	cache = filepath.Join(cache, "evictkit-ci", "controlplane-"+Version)
	find := func(name string) string {
		var path string
		if err == nil {
			path, err = findProgram(ctx, log, cache, name)
		}
		return path
	}
	return Paths{Etcd: find("etcd"), APIServer: find("kube-apiserver"), ControllerManager: find("kube-controller-manager"), Scheduler: find("kube-scheduler")}, err
}

func findProgram(ctx context.Context, log io.Writer, cache, name string) (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		if path := filepath.Join(assets, name); exists(path) {
			return path, nil
		}
	}
	path := filepath.Join(cache, name)
	if exists(path) {
		return path, nil
	}
	fmt.Fprintf(log, "building %s %s, once; set KUBEBUILDER_ASSETS to use another\n", name, Version)
	return path, build(ctx, log, path, sources[name])
}

// build leaves a complete program at path or none, even if another process builds it at the same time.
func build(ctx context.Context, log io.Writer, path, source string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, filepath.Base(path))
	// Programs of Kubernetes that do not know their version call themselves v0.0.0-master.
	const variable = "k8s.io/component-base/version."
	flags := "-s -w -X " + variable + "gitVersion=" + Version
	build := exec.CommandContext(ctx, "go", "build", "-p", "2", "-buildvcs=false", "-ldflags", flags, "-o", made, source)
	build.Stdout, build.Stderr = log, log
	if err := build.Run(); err != nil {
		return fmt.Errorf("building %s: %w", source, err)
	}
	return os.Rename(made, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
