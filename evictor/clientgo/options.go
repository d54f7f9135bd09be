package clientgo

import (
	"io"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Options say how a Cluster watches and writes. The zero Options are valid and do what upstream does.
type Options struct {
	// EvictionAPI creates policy/v1 Evictions, which respect disruption budgets, instead of deleting pods.
	EvictionAPI bool
	// DaemonSets watches DaemonSets too and spares, where nothing is tainted (Config.TaintBasedEviction
	// false), also the pods that one selects without owning them, as upstream did.
	DaemonSets bool

	// ShareInformers uses the factory's ordinary informers, with whole objects and the leases of all namespaces, for
	// programs that have them anyway. The default is informers of Cluster's own, which keep little. Of watches that
	// others make, the guard sees only that of the leases stand still, not that those of nodes and pods are broken.
	ShareInformers bool
	// KeepNode, when not nil, copies from the whole node to the one that is kept what Options.Hold of the
	// evictor or other code needs beyond what the evictor reads. It must be fast, and not keep whole.
	KeepNode func(whole, kept *v1.Node)

	// Component is the source of the events. Empty means upstream's: "node-controller", and
	// "taint-eviction-controller" for TaintManagerEviction.
	Component string
	// EventClient writes the events; nil means the client of everything else. One of its own keeps
	// events from using up the other's rate.
	EventClient kubernetes.Interface

	// EvictionClient evicts the pods; nil means the client of everything else. One of its own keeps evictions from using up
	// the rate of node writes: lifted taints above all. Upstream's two controllers have one each.
	EvictionClient kubernetes.Interface

	// LeaseSilence is how long no lease of anybody may advance before the guard looks for itself, and how long
	// a watch may be broken. 0 means 20s, twice the time in which a kubelet renews its lease; below 0 there is no guard.
	LeaseSilence time.Duration

	// Clock is the real clock when nil.
	Clock clock.WithTicker
	// Logger hears of the guard's findings; nil means nobody.
	Logger *slog.Logger
}

const defaultLeaseSilence = 20 * time.Second

func (o Options) validate() error {
	var errs field.ErrorList
	if o.ShareInformers && o.KeepNode != nil {
		errs = append(errs, field.Invalid(field.NewPath("keepNode"), "a function", "has no meaning with shareInformers, which keep whole nodes"))
	}
	return errs.ToAggregate()
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
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	return o
}
