package evictor_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

func TestLooking(t *testing.T) {
	var log bytes.Buffer
	c := evictortest.New(t, evictortest.Zone("r:a", 3), evictortest.PodsPerNode(2))
	e := start(c, config(), evictor.Options{Observer: explain.Log(slog.New(slog.NewTextHandler(&log, nil)))})
	_, ok := e.Nodes().Node("nowhere")
	require.False(t, ok)
	c.Fail("a-0", "a-1")
	c.Advance(46 * time.Second)
	first, ok := e.Nodes().Node("a-0")
	require.True(t, ok)
	require.Equal(t, zone.Key{Region: "r", Zone: "a"}, first.Zone)
	second, _ := e.Nodes().Node("a-1")
	require.False(t, second.Queued.IsZero())
	require.Equal(t, v1.ConditionUnknown, second.Verdict.Ready)
	require.Equal(t, []zone.Status{{Zone: first.Zone, State: zone.Normal, Rate: 0.1, Counts: zone.Counts{Total: 3, Bad: 2}}}, e.Nodes().Zones())
	require.False(t, e.Nodes().AllZonesDown())
	pending := e.Pods().Evictions()
	require.Len(t, pending, 2)
	require.Equal(t, "default/a-0-p0", pending[0].Pod.String())
	require.Equal(t, evictortest.Epoch.Add(345*time.Second), pending[0].Due)
	require.Contains(t, log.String(), "taint node.kubernetes.io/unreachable:NoExecute added")
}

// Waiting nodes are reported with their turn, which comes at the zone's rate.
func TestWaiting(t *testing.T) {
	var passes int
	c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(2))
	e := start(c, config(), evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.Passed {
			passes++
			require.Zero(t, d.Took)
		}
	}, nil)})
	before := passes
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(47 * time.Second)
	require.Equal(t, 9, passes-before, "one every five seconds")
	at := func(s int) time.Time { return evictortest.Epoch.Add(time.Duration(s) * time.Second) }
	zoneA := zone.Key{Zone: "a"}
	type turn struct {
		node         string
		zone         zone.Key
		queued, turn time.Time
	}
	waiting := func() (turns []turn) {
		for _, w := range e.Nodes().Waiting() {
			turns = append(turns, turn{w.Verdict.Node, w.Zone, w.Queued, w.Turn})
		}
		return turns
	}
	require.Equal(t, []turn{{"a-1", zoneA, at(45), at(55)}, {"a-2", zoneA, at(45), at(65)}, {"a-3", zoneA, at(45), at(75)}}, waiting())
	c.Advance(20 * time.Second)
	require.Equal(t, []turn{{"a-3", zoneA, at(45), at(75)}}, waiting())
	e.Pause("audit")
	c.Advance(6 * time.Minute)
	require.Equal(t, []turn{{"a-3", zoneA, at(45), time.Time{}}}, waiting()[:1], "nothing moves while it is paused")
	pending := e.Pods().Evictions()
	first := pending[slices.IndexFunc(pending, func(p tainteviction.Eviction) bool { return p.Pod.Name == "a-0-p0" })]
	require.Contains(t, explain.Pod(first.Why).String(), "pod default/a-0-p0: eviction held back: Paused: paused: audit")
	require.ErrorIs(t, first.Why.Err, gate.ErrPaused)
	require.Equal(t, 5*time.Minute, first.Why.Tolerated)
	require.Equal(t, at(345), first.Why.Deadline)
	require.True(t, first.Due.After(at(427)), "it is asked again when it may go")
}

// Log lines name the node and, if there is one, the pod, and say why nothing is done.
func TestLogNamesWhatItIsAbout(t *testing.T) {
	var log bytes.Buffer
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config(), evictor.Options{Observer: explain.Log(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.Pause("upgrade")
	c.Advance(5 * time.Minute)
	e.Resume("upgrade")
	c.Advance(time.Minute)
	require.Regexp(t, `level=INFO msg="zone :a: .*" kind=ZoneChanged node="" pod="" zone=:a rate=0.1\n`, log.String())
	require.Contains(t, log.String(), "kind=TaintsWritten node=a-0 pod=\"\" taint=node.kubernetes.io/unreachable:NoSchedule,node.kubernetes.io/unreachable:NoExecute\n")
	require.Contains(t, log.String(), "msg=\"permission in zone :a: taints and evictions are held back: paused: upgrade\" kind=GateChanged")
	require.Contains(t, log.String(), "msg=\"pod default/a-0-p0: eviction held back: Paused: paused: upgrade\" kind=EvictionDelayed node=a-0 pod=default/a-0-p0 taint=node.kubernetes.io/unreachable:NoExecute reason=Paused error=\"paused: upgrade\"\n")
	require.Contains(t, log.String(), "msg=\"permission in zone :a: taints and evictions go on\" kind=GateChanged")
	require.Contains(t, log.String(), "kind=PodEvicted node=a-0 pod=default/a-0-p0 taint=node.kubernetes.io/unreachable:NoExecute\n")
}

func TestZoneOfNodesWithoutLabelsHasANameToo(t *testing.T) {
	d := evictor.NodeDecision{Kind: nodelifecycle.ZoneChanged, FromState: zone.Initial, State: zone.Normal, Counts: zone.Counts{Total: 3}, Rate: 0.1}
	require.Equal(t, "00:00:00 nodes without a zone: Initial → Normal, 0 of 3 not ready, rate 0.1/s", explain.Node(d).String())
	d.Zone.Zone = "a"
	require.Equal(t, "00:00:00 zone :a: Initial → Normal, 0 of 3 not ready, rate 0.1/s", explain.Node(d).String())
}

// Explain says why a waiting node is not tainted by what happened to its own zone, not to others.
func TestExplainTellsWhatBecameOfTheZone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 6), evictortest.PodsPerNode(1))
	e := start(c, config())
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(time.Minute)
	c.Fail("b-0", "b-1", "b-2", "b-3")
	c.Advance(time.Minute)
	for _, key := range []string{"a-3", "a-5"} {
		lines := fmt.Sprint(e.Explain(key))
		require.Contains(t, lines, "zone :a: Normal → PartialDisruption, 4 of 6 not ready, rate 0/s")
		require.NotContains(t, lines, "zone :b")
		require.Equal(t, 1, strings.Count(lines, "→ PartialDisruption"))
	}
}
