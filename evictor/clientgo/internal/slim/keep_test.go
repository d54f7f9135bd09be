package slim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatIsNamedIsKept of a pod, exactly as it is, and nothing else of its kind.
func TestWhatIsNamedIsKept(t *testing.T) {
	yes, no := true, false
	whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "train", Name: "worker-3", Labels: map[string]string{"app": "train"},
		Annotations: map[string]string{"gang": "g-1", "index": "3", "large": "text", v1.MirrorPodAnnotationKey: "hash"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "Job", Name: "worker", UID: "1", Controller: &yes, BlockOwnerDeletion: &no},
			{APIVersion: "scheduling.example/v1", Kind: "PodGroup", Name: "g-1", UID: "2", Controller: &no},
			{APIVersion: "v1", Kind: "Node", Name: "n", UID: "3", BlockOwnerDeletion: &yes},
		},
	}}
	mirror := map[string]string{v1.MirrorPodAnnotationKey: "mirror"}
	for _, row := range []struct {
		name        string
		keep        Keep
		annotations map[string]string
		owners      []metav1.OwnerReference
	}{
		{"Nothing", Keep{}, mirror, nil},
		{"Annotations", Keep{PodAnnotations: []string{"index", "gang", "none"}}, map[string]string{"gang": "g-1", "index": "3", v1.MirrorPodAnnotationKey: "mirror"}, nil},
		{"TheMirrors", Keep{PodAnnotations: []string{v1.MirrorPodAnnotationKey}}, map[string]string{v1.MirrorPodAnnotationKey: "hash"}, nil},
		{"Controller", Keep{Controllers: true}, mirror, whole.OwnerReferences[:1]},
		{"Owners", Keep{Owners: true}, mirror, whole.OwnerReferences},
	} {
		t.Run(row.name, func(t *testing.T) {
			kept, shown := row.keep.Pod(whole), &v1.Pod{}
			for range 2 { // the second time over what it has shown itself
				kept.Show(shown)
				require.Equal(t, whole.Labels, shown.Labels)
				require.Equal(t, row.annotations, shown.Annotations)
				require.Equal(t, row.owners, shown.OwnerReferences)
			}
			small := row.keep.Object(whole)
			require.Equal(t, small, row.keep.Object(small))
		})
	}
}

// TestThePodsOfAWorkloadHaveTheSameAttributes, those of a StatefulSet too, which have labels of their own.
func TestThePodsOfAWorkloadHaveTheSameAttributes(t *testing.T) {
	of := func(i int) (*v1.Pod, *Pod) {
		whole := labelledPod(i)
		return whole, Keep{Controllers: true, PodAnnotations: []string{"scheduling.k8s.io/group-name"}}.Pod(whole)
	}
	for _, workload := range []int{0, 1} { // a StatefulSet, a Deployment
		_, first := of(20 * workload)
		for i := range 20 {
			whole, kept := of(20*workload + i)
			require.Equal(t, first.attributes, kept.attributes)
			var shown v1.Pod
			kept.Show(&shown)
			require.Equal(t, whole.Labels, shown.Labels)
		}
	}
}

// TestNodesShareTexts, also those that come after a collection, and while others come that no two nodes have.
func TestNodesShareTexts(t *testing.T) {
	made := func(i int) *v1.Node { return Keep{}.Node(labelledNode(i)) }
	at := func(text string) *byte { return unsafe.StringData(text) }
	first := made(0)
	require.Equal(t, labelledNode(0).Labels, first.Labels)
	require.Equal(t, at(first.Name), at(first.Labels[v1.LabelHostname]))
	for i := range 5 * mostTexts {
		sharedTexts.one(fmt.Sprint("instance-", i))
		if i%(mostTexts/2) == 0 {
			runtime.GC()
			require.Equal(t, at(first.Labels["karpenter.sh/nodepool"]), at(made(i).Labels["karpenter.sh/nodepool"]))
		}
	}
	require.LessOrEqual(t, len(sharedTexts.now)+len(sharedTexts.before), 2*mostTexts)
	long := strings.Repeat("x", longestText+1)
	require.Equal(t, long, sharedTexts.one(long))
	require.NotContains(t, sharedTexts.now, long)
}
