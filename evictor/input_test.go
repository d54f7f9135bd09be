package evictor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/taints"
)

// bare is a cluster of objects in maps. It accepts every write and shows none.
type bare struct {
	nodes map[string]*v1.Node
	pods  map[evictor.PodKey]*v1.Pod
	wrote []string
}

func (b *bare) Synced() bool                         { return true }
func (b *bare) Node(name string) (*v1.Node, bool)    { n, ok := b.nodes[name]; return n, ok }
func (b *bare) Pod(k evictor.PodKey) (*v1.Pod, bool) { p, ok := b.pods[k]; return p, ok }

func (b *bare) Nodes(visit func(*v1.Node) bool) {
	for _, n := range b.nodes {
		if !visit(n) {
			return
		}
	}
}

func (b *bare) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	for _, p := range b.pods {
		if p.Spec.NodeName == node && !visit(p) {
			return
		}
	}
}

func (b *bare) UpdateConditions(_ context.Context, n *v1.Node, conditions []v1.NodeCondition) error {
	for _, c := range conditions {
		b.wrote = append(b.wrote, n.Name+" "+string(c.Type)+" "+c.Reason)
	}
	return nil
}

func (b *bare) UpdateTaints(_ context.Context, n *v1.Node, change taints.Change) error {
	b.wrote = append(b.wrote, n.Name+" "+change.Add[0].ToString())
	return nil
}

func (b *bare) UpdateLabels(context.Context, *v1.Node, map[string]string) error { return nil }

func (b *bare) Evict(_ context.Context, p evictor.PodRef, _ taints.Deadline) error {
	b.wrote = append(b.wrote, "evict "+p.String())
	return nil
}

func (b *bare) MarkNotReady(context.Context, evictor.PodRef) error { return nil }

// starts starts an evictor of them, on a clock that the test moves.
func (b *bare) starts(t *testing.T) (*tested, *testingclock.FakePassiveClock) {
	t.Helper()
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := newTested(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{Clock: clk})
	require.NoError(t, err)
	return e, clk
}

// A node with nothing but a name is watched from when it was first seen.
func TestNodeWithNothingButAName(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{"n": {}}}
	b.nodes["n"].Name = "n"
	e, clk := b.starts(t)
	e.NodeChanged("n")
	for range 13 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Empty(t, b.wrote)
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	_, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{
		"n Ready NodeStatusNeverUpdated", "n MemoryPressure NodeStatusNeverUpdated", "n DiskPressure NodeStatusNeverUpdated", "n PIDPressure NodeStatusNeverUpdated",
	}, b.wrote[:4], "after the start-up grace of 60s")
}

// Events only name keys: of nothing, of deleted objects, twice, of a pod before its node.
func TestEventsOutOfOrderAndTwice(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config())
	feed := func() {
		for range 2 {
			e.PodChanged(evictor.PodKey{Namespace: "default", Name: "a-0-p0"})
			e.PodChanged(evictor.PodKey{Namespace: "no", Name: "such"})
			e.NodeChanged("a-0")
			e.NodeChanged("nowhere")
			e.LeaseObserved("nowhere", evictortest.Epoch, "")
			e.LeaseObserved("a-1", evictortest.Epoch, "1")
		}
	}
	c.Fail("a-0")
	for range 400 {
		feed()
		c.Advance(time.Second)
	}
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.Len(t, says(c, "NoExecute"), 1)
	c.DeleteNode("a-0")
	feed()
	c.Advance(time.Minute)
	require.Len(t, c.Evicted(), 1)
}

