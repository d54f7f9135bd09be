package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
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

func (b *bare) Evict(_ context.Context, p evictor.PodRef, _ evictor.Decision) error {
	b.wrote = append(b.wrote, "evict "+p.String())
	return nil
}

func (b *bare) MarkNotReady(context.Context, evictor.PodRef) error { return nil }

// A node with nothing but a name is watched from when it was first seen.
func TestNodeWithNothingButAName(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{"n": {}}}
	b.nodes["n"].Name = "n"
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{Clock: clk})
	require.NoError(t, err)
	e.NodeChanged("n")
	for range 13 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Empty(t, b.wrote)
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	_, err = e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{
		"n Ready NodeStatusNeverUpdated", "n MemoryPressure NodeStatusNeverUpdated", "n DiskPressure NodeStatusNeverUpdated", "n PIDPressure NodeStatusNeverUpdated",
	}, b.wrote[:4], "after the start-up grace of 60s")
}

// Events only name keys: of nothing, of deleted objects, twice, of a pod before its node.
func TestEventsOutOfOrderAndTwice(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := c.Start(config())
	feed := func() {
		for range 2 {
			e.PodChanged(evictor.PodKey{Namespace: "default", Name: "a-0-p0"})
			e.PodChanged(evictor.PodKey{Namespace: "no", Name: "such"})
			e.NodeChanged("a-0")
			e.NodeChanged("nowhere")
			e.LeaseRenewed("nowhere", evictortest.Epoch)
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
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{Clock: clk})
	require.NoError(t, err)
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
