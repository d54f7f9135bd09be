package evictortest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// TB is what a Cluster needs of a testing.TB.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Epoch is the instant at which every Cluster starts: midnight UTC, on a Saturday. To start on another day or at another
// hour, Advance an empty Cluster, then AddNode.
var Epoch = simulation.Epoch

// Cluster is the in-memory cluster. Most tests want [Cluster.Start] first, [Cluster.Fail] or another event, and
// [Cluster.Advance]; then [Cluster.Evicted] or [Cluster.Timeline].
type Cluster struct {
	t     TB
	clock *testingclock.FakeClock

	mu      sync.Mutex // guards what follows; never held while the evictor runs
	world   *simulation.World
	api     evictor.Clients // of the world
	lines   []timeline.Line
	known   map[string]bool // the nodes that there are or were
	faults  []func(write, object string) error
	down    error
	unread  error // what reading a lease fails with
	latency time.Duration
	feeds   []evictor.Target
	readers []*leases.Reader // for those of them that judge nodes
	evictor *evictor.Evictor
	why     *explain.Ring // its decisions
	config  evictor.Config
	options evictor.Options
	driven  []*driven // the evictor, if it was started, and then the others
}

type layout struct {
	given       map[string]bool // options that may be given only once
	fault       string
	zones       []zoneLayout
	podsPerNode int
	nodeLabels  func(node string) map[string]string
	podLabels   func(pod string) map[string]string
	tolerations []v1.Toleration
	interval    time.Duration
	report      time.Duration
}

type zoneLayout struct {
	key   zone.Key
	nodes int
}

// Option says how New lays the cluster out.
type Option func(*layout)

// Zone adds a zone with that many nodes, named <name>-0, <name>-1, …; "region:zone" gives it a region too.
func Zone(name string, nodes int) Option {
	return func(l *layout) {
		key := zone.Key{Zone: name}
		if region, rest, ok := strings.Cut(name, ":"); ok {
			key = zone.Key{Region: region, Zone: rest}
		}
		if nodes < 0 {
			l.fault = fmt.Sprintf("Zone(%q, %d): the number of nodes must not be negative", name, nodes)
		}
		l.zones = append(l.zones, zoneLayout{key, nodes})
	}
}

// PodsPerNode gives every node that many pods in namespace default, owned by a ReplicaSet and named <node>-p0,
// <node>-p1, …
func PodsPerNode(n int) Option {
	return once("PodsPerNode", func(l *layout) {
		if n < 0 {
			l.fault = fmt.Sprintf("PodsPerNode(%d): the number must not be negative", n)
		}
		l.podsPerNode = n
	})
}

// NodeLabels gives every node the labels that the function returns for its name, in addition to those of its zone,
// region, operating system and architecture.
func NodeLabels(labels func(node string) map[string]string) Option {
	return once("NodeLabels", func(l *layout) { l.nodeLabels = labels })
}

// PodLabels gives every pod of PodsPerNode the labels that the function returns for its name. By default they have none.
func PodLabels(labels func(pod string) map[string]string) Option {
	return once("PodLabels", func(l *layout) { l.podLabels = labels })
}

// once makes an option that may be given only once, because a second one would silently replace it.
func once(name string, option Option) Option {
	return func(l *layout) {
		if l.given[name] {
			l.fault = name + " is given twice"
		}
		l.given[name] = true
		option(l)
	}
}

// Tolerations replaces the pods' tolerations. By default they tolerate not-ready and unreachable for 300 seconds, as
// the API server's admission sets it.
func Tolerations(tolerations ...v1.Toleration) Option {
	return once("Tolerations", func(l *layout) { l.tolerations = tolerations })
}

// Heartbeats replaces the periods of the kubelets' lease renewals and status reports, 10s and 5m by default. Both must be
// positive.
func Heartbeats(lease, status time.Duration) Option {
	return once("Heartbeats", func(l *layout) { l.interval, l.report = lease, status })
}

// New returns a cluster in which all nodes and pods are healthy.
func New(t TB, options ...Option) *Cluster {
	t.Helper()
	none := func(string) map[string]string { return nil }
	l := layout{
		given: make(map[string]bool), interval: 10 * time.Second, report: 5 * time.Minute, nodeLabels: none, podLabels: none,
		tolerations: []v1.Toleration{TolerateFor(v1.TaintNodeNotReady, 300), TolerateFor(v1.TaintNodeUnreachable, 300)},
	}
	for _, option := range options {
		option(&l)
	}
	if l.fault != "" {
		t.Fatalf("evictortest: %s", l.fault)
	}
	if l.interval <= 0 || l.report <= 0 {
		t.Fatalf("evictortest: the periods of kubelets must be positive")
	}
	c := &Cluster{t: t, clock: testingclock.NewFakeClock(Epoch), known: make(map[string]bool)}
	world, err := simulation.New(simulation.Scenario{
		Read: l.add, LeaseInterval: l.interval, StatusInterval: l.report, LeasesTogether: true, Clock: c.clock,
		Timeline: func(line timeline.Line) error {
			if line.Kind != timeline.KindEvent { // the test knows what it did
				c.lines = append(c.lines, line)
			}
			return nil
		},
	})
	c.must(err)
	c.world, c.api = world, world.Clients()
	c.must(c.api.Source.Feed((*feeds)(c)))
	for node := range c.api.Nodes.Nodes {
		c.known[node.Name] = true
	}
	return c
}