// A pod on a node that does not exist is ignored until the node appears.
func TestPodOnANodeThatDoesNotExist(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = "default", "p", "1", "n"
	key := evictor.PodKey{Namespace: "default", Name: "p"}
	b.pods[key] = pod
	e, clk := b.starts(t)
	step := func() {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	step()
	e.PodChanged(key)
	step()
	require.Empty(t, b.wrote)
	node := &v1.Node{}
	node.Name, node.UID = "n", "1"
	node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	b.nodes["n"] = node
	e.NodeChanged("n")
	step()
	step()
	require.Equal(t, []string{"evict default/p"}, b.wrote, "and once, though this store never shows that it is gone")
}

// brought is a Source whose store is complete once nothing is awaited.
type brought struct {
	bare
	awaits  string
	fed     []evictor.Target
	refuses error
	run     func(context.Context) error
}

func (b *brought) Synced() bool   { return b.awaits == "" }
func (b *brought) Awaits() string { return b.awaits }

func (b *brought) Feed(to evictor.Target) error {
	b.fed = append(b.fed, to)
	return b.refuses
}

func (b *brought) Run(ctx context.Context) error { return b.run(ctx) }

func liveNode(name string) *v1.Node {
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	node.Name = name
	return node
}

func (b *brought) evictor(options evictor.Options) (*tested, error) {
	return newTested(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b, Source: b}, options)
}

// An evictor that is not fed evicts nothing: it would mistake missing events for silence.
func TestAnEvictorThatIsNotFedHarmsNobody(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{"n": liveNode("n")}}
	e, clk := b.starts(t)
	for range 100 {
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, clk.Now().Add(config().Nodes.GateInterval), next)
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	require.Empty(t, b.wrote)
	told := e.Explain("n")
	require.Len(t, told, 1, "once")
	require.Equal(t, "00:00:00 cluster: no decisions yet, waiting for the program to call NodeChanged, PodChanged and LeaseObserved, or for a Source", told[0].String())

	e.LeaseObserved("n", evictortest.Epoch, "")
	_, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, "00:08:20 cluster: nothing is missing any more: decisions begin", e.Explain("n")[1].String())
	_, known := e.Nodes().Node("n")
	require.True(t, known)
}

func TestASourceFeedsFromTheConstructionOn(t *testing.T) {
	b := &brought{}
	e, err := b.evictor(evictor.Options{})
	require.NoError(t, err)
	require.Equal(t, []evictor.Target{e.Evictor}, b.fed)
	b.refuses = errors.New("it cannot serve that")
	_, err = b.evictor(evictor.Options{})
	require.ErrorIs(t, err, b.refuses)
}

// What is awaited is logged once, at Info, and Explain says so too.
func TestWhatIsAwaitedIsToldOnce(t *testing.T) {
	b := &brought{awaits: "the first list of pods"}
	b.nodes = map[string]*v1.Node{"n": liveNode("n")}
	var log bytes.Buffer
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := b.evictor(evictor.Options{Clock: clk, Observer: explain.Log(slog.New(slog.NewTextHandler(&log, nil)))})
	require.NoError(t, err)
	for range 10 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "no decisions yet, waiting for the first list of pods"))
	require.Contains(t, e.Explain("shop/p")[0].String(), "waiting for the first list of pods")
	b.awaits = ""
	_, err = e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(log.String(), "nothing is missing any more"))
	require.Len(t, e.Explain("shop/p"), 2)
}

// Run runs the Source, and returns after it has ended.
func TestRunRunsTheSource(t *testing.T) {
	b := &brought{}
	began, ended := make(chan struct{}), false
	b.run = func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		ended = true
		return nil
	}
	e, err := b.evictor(evictor.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()
	<-began
	cancel()
	require.ErrorIs(t, <-ran, context.Canceled)
	require.True(t, ended, "Run waits for it")
}

func TestASourceThatEndsEndsRun(t *testing.T) {
	gone := errors.New("gone")
	for _, reason := range []error{gone, nil} {
		b := &brought{run: func(context.Context) error { return reason }}
		e, err := b.evictor(evictor.Options{})
		require.NoError(t, err)
		err = e.Run(context.Background())
		require.ErrorContains(t, err, "its source has ended")
		require.Equal(t, reason != nil, errors.Is(err, gone))
	}
}
