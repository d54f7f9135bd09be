package controlplane

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// nodeagentPermissions are those that examples/nodeagent says it needs; with --kubelet, nodes/stats is the kubelet's to ask.
var nodeagentPermissions = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"update"}},
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
}

// recordedKubelet serves the Summary that is recorded in examples/nodeagent, as that of a node of the fleet. Its pods are
// the fleet's, its times are those of now. Its memory comes back once relieved is set.
type recordedKubelet struct {
	*httptest.Server
	recorded statsapi.Summary
	relieved atomic.Bool
}

const recordedToken = "recorded"

// newRecordedKubelet gives the recorded pods other than the first, a static one, to pods in the order of what they use.
func newRecordedKubelet(t *testing.T, node string, pods ...*v1.Pod) *recordedKubelet {
	t.Helper()
	k := &recordedKubelet{}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "nodeagent", "recorded", "summary.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &k.recorded))
	k.recorded.Node.NodeName = node
	for i, pod := range pods {
		k.recorded.Pods[1+i].PodRef = statsapi.PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	}
	k.Server = httptest.NewTLSServer(http.HandlerFunc(k.serve))
	t.Cleanup(k.Close)
	return k
}

func (k *recordedKubelet) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/stats/summary" || r.Header.Get("Authorization") != "Bearer "+recordedToken {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	s, now := k.recorded, metav1.Now()
	memory, pods := *s.Node.Memory, *s.Node.SystemContainers[0].Memory
	fs, images, rlimit := *s.Node.Fs, *s.Node.Runtime.ImageFs, *s.Node.Rlimit
	memory.Time, pods.Time, fs.Time, images.Time, rlimit.Time = now, now, now, now, now
	if plenty := uint64(1 << 30); k.relieved.Load() {
		memory.AvailableBytes, pods.AvailableBytes = &plenty, &plenty
	}
	s.Node.Memory, s.Node.Fs, s.Node.Rlimit = &memory, &fs, &rlimit
	s.Node.SystemContainers = []statsapi.ContainerStats{{Name: statsapi.SystemContainerPods, Memory: &pods}}
	s.Node.Runtime = &statsapi.RuntimeStats{ImageFs: &images, ContainerFs: &images}
	_ = json.NewEncoder(w).Encode(s)
}

// files writes what a client needs, and returns flags of nodeagent.
func (k *recordedKubelet) files(t *testing.T) []string {
	t.Helper()
	ca, token := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(token, []byte(recordedToken), 0o600))
	return []string{"--node=" + k.recorded.Node.NodeName, "--kubelet=" + k.URL, "--kubelet-ca=" + ca, "--kubelet-token=" + token, "--act"}
}

// TestNodeAgent: beside a real API server and with no more permissions than it says, examples/nodeagent fails and deletes
// the pod that must go, by its UID, and no other one: neither the static pod, which uses more, nor one that the API does
// not have. It writes conditions of its own, and leaves the kubelet's.
func TestNodeAgent(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("it starts a control plane of its own: set EVICTKIT_FULL")
	}
	c := open(t)
	require.NoError(t, c.bind(c.ctx, "nodeagents", "nodeagent", nodeagentPermissions...))
	program, err := c.plane.BuildExample(c.ctx, "nodeagent")
	require.NoError(t, err)
	c.Fleet, err = StartFleet(c.ctx, c.client, c.view, FleetConfig{Zones: 1, NodesPerZone: 1, PodsPerNode: 3, Renewal: 3 * time.Second, Report: 5 * time.Second})
	require.NoError(t, err)
	node := c.Nodes()[0]
	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	mirror := c.Pod("etcd-"+node, node)
	var known []*v1.Pod
	for _, name := range c.Pods(node) {
		pod, err := pods.Get(c.ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		known = append(known, pod)
	}
	kubelet := newRecordedKubelet(t, node, known...)
	mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: kubelet.recorded.Pods[0].PodRef.UID}
	_, err = pods.Create(c.ctx, mirror, metav1.CreateOptions{})
	require.NoError(t, err)
	changes, err := pods.Watch(c.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer changes.Stop()

	agent := c.program(t, "nodeagent", []string{"nodeagents"}, program, kubelet.files(t)...)
	evicted := evictedPod(t, changes.ResultChan())
	kubelet.relieved.Store(true)
	require.Equal(t, known[0].UID, evicted.UID, "none requests anything, and it uses the most")
	require.Equal(t, v1.PodFailed, evicted.Status.Phase)
	require.Contains(t, evicted.Status.Message, "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi.")
	require.False(t, evicted.Status.Conditions[len(evicted.Status.Conditions)-1].LastTransitionTime.IsZero())

	const own = "nodeagent.example.com/" + v1.NodeMemoryPressure
	c.wait(t, soon, func(now *Now) string {
		for _, condition := range now.Node(node).Status.Conditions {
			if condition.Type == own && condition.Status == v1.ConditionTrue && !condition.LastTransitionTime.IsZero() && !condition.LastHeartbeatTime.IsZero() {
				return ""
			}
		}
		return fmt.Sprintf("the node has no condition %s: %v", own, now.Node(node).Status.Conditions)
	})
	c.hold(t, 15*time.Second, func(now *Now) string {
		for _, pod := range append(known[1:], mirror) {
			if there := now.Pod(pod.Name); there == nil || there.Status.Phase == v1.PodFailed {
				return pod.Name + " has gone, too"
			}
		}
		for _, condition := range now.Node(node).Status.Conditions {
			if condition.Type == v1.NodeMemoryPressure && condition.Status != v1.ConditionFalse {
				return "the condition of the kubelet was written"
			}
		}
		return ""
	})
	events, err := c.client.CoreV1().Events(metav1.NamespaceDefault).List(c.ctx, metav1.ListOptions{FieldSelector: "reason=Evicted"})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
	require.Equal(t, evicted.UID, events.Items[0].InvolvedObject.UID)
	require.Equal(t, "memory", events.Items[0].Annotations["starved_resource"])
	require.False(t, agent.Ended())
	require.NotContains(t, agent.Log(), "forbidden")
}

// evictedPod returns the pod that was deleted, as it was when its status said why, which was before.
func evictedPod(t *testing.T, changes <-chan watch.Event) *v1.Pod {
	t.Helper()
	failed := map[string]*v1.Pod{}
	timeout := time.After(soon)
	for {
		select {
		case change := <-changes:
			pod, ok := change.Object.(*v1.Pod)
			switch {
			case !ok:
			case change.Type == watch.Deleted:
				require.NotNil(t, failed[pod.Name], "%s was deleted and nothing said why", pod.Name)
				return failed[pod.Name]
			case pod.Status.Reason == "Evicted" && pod.DeletionTimestamp == nil:
				failed[pod.Name] = pod
			}
		case <-timeout:
			require.Fail(t, "no pod was evicted")
		}
	}
}
