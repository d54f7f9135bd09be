// Command manager answers: how does an evictor run beside my reconcilers, with their manager's leader election, probes
// and metrics?
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/manager"
)

func main() {
	flag.Parse() // controller-runtime defines --kubeconfig
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, ctrl.Options{HealthProbeBindAddress: ":8081"})
	}
	if err != nil {
		slog.Error("the manager has ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	options.LeaderElection, options.LeaderElectionReleaseOnCancel = true, true
	options.LeaderElectionNamespace, options.LeaderElectionID = "kube-system", "evictkit-manager"
	mgr, _, err := manager.New(config, options, evictor.DefaultConfig(), manager.Options{})
	if err != nil {
		return err
	}
	return mgr.Start(ctx) // add your reconcilers before it: ctrl.NewControllerManagedBy(mgr)...
}
