// Command evictord replaces the node-lifecycle and taint-eviction controllers of kube-controller-manager: it marks
// silent nodes Unknown, taints them, and evicts pods as their tolerations end.
//
//	go run -C examples ./evictord --kubeconfig FILE # an absolute path
//
// Turn the two off in kube-controller-manager: append -node-lifecycle-controller,-taint-eviction-controller to what its
// flag --controllers has; kubeadm's has more than *, and README.md has the steps. Managed control planes, such as GKE, EKS and AKS, do not let you. There, use it with --dry-run only.
//
// With --half=lifecycle or --half=taint-eviction it replaces only one of the two.
//
// All replicas watch, and only one, the leader, acts. A leader that can no longer see the cluster, or whose writes all
// fail, releases the lease. With the default flags another replica leads within 45 seconds: 20 in which a watch may be
// broken, 12 to look and ask, a retry period, 5 to finish its writes, and a retry period of the next leader. The old
// leader asks for the lease again once it is fit; while no replica is fit, none acts. /readyz names what is failing.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // when the reader of the log dies, the program goes on without it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	err := program(ctx)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "controller:", oneLine(err))
		os.Exit(1)
	}
}

func program(ctx context.Context) error {
	o, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	if o.version {
		fmt.Println("evictord", versionOf(debug.ReadBuildInfo()))
		return nil
	}
	logger := newLogger(&o, os.Stderr)
	klog.SetSlogLogger(logger) // client-go's
	logger.Info("starting", "version", versionOf(debug.ReadBuildInfo()))
	for _, warning := range o.warnings() {
		logger.Warn(warning)
	}
	return run(ctx, o, logger)
}

// version is set by the linker where there is no repository to read it from, as in the Dockerfile.
var version string

// versionOf returns the version that was linked in, or else that of the module or of the commit.
func versionOf(info *debug.BuildInfo, ok bool) string {
	if version == "" && ok {
		return info.Main.Version
	}
	return cmp.Or(version, "unknown")
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
