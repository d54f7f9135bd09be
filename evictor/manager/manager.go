package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	evictormetrics "github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
)

// Options are for what should differ from upstream's behaviour. The zero Options are valid.
type Options struct {
	// Cluster says how the evictor watches and writes the cluster. Its Informers must be nil: they are the manager's. Half
	// must be Both, the zero value: NewLifecycle and NewTaintEviction set it. A nil Logger becomes the manager's. Leads is
	// asked only while this replica leads and is fit to; it stops writes too.
	Cluster clientgo.Options
	// Evictor holds the evictor's options. The manager's metrics, its log (as explain.Log writes it) and Kubernetes events
	// observe the evictor too. The Gate is asked only while this replica leads and is fit to. A nil OnPanic logs, and a
	// nil Jitter adds up to a fifth.
	Evictor evictor.Options
	// DryRun decides everything and writes nothing, neither objects nor events; see package dryrun. The metrics count
	// what would have been done.
	DryRun bool
	// Registerer registers the metrics; nil means controller-runtime's registry, which can take them only once in a process.
	Registerer prometheus.Registerer
}

// managed makes the manager, and what runs in it.
func (w what) managed(config *rest.Config, options ctrl.Options, more Options) (ctrl.Manager, error) {
	if err := w.validate(options, more); err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	more.Cluster.Half = w.half
	logger := slog.New(logr.ToSlogHandler(loggerOf(options)))
	more.Cluster.Logger = cmp.Or(more.Cluster.Logger, logger)
	more.Cluster.LeaseSilence = cmp.Or(more.Cluster.LeaseSilence, min(20*time.Second, w.grace*2/5))
	var mgr ctrl.Manager // set before it is used: a Cluster calls Informers only once it runs
	more.Cluster.Informers = func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) {
		return mgr.GetCache().GetInformer(ctx, example)
	}
	own := &term{deadline: renewDeadline(options)}
	var cluster *clientgo.Cluster // and this before anybody leads
	more.Cluster.Leads = leading(func() <-chan struct{} { return mgr.Elected() }, own.over, func() error { return cluster.MayLead() }, more.Cluster.Leads)
	cluster, err := clientgo.NewForConfig(config, more.Cluster)
	if err != nil {
		return nil, err
	}
	if options.Cache.NewInformer == nil {
		options.Cache.NewInformer = cluster.NewInformer
	}
	if options.LeaderElection {
		lock, err := lockOf(config, options)
		if err != nil {
			return nil, fmt.Errorf("manager: %w", err)
		}
		options.LeaderElectionResourceLockInterface = &notedLock{cluster.Lock(lock), own}
	}
	if mgr, err = ctrl.NewManager(config, options); err != nil {
		return nil, err
	}
	measured := evictormetrics.New(evictormetrics.Options{OmitRequests: true}) // controller-runtime counts requests itself
	runs, err := more.built(w, cluster, measured)
	if err != nil {
		return nil, err
	}
	measured.Watch(runs.nodes, runs.pods, cluster.Health)
	if more.Registerer == nil {
		more.Registerer = metrics.Registry
	}
	fit := func(*http.Request) error { return cluster.MayLead() }
	err = errors.Join(more.Registerer.Register(measured), mgr.Add(checked(mgr.GetLogger(), cluster, more.needed(options.Cache), runs.all.Run)), mgr.AddReadyzCheck("evictor", fit), mgr.AddHealthzCheck("ping", healthz.Ping))
	return mgr, err
}

// controller-runtime's defaults.
const (
	defaultLeaseDuration = 15 * time.Second
	defaultRenewDeadline = 10 * time.Second
)

// validate finds contradictions between the settings; each library validates its own.
func (w what) validate(options ctrl.Options, more Options) error {
	errs := w.unheard(more)
	if more.Cluster.Informers != nil {
		errs = append(errs, field.Forbidden(field.NewPath("cluster", "informers"), "must be nil: the informers are the manager's"))
	}
	if len(options.Cache.DefaultNamespaces) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("cache", "defaultNamespaces"), "an evictor needs the pods of all namespaces: restrict other kinds in ByObject instead"))
	}
	lease, renew := defaultLeaseDuration, renewDeadline(options)
	if options.LeaseDuration != nil {
		lease = *options.LeaseDuration
	}
	if options.LeaderElection && lease.Truncate(time.Second) < renew+clientgo.FinishWithin {
		errs = append(errs, field.Invalid(field.NewPath("leaseDuration"), lease.String(), fmt.Sprintf(
			"must be at least renewDeadline (%s) and the %s in which a leader finishes its last writes, in whole seconds", renew, clientgo.FinishWithin)))
	}
	return errs.ToAggregate()
}

func renewDeadline(options ctrl.Options) time.Duration {
	if options.RenewDeadline != nil {
		return *options.RenewDeadline
	}
	return defaultRenewDeadline
}

