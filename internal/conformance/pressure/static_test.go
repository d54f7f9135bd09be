package pressure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubeletpod "k8s.io/kubernetes/pkg/kubelet/pod"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

const (
	staticNode = "node-1"
	manifest   = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"etcd","namespace":"kube-system"},"spec":{"hostNetwork":true,"containers":[{"name":"etcd","image":"etcd","resources":{"requests":{"cpu":"100m","memory":"100Mi"}}}]}}`
	// mirrorUID is what an API server gives the mirror in place of the UID of the static pod.
	mirrorUID = "5c1e2b0e-3a54-4f0e-9c57-2f6d7a0b8f11"
)

// TestRecordOfAStaticPod: the record in the tests of package summary has a static pod and its mirror as the kubelet's own
// code makes them from a manifest: it reads the manifest, and creates the mirror. Only the hash depends on the file.
func TestRecordOfAStaticPod(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "evictor", "nodepressure", "summary", "testdata")
	var recorded v1.PodList
	var measured statsapi.Summary
	for name, into := range map[string]any{"static-pods.json": &recorded, "static-summary.json": &measured} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	static := staticPod(t)
	mirror := mirrorOf(t, static)
	require.NotEqual(t, static.UID, mirror.UID)

	hash := recorded.Items[0].Annotations[kubetypes.ConfigMirrorAnnotationKey]
	require.Equal(t, hash, measured.Pods[0].PodRef.UID, "a kubelet measures the pod that it runs")
	want, err := json.MarshalIndent(mirror, "", "  ")
	require.NoError(t, err)
	got, err := json.MarshalIndent(recorded.Items[0], "", "  ")
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), string(static.UID), hash), string(got))
	require.Equal(t, statsapi.PodReference{Name: static.Name, Namespace: static.Namespace, UID: hash}, measured.Pods[0].PodRef)
}

// staticPod returns what a kubelet runs for the manifest.
func staticPod(t *testing.T) *v1.Pod {
	t.Helper()
	file := filepath.Join(t.TempDir(), "etcd.json")
	require.NoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	pods := config.NewPodConfig(nil, noObserver{})
	config.NewSourceFile(logr.Discard(), file, staticNode, time.Hour, pods.Channel(t.Context(), kubetypes.FileSource))
	for {
		if update := <-pods.Updates(); len(update.Pods) > 0 {
			return update.Pods[0]
		}
	}
}

// mirrorOf returns the mirror that a kubelet creates. The API server gives it a UID and a time.
func mirrorOf(t *testing.T, static *v1.Pod) *v1.Pod {
	t.Helper()
	client := fake.NewClientset()
	require.NoError(t, kubeletpod.NewBasicMirrorClient(client, staticNode, node{}).CreateMirrorPod(t.Context(), static))
	mirror, err := client.CoreV1().Pods(static.Namespace).Get(t.Context(), static.Name, metav1.GetOptions{})
	require.NoError(t, err)
	mirror.UID, mirror.ManagedFields = mirrorUID, nil
	mirror.Annotations["kubernetes.io/config.seen"] = "2026-11-29T12:00:00Z"
	return mirror
}

// node is the node to which the mirror belongs.
type node struct{}

func (node) Get(name string) (*v1.Node, error) {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}, nil
}

// noObserver measures no start-up.
type noObserver struct{}

func (noObserver) ObservedPodOnWatch(klog.Logger, *v1.Pod, time.Time) {}
