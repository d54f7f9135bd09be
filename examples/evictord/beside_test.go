package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// judged and evicted are a node and a pod as kube-controller-manager v1.37.2 left them in a real API server.
func judged(t *testing.T) *v1.Node { return recordedObject[v1.Node](t, "testdata/upstream-node.json") }
func evicted(t *testing.T) *v1.Pod { return recordedObject[v1.Pod](t, "testdata/upstream-pod.json") }

func recordedObject[T any](t *testing.T, path string) *T {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	object := new(T)
	require.NoError(t, json.Unmarshal(text, object))
	return object
}

// seenBeside is one beside, with the objects that its lists return whatever they ask for.
type seenBeside struct {
	*beside
	asked []string // the selectors of its lists
	log   bytes.Buffer
}

func lookBeside(t *testing.T, args string, started time.Time, node *v1.Node, pod *v1.Pod) *seenBeside {
	t.Helper()
	o, err := parse(strings.Fields(args), io.Discard)
	require.NoError(t, err)
	s, client := &seenBeside{}, &fake.Clientset{}
	for resource, list := range map[string]runtime.Object{"nodes": &v1.NodeList{Items: []v1.Node{*node}}, "pods": &v1.PodList{Items: []v1.Pod{*pod}}} {
		client.AddReactor("list", resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			s.asked = append(s.asked, action.(clienttesting.ListAction).GetListRestrictions().Fields.String())
			return true, list, nil
		})
	}
	nodes := evictortest.New(t, evictortest.Zone("eu:a", 3), evictortest.Zone("eu:b", 3))
	nodes.Start(o.evictor, evictor.Options{})
	nodes.Fail("a-0", "b-1")
	nodes.Advance(2 * time.Minute)
	on := clocktesting.NewFakePassiveClock(started)
	s.beside = newBeside(client, &o, nodes.Clients().Nodes, on, slog.New(slog.NewTextHandler(&s.log, nil)))
	on.SetTime(started.Add(3 * time.Hour))
	return s
}

func (s *seenBeside) counted(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.writes)
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		for _, one := range family.Metric {
			counts[one.Label[0].GetValue()] = one.Counter.GetValue()
		}
	}
	return counts
}

// TestKubeControllerManagerIsNoticed by what it writes after this program has started, once for each later write.
func TestKubeControllerManagerIsNoticed(t *testing.T) {
	node, pod := judged(t), evicted(t)
	before := node.Status.Conditions[0].LastTransitionTime.Add(-2 * time.Minute)
	s := lookBeside(t, "", before, node, pod)
	s.look(t.Context())
	require.Equal(t, map[string]float64{lifecycleName: 1, taintEvictionName: 1}, s.counted(t))
	require.Equal(t, 2, strings.Count(s.log.String(), "level=ERROR"))
	s.look(t.Context())
	s.look(t.Context())
	require.Equal(t, map[string]float64{lifecycleName: 1, taintEvictionName: 1}, s.counted(t), "nothing new")
	require.Equal(t, []string{"metadata.name=a-0", "spec.nodeName=a-0", "metadata.name=b-1", "spec.nodeName=b-1", "metadata.name=a-0", "spec.nodeName=a-0"}, s.asked,
		"each failed node in its turn")
}

// TestOnlyTheReplacedControllersCount, and only what they wrote after the start.
func TestOnlyTheReplacedControllersCount(t *testing.T) {
	after := judged(t).Status.Conditions[0].LastTransitionTime.Add(time.Hour)
	before := after.Add(-2 * time.Hour)
	byUs := func(entries []metav1.ManagedFieldsEntry) {
		for i := range entries {
			entries[i].Manager = "evictkit-controller"
		}
	}
	for name, row := range map[string]struct {
		args    string
		started time.Time
		change  func(*v1.Node, *v1.Pod)
		want    map[string]float64
	}{
		"before the start":  {"", after, func(*v1.Node, *v1.Pod) {}, map[string]float64{lifecycleName: 0, taintEvictionName: 0}},
		"the other half":    {"--half=lifecycle", before, func(*v1.Node, *v1.Pod) {}, map[string]float64{lifecycleName: 1}},
		"and the first one": {"--half=taint-eviction", before, func(*v1.Node, *v1.Pod) {}, map[string]float64{taintEvictionName: 1}},
		"written by us": {"", before, func(n *v1.Node, p *v1.Pod) {
			byUs(n.ManagedFields)
			byUs(p.ManagedFields)
		}, map[string]float64{lifecycleName: 0, taintEvictionName: 0}},
		"tainted only": {"--half=lifecycle", before, func(n *v1.Node, _ *v1.Pod) { byUs(n.ManagedFields[:3]) }, map[string]float64{lifecycleName: 1}},
		"tainted beside a cloud's taint": {"--half=lifecycle", before, func(n *v1.Node, _ *v1.Pod) {
			byUs(n.ManagedFields[:3])
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: shutdownByTheCloud, Effect: v1.TaintEffectNoSchedule})
		}, map[string]float64{lifecycleName: 0}},
		"volumes detached": {"--half=lifecycle", before, func(n *v1.Node, _ *v1.Pod) {
			n.ManagedFields = n.ManagedFields[2:3]
			n.ManagedFields[0].FieldsV1.SetRawBytes([]byte(`{"f:status":{"f:volumesAttached":{}}}`))
		}, map[string]float64{lifecycleName: 0}},
		"collected as garbage": {"--half=taint-eviction", before, func(_ *v1.Node, p *v1.Pod) { p.Status.Conditions[1].Reason = "DeletionByPodGC" }, map[string]float64{taintEvictionName: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			node, pod := judged(t), evicted(t)
			row.change(node, pod)
			s := lookBeside(t, row.args, row.started, node, pod)
			s.look(t.Context())
			require.Equal(t, row.want, s.counted(t))
		})
	}
}

// TestAForgedTimeBlindsNobody: a kubelet may write its node under any name and with any time. A write that lies ahead does
// not count, and one of a true rival does, on the same node and afterwards.
func TestAForgedTimeBlindsNobody(t *testing.T) {
	node, pod := judged(t), evicted(t)
	wrote := node.Status.Conditions[0].LastTransitionTime.Time
	far := metav1.NewTime(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	for i := range node.Spec.Taints {
		node.Spec.Taints[i].TimeAdded = &far
	}
	nodeReady(node).LastTransitionTime = far
	left := pod.Status.Conditions[1].LastTransitionTime
	pod.Status.Conditions[1].LastTransitionTime = far
	s := lookBeside(t, "", wrote.Add(-2*time.Minute), node, pod)
	s.look(t.Context())
	require.Equal(t, map[string]float64{lifecycleName: 0, taintEvictionName: 0}, s.counted(t))
	require.Contains(t, s.log.String(), "whose time has not come")
	require.NotContains(t, s.log.String(), "level=ERROR")

	for i := range node.Spec.Taints {
		node.Spec.Taints[i].TimeAdded = &metav1.Time{Time: wrote}
	}
	pod.Status.Conditions[1].LastTransitionTime = left
	s.look(t.Context())
	require.Equal(t, map[string]float64{lifecycleName: 1, taintEvictionName: 1}, s.counted(t))
}

// TestADryRunLooksForNobody: it may run beside kube-controller-manager.
func TestADryRunLooksForNobody(t *testing.T) {
	s := lookBeside(t, "--dry-run", time.Time{}, judged(t), evicted(t))
	s.run(context.Background()) // returns at once
	require.Empty(t, s.asked)
	require.Empty(t, s.counted(t))
}
