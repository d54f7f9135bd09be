// Command controller replaces the node-lifecycle and taint-eviction controllers of kube-controller-manager: it marks
// silent nodes Unknown, taints them, and evicts pods as their tolerations end.
//
//	go run -C examples ./controller --kubeconfig FILE
//
// Turn the two off in kube-controller-manager: --controllers=*,-node-lifecycle-controller,-taint-eviction-controller
//
// With --half=lifecycle or --half=taint-eviction it replaces only one of the two.
//
// Of several replicas all watch and one, the leader, acts. A leader that can no longer see the cluster, or whose writes
// all fail, releases the lease. With the default flags another replica leads within 45 seconds: 20 in which a watch may
// be broken, 12 to look and ask, a retry period, 5 to finish its writes, and a retry period of the next leader. The old
// leader asks for the lease again once it is fit; while no replica is fit, none acts. /readyz names what is failing.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func main() {
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
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level(o.verbosity)}))
	klog.SetSlogLogger(logger) // client-go's
	return run(ctx, o, logger)
}

func level(verbosity int) slog.Level {
	switch {
	case verbosity >= 4:
		return slog.LevelDebug
	case verbosity >= 2:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
