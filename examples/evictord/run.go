package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/maintenance"
)

// run is the program. It returns nil after the context has ended and the lease is released.
func run(ctx context.Context, o options, logger *slog.Logger) error {
	bounds, config, err := inputs(&o)
	if err != nil {
		return err
	}
	m := metrics.New(metrics.Options{})
	config.Wrap(m.Transport)
	electing, looking, err := ownClients(config, &o)
	if err != nil {
		return err
	}
	started := sparing()
	defer started()
	watch, leads, changed := watching(&o, logger), func() error { return errFollower }, func() {}
	watch.Leads = func() error { return leads() }
	cluster, err := clientgo.NewForConfig(config, watch)
	if err != nil {
		return err
	}
	enter := &entry{ask: func(ctx context.Context) error { return cluster.Check(ctx, needed(&o, watch)) }, logger: logger}
	stopped, err := newBrakes(ctx, &o, config, logger)
	if err != nil {
		return finished(ctx, err)
	}
	leader := newTerms(func() *leadership {
		l := newLeadership(electing, o.leader, func() error { return cmp.Or(stopped.unread(), cluster.MayLead()) }, logger)
		l.changed = func() { changed() }
		return l
	})
	leads = leader.mayWrite
	clients, why := m.Clients(cluster.Clients()), explain.New(explained)
	announced := &maintenance.Announced{For: o.announced, Nodes: clients.Nodes, Clock: clock.RealClock{}}
	settings := evictor.Options{
		Observer: evictor.Observers{explain.Log(logger), m, why, once(started)},
		Gate:     gate.All(gate.Leader(leader.mayWrite), stopped.gate()),
		Hold:     announced.Hold, Excluded: announced.Excluded, Jitter: func(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) },
	}
	e, err := o.controllers(clients, settings, cluster.Events(), bounds)
	if err != nil {
		return err
	}
	announced.Changed, changed = e.all.NodeChanged, e.all.Kick
	stopped.attach(e, clients.Nodes, o.announced > 0)
	m.Watch(e.nodes, e.pods, func() error { return cmp.Or(cluster.Parts()[0].Err, cluster.Health()) }) // without lists, its first part, it sees nothing
	rival := newBeside(looking, &o, clients.Nodes, clock.RealClock{}, logger)
	secured, err := newSecurity(ctx, &o, config, logger)
	if err != nil {
		return err
	}
	told := observed(m, leader.healthy, stopped.partBeside(enter.partBeside(cluster.Parts)), secured.guard, append(ledBy(o.leader, leader.mayWrite), stopped, unread(cluster.Unread), bounds, rival.writes)...)
	stopServing, err := secured.serveBoth(&o, told, debugging(debugged{e, why, leader.mayWrite, sight(cluster), stopped, bounds}), logger)
	if err != nil {
		return err
	}
	defer stopServing()
	if err := enter.wait(ctx); err != nil {
		return finished(ctx, err)
	}
	return runAll(ctx, cluster, leader, e.all.Run, stopped.run, rival.run, newBeats(looking, &o, logger).run, func(ctx context.Context) {
		wait.UntilWithContext(ctx, func(ctx context.Context) { _, _ = announced.Step(ctx); bounds.look(logger) }, brakesPeriod) // no error
	})
}

// inputs reads what does not need the cluster: the budget, and where the cluster is.
func inputs(o *options) (*limits, *rest.Config, error) {
	bounds, err := readBudget(o.budget, clock.RealClock{})
	if err != nil {
		return nil, nil, err
	}
	config, err := connection(o)
	return bounds, config, err
}

// explained is how many decisions ?explain looks back on.
const explained = 4096

