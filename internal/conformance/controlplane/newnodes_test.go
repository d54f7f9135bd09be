package controlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// TestAClusterOfNewNodesStarts: the API server creates each node with the taint not-ready:NoSchedule, which only a leader
// lifts. The real scheduler binds both replicas of the manifests all the same, and other pods once a replica runs.
func TestAClusterOfNewNodesStarts(t *testing.T) {
	c := open(t)
	var err error
	c.Fleet, err = StartFleet(c.ctx, c.client, c.view, FleetConfig{Zones: 1, NodesPerZone: 3, Renewal: 3 * time.Second, Report: time.Minute})
	require.NoError(t, err)
	c.allocatable(t, `{"cpu":"4","memory":"8Gi","pods":"110"}`, c.Nodes()...)
	c.wait(t, soon, func(now *Now) string {
		for _, node := range c.Nodes() {
			if n := now.Node(node); n == nil || len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != v1.TaintNodeNotReady {
				return fmt.Sprintf("node %s is not new", node)
			}
		}
		return ""
	})

	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	replicas := []string{"replica-0", "replica-1"}
	for _, name := range replicas {
		_, err = pods.Create(c.ctx, replicaOf(t, name), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err = pods.Create(c.ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.program(t, "scheduler", []string{administrators}, c.plane.Programs.Scheduler, "--leader-elect=false", "--secure-port=0")
	bound := func(now *Now, name string) bool { return now.Pod(name) != nil && now.Pod(name).Spec.NodeName != "" }
	c.wait(t, soon, func(now *Now) string {
		for _, name := range replicas {
			if !bound(now, name) {
				return name + " is pending"
			}
		}
		return ""
	})
	c.hold(t, 5*time.Second, func(now *Now) string {
		if bound(now, "web") {
			return "web is bound to a node that nobody has found ready"
		}
		return ""
	})

	c.process(t, "starts", []string{ours, evictors}, c.controller, "--metrics-address=", "--debug-address=")
	c.wait(t, soon, func(now *Now) string {
		if !bound(now, "web") {
			return "web is pending"
		}
		return ""
	})
}

// allocatable says what the nodes have for pods. Without it, the scheduler binds nothing to them.
func (c *cluster) allocatable(t *testing.T, what string, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		_, err := c.client.CoreV1().Nodes().Patch(c.ctx, node, types.StrategicMergePatchType, []byte(`{"status":{"allocatable":`+what+`}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
}

// replicaOf is a pod of the take-over Deployment, as its controllers make it.
func replicaOf(t *testing.T, name string) *v1.Pod {
	t.Helper()
	objects, err := render("take-over")
	require.NoError(t, err)
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			var made appsv1.Deployment
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &made))
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: made.Spec.Template.Labels}, Spec: made.Spec.Template.Spec}
			pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "one"
			return pod
		}
	}
	require.Fail(t, "there is no Deployment")
	return nil
}
