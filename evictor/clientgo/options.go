package clientgo

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
)

// Options say how a Cluster watches and writes. The zero Options are valid and do what upstream does.
type Options struct {
	// Half is that of the evictors that are fed (evictor.Config.Half); an evictor for which it is too little is
	// refused where it is made. Both, the zero value, serves all. Lifecycle is for those that taint and evict nothing,
	// and needs no permission to evict. TaintEviction is for those that write no node: it watches no leases and needs
	// no permission for leases, nor to patch nodes; without leases the guard notices watches that are broken, not
	// those that stand still.
	Half evictor.Half

	// EvictionAPI creates policy/v1 Evictions, which respect disruption budgets, instead of deleting pods.
	EvictionAPI bool
	// DaemonSets watches DaemonSets too and spares, where nothing is tainted (Config.TaintBasedEviction
	// false), also the pods that one selects without owning them, as upstream did.
	DaemonSets bool

	// Factory, when not nil, is whose ordinary informers are used, with whole objects and the leases of all namespaces: for
	// programs that have them anyway, so that nothing is watched twice. The Cluster's Run starts it, until its own end, as far
	// as the program has not. Nil is informers of the Cluster's own, which keep little. Of watches that
	// others make, the guard sees only that of the leases stand still, not that those of nodes and pods are broken.
	Factory informers.SharedInformerFactory
	// Informers is the same for a cache that the program runs itself, as controller-runtime's, in which nothing is watched twice
	// either. The Cluster does not start it. Where it makes its informers with Cluster.NewInformer, the guard sees broken watches
	// too; what it keeps is up to its own transform functions, of which Slim is one.
	Informers Informers
	// KeepNode, when not nil, copies from the whole node to the one that is kept what the evictor's Options.Hold,
	// Domain and Excluded or other code need beyond what the evictor reads by itself: labels of node pools, conditions
	// of its own. Without it these functions see no other labels than those of zones, exclusion, operating system and
	// architecture. It must be fast, and not keep whole.
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
	// a watch may be broken. 0 means 20s, twice the time in which a kubelet renews its lease, or two fifths of the grace
	// period of the evictor that is fed, where that is less. Below 0 there is no guard. One with which the guard could not
	// notice before that grace period ends is refused where the evictor is made.
	LeaseSilence time.Duration

	// Clock is the real clock when nil.
	Clock clock.WithTicker
	// Logger hears of the guard's findings; nil means nobody.
	Logger *slog.Logger
}

const defaultLeaseSilence = 20 * time.Second

// validate reports every fault at once.
func (o Options) validate(client kubernetes.Interface) error {
	var errs field.ErrorList
	if absent(client) {
		errs = append(errs, field.Required(field.NewPath("client"), "nil"))
	}
	for name, value := range map[string]any{"eventClient": o.EventClient, "evictionClient": o.EvictionClient, "factory": o.Factory, "clock": o.Clock} {
		if value != nil && absent(value) {
			errs = append(errs, field.Invalid(field.NewPath(name), fmt.Sprintf("%T(nil)", value), "leave it nil, without a type, for the default"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	if o.Half > evictor.TaintEviction {
		errs = append(errs, field.Invalid(field.NewPath("half"), int(o.Half), "must be Both, Lifecycle or TaintEviction"))
	}
	if o.DaemonSets && o.Half != evictor.Both {
		errs = append(errs, field.Invalid(field.NewPath("daemonSets"), true, "has no meaning with a half of evictors, which then delete no pods of failed nodes"))
	}
	if o.shared() && o.KeepNode != nil {
		errs = append(errs, field.Invalid(field.NewPath("keepNode"), "a function", "has no meaning with factory or informers, which keep nodes as they are told to"))
	}
	if o.Factory != nil && o.Informers != nil {
		errs = append(errs, field.Invalid(field.NewPath("informers"), "a function", "has no meaning with factory: there can be one cache"))
	}
	return errs.ToAggregate()
}

// shared says whether the informers are those of others.
func (o Options) shared() bool { return o.Factory != nil || o.Informers != nil }

// absent says whether a value is nil, with or without a type.
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
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	return o
}
