package evictor_test

import (
	"bytes"
	"errors"
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
	"github.com/evictkit/evictkit/zone"
)

type sink []string

func (s *sink) Event(e evictor.Event) { *s = append(*s, e.Type+" "+e.Reason+": "+e.Message) }

// told plays a story on a cluster and returns the events, without those of the registration.
func told(t *testing.T, cfg evictor.Config, story func(c *evictortest.Cluster, advance func(time.Duration))) []string {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var events sink
	clients := c.Clients()
	clients.EventSink = &events
	startWith(t, c, cfg, clients, evictor.Options{})
	require.Len(t, events, 3)
	require.Equal(t, "Normal RegisteredNode: Node a-0 event: Registered Node a-0 in Controller", events[0])
	story(c, c.Advance)
	return events[3:]
}

func TestEventsAreUpstreams(t *testing.T) {
	events := told(t, config(), func(c *evictortest.Cluster, advance func(time.Duration)) {
		c.Fail("a-0")
		advance(time.Minute)
		c.Recover("a-0")
		advance(10 * time.Second)
		c.DeleteNode("a-0")
		c.Taint("a-1", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		advance(time.Second)
	})
	require.Equal(t, []string{
		"Normal NodeNotReady: Node a-0 status is now: NodeNotReady",
		"Warning NodeNotReady: Node is not ready",
		"Normal TaintManagerEviction: Cancelling deletion of Pod default/a-0-p0",
		"Normal RemovingNode: Node a-0 event: Removing Node a-0 from Controller",
		"Normal TaintManagerEviction: Marking for deletion Pod default/a-1-p0",
	}, events)
}

func TestEventsWithoutTaints(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	events := told(t, cfg, func(c *evictortest.Cluster, advance func(time.Duration)) {
		c.Fail("a-0")
		advance(2 * time.Minute)
	})
	require.Equal(t, []string{
		"Normal NodeNotReady: Node a-0 status is now: NodeNotReady",
		"Warning NodeNotReady: Node is not ready",
		"Normal NodeControllerEviction: Marking for deletion Pod a-0-p0 from Node a-0",
		"Normal DeletingAllPods: Node a-0 event: Deleting all Pods from Node a-0.",
	}, events)
}

func TestLooking(t *testing.T) {
	var log bytes.Buffer
	c := evictortest.New(t, evictortest.Zone("r:a", 3), evictortest.PodsPerNode(2))
	e := c.Start(config(), evictor.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, ok := e.Node("nowhere")
	require.False(t, ok)
	c.Fail("a-0", "a-1")
	c.Advance(46 * time.Second)
	first, ok := e.Node("a-0")
	require.True(t, ok)
	require.Equal(t, 2, first.Evictions)
	require.Equal(t, zone.Key{Region: "r", Zone: "a"}, first.Zone)
	second, _ := e.Node("a-1")
	require.True(t, second.Waiting)
	require.Equal(t, v1.ConditionUnknown, second.Verdict.Ready)
	require.Equal(t, []zone.Status[zone.Key]{{Zone: first.Zone, State: zone.Normal, Rate: 0.1, Counts: zone.Counts{Total: 3, Bad: 2}}}, e.Zones())
	require.False(t, e.AllZonesDown())
	pending := e.Evictions()
	require.Len(t, pending, 2)
	require.Equal(t, "default/a-0-p0", pending[0].Pod.String())
	require.Equal(t, evictortest.Epoch.Add(345*time.Second), pending[0].Due)
	require.Contains(t, log.String(), "taint node.kubernetes.io/unreachable:NoExecute added")
}

// Waiting nodes are reported with their turn, which comes at the zone's rate, and with how long they have waited.
func TestWaitingAndBacklogs(t *testing.T) {
	var passes int
	c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(2))
	e := c.Start(config(), evictor.Options{OnPass: func(took time.Duration) { passes++; require.Zero(t, took) }})
	require.Equal(t, []evictor.Backlog{{Name: "nodes"}, {Name: "evictions"}, {Name: "writes"}, {Name: "lifts"}, {Name: "suspects"}}, e.Backlogs())
	before := passes
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(47 * time.Second)
	require.Equal(t, 9, passes-before, "one every five seconds")
	at := func(s int) time.Time { return evictortest.Epoch.Add(time.Duration(s) * time.Second) }
	zoneA := zone.Key{Zone: "a"}
	require.Equal(t, []evictor.Waiting{
		{Node: "a-1", Zone: zoneA, Since: at(45), Turn: at(55)},
		{Node: "a-2", Zone: zoneA, Since: at(45), Turn: at(65)},
		{Node: "a-3", Zone: zoneA, Since: at(45), Turn: at(75)},
	}, e.Waiting())
	require.Equal(t, []evictor.Backlog{{Name: "nodes", Len: 3, Oldest: 2 * time.Second}, {Name: "evictions", Len: 2}, {Name: "writes"}, {Name: "lifts"}, {Name: "suspects"}}, e.Backlogs())
	c.Advance(20 * time.Second)
	require.Equal(t, []evictor.Waiting{{Node: "a-3", Zone: zoneA, Since: at(45), Turn: at(75)}}, e.Waiting())
	e.Pause("audit")
	c.Advance(6 * time.Minute)
	require.Equal(t, []evictor.Waiting{{Node: "a-3", Zone: zoneA, Since: at(45)}}, e.Waiting()[:1], "nothing moves while it is paused")
	require.Equal(t, evictor.Backlog{Name: "evictions", Len: 6, Oldest: (427 - 345) * time.Second}, e.Backlogs()[1], "the first are overdue")
	pending := e.Evictions()
	first := pending[slices.IndexFunc(pending, func(p evictor.Eviction) bool { return p.Pod.Name == "a-0-p0" })]
	require.Equal(t, "00:00:45 pod default/a-0-p0: tolerates node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1]), due 00:05:45", first.Why.String())
	require.Equal(t, at(345), first.Why.Deadline)
	require.True(t, first.Due.After(at(427)), "it is asked again when it may go")
}

// Log lines name the node and, if there is one, the pod, and say why nothing is done.
func TestLogNamesWhatItIsAbout(t *testing.T) {
	var log bytes.Buffer
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := c.Start(config(), evictor.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.Pause("upgrade")
	c.Advance(5 * time.Minute)
	e.Resume("upgrade")
	c.Advance(time.Minute)
	require.Regexp(t, `level=INFO msg="zone :a: .*" kind=ZoneChanged\n`, log.String())
	require.Contains(t, log.String(), "kind=TaintsWritten node=a-0\n")
	require.Contains(t, log.String(), "msg=\"permission: taints and evictions are held back: paused: upgrade\" kind=GateChanged\n")
	require.Contains(t, log.String(), "msg=\"pod default/a-0-p0: eviction held back: MayHarm: paused: upgrade\" kind=EvictionDelayed node=a-0 pod=default/a-0-p0\n")
	require.Contains(t, log.String(), "msg=\"permission: taints and evictions go on\" kind=GateChanged\n")
	require.Contains(t, log.String(), "kind=PodEvicted node=a-0 pod=default/a-0-p0\n")
}

// An event is a write too, and the leader records it.
func TestAFollowerRecordsNoEvents(t *testing.T) {
	follower := errors.New("another replica leads")
	var events sink
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	clients := c.Clients()
	clients.EventSink = &events
	e := startWith(t, c, config(), clients, evictor.Options{MayWrite: func() error { return follower }})
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, e.Explain("a-0"), 3, "registered, its zone, Unknown: %v", e.Explain("a-0"))
	require.Empty(t, events)
	follower = nil
	c.Advance(10 * time.Second)
	require.Equal(t, sink{"Warning NodeNotReady: Node is not ready"}, events)
}

func TestZoneOfNodesWithoutLabelsHasANameToo(t *testing.T) {
	d := evictor.Decision{Kind: evictor.ZoneChanged, FromState: zone.Initial, State: zone.Normal, Counts: zone.Counts{Total: 3}, Rate: 0.1}
	require.Equal(t, "00:00:00 nodes without a zone: Initial → Normal, 0 of 3 not ready, rate 0.1/s", d.String())
	d.Zone.Zone = "a"
	require.Equal(t, "00:00:00 zone :a: Initial → Normal, 0 of 3 not ready, rate 0.1/s", d.String())
}

func TestNoEventTellsOfAReadyConditionThatIsGone(t *testing.T) {
	u := newUpstreams(t, config())
	var events sink
	var err error
	u.e, err = evictor.New(config(), evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u, EventSink: &events}, evictor.Options{Clock: u.clk})
	require.NoError(t, err)
	for _, name := range []string{"node0", "node1"} {
		u.node(name, "", longAgo, v1.ConditionTrue)
		u.reporting[name] = true
	}
	u.pass(10 * time.Second)
	u.says("node0", "")
	u.pass(10 * time.Minute)
	require.Len(t, events, 2, "that they were registered")
}

// Explain says why a waiting node is not tainted by what happened to its own zone, not to others.
func TestExplainTellsWhatBecameOfTheZone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 6), evictortest.PodsPerNode(1))
	e := c.Start(config())
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

func TestNodeWithoutPodsHasNoneDeleted(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	events := told(t, cfg, func(c *evictortest.Cluster, advance func(time.Duration)) {
		c.DeletePod("a-0-p0")
		c.Fail("a-0")
		advance(2 * time.Minute)
	})
	require.Equal(t, []string{"Normal NodeNotReady: Node a-0 status is now: NodeNotReady"}, events)
}
