package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// run is the program: it returns nil when the context ends and all is handed over.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level(o.verbosity)}))
	klog.SetSlogLogger(logger)
	config, err := connection(&o)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	events, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "events"))
	if err != nil {
		return fmt.Errorf("client of the events: %w", err)
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, clientgo.Options{
		EvictionAPI: o.evictionAPI, DaemonSets: !o.evictor.TaintBasedEviction, EventClient: events, Logger: logger,
		LeaseSilence: min(20*time.Second, o.evictor.NodeMonitorGracePeriod*2/5),
	})
	if err != nil {
		return err
	}
	leader := newLeadership(client, o.leader, logger)
	e, err := evictor.New(o.evictor, cluster.Clients(), evictor.Options{Logger: logger, DryRun: o.dryRun, MayWrite: leader.mayWrite})
	if err != nil {
		return err
	}
	if err := cluster.Feed(e); err != nil {
		return err
	}
	leader.changed = e.Kick

	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer factory.Shutdown()
	defer stopWatching()
	factory.Start(watching.Done())
	return leader.run(ctx, e.Run)
}

// connection is how to reach the API server.
func connection(o *options) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if o.kubeconfig != "" || o.master != "" {
		config, err = clientcmd.BuildConfigFromFlags(o.master, o.kubeconfig)
	}
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, errors.New("no kubeconfig: give --kubeconfig FILE, or run in a pod with a service account")
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.UserAgent = "evictkit-controller"
	return config, nil
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
