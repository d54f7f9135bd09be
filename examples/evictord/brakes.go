package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// brakes are what operators have stopped: the data of a ConfigMap. Each key is a brake, and its value the reason.
//
//	all                 new taints and evictions, everywhere
//	zone.REGION.ZONE    the same in one zone; zone.ZONE if it has no region, zone for the nodes without a zone
//	node.NAME           our own taints on one node, and evictions by them
//
// They come by the API because harm goes by it: a controller that has no API server to read its brakes from can do no
// harm either. They are read again and again, and not watched: a watch may be old, or stand still. A read that fails
// leaves all brakes as they are. Before the first one that succeeds, the brake of all is pulled, and this replica does not
// lead.
type brakes struct {
	source string                                                    // the flag, for errors; empty without --brakes
	get    func(context.Context) (data map[string]string, err error) // nil without --brakes
	clock  clock.PassiveClock
	logger *slog.Logger
	last   atomic.Pointer[brakesRead] // never nil
	pause  gate.Pause                 // by the brake of all

	// What follows is set by attach.
	e         controllers
	nodes     cluster.NodeStore
	announced bool // maintenance may be announced
}

// brakesRead is a result of reading them. It is never changed.
type brakesRead struct {
	pulled map[string]string
	at     time.Time // when pulled was read, or the start
	never  bool      // nobody has read them yet
	err    error     // of the last try, which was later than at if it is not nil
}

const (
	brakesPeriod = 2 * time.Second // as that of the leader's lease
	brakesWithin = 5 * brakesPeriod

	brakeOfAll  = "all"
	brakeOfZone = "zone"
	brakeOfNode = "node."
)

// newBrakes reads the brakes for the first time.
func newBrakes(ctx context.Context, o *options, config *rest.Config, logger *slog.Logger) (*brakes, error) {
	if o.brakes == "" {
		return brakesOf(ctx, "", nil, clock.RealClock{}, logger), nil
	}
	client, err := clientFor("brakes", config, brakesWithin)
	if err != nil {
		return nil, err
	}
	namespace, name, _ := strings.Cut(o.brakes, "/")
	return brakesOf(ctx, "--"+brakesFlag+"="+o.brakes, func(ctx context.Context) (map[string]string, error) {
		read, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return read.Data, nil
	}, clock.RealClock{}, logger), nil
}

// brakesOf reads the brakes with get for the first time. A nil get means that there are none.
func brakesOf(ctx context.Context, source string, get func(context.Context) (map[string]string, error), on clock.PassiveClock, logger *slog.Logger) *brakes {
	b := &brakes{source: source, get: get, clock: on, logger: logger}
	b.last.Store(&brakesRead{})
	if get != nil {
		b.last.Store(&brakesRead{pulled: map[string]string{brakeOfAll: "the brakes were not read yet"}, at: on.Now(), never: true})
		first := b.read(ctx)
		b.last.Store(first)
		if first.err != nil {
			b.logger.Warn("cannot read the brakes: nothing is tainted and nobody evicted until they are read", "error", first.err)
		}
	}
	return b
}

// unread says why nobody has read the brakes yet, nil once they were read.
func (b *brakes) unread() error {
	if is := b.last.Load(); is.never {
		return is.err
	}
	return nil
}

// partBeside adds the brakes to the parts without which this replica does not lead.
func (b *brakes) partBeside(others func() []clientgo.Part) func() []clientgo.Part {
	return func() []clientgo.Part { return append(others(), clientgo.Part{Name: "brakes", Err: b.unread()}) }
}

// read asks once. What was read before stays if there is an error, which names the flag.
func (b *brakes) read(ctx context.Context) *brakesRead {
	data, err := b.get(ctx)
	if err != nil {
		was := b.last.Load()
		return &brakesRead{was.pulled, was.at, was.never, fmt.Errorf("%s: %w", b.source, err)}
	}
	pulled := make(map[string]string, len(data))
	for key, why := range data {
		if pulled[key] = strings.TrimSpace(why); pulled[key] == "" {
			pulled[key] = "no reason given"
		}
	}
	return &brakesRead{pulled: pulled, at: b.clock.Now()}
}

// attach applies the brakes to the evictor before its first decision.
func (b *brakes) attach(e controllers, nodes cluster.NodeStore, announced bool) {
	b.e, b.nodes, b.announced = e, nodes, announced
	b.apply(nil, b.last.Load().pulled)
}

// run looks until ctx ends.
func (b *brakes) run(ctx context.Context) {
	if b.get != nil {
		wait.UntilWithContext(ctx, b.look, brakesPeriod)
	}
}

// look reads the brakes once more and applies what has changed.
func (b *brakes) look(ctx context.Context) {
	was, is := b.last.Load(), b.read(ctx)
	if ctx.Err() != nil {
		return
	}
	b.last.Store(is)
	if is.err != nil && was.err == nil {
		b.logger.Warn("cannot read the brakes: they stay as they were", "error", is.err)
	}
	b.apply(was.pulled, is.pulled)
}

