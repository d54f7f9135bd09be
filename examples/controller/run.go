package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// run is the program: it returns nil when the context ends and all is handed over.
func run(ctx context.Context, o options, logger *slog.Logger) error {
	config, err := connection(&o)
	if err != nil {
		return err
	}
	m := metrics.New(metrics.Options{})
	config.Wrap(m.Transport)
	// Each has its own rate, as upstream's controllers have: events do not hold evictions up, evictions not the lifting of
	// taints, and nothing the lease.
	var client, evictions, events, electing *kubernetes.Clientset
	for agent, to := range map[string]**kubernetes.Clientset{"nodes": &client, "evictions": &evictions, "events": &events, "leader-election": &electing} {
		own := rest.CopyConfig(config)
		own.UserAgent += "/" + agent
		if to == &electing {
			own.Timeout = max(time.Second, o.leader.renewDeadline/2) // as upstream: one request that hangs costs no lease
		}
		if *to, err = kubernetes.NewForConfig(own); err != nil {
			return fmt.Errorf("client for %s: %w", agent, err)
		}
	}

	watch := clientgo.Options{
		EvictionAPI: o.evictionAPI, DaemonSets: !o.evictor.TaintBasedEviction, EvictionClient: evictions, EventClient: events, Logger: logger,
		LeaseSilence: min(20*time.Second, o.evictor.NodeMonitorGracePeriod*2/5),
	}
	if err := clientgo.CheckServer(ctx, client, needed(&o, watch)); err != nil {
		return finished(ctx, err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, watch)
	if err != nil {
		return err
	}
	leader := newLeadership(electing, o.leader, logger)
	e, err := evictor.New(o.evictor, m.Clients(cluster.Clients()), evictor.Options{
		Logger: logger, Observer: m, OnPass: m.Pass, DryRun: o.dryRun, MayWrite: leader.mayWrite,
		Jitter: func(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) },
	})
	if err != nil {
		return err
	}
	if err := cluster.Feed(e); err != nil {
		return err
	}
	leader.changed = e.Kick
	m.Watch(e, cluster.Health)

	stopMetrics, err := serve(metricsFlag, o.metricsAddress, observed(m, leader.healthy, func() error { return ready(cluster) }), logger)
	if err != nil {
		return err
	}
	defer stopMetrics()
	stopDebug, err := serve(debugFlag, o.debugAddress, debugging(e, leader.mayWrite, cluster.Health), logger)
	if err != nil {
		return err
	}
	defer stopDebug()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer factory.Shutdown()
	defer stopWatching()
	factory.Start(watching.Done())
	return leader.run(ctx, e.Run)
}

// needed are the permissions of the flags.
func needed(o *options, watch clientgo.Options) []clientgo.Permission {
	all := watch.Permissions()
	if o.dryRun {
		all = slices.DeleteFunc(all, func(p clientgo.Permission) bool { return !slices.Contains([]string{"get", "list", "watch"}, p.Verb) })
	}
	if o.leader.elect {
		for _, verb := range []string{"get", "create", "update"} {
			lease := clientgo.Permission{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: o.leader.namespace}
			if verb != "create" {
				lease.Name = o.leader.resourceName // a create has no name to be allowed by
			}
			all = append(all, lease)
		}
	}
	return all
}

// ready is nil once this replica could act if it led.
func ready(cluster *clientgo.Cluster) error {
	if !cluster.Synced() {
		return errors.New("the lists are not complete yet")
	}
	return cluster.Health()
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
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("kubeconfig: %s names no cluster", o.kubeconfig)
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.UserAgent = "evictkit-controller" // which managedFields name too
	return config, nil
}
