package evictortest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
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
	pods    map[string]bool // the pods, as name and as namespace/name
	acted   bool            // Start, Drive, Feed or Clients was called
	panic   string          // of a function of Options, which the test has still to be told of
	faults  []func(write, object string) error
	down    error
	unread  error // what reading a lease fails with
	latency time.Duration
	feeds   []evictor.Target
	readers []*reader // for those of them that judge nodes
	evictor *evictor.Evictor
	why     *explain.Ring // its decisions
	config  evictor.Config
	options evictor.Options
	driven  []*driven // the evictor, if it was started, and then the others
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
	c := &Cluster{t: t, clock: testingclock.NewFakeClock(Epoch), known: make(map[string]bool), pods: make(map[string]bool)}
	world, err := simulation.New(simulation.Scenario{
		Read: l.add, LeaseInterval: l.interval, StatusInterval: l.report, NotReadyFor: l.notReadyFor, LeasesTogether: true, Clock: c.clock,
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
	return c
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
// Options may be given; its Clock must be nil or the cluster's. If it has no OnPanic, a panic of its functions fails the test.
func (c *Cluster) Start(config evictor.Config, options ...evictor.Options) *evictor.Evictor {
	c.t.Helper()
	if len(options) > 1 {
		c.t.Fatalf("evictortest: Start with %d Options, of which only one could count", len(options))
	}
	c.config = config
	if len(options) == 1 && options[0].Clock != nil && options[0].Clock != c.clock {
		c.t.Fatalf("evictortest: Start with a Clock (%T) that is not the cluster's: give Cluster.Clock, also to a budget.Config", options[0].Clock)
	}
	if len(options) == 1 {
		c.options = options[0]
	}
	return c.begin()
}

// Restart starts a new evictor with the same configuration and drops the old one, as when its process restarts. The new
// one makes its first step at once. Its Options are the same values: what they remember, such as a guard.Guard, lives on. Call
// Start with new ones to have that restart, too.
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
	if options.OnPanic == nil {
		options.OnPanic = func(_, value any, stack []byte) {
			c.mu.Lock()
			c.panic = fmt.Sprintf("%v\n%s", value, stack)
			c.mu.Unlock()
		}
	}
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
		c.readers = slices.DeleteFunc(c.readers, func(r *reader) bool { return r.Judge == leases.Judge(before) })
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
// namespace/name, oldest first. It remembers the last 4096 decisions. The test fails before Start, and if there never was such
// a node or pod.
func (c *Cluster) Explain(key string) []explain.Entry {
	c.t.Helper()
	c.mu.Lock()
	why, known := c.why, c.known[key] || c.pods[key]
	c.mu.Unlock()
	switch {
	case why == nil:
		c.t.Fatalf("evictortest: Explain tells what an evictor has decided: call Start first")
	case !known:
		c.t.Fatalf("evictortest: there never was a node or pod %q", key)
	}
	return why.Explain(key)
}

func (c *Cluster) step() {
	c.t.Helper()
	c.mu.Lock()
	all, readers := slices.Clone(c.driven), slices.Clone(c.readers)
	c.mu.Unlock()
	for _, r := range readers {
		if !c.clock.Now().Before(r.next) {
			r.next = r.Once(context.Background())
		}
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
