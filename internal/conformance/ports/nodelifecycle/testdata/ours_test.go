package nodelifecycle

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/controller/testutil"
	taintutils "k8s.io/kubernetes/pkg/util/taints"
	"k8s.io/kubernetes/test/utils/ktesting"
)

// When no node is ready, taints are lifted and none are added. Once the first node is back, they are added again.
func TestOursLossOfAllZones(t *testing.T) {
	ctx, now := ktesting.Init(t), metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	nodes := &testutil.FakeNodeHandler{Clientset: fake.NewSimpleClientset()}
	for _, name := range []string{"a", "b"} {
		nodes.Existing = append(nodes.Existing, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: now, Labels: map[string]string{v1.LabelTopologyZone: name}}})
	}
	nc, err := newNodeLifecycleControllerFromClient(ctx, nodes, testRateLimiterQPS, 1, 50, 0.55, testNodeMonitorGracePeriod, testNodeStartupGracePeriod, testNodeMonitorPeriod)
	if err != nil {
		t.Fatal(err)
	}
	nc.recorder, nc.now = testutil.NewFakeRecorder(), func() metav1.Time { return now }
	for _, step := range []struct {
		a, b    v1.ConditionStatus
		tainted bool
	}{
		{v1.ConditionTrue, v1.ConditionTrue, false},
		{v1.ConditionFalse, v1.ConditionTrue, true},
		{v1.ConditionFalse, v1.ConditionFalse, false},
		{v1.ConditionFalse, v1.ConditionFalse, false},
		{v1.ConditionFalse, v1.ConditionTrue, true},
	} {
		now = metav1.NewTime(now.Add(testNodeMonitorPeriod))
		for name, ready := range map[string]v1.ConditionStatus{"a": step.a, "b": step.b} {
			node, err := nodes.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready, LastHeartbeatTime: now, LastTransitionTime: now}}
			if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.syncNodeStore(nodes); err != nil {
			t.Fatal(err)
		}
		if err := nc.monitorNodeHealth(ctx); err != nil {
			t.Fatal(err)
		}
		if err := nc.syncNodeStore(nodes); err != nil {
			t.Fatal(err)
		}
		for range 10_000 { // a token takes 10 µs
			nc.doNoExecuteTaintingPass(ctx)
		}
		node, err := nodes.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if is := taintutils.TaintExists(node.Spec.Taints, NotReadyTaintTemplate); is != step.tainted {
			t.Errorf("%+v: node a has %v", step, node.Spec.Taints)
		}
	}
}

// Nothing is kept of a node that is gone, even if it had taken the place of another one of its name between two passes.
func TestOursSuccessorOfANodeIsForgotten(t *testing.T) {
	ctx, now := ktesting.Init(t), metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	nc, err := newNodeLifecycleControllerFromClient(
		ctx, &testutil.FakeNodeHandler{Clientset: fake.NewSimpleClientset()}, testRateLimiterQPS, 1, 50, 0.55, testNodeMonitorGracePeriod, testNodeStartupGracePeriod, testNodeMonitorPeriod,
	)
	if err != nil {
		t.Fatal(err)
	}
	nc.recorder, nc.now = testutil.NewFakeRecorder(), func() metav1.Time { return now }
	for _, uid := range []types.UID{"first", "second", ""} {
		now = metav1.NewTime(now.Add(testNodeMonitorPeriod))
		listed := []any{}
		if uid != "" {
			listed = append(listed, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, CreationTimestamp: now}, Status: v1.NodeStatus{
				Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, LastHeartbeatTime: now, LastTransitionTime: now}},
			}})
		}
		if err := nc.nodeInformer.Informer().GetStore().Replace(listed, ""); err != nil {
			t.Fatal(err)
		}
		if err := nc.monitorNodeHealth(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if verdict, known := nc.health.Verdict("a"); known {
		t.Errorf("health knows %+v", verdict)
	}
	if zones := nc.zones.Zones(); len(zones) > 0 {
		t.Errorf("zones are %+v", zones)
	}
	if waiting := nc.tainter.Waiting(); len(waiting) > 0 {
		t.Errorf("%v wait for taints", waiting)
	}
}
