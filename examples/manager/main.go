// Command manager runs an evictor within controller-runtime: beside reconcilers, under the manager's leader election, health
// probes and metrics.
//
//	go run -C examples ./manager --kubeconfig FILE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	evictormetrics "github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// controller-runtime has a flag of its own, --kubeconfig.
var (
	metricsAddress = flag.String("metrics-address", ":8080", "where /metrics is served; 0 for nowhere")
	healthAddress  = flag.String("health-address", ":8081", "where /healthz and /readyz are served; 0 for nowhere")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// run is all that it takes. The evictor runs in every replica, so that the next leader has seen what this one has seen; only a
// leader that sees and can write writes, and any other neither takes nor keeps the lease.
func run(ctx context.Context, config *rest.Config) error {
	cluster, err := clientgo.NewForConfig(config, clientgo.Options{Logger: slog.Default()})
	if err != nil {
		return err
	}
	id := resourcelock.ResourceLockConfig{Identity: string(uuid.NewUUID())}
	lease, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, "kube-system", "evictkit-manager", id, config, 10*time.Second)
	if err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionResourceLockInterface: cluster.Lock(lease), LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: *healthAddress, Metrics: server.Options{BindAddress: *metricsAddress},
	})
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	measured := evictormetrics.New(evictormetrics.Options{OmitRequests: true}) // controller-runtime counts them
	e, err := evictor.New(evictor.DefaultConfig(), measured.Clients(cluster.Clients()), evictor.Options{
		Logger: slog.Default(), Observer: measured, OnPass: measured.Pass, MayWrite: leading(mgr.Elected(), cluster.MayLead),
	})
	if err != nil {
		return err
	}
	measured.Watch(e, cluster.Health)
	// Reconcilers go here: ctrl.NewControllerManagedBy(mgr)...
	if err := errors.Join(metrics.Registry.Register(measured), mgr.Add(everywhere(e.Run)),
		mgr.AddReadyzCheck("evictor", func(*http.Request) error { return cluster.MayLead() }),
		mgr.AddHealthzCheck("ping", healthz.Ping)); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	return mgr.Start(ctx)
}

// leading permits writes once the channel is closed, while mayLead does. A manager that loses its lease ends the program.
func leading(elected <-chan struct{}, mayLead func() error) func() error {
	return func() error {
		select {
		case <-elected:
			return mayLead()
		default:
			return errors.New("another replica leads")
		}
	}
}

// everywhere runs in every replica, leader or not.
type everywhere func(context.Context) error

var _ manager.LeaderElectionRunnable = everywhere(nil)

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error {
	if err := f(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
