package evictor_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/zone"
)

func TestConfigReportsEveryFault(t *testing.T) {
	require.NoError(t, evictor.DefaultConfig().Validate())
	err := evictor.Config{
		NodeMonitorPeriod: -1, NodeMonitorGracePeriod: 0, NodeStartupGracePeriod: -time.Second,
		NodeEvictionRate: math.NaN(), SecondaryNodeEvictionRate: math.Inf(1), MaxNodesPerSecond: -1,
		LargeClusterSizeThreshold: -1, UnhealthyZoneThreshold: 1.5, PodEvictionTimeout: 0, MaxFailedNodes: -1,
		ExplainSize: -1, RetryMax: -1,
	}.Validate()
	for _, field := range []string{
		"nodeMonitorPeriod", "nodeMonitorGracePeriod", "nodeStartupGracePeriod", "nodeEvictionRate", "secondaryNodeEvictionRate", "maxNodesPerSecond",
		"largeClusterSizeThreshold", "unhealthyZoneThreshold", "podEvictionTimeout", "maxFailedNodes", "nodeWorkers", "podWorkers",
		"retryInitial", "retryMax", "gateInterval", "explainSize",
	} {
		require.ErrorContains(t, err, field)
	}
	cfg := evictor.DefaultConfig()
	cfg.NodeMonitorGracePeriod, cfg.NodeStartupGracePeriod = 5*time.Second, time.Second
	require.ErrorContains(t, cfg.Validate(), "must exceed nodeMonitorPeriod")
	for _, threshold := range []float64{0, -0.1, math.NaN(), 1.01} {
		cfg := evictor.DefaultConfig()
		cfg.UnhealthyZoneThreshold = threshold
		require.Error(t, cfg.Validate())
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{}, evictor.Options{})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter"} {
		require.ErrorContains(t, err, name)
	}
}

// A nil pointer in an interface would panic at its first use, so it is reported like a missing value.
func TestNewNamesWhatIsThereInTypeAlone(t *testing.T) {
	var store *bare
	var clk *simulator.Clock
	var policy *zone.DisruptionPolicy
	var sink *silent
	var source *brought
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: store, Pods: store, NodeWriter: store, PodWriter: store, EventSink: sink, Source: source},
		evictor.Options{Clock: clk, Policy: policy, Observer: evictor.ObserverFunc(nil)})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter", "clients.eventSink", "clients.source", "options.clock", "options.observer", "options.policy"} {
		require.ErrorContains(t, err, name)
	}
}

type silent struct{}

func (*silent) Event(evictor.Event) {}

func TestExplainSizeIsBounded(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.ExplainSize = math.MaxInt
	require.ErrorContains(t, cfg.Validate(), "explainSize")
	_, err := evictor.New(cfg, evictor.Clients{}, evictor.Options{})
	require.ErrorContains(t, err, "explainSize")
	cfg.ExplainSize = 1 << 20
	require.NoError(t, cfg.Validate())
}

func TestRunNeedsTimers(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: &simulator.Clock{}})
	require.NoError(t, err)
	require.ErrorContains(t, e.Run(context.Background()), "timers")
}

func TestStepBesideStep(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e := c.Start(config())
	c.Fail("a-0")
	var inner error
	c.FailWrites(func(string, string) error {
		_, inner = e.Step(context.Background())
		e.NodeChanged("a-0") // feeding from inside a client's call is fine
		return nil
	})
	c.Advance(time.Minute)
	require.ErrorIs(t, inner, evictor.ErrRunning)
}

func TestUnsyncedStoreDecidesNothing(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := c.Clients()
	clients.Nodes = unsynced{clients.Nodes}
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, evictortest.Epoch.Add(time.Second), next)
}

type unsynced struct{ evictor.NodeStore }

func (unsynced) Synced() bool { return false }