// apply pulls and releases what differs. What is new is pulled first, so that a new reason releases nothing.
func (b *brakes) apply(was, is map[string]string) {
	if maps.Equal(was, is) {
		return
	}
	for key, why := range is {
		node, ofNode := strings.CutPrefix(key, brakeOfNode)
		switch {
		case was[key] == why:
		case key == brakeOfAll:
			b.pause.Pause(why)
		case ofNode && b.e.nodes != nil:
			b.e.nodes.Hold(node, why)
		}
	}
	for key, why := range was {
		node, ofNode := strings.CutPrefix(key, brakeOfNode)
		switch _, still := is[key]; {
		case is[key] == why:
		case key == brakeOfAll:
			b.pause.Resume(why)
		case ofNode && !still && b.e.nodes != nil:
			b.e.nodes.Release(node)
		}
	}
	b.e.all.Kick()
	b.logger.Warn("brakes", "pulled", is) // not below: it must show at any verbosity
	if none := b.unmatched(); len(none) > 0 {
		b.logger.Warn("brakes that stop nothing, because no such node or zone exists", "keys", none)
	}
}

// gate refuses what the brakes stop, but for the nodes that the evictor is told to hold; nil without --brakes.
func (b *brakes) gate() gate.Gate {
	if b.get == nil {
		return nil
	}
	return gate.All(&b.pause, gate.Breaker(b.mayHarmIn), gate.Func(b.mayEvict))
}

func (b *brakes) mayHarmIn(domain zone.Key) error {
	if why, pulled := b.last.Load().pulled[zoneBrake(domain)]; pulled {
		return fmt.Errorf("%w: %s", gate.ErrPaused, why)
	}
	return nil
}

// mayEvict is for the half that evicts: it cannot lift the other half's taints from a held node.
func (b *brakes) mayEvict(_ context.Context, act gate.Act) error {
	if act.Do != gate.Evict || b.e.nodes != nil || act.Why.Taint == nil || !taints.OwnNoExecute(act.Why.Taint) {
		return nil
	}
	if reason, held := b.last.Load().pulled[brakeOfNode+act.Node]; held {
		return &gate.Refused{Reason: "Held", Err: fmt.Errorf("held: %s", reason)}
	}
	return nil
}

// zoneBrake returns the key of a zone's brake. A ConfigMap's keys have no colons.
func zoneBrake(key zone.Key) string {
	parts := []string{brakeOfZone, key.Region, key.Zone}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ".")
}

// unmatched returns the sorted keys that stop nothing. It knows of none before the nodes are listed.
func (b *brakes) unmatched() (keys []string) {
	pulled := b.last.Load().pulled
	if len(pulled) == 0 || !b.nodes.Synced() {
		return nil
	}
	known := map[string]bool{brakeOfAll: true}
	b.nodes.Nodes(func(n *v1.Node) bool {
		known[brakeOfNode+n.Name], known[zoneBrake(zone.KeyOf(n.Labels))] = true, true
		return true
	})
	for _, key := range slices.Sorted(maps.Keys(pulled)) {
		if !known[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// sparedNode is one that is held, or whose maintenance is announced.
type sparedNode struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// spared returns all of them. It asks about each node of the cluster.
func (b *brakes) spared() (all []sparedNode) {
	if b.e.nodes == nil {
		return nil
	}
	var names []string
	b.nodes.Nodes(func(n *v1.Node) bool {
		names = append(names, n.Name)
		return true
	})
	slices.Sort(names)
	for _, name := range names {
		if why := b.e.nodes.Held(name); why != "" {
			all = append(all, sparedNode{name, why})
		}
	}
	return all
}

// brakesState is what /debug/evictor says of the brakes.
type brakesState struct {
	Pulled     map[string]string `json:"pulled"`
	Unmatched  []string          `json:"stopNothing,omitempty"` // keys for which there is no node or zone
	LastRead   time.Time         `json:"lastRead"`
	Unreadable string            `json:"unreadable,omitempty"` // why they could not be read since
}

// state returns nil without --brakes.
func (b *brakes) state() *brakesState {
	if b.get == nil {
		return nil
	}
	is := b.last.Load()
	s := &brakesState{Pulled: is.pulled, Unmatched: b.unmatched(), LastRead: is.at}
	if is.err != nil {
		s.Unreadable = is.err.Error()
	}
	return s
}

var (
	brakesPulled    = prometheus.NewDesc("evictkit_brakes", "Pulled brakes by kind (all, zone, node), and nodes whose maintenance is announced.", []string{"kind"}, nil)
	brakesUnmatched = prometheus.NewDesc("evictkit_brakes_unmatched", "Pulled brakes that stop nothing, because no such node or zone exists.", nil, nil)
	brakesAge       = prometheus.NewDesc("evictkit_brakes_age_seconds", "Seconds since the last read of the brakes.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*brakes) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{brakesPulled, brakesUnmatched, brakesAge} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (b *brakes) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	is, kinds := b.last.Load(), map[string]int{"all": 0, "zone": 0, "node": 0, "announced": 0}
	for key := range is.pulled {
		kind, _, _ := strings.Cut(key, ".")
		if _, known := kinds[kind]; known {
			kinds[kind]++
		}
	}
	if b.announced {
		for _, node := range b.spared() {
			if _, held := is.pulled[brakeOfNode+node.Node]; !held {
				kinds["announced"]++
			}
		}
	}
	for kind, n := range kinds {
		gauge(brakesPulled, float64(n), kind)
	}
	if b.get != nil {
		gauge(brakesUnmatched, float64(len(b.unmatched())))
		gauge(brakesAge, b.clock.Since(is.at).Seconds())
	}
}
