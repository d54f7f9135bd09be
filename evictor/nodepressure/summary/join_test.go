package summary_test

import (
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// What a node with a static etcd gives: the answer of its kubelet, and its pods as the API lists them. The kubelet's own
// code made the static pod and its mirror; a test of internal/conformance/pressure makes them anew and compares.
var (
	//go:embed testdata/static-summary.json
	staticSummary []byte
	//go:embed testdata/static-pods.json
	staticPods []byte
)

// short is a node of which the pods with the given UIDs are measured, the first uses the most.
func short(uids ...string) []byte {
	type object = map[string]any
	var pods []object
	for i, uid := range uids {
		pods = append(pods, object{"podRef": object{"uid": uid}, "memory": object{"workingSetBytes": 1000 - i}})
	}
	body, _ := json.Marshal(object{"node": object{"memory": object{"availableBytes": 1, "workingSetBytes": 5000}}, "pods": pods}) //nolint:errchkjson // only maps
	return body
}

// decide returns what a node without settings does.
func decide(t *testing.T, joined summary.Joined) nodepressure.Decision {
	t.Helper()
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	require.NoError(t, err)
	return machine.Observe(joined.Stats)
}

func join(t *testing.T, body []byte, pods ...*v1.Pod) summary.Joined {
	t.Helper()
	joined, err := summary.Join(body, pods)
	require.NoError(t, err)
	return joined
}

// TestStaticPodIsJoinedWithItsMirror, although the two have different UIDs, and is protected. It uses more than every
// other pod, and far more than it requests.
func TestStaticPodIsJoinedWithItsMirror(t *testing.T) {
	var list v1.PodList
	require.NoError(t, json.Unmarshal(staticPods, &list))
	var pods []*v1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	joined := join(t, staticSummary, pods...)
	require.Empty(t, joined.Unknown)
	require.Empty(t, joined.Unmeasured)
	require.Len(t, joined.Pods, 2)
	d := decide(t, joined)
	require.Equal(t, "etcd-node-1", d.Ranked[0].Pod.Name)
	require.Equal(t, nodepressure.StaticPod, d.Ranked[0].Protection)
	require.Equal(t, "cart", d.Evictions[0].Pod.Name)

	for _, annotation := range []string{v1.MirrorPodAnnotationKey, "kubernetes.io/config.hash"} {
		mirror := pods[0].DeepCopy()
		mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "of a manifest that has changed", annotation: pods[0].Annotations[annotation]}
		require.Empty(t, join(t, staticSummary, mirror, pods[1]).Unknown, annotation)
	}

	// Before the mirror is there, the protection of the pod is not known.
	joined = join(t, staticSummary, pods[1])
	require.Equal(t, []summary.Ref{{Namespace: "kube-system", Name: "etcd-node-1", UID: types.UID(pods[0].Annotations[v1.MirrorPodAnnotationKey])}}, joined.Unknown)
	require.Equal(t, "cart", decide(t, joined).Evictions[0].Pod.Name)
}

// TestOnlyWhatBothSidesKnowGoes: neither a pod that only the kubelet has nor one that only the API has.
func TestOnlyWhatBothSidesKnowGoes(t *testing.T) {
	started, cart := pod("started", "uid-1"), pod("cart", "uid-2")
	joined := join(t, short("uid-0", "uid-2"), started, cart)
	require.Equal(t, []summary.Ref{{UID: "uid-0"}}, joined.Unknown)
	require.Equal(t, []*v1.Pod{started}, joined.Unmeasured)
	d := decide(t, joined)
	require.Len(t, d.Ranked, 1)
	require.Equal(t, "cart", d.Evictions[0].Pod.Name)

	joined = join(t, short("uid-0"), started)
	require.Equal(t, nodepressure.Stuck, decide(t, joined).Action, "the node is short, but nothing may be evicted")
}

// TestPodsAreNotJoinedByName: a pod that was made anew has not used what its predecessor uses.
func TestPodsAreNotJoinedByName(t *testing.T) {
	body := []byte(`{"node":{"memory":{"availableBytes":1,"workingSetBytes":5000}},"pods":[{"podRef":{"namespace":"shop","name":"db-0","uid":"uid-1"},"memory":{"workingSetBytes":900}}]}`)
	joined := join(t, body, pod("db-0", "uid-2"))
	require.Empty(t, joined.Pods)
	require.Equal(t, []summary.Ref{{Namespace: "shop", Name: "db-0", UID: "uid-1"}}, joined.Unknown)
	require.Equal(t, []*v1.Pod{pod("db-0", "uid-2")}, joined.Unmeasured)
}

// TestPodsThatHaveEnded are neither candidates nor unknown, as long as a late sample names them.
func TestPodsThatHaveEnded(t *testing.T) {
	failed, ended, ending := pod("failed", "uid-1"), pod("ended", "uid-2"), pod("ending", "uid-3")
	failed.Status.Phase, ended.Status.Phase = v1.PodFailed, v1.PodSucceeded
	ending.Status.Phase = v1.PodRunning
	joined := join(t, short("uid-1", "uid-3"), failed, ended, ending)
	require.Empty(t, joined.Unknown)
	require.Empty(t, joined.Unmeasured)
	require.Len(t, joined.Pods, 1)
	require.Equal(t, "ending", joined.Pods[0].Name)
}

// TestNothingIsJoinedWithoutAUID: an empty UID identifies no pod.
func TestNothingIsJoinedWithoutAUID(t *testing.T) {
	mirror := pod("mirror", "uid-1")
	mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
	joined := join(t, short("", "uid-1"), pod("cart", ""), mirror)
	require.Empty(t, joined.Pods)
	require.Len(t, joined.Unknown, 2, "a kubelet runs no mirror pod")
	require.Len(t, joined.Unmeasured, 2)
}
