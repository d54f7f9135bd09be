package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	evictormetrics "github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// Options say what is not upstream's way. The zero Options are valid.
type Options struct {
	// Cluster is how the cluster is watched and written. Its Informers are the manager's, its Logger too unless there
	// is one.
	Cluster clientgo.Options
	// Evictor is what a program decides. Observer and OnPass are told beside the metrics, MayWrite is asked where this
	// replica leads and is fit to, and Logger and Jitter have defaults: the manager's logger, and a fifth.
	Evictor evictor.Options
	// Registerer is where the metrics are registered; nil is controller-runtime's registry, once in a process.
	Registerer prometheus.Registerer
}

// New makes a manager as ctrl.NewManager does, with an evictor in it that runs with the manager. An error names every
// fault of the settings or is that of controller-runtime. Nothing is sent before the manager starts.
func New(config *rest.Config, options ctrl.Options, settings evictor.Config, more Options) (ctrl.Manager, *evictor.Evictor, error) {
	if err := validate(options, more); err != nil {
		return nil, nil, err
	}
	logger := slog.New(logr.ToSlogHandler(loggerOf(options)))
	more.Cluster.Logger, more.Evictor.Logger = cmp.Or(more.Cluster.Logger, logger), cmp.Or(more.Evictor.Logger, logger)
	var mgr ctrl.Manager // there before it is asked, for a Cluster asks when it runs
	more.Cluster.Informers = func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) {
		return mgr.GetCache().GetInformer(ctx, example)
	}
	cluster, err := clientgo.NewForConfig(config, more.Cluster)
	if err != nil {
		return nil, nil, err
	}
	if options.Cache.NewInformer == nil {
		options.Cache.NewInformer = cluster.NewInformer
	}
	if options.LeaderElection {
		lock, err := lockOf(config, options)
		if err != nil {
			return nil, nil, err
		}
		options.LeaderElectionResourceLockInterface = cluster.Lock(lock)
	}
	if mgr, err = ctrl.NewManager(config, options); err != nil {
		return nil, nil, err
	}
	measured := evictormetrics.New(evictormetrics.Options{OmitRequests: true}) // controller-runtime counts them
	e, err := evictor.New(settings, measured.Clients(cluster.Clients()), more.evictor(measured, mgr.Elected(), cluster.MayLead))
	if err != nil {
		return nil, nil, err
	}
	measured.Watch(e, cluster.Health)
	if more.Registerer == nil {
		more.Registerer = metrics.Registry
	}
	fit := func(*http.Request) error { return cluster.MayLead() }
	err = errors.Join(more.Registerer.Register(measured), mgr.Add(everywhere(e.Run)), mgr.AddReadyzCheck("evictor", fit), mgr.AddHealthzCheck("ping", healthz.Ping))
	return mgr, e, err
}

// The defaults of controller-runtime.
const (
	defaultLeaseDuration = 15 * time.Second
	defaultRenewDeadline = 10 * time.Second
)

// validate finds what contradicts itself; what each library finds itself is left to it.
func validate(options ctrl.Options, more Options) error {
	var errs field.ErrorList
	if more.Cluster.Informers != nil || more.Cluster.Factory != nil {
		errs = append(errs, field.Forbidden(field.NewPath("cluster", "informers"), "they are the manager's; so is the factory"))
	}
	if len(options.Cache.DefaultNamespaces) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("cache", "defaultNamespaces"), "an evictor needs the pods of all: set Namespaces for other kinds, in ByObject"))
	}
	lease, renew := defaultLeaseDuration, defaultRenewDeadline
	if options.LeaseDuration != nil {
		lease = *options.LeaseDuration
	}
	if options.RenewDeadline != nil {
		renew = *options.RenewDeadline
	}
	if options.LeaderElection && lease.Truncate(time.Second) < renew+clientgo.FinishWithin {
		errs = append(errs, field.Invalid(field.NewPath("leaseDuration"), lease.String(), fmt.Sprintf(
			"must be at least renewDeadline (%s) and the %s in which a leader finishes its last writes, in whole seconds", renew, clientgo.FinishWithin)))
	}
	return errs.ToAggregate()
}

func loggerOf(options ctrl.Options) logr.Logger {
	if options.Logger.GetSink() == nil {
		return ctrl.Log.WithName("evictor")
	}
	return options.Logger.WithName("evictor")
}

// evictor are the options with what the manager adds.
func (o Options) evictor(measured *evictormetrics.Metrics, elected <-chan struct{}, mayLead func() error) evictor.Options {
	e := o.Evictor
	if observer := e.Observer; observer == nil {
		e.Observer = measured
	} else {
		e.Observer = evictor.ObserverFunc(func(d evictor.Decision) {
			measured.Observe(d)
			observer.Observe(d)
		})
	}
	onPass, mayWrite := e.OnPass, e.MayWrite
	e.OnPass = func(took time.Duration) {
		measured.Pass(took)
		if onPass != nil {
			onPass(took)
		}
	}
	e.MayWrite = leading(elected, func() error {
		if err := mayLead(); err != nil || mayWrite == nil {
			return err
		}
		return mayWrite()
	})
	if e.Jitter == nil {
		e.Jitter = func(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) }
	}
	return e
}

// leading permits writes once the channel is closed, while mayLead does. A manager that loses its lease ends the
// program.
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

// namespaceFile is where a pod finds its own.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// lockOf is the lock that ctrl.NewManager would make.
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
			return nil, field.Required(field.NewPath("leaderElectionNamespace"), "outside of a pod")
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
	renew := defaultRenewDeadline
	if options.RenewDeadline != nil {
		renew = *options.RenewDeadline
	}
	id := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	election := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, options.LeaderElectionID, id, election, renew)
}

// everywhere runs in every replica, leader or not, so that the next leader has seen what this one has seen.
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
