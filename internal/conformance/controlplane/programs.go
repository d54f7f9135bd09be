package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of Kubernetes that is built; the go.mod of this module has it too.
const Version = "v1.36.3"

// Programs are the paths of the programs that make a control plane.
type Programs struct {
	Etcd, APIServer, ControllerManager string
}

// sources are the packages of the programs, by name.
var sources = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}

// FindPrograms takes the programs from the directory KUBEBUILDER_ASSETS, when that is set, and builds what is missing
// from the modules that this module requires, once: about five minutes on two cores. Progress goes to log. It must be
// called from inside this module.
func FindPrograms(ctx context.Context, log io.Writer) (Programs, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Programs{}, err
	}
	cache = filepath.Join(cache, "evictkit-ci", "controlplane-"+Version)
	find := func(name string) string {
		var path string
		if err == nil {
			path, err = findProgram(ctx, log, cache, name)
		}
		return path
	}
	return Programs{Etcd: find("etcd"), APIServer: find("kube-apiserver"), ControllerManager: find("kube-controller-manager")}, err
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

// build leaves a whole program at path or none, also beside another process that builds it.
func build(ctx context.Context, log io.Writer, path, source string) error {
	dir, err := os.MkdirTemp(mkdir(filepath.Dir(path)), "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, filepath.Base(path))
	// Programs of Kubernetes that do not know their version call themselves v0.0.0-master.
	const variable = "k8s.io/component-base/version."
	flags := "-s -w -X " + variable + "gitVersion=" + Version
	build := exec.CommandContext(ctx, "go", "build", "-p", "2", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", made, source)
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

// mkdir makes a directory; whoever uses it will find out if that failed.
func mkdir(dir string) string {
	_ = os.MkdirAll(dir, 0o755)
	return dir
}
