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
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/internal/misuse"
	"github.com/evictkit/evictkit/taints"
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
		return func() error { return misuse.Said(newTested(evictor.DefaultConfig(), clients, o)) }
	}
	made := func(o evictor.Options) *tested {
		e, err := newTested(evictor.DefaultConfig(), clients, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// refused is why a pod is not evicted that MayEvict refuses.
	refused := func(why error) func() error {
		return func() error {
			c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.PodsPerNode(1))
			e := start(c, config(), evictor.Options{Gate: mayEvict(func(context.Context, *v1.Pod, taints.Deadline) error { return why })})
			c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
			c.Advance(time.Second)
			return errors.New(toldOf(e, "default/a-0-p0", held...)[0])
		}
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a zero Config", evictor.Config{}.Validate, "[nodes.nodeMonitorGracePeriod: Invalid value: \"0s\": must be greater than 0, nodes.nodeStartupGracePeriod: " +
			"Invalid value: \"0s\": must be greater than 0, nodes.unhealthyZoneThreshold: Invalid value: 0: must lie in (0,1], nodes.podEvictionTimeout: Invalid value: \"0s\": must be greater than 0, " +
			"nodes.nodeWorkers: Invalid value: 0: must be greater than 0, nodes.retryInitial: Invalid value: \"0s\": must be greater than 0, nodes.gateInterval: Invalid value: \"0s\": must be greater than 0, podWorkers: Invalid value: 0"},
		{"50 for 50 seconds", set(func(c *evictor.Config) { c.Nodes.NodeMonitorGracePeriod = 50 }),
			`nodes.nodeMonitorGracePeriod: Invalid value: "50ns": must exceed nodeMonitorPeriod`},
		{"a startup grace period within a monitor period", set(func(c *evictor.Config) { c.Nodes.NodeStartupGracePeriod = time.Second }),
			`nodes.nodeStartupGracePeriod: Invalid value: "1s": must exceed nodeMonitorPeriod`},
		{"a negative monitor period", set(func(c *evictor.Config) { c.Nodes.NodeMonitorPeriod = -1 }), "nodes.nodeMonitorPeriod: Invalid value: \"-1ns\": must not be negative; 0 is exact"},
		{"rates that are no numbers", set(func(c *evictor.Config) {
			c.Nodes.NodeEvictionRate, c.Nodes.SecondaryNodeEvictionRate, c.Nodes.MaxNodesPerSecond = math.NaN(), math.Inf(1), -1
		}), "[nodes.nodeEvictionRate: Invalid value: NaN: must be a finite number of at least 0, nodes.secondaryNodeEvictionRate: Invalid value: +Inf: must be a finite number of at least 0, nodes.maxNodesPerSecond: Invalid value: -1"},
		{"55 for 55 %", set(func(c *evictor.Config) { c.Nodes.UnhealthyZoneThreshold = 55 }), "nodes.unhealthyZoneThreshold: Invalid value: 55: must lie in (0,1]"},
		{"a threshold that is no number", set(func(c *evictor.Config) { c.Nodes.UnhealthyZoneThreshold = math.NaN() }), "nodes.unhealthyZoneThreshold: Invalid value: NaN: must lie in (0,1]"},
		{"negative numbers of nodes", set(func(c *evictor.Config) {
			c.Nodes.LargeClusterSizeThreshold = -1
		}), "nodes.largeClusterSizeThreshold: Invalid value: -1: must not be negative"},
		{"no taints and no timeout", set(func(c *evictor.Config) { c.Nodes.TaintBasedEviction, c.Nodes.PodEvictionTimeout = false, 0 }),
			`nodes.podEvictionTimeout: Invalid value: "0s": must be greater than 0`},
		{"a backoff that shrinks", set(func(c *evictor.Config) { c.Nodes.RetryMax = time.Millisecond }),
			`nodes.retryMax: Invalid value: "1ms": must not be less than retryInitial`},

		{"no clients", func() error {
			return misuse.Said(newTested(evictor.DefaultConfig(), evictor.Clients{}, evictor.Options{}))
		}, "evictor: [clients.nodes: Required value: clientgo.Cluster has all clients, clients.pods: Required value: clientgo.Cluster has all clients, " +
			"clients.nodeWriter: Required value: clientgo.Cluster has all clients, clients.podWriter: Required value"},
		{"a bad Config, no clients and a bad option", func() error {
			c := evictor.DefaultConfig()
			c.Nodes.NodeWorkers = 0
			return misuse.Said(evictor.New(c, evictor.Clients{Nodes: b, Pods: b, PodWriter: b}, evictor.Options{Observer: (*diary)(nil)}))
		}, "evictor: [nodes.nodeWorkers: Invalid value: 0: must be greater than 0, clients.nodeWriter: Required value: clientgo.Cluster has all clients, " +
			`options.observer: Invalid value: "*evictor_test.diary(nil)": must not be nil within an interface; leave it out]`},
		{"nil pointers as clients", func() error {
			var no *bare
			return misuse.Said(newTested(evictor.DefaultConfig(), evictor.Clients{Nodes: no, Pods: no, NodeWriter: no, PodWriter: no}, evictor.Options{}))
		}, "[clients.nodes: Required value"},
		{"nil pointers as what may be left out", func() error {
			var source *brought
			c := clients
			c.Source = source
			return misuse.Said(newTested(evictor.DefaultConfig(), c, evictor.Options{}))
		}, `evictor: clients.source: Invalid value: "*evictor_test.brought(nil)": must not be nil within an interface; leave it out`},
		{"a nil pointer as the clock", with(evictor.Options{Clock: (*testingclock.FakePassiveClock)(nil)}), `evictor: options.clock: Invalid value: "*testing.FakePassiveClock(nil)": must not be nil`},
		{"a nil pointer as the policy", with(evictor.Options{Policy: (*zone.DisruptionPolicy)(nil)}), `options.policy: Invalid value: "*zone.DisruptionPolicy(nil)": must not be nil`},
		{"a policy that does not start from its default", with(evictor.Options{Policy: zone.DisruptionPolicy{EvictionRate: 1}}),
			"evictor: nodelifecycle: zone: policy: unhealthyThreshold: Invalid value: 0: must lie in (0,1]"},

		{"Run with a clock that has no timers", func() error {
			return made(evictor.Options{Clock: testingclock.NewFakePassiveClock(evictortest.Epoch)}).Run(background)
		},
			"evictor: Run needs timers: Options.Clock must be a clock.Clock, which *testing.FakePassiveClock is not"},
		{"Run with a context that has ended", func() error { return made(evictor.Options{}).Run(ended) }, "context canceled"},
		{"Step with a context that has ended", func() error { return misuse.Said(made(evictor.Options{}).Step(ended)) }, "context canceled"},
		{"Run without a context", func() error { return made(evictor.Options{}).Run(nil) }, //nolint:staticcheck // it is wrong
			"evictor: Step and Run need a context, not nil"},
		{"Step without a context", func() error { return misuse.Said(made(evictor.Options{}).Step(nil)) }, //nolint:staticcheck // it is wrong
			"evictor: Step and Run need a context, not nil"},
		{"a zero Evictor, run", func() error { return new(evictor.Evictor).Run(background) }, "evictor: a zero value was used: make one with New"},
		{"a zero Evictor, stepped", func() error { return misuse.Said(new(evictor.Evictor).Step(background)) }, "evictor: a zero value was used: make one with New"},
		{"Step beside Step", func() (inner error) {
			c := evictortest.New(t, evictortest.Zone("a", 1))
			e := start(c, config())
			c.Fail("a-0")
			c.FailWrites(func(string, string) error {
				_, inner = e.Step(background)
				e.NodeChanged("a-0") // feeding from inside a client's call is fine
				return nil
			})
			c.Advance(time.Minute)
			return inner
		}, "evictor: another Step or Run is active: call one at a time"},
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
		}, "cluster: no decisions yet, waiting for the program to call NodeChanged, PodChanged and LeaseObserved, or for a Source"},
		{"a store that is never synced", func() error {
			c := clients
			c.Nodes = unsynced{b}
			e, err := newTested(config(), c, evictor.Options{})
			if err != nil {
				return err
			}
			e.NodeChanged("n")
			if _, err := e.Step(background); err != nil {
				return err
			}
			return errors.New(e.Explain("n")[0].String())
		}, "cluster: no decisions yet, waiting for the store to be synced"},
		{"a nil pointer for yes", refused((*gate.Refused)(nil)), "a nil *gate.Refused is an error all the same: return nil itself to permit the act"},
		{"a refusal without a reason", refused(&gate.Refused{}), "eviction held back: refused"},
	})
}
