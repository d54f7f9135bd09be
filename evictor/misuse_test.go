package evictor_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/internal/misuse"
	"github.com/evictkit/evictkit/zone"
)

func TestWrongUseIsAnswered(t *testing.T) {
	background := context.Background()
	ended, end := context.WithCancel(background)
	end()
	set := func(change func(*evictor.Config)) func() error {
		return func() error {
			c := evictor.DefaultConfig()
			change(&c)
			return c.Validate()
		}
	}
	b := &bare{nodes: map[string]*v1.Node{"n": liveNode("n")}}
	clients := evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}
	with := func(o evictor.Options) func() error {
		return func() error { return misuse.Said(evictor.New(evictor.DefaultConfig(), clients, o)) }
	}
	made := func(o evictor.Options) *evictor.Evictor {
		e, err := evictor.New(evictor.DefaultConfig(), clients, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// refused is why a pod is not evicted that MayEvict refuses.
	refused := func(why error) func() error {
		return func() error {
			c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.PodsPerNode(1))
			e := c.Start(config(), evictor.Options{MayEvict: func(context.Context, *v1.Pod, evictor.Decision) error { return why }})
			c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
			c.Advance(time.Second)
			return errors.New(toldOf(e, "default/a-0-p0", evictor.EvictionDelayed)[0])
		}
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a zero Config", evictor.Config{}.Validate, "[nodeMonitorGracePeriod: Invalid value: \"0s\": must be greater than 0, nodeStartupGracePeriod: " +
			"Invalid value: \"0s\": must be greater than 0, unhealthyZoneThreshold: Invalid value: 0: must lie in (0,1], podEvictionTimeout: Invalid value: \"0s\": must be greater than 0, " +
			"nodeWorkers: Invalid value: 0: must be greater than 0, podWorkers: Invalid value: 0: must be greater than 0, retryInitial: Invalid value: \"0s\": must be greater than 0, gateInterval: Invalid value: \"0s\""},
		{"50 for 50 seconds", set(func(c *evictor.Config) { c.NodeMonitorGracePeriod = 50 }),
			`nodeMonitorGracePeriod: Invalid value: "50ns": must exceed nodeMonitorPeriod`},
		{"a startup grace period within a monitor period", set(func(c *evictor.Config) { c.NodeStartupGracePeriod = time.Second }),
			`nodeStartupGracePeriod: Invalid value: "1s": must exceed nodeMonitorPeriod`},
		{"a negative monitor period", set(func(c *evictor.Config) { c.NodeMonitorPeriod = -1 }), "nodeMonitorPeriod: Invalid value: \"-1ns\": must not be negative; 0 is exact"},
		{"a half that is none", set(func(c *evictor.Config) { c.Half = evictor.TaintEviction + 1 }), "half: Invalid value: 0x3: must be Both, Lifecycle or TaintEviction"},
		{"rates that are no numbers", set(func(c *evictor.Config) {
			c.NodeEvictionRate, c.SecondaryNodeEvictionRate, c.MaxNodesPerSecond = math.NaN(), math.Inf(1), -1
		}), "[nodeEvictionRate: Invalid value: NaN: must be a finite number of at least 0, secondaryNodeEvictionRate: Invalid value: +Inf: must be a finite number of at least 0, maxNodesPerSecond: Invalid value: -1"},
		{"55 for 55 %", set(func(c *evictor.Config) { c.UnhealthyZoneThreshold = 55 }), "unhealthyZoneThreshold: Invalid value: 55: must lie in (0,1]"},
		{"a threshold that is no number", set(func(c *evictor.Config) { c.UnhealthyZoneThreshold = math.NaN() }), "unhealthyZoneThreshold: Invalid value: NaN: must lie in (0,1]"},
		{"negative numbers of nodes", set(func(c *evictor.Config) { c.LargeClusterSizeThreshold, c.MaxMarkedNodes, c.MaxFailedNodes = -1, -1, -1 }),
			"[largeClusterSizeThreshold: Invalid value: -1: must not be negative, maxMarkedNodes: Invalid value: -1: must not be negative, maxFailedNodes: Invalid value: -1: must not be negative]"},
		{"no taints and no timeout", set(func(c *evictor.Config) { c.TaintBasedEviction, c.PodEvictionTimeout = false, 0 }),
			`podEvictionTimeout: Invalid value: "0s": must be greater than 0`},
		{"a time without the limit that it ends", set(func(c *evictor.Config) { c.MarkAllAfter = time.Minute }),
			`markAllAfter: Invalid value: "1m0s": has no effect without maxMarkedNodes`},
		{"negative times", set(func(c *evictor.Config) { c.FalseAlarmWithin, c.MaxAnnounced = -1, -1 }),
			`[falseAlarmWithin: Invalid value: "-1ns": must not be negative, maxAnnounced: Invalid value: "-1ns": must not be negative; 0 ignores announcements]`},
		{"a backoff that shrinks", set(func(c *evictor.Config) { c.RetryMax = time.Millisecond }),
			`retryMax: Invalid value: "1ms": must not be less than retryInitial`},
		{"decisions to explain without end", set(func(c *evictor.Config) { c.ExplainSize = math.MaxInt }), "explainSize: Invalid value: 9223372036854775807: must lie between 0 and 1048576"},

		{"no clients", func() error {
			return misuse.Said(evictor.New(evictor.DefaultConfig(), evictor.Clients{}, evictor.Options{}))
		}, "evictor: [clients.nodes: Required value: clientgo.Cluster.Clients returns all of them, clients.pods: Required value: clientgo.Cluster.Clients returns all of them, " +
			"clients.nodeWriter: Required value: clientgo.Cluster.Clients returns all of them, clients.podWriter: Required value"},
		{"a bad Config, no clients and a bad option", func() error {
			c := evictor.DefaultConfig()
			c.NodeWorkers = 0
			return misuse.Said(evictor.New(c, evictor.Clients{Nodes: b, Pods: b, PodWriter: b}, evictor.Options{Observer: evictor.ObserverFunc(nil)}))
		}, "evictor: [nodeWorkers: Invalid value: 0: must be greater than 0, clients.nodeWriter: Required value: clientgo.Cluster.Clients returns all of them, " +
			`options.observer: Invalid value: "evictor.ObserverFunc(nil)": must not be nil within an interface; leave it out]`},
		{"nil pointers as clients", func() error {
			var no *bare
			return misuse.Said(evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: no, Pods: no, NodeWriter: no, PodWriter: no}, evictor.Options{}))
		}, "[clients.nodes: Required value"},
		{"nil pointers as what may be left out", func() error {
			var sink *silent
			var source *brought
			c := clients
			c.EventSink, c.Source, c.Confirmer = sink, source, evictor.ConfirmFunc(nil)
			return misuse.Said(evictor.New(evictor.DefaultConfig(), c, evictor.Options{}))
		}, `[clients.eventSink: Invalid value: "*evictor_test.silent(nil)": must not be nil within an interface; leave it out, clients.source: Invalid value: ` +
			`"*evictor_test.brought(nil)": must not be nil within an interface; leave it out, clients.confirmer: Invalid value: "evictor.ConfirmFunc(nil)"`},
		{"a nil pointer as the clock", with(evictor.Options{Clock: (*testingclock.FakePassiveClock)(nil)}), `evictor: options.clock: Invalid value: "*testing.FakePassiveClock(nil)": must not be nil`},
		{"a nil pointer as the policy", with(evictor.Options{Policy: (*zone.DisruptionPolicy)(nil)}), `options.policy: Invalid value: "*zone.DisruptionPolicy(nil)": must not be nil`},
		{"a policy that does not start from its default", with(evictor.Options{Policy: zone.DisruptionPolicy{EvictionRate: 1}}),
			"evictor: zone: policy: unhealthyThreshold: Invalid value: 0: must lie in (0,1]"},
		{"what to do when a budget is exceeded, and no budget", with(evictor.Options{Exceeded: func(*budget.Refusal) zone.Pending { return zone.Wait }}),
			`options.exceeded: Invalid value: "a function": has no effect without options.budget`},
		{"a budget that New did not make", with(evictor.Options{Budget: &budget.Budget[string, evictor.Member]{}}),
			"panic: budget: a zero Budget was used: make one with New"},

		{"Run with a clock that has no timers", func() error {
			return made(evictor.Options{Clock: testingclock.NewFakePassiveClock(evictortest.Epoch)}).Run(background)
		},
			"evictor: Run needs timers: Options.Clock must be a clock.Clock, which *testing.FakePassiveClock is not"},
		{"Run with a context that has ended", func() error { return made(evictor.Options{}).Run(ended) }, "context canceled"},
		{"Step with a context that has ended", func() error { return misuse.Said(made(evictor.Options{}).Step(ended)) }, "context canceled"},
		{"Run without a context", func() error { return made(evictor.Options{}).Run(nil) }, //nolint:staticcheck // it is wrong
			"evictor: Run needs a context, not nil"},
		{"Step without a context", func() error { return misuse.Said(made(evictor.Options{}).Step(nil)) }, //nolint:staticcheck // it is wrong
			"evictor: Step needs a context, not nil"},
		{"a zero Evictor, run", func() error { return new(evictor.Evictor).Run(background) }, "evictor: Run of a zero Evictor: make one with New"},
		{"a zero Evictor, stepped", func() error { return misuse.Said(new(evictor.Evictor).Step(background)) }, "evictor: Step of a zero Evictor: make one with New"},
		{"Step beside Step", func() (inner error) {
			c := evictortest.New(t, evictortest.Zone("a", 1))
			e := c.Start(config())
			c.Fail("a-0")
			c.FailWrites(func(string, string) error {
				_, inner = e.Step(background)
				e.NodeChanged("a-0") // feeding from inside a client's call is fine
				return nil
			})
			c.Advance(time.Minute)
			return inner
		}, "evictor: another Step or Run of this Evictor is active: call one at a time"},
		{"a source that ends", func() error {
			e, err := (&brought{run: func(context.Context) error { return nil }}).evictor(evictor.Options{})
			if err != nil {
				return err
			}
			return e.Run(background)
		}, "evictor: its source has ended: no error"},
		{"nobody who feeds it", func() error {
			e := made(evictor.Options{})
			if _, err := e.Step(background); err != nil {
				return err
			}
			return errors.New(e.Explain("n")[0].String())
		}, "cluster: no decisions yet, waiting for the program to call NodeChanged, PodChanged and LeaseRenewed, or for a Source"},
		{"a store that is never synced", func() error {
			c := clients
			c.Nodes = unsynced{b}
			e, err := evictor.New(config(), c, evictor.Options{})
			if err != nil {
				return err
			}
			e.NodeChanged("n")
			if _, err := e.Step(background); err != nil {
				return err
			}
			return errors.New(e.Explain("n")[0].String())
		}, "cluster: no decisions yet, waiting for the store to be synced"},
		{"a Confirmer that does not answer", func() error {
			c := evictortest.New(t, evictortest.Zone("a", 1))
			clients := c.Clients()
			clients.Confirmer = evictor.ConfirmFunc(func(context.Context, evictor.Suspect) (answer evictor.Answer, err error) { return answer, err })
			s := stepped(t, c, config(), clients, evictor.Options{})
			s.run(time.Second)
			c.Fail("a-0")
			s.run(time.Minute)
			status, _ := s.e.Node("a-0")
			return status.Unanswered
		}, "nobody knows whether it is alive"},
		{"a nil pointer for yes", refused((*evictor.Refusal)(nil)), "a nil *evictor.Refusal is an error all the same: return nil itself to permit the eviction"},
		{"a refusal without a reason", refused(&evictor.Refusal{}), "eviction held back: MayEvict: an evictor.Refusal without a Reason"},
	})
}

type silent struct{}

func (*silent) Event(evictor.Event) {}