// add adds the nodes and pods of the layout.
func (l *layout) add(object func(runtime.Object) error) error {
	controller := true
	for _, z := range l.zones {
		owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: z.key.Zone, Controller: &controller}}
		for i := range z.nodes {
			name := fmt.Sprintf("%s-%d", z.key.Zone, i)
			if err := object(newNode(name, Epoch, labelled(z.key, l.nodeLabels(name)))); err != nil {
				return err
			}
			for k := range l.podsPerNode {
				pod := newPod(fmt.Sprintf("%s-p%d", name, k), name, Epoch, l.tolerations)
				pod.OwnerReferences, pod.Labels = owner, maps.Clone(l.podLabels(pod.Name))
				if err := object(pod); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// labelled returns the labels of a node in that zone. An empty part of the key has none.
func labelled(key zone.Key, own map[string]string) map[string]string {
	all := map[string]string{v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
	maps.Copy(all, own)
	if key.Zone != "" {
		all[v1.LabelTopologyZone] = key.Zone
	}
	if key.Region != "" {
		all[v1.LabelTopologyRegion] = key.Region
	}
	return all
}

// newNode returns a node that a World takes for a healthy one.
func newNode(name string, created time.Time, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: stamp(created)}}
}

// newPod returns a pod that is Ready and was scheduled when it was created.
func newPod(name, node string, created time.Time, tolerations []v1.Toleration) *v1.Pod {
	namespace, name := split(name)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: stamp(created)},
		Spec:       v1.PodSpec{NodeName: node, Tolerations: tolerations},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: stamp(created)},
		}},
	}
}

// stamp returns a time as API objects have it: truncated to whole seconds.
func stamp(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }

// TolerateFor returns a toleration of the NoExecute taint with that key, for that many seconds.
func TolerateFor(key string, seconds int64) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("evictortest: %v", err)
	}
}

// Clock returns the cluster's clock, for other code under test. Move it only with Advance.
func (c *Cluster) Clock() *testingclock.FakeClock { return c.clock }

// Start starts an evictor that Advance steps, in place of any earlier one. It makes its first step at once. At most one
// Options may be given; its clock is replaced by the cluster's.
func (c *Cluster) Start(config evictor.Config, options ...evictor.Options) *evictor.Evictor {
	c.t.Helper()
	if len(options) > 1 {
		c.t.Fatalf("evictortest: Start with %d Options, of which only one could count", len(options))
	}
	c.config = config
	if len(options) == 1 {
		c.options = options[0]
	}
	return c.begin()
}

// Restart starts a new evictor with the same configuration and drops the old one, as when its process restarts. The new
// one makes its first step at once.
func (c *Cluster) Restart() *evictor.Evictor {
	c.t.Helper()
	if c.evictor == nil {
		c.t.Fatalf("evictortest: cannot restart an evictor that Start did not begin")
	}
	return c.begin()
}

func (c *Cluster) begin() *evictor.Evictor {
	c.t.Helper()
	options := c.options
	options.Clock = c.clock
	observer := options.Observer
	why := explain.New(remembered)
	options.Observer = evictor.Observe(func(d evictor.NodeDecision) {
		why.ObserveNode(d)
		c.mu.Lock()
		c.world.ObserveNode(d)
		c.mu.Unlock()
		if observer != nil {
			observer.ObserveNode(d)
		}
	}, func(d evictor.PodDecision) {
		why.ObservePod(d)
		c.mu.Lock()
		c.world.ObservePod(d)
		c.mu.Unlock()
		if observer != nil {
			observer.ObservePod(d)
		}
	})
	e, err := evictor.New(c.config, c.Clients(), options)
	c.must(err)
	c.mu.Lock()
	if before := c.evictor; before != nil {
		c.feeds = slices.DeleteFunc(c.feeds, func(fed evictor.Target) bool { return fed == before })
		c.readers = slices.DeleteFunc(c.readers, func(r *leases.Reader) bool { return r.Judge == leases.Judge(before) })
		c.driven = c.driven[1:]
	}
	c.why, c.evictor, c.driven = why, e, slices.Concat([]*driven{{step: e.Step}}, c.driven)
	c.mu.Unlock()
	c.step()
	return e
}

