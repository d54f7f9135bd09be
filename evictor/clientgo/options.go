package clientgo

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Options say how a Cluster watches and writes. The zero Options are valid and do what upstream does.
type Options struct {
	// Half says which controllers are fed. Both, the zero value, serves all; the New of a controller that needs more than
	// Half provides returns an error.
	Half Half

	// EvictionAPI creates policy/v1 Evictions, which respect disruption budgets, instead of deleting pods.
	EvictionAPI bool
	// DaemonSets watches DaemonSets too. Without taints (TaintBasedEviction false), the evictor then also spares pods that
	// a DaemonSet selects but does not own, as upstream did.
	DaemonSets bool

	// Informers, if not nil, returns the informers of a cache that the program runs itself, such as controller-runtime's or
	// a SharedInformerFactory, so that it watches nothing twice. The Cluster does not start it. Its transform functions
	// decide what it keeps; Keep.Slim is one. The guard notices only that the watch of leases stands still, not that those
	// of nodes and pods are broken, unless the cache makes its informers with Cluster.NewInformer. Nil means the Cluster's
	// own informers, which keep little.
	Informers Informers
	// Keep names what the Cluster's own informers keep of nodes and pods beside their labels and what an evictor itself
	// reads.
	Keep Keep

	// Leads returns an error while this replica must record no events because another one leads; see Cluster.Events. Give
	// the same function to gate.Leader, which permits writes. A nil function means that it always leads.
	Leads func() error
	// Component is the source named in events. Empty means upstream's: "taint-eviction-controller" for
	// TaintManagerEviction, "node-controller" for all others.
	Component string
	// EventClient writes the events; nil means the same client as for everything else. A separate one keeps events from
	// using up the rate limit of everything else.
	EventClient kubernetes.Interface

	// EvictionClient evicts the pods; nil means the same client as for everything else. A separate one keeps evictions
	// from using up the rate limit of node writes, above all of lifting. Upstream's two controllers also have one each.
	EvictionClient kubernetes.Interface

	// LeaseSilence is how long all leases may stand still before the guard reads leases itself, and how long a watch may
	// be broken. 0 means 20s, twice the period at which a kubelet renews its lease. A negative value means no guard. The
	// guard notices within 1.625 times this, which must be less than the controllers' NodeMonitorGracePeriod.
	LeaseSilence time.Duration

	// Clock is the real clock when nil.
	Clock clock.WithTicker
	// Logger gets warnings, the guard's findings, and lists and watches that fail; nil means no logging. Its handler must not call
	// the Cluster, which may hold a lock.
	Logger *slog.Logger
}

const defaultLeaseSilence = 20 * time.Second

// validate reports every fault at once.
func (o Options) validate(client kubernetes.Interface) error {
	var errs field.ErrorList
	if absent(client) {
		errs = append(errs, field.Required(field.NewPath("client"), "such as kubernetes.NewForConfig makes one"))
	}
	for name, value := range map[string]any{"eventClient": o.EventClient, "evictionClient": o.EvictionClient, "clock": o.Clock} {
		if value != nil && absent(value) {
			errs = append(errs, field.Invalid(field.NewPath(name), fmt.Sprintf("%T(nil)", value), "is a nil pointer within an interface; leave the field unset for the default"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	if o.Half > TaintEviction {
		errs = append(errs, field.Invalid(field.NewPath("half"), int(o.Half), "must be Both, Lifecycle or TaintEviction"))
	}
	if o.DaemonSets && o.Half != Both {
		errs = append(errs, field.Invalid(field.NewPath("daemonSets"), true, "has no effect unless half is Both: otherwise no pods of failed nodes are deleted"))
	}
	if o.Informers != nil && !o.Keep.none() {
		errs = append(errs, field.Invalid(field.NewPath("keep"), o.Keep, "has no effect with informers, which keep what their transform functions leave: Keep.Slim is one"))
	}
	return errs.ToAggregate()
}

// absent says whether a value is nil or holds a nil pointer.
func absent(value any) bool {
	if value == nil {
		return true
	}
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func (o Options) withDefaults(client kubernetes.Interface) Options {
	if o.EventClient == nil {
		o.EventClient = client
	}
	if o.EvictionClient == nil {
		o.EvictionClient = client
	}
	if o.LeaseSilence == 0 {
		o.LeaseSilence = defaultLeaseSilence
	}
	if o.Leads == nil {
		o.Leads = func() error { return nil }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	return o
}