// controllers makes what --half names, with events or, in a dry run, with clients that write nothing.
func (o *options) controllers(clients evictor.Clients, settings evictor.Options, events evictor.Observer, bounds *limits) (controllers, error) {
	settings, err := bounds.on(o.evictor.Nodes, settings)
	if err != nil {
		return controllers{}, err
	}
	if !o.dryRun {
		settings.Observer = evictor.Observers{settings.Observer, events}
		return newControllers(o.half, o.evictor, clients, settings)
	}
	clients, dry := unwritten(clients)
	e, err := newControllers(o.half, o.evictor, clients, settings)
	dry.To = e.all
	return e, err
}

// sight returns what the cluster is not seen well enough for: to lead, or else to judge some nodes.
func sight(cluster *clientgo.Cluster) func() error {
	return func() error { return cmp.Or(cluster.MayLead(), cluster.Health()) }
}

// runAll runs the evictor in each term of leadership, and beside it what lasts longer: the watches and what looks around.
func runAll(ctx context.Context, cluster *clientgo.Cluster, leader *terms, work func(context.Context) error, look ...func(context.Context)) error {
	seeing, stopSeeing := context.WithCancel(context.WithoutCancel(ctx))
	seen := make(chan error, 1)
	go func() { seen <- cluster.Run(seeing) }()
	var looking sync.WaitGroup
	for _, look := range look {
		looking.Go(func() { look(seeing) })
	}
	err := leader.run(ctx, work)
	stopSeeing()
	if errors.Is(err, errStuck) {
		return err // do not wait: the evictor's Run has not returned
	}
	looking.Wait()
	return errors.Join(err, <-seen)
}

// watching turns the flags into options of the cluster.
func watching(o *options, logger *slog.Logger) clientgo.Options {
	return clientgo.Options{
		Half: o.watched(), EvictionAPI: o.evictionAPI, DaemonSets: !o.evictor.Nodes.TaintBasedEviction, Logger: logger,
		LeaseSilence: min(20*time.Second, o.evictor.Nodes.NodeMonitorGracePeriod*2/5), // so that an outage is noticed within 0.65 grace periods
	}
}

// needed returns the permissions that the flags need.
func needed(o *options, watch clientgo.Options) []clientgo.Permission {
	all := watch.Permissions()
	if o.dryRun {
		all = slices.DeleteFunc(all, func(p clientgo.Permission) bool { return !slices.Contains([]string{"get", "list", "watch"}, p.Verb) })
	}
	if o.asksClients() {
		all = append(all, clientgo.Permission{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"},
			clientgo.Permission{Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"})
		for _, verb := range []string{"list", "watch"} {
			signed := clientCA
			signed.Verb = verb
			all = append(all, signed)
		}
	}
	if o.brakes != "" {
		namespace, name, _ := strings.Cut(o.brakes, "/")
		all = append(all, clientgo.Permission{Verb: "get", Resource: "configmaps", Namespace: namespace, Name: name})
	}
	if o.leader.elect {
		for _, verb := range []string{"get", "create", "update"} {
			lease := clientgo.Permission{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: o.leader.namespace}
			if verb != "create" {
				lease.Name = o.leader.resourceName // RBAC cannot restrict create by name
			}
			all = append(all, lease)
		}
	}
	return all
}

// ownClients returns the client of the election, whose requests nothing may hold up, and that of what only looks.
func ownClients(config *rest.Config, o *options) (electing, looking kubernetes.Interface, err error) {
	// The timeout is upstream's, so that one hanging request does not cost the lease.
	electing, err = clientFor("leader-election", config, max(time.Second, o.leader.renewDeadline/2))
	if err == nil {
		looking, err = clientFor("looks", config, time.Minute)
	}
	return electing, looking, err
}

// clientFor returns a client with a rate limit of its own, and a timeout of its requests unless that is 0.
func clientFor(what string, config *rest.Config, timeout time.Duration) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent += "/" + what
	config.RateLimiter = nil
	config.Timeout = timeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", what, err)
	}
	return client, nil
}

// connection returns how to reach the API server.
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
	config.UserAgent = "evictkit-controller" // appears in managedFields too
	return config, nil
}
