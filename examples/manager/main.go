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

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "evictkit-manager", LeaderElectionNamespace: "kube-system", LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: *healthAddress, Metrics: server.Options{BindAddress: *metricsAddress},
	})
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := addEvictor(mgr, evictor.DefaultConfig()); err != nil {
		return err
	}
	// Reconcilers go here: ctrl.NewControllerManagedBy(mgr)...
	return mgr.Start(ctx)
}

// addEvictor runs an evictor with the manager. It runs in every replica, so that the next leader has seen what this one has
// seen; only the leader writes.
func addEvictor(mgr manager.Manager, config evictor.Config) error {
	protobuf := rest.CopyConfig(mgr.GetConfig())
	protobuf.ContentType, protobuf.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, clientgo.Options{Logger: slog.Default()})
	if err != nil {
		return err
	}
	measured := evictormetrics.New(evictormetrics.Options{OmitRequests: true}) // controller-runtime counts them
	e, err := evictor.New(config, measured.Clients(cluster.Clients()), evictor.Options{
		Logger: slog.Default(), Observer: measured, OnPass: measured.Pass, MayWrite: leading(mgr.Elected()),
	})
	if err != nil {
		return err
	}
	if err := cluster.Feed(e); err != nil {
		return err
	}
	measured.Watch(e, cluster.Health)
	if err := metrics.Registry.Register(measured); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if err := mgr.AddReadyzCheck("evictor", ready(cluster)); err != nil {
		return fmt.Errorf("readyz: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil { // without one there is no /healthz
		return fmt.Errorf("healthz: %w", err)
	}
	return mgr.Add(everywhere(func(ctx context.Context) error {
		factory.Start(ctx.Done())
		go func() {
			select {
			case <-mgr.Elected():
				e.Kick() // permissions are asked again at once
			case <-ctx.Done():
			}
		}()
		if err := e.Run(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}))
}

// ready is nil once this replica could act if it led.
func ready(cluster *clientgo.Cluster) healthz.Checker {
	return func(*http.Request) error {
		if !cluster.Synced() {
			return errors.New("the lists are not complete yet")
		}
		return cluster.Health()
	}
}

// leading permits writes once the channel is closed. A manager that loses its lease ends the program.
func leading(elected <-chan struct{}) func() error {
	return func() error {
		select {
		case <-elected:
			return nil
		default:
			return errors.New("another replica leads")
		}
	}
}

// everywhere runs in every replica, leader or not.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