// Evictor returns the evictor that Start or Restart started, nil before that.
func (c *Cluster) Evictor() *evictor.Evictor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evictor
}

// remembered is how many decisions Explain looks back on.
const remembered = 4096

// Explain returns what the evictor has decided since it was started about a node, by its name, or about a pod, by name or
// namespace/name, oldest first; nothing before Start. It remembers the last 4096 decisions.
func (c *Cluster) Explain(key string) []explain.Entry {
	c.mu.Lock()
	why := c.why
	c.mu.Unlock()
	if why == nil {
		return nil
	}
	return why.Explain(key)
}

func (c *Cluster) step() {
	c.t.Helper()
	c.mu.Lock()
	all, readers := slices.Clone(c.driven), slices.Clone(c.readers)
	c.mu.Unlock()
	for _, reader := range readers {
		reader.Once(context.Background())
	}
	for _, d := range all {
		c.stepDriven(d)
	}
}

// maxSteps is how often Advance steps at one instant. An evictor that works is done after a few steps.
const maxSteps = 10_000

// Advance lets d of virtual time pass. A negative d counts as 0. The test fails if a controller asks again and again to
// be stepped at the same instant.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	until := c.elapsed() + max(d, 0)
	c.step() // whatever the test has done since the last call
	for steps, at := 0, c.elapsed(); ; steps++ {
		next := c.turns(min(until, max(c.due(), c.elapsed())))
		c.step()
		switch now := c.elapsed(); {
		case next >= until && c.due() > next:
			return
		case now > at:
			steps, at = 0, now
		case steps == maxSteps:
			c.t.Fatalf("evictortest: Advance has stepped the controllers %d times at %s, and one of them still says that it is due", steps, now)
		}
	}
}

func (c *Cluster) elapsed() time.Duration { return c.clock.Since(Epoch) }

func (c *Cluster) move(to time.Duration) {
	if to > c.elapsed() {
		c.clock.SetTime(Epoch.Add(to))
	}
}

// turns lets time pass, in which kubelets renew and report, until then, and returns the time that it is. A report ends it
// early, because the evictor may act on it.
func (c *Cluster) turns(until time.Duration) time.Duration {
	for {
		c.mu.Lock()
		at, report, ok := c.world.Next()
		c.mu.Unlock()
		if !ok || at > until {
			c.move(until)
			return until
		}
		c.move(at)
		c.mu.Lock()
		c.world.Turn()
		c.mu.Unlock()
		if report {
			until = at // with everything else at that instant
		}
	}
}

// Timeline returns what was written and how zones changed, in order, as lines of package timeline (JSON; t is in
// seconds since Epoch).
func (c *Cluster) Timeline() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := make([]string, len(c.lines))
	for i := range c.lines {
		lines[i] = string(c.lines[i].AppendJSON(nil))
	}
	return lines
}

// Evicted returns the pods evicted so far, in order: as name, or namespace/name if the namespace is not default.
func (c *Cluster) Evicted() []string { return c.evicted(func(timeline.Line) bool { return true }) }

// EvictedFrom is Evicted for one node. The test fails if there never was a node of that name.
func (c *Cluster) EvictedFrom(node string) []string {
	c.t.Helper()
	c.exists(node)
	return c.evicted(func(l timeline.Line) bool { return l.Node == node })
}

func (c *Cluster) evicted(which func(timeline.Line) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []string
	for _, l := range c.lines {
		if l.Kind == timeline.KindEvict && which(l) {
			pods = append(pods, l.Pod)
		}
	}
	return pods
}

// exists fails the test unless there is or was such a node.
func (c *Cluster) exists(node string) {
	c.t.Helper()
	c.mu.Lock()
	known, all := c.known[node], slices.Sorted(maps.Keys(c.known))
	c.mu.Unlock()
	if !known {
		c.t.Fatalf("evictortest: there never was a node %q, only %s", node, strings.Join(all, ", "))
	}
}

// Taints returns the taints of a node as key:effect, in order; nil if it was deleted. The test fails if there never was a
// node of that name.
func (c *Cluster) Taints(node string) (list []string) {
	c.t.Helper()
	c.exists(node)
	if n, ok := (*stores)(c).Node(node); ok {
		for i := range n.Spec.Taints {
			list = append(list, n.Spec.Taints[i].ToString())
		}
	}
	return list
}

// HasNoExecute reports whether the node has a not-ready or unreachable taint with effect NoExecute. The test fails if
// there never was a node of that name.
func (c *Cluster) HasNoExecute(node string) bool {
	c.t.Helper()
	c.exists(node)
	n, ok := (*stores)(c).Node(node)
	for i := 0; ok && i < len(n.Spec.Taints); i++ {
		if taints.OwnNoExecute(&n.Spec.Taints[i]) {
			return true
		}
	}
	return false
}