func loggerOf(options ctrl.Options) logr.Logger {
	if options.Logger.GetSink() == nil {
		return ctrl.Log.WithName("evictor")
	}
	return options.Logger.WithName("evictor")
}

// built makes what runs, with what the manager adds.
func (o Options) built(w what, cluster *clientgo.Cluster, measured *evictormetrics.Metrics) (built, error) {
	clients := cluster.Clients()
	var instead *dryrun.Clients
	if o.DryRun {
		instead = &dryrun.Clients{NodeStore: clients.Nodes, Pods: clients.Pods}
		clients.Nodes, clients.Pods, clients.NodeWriter, clients.PodWriter = instead, instead, instead, instead
	}
	b, err := w.build(measured.Clients(clients), o.observed(measured, cluster))
	if err == nil && instead != nil {
		instead.To = b.all
	}
	return b, err
}

// observed returns the evictor's options, with what the manager adds.
func (o Options) observed(measured *evictormetrics.Metrics, cluster *clientgo.Cluster) evictor.Options {
	e, logger := o.Evictor, o.Cluster.Logger
	observers := evictor.Observers{measured, explain.Log(logger)}
	if !o.DryRun {
		observers = append(observers, cluster.Events())
	}
	if e.Observer != nil {
		observers = append(observers, e.Observer)
	}
	e.Observer, e.Gate = observers, gate.All(gate.Leader(o.Cluster.Leads), e.Gate)
	if e.OnPanic == nil {
		e.OnPanic = func(key, value any, stack []byte) {
			logger.Error("a function of the program panicked", "about", key, "panic", value, "stack", string(stack))
		}
	}
	if e.Jitter == nil {
		e.Jitter = func(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) }
	}
	return e
}

// leading says why this replica must not write: nobody has elected it, or one of the functions says so, of which those
// that are nil do not. The channel is never opened again: a manager that loses its lease ends the program.
func leading(elected func() <-chan struct{}, may ...func() error) func() error {
	return func() error {
		select {
		case <-elected():
		default:
			return errors.New("another replica leads")
		}
		for _, may := range may {
			if may == nil {
				continue
			}
			if err := may(); err != nil {
				return err
			}
		}
		return nil
	}
}

// namespaceFile is where a pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// lockOf returns the lock that ctrl.NewManager would make.
func lockOf(config *rest.Config, options ctrl.Options) (resourcelock.Interface, error) {
	if options.LeaderElectionResourceLockInterface != nil {
		return options.LeaderElectionResourceLockInterface, nil
	}
	if options.LeaderElectionConfig != nil {
		config = options.LeaderElectionConfig
	}
	namespace := options.LeaderElectionNamespace
	if namespace == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, field.Required(field.NewPath("leaderElectionNamespace"), "outside a pod")
		}
		namespace = strings.TrimSpace(string(own))
	}
	if options.LeaderElectionID == "" {
		return nil, field.Required(field.NewPath("leaderElectionID"), "the name of the lease")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	id := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	election := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, options.LeaderElectionID, id, election, renewDeadline(options))
}

// needed returns the permissions that the evictor needs in a manager with these cache options.
func (o Options) needed(cached cache.Options) (needed []clientgo.Permission) {
	o.Cluster.Informers = func(context.Context, clientgo.Object) (clientgo.Informer, error) { return nil, nil } // Permissions need only know that there are some
	namespaces := []string{metav1.NamespaceAll}
	for object, by := range cached.ByObject {
		if _, ok := object.(*coordinationv1.Lease); ok && len(by.Namespaces) > 0 {
			namespaces = slices.Sorted(maps.Keys(by.Namespaces))
		}
	}
	for _, p := range o.Cluster.Permissions() {
		reads := p.Verb == "get" || p.Verb == "list" || p.Verb == "watch"
		switch {
		case o.DryRun && !reads:
		case p.Resource == "leases" && p.Namespace == metav1.NamespaceAll:
			for _, namespace := range namespaces {
				p.Namespace = namespace
				needed = append(needed, p)
			}
		default:
			needed = append(needed, p)
		}
	}
	return needed
}

// askAgain is the time between two checks of an API server that does not answer.
const askAgain = 5 * time.Second

// checked runs the evictor once Cluster.Check has passed. It retries while the API server does not answer, as the
// manager's caches do.
func checked(logger logr.Logger, cluster *clientgo.Cluster, needed []clientgo.Permission, run everywhere) everywhere {
	return func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, askAgain, true, func(ctx context.Context) (bool, error) {
			err := cluster.Check(ctx, needed)
			var old *clientgo.ServerTooOldError
			var missing *clientgo.PermissionError
			if errors.As(err, &old) || errors.As(err, &missing) {
				return false, err
			}
			if err != nil && ctx.Err() == nil {
				logger.Error(err, "the evictor waits for the API server")
			}
			return err == nil, nil
		})
		if err != nil {
			return err
		}
		return run(ctx)
	}
}

// everywhere is a Runnable for every replica, leader or not, so that the next leader has seen what this one has seen.
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
