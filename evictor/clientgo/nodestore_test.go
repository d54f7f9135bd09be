package clientgo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
	"github.com/evictkit/evictkit/taints"
)

func versionOf(version string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: version}}
}

// TestWhatWasWrittenIsForgotten once the informer has it or something later, or the node is gone.
func TestWhatWasWrittenIsForgotten(t *testing.T) {
	informer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	s := newNodeStore(informer, func() bool { return true })
	seen := s.seen()
	version := func() string {
		n, ok := s.Node("n")
		require.True(t, ok)
		return n.ResourceVersion
	}
	require.NoError(t, informer.Add(versionOf("5")))
	s.wrote(versionOf("9"))
	require.Equal(t, "9", version())
	require.NoError(t, informer.Update(versionOf("7"))) // somebody else's, before ours
	seen.OnUpdate(nil, versionOf("7"))
	require.Equal(t, "9", version())
	require.NoError(t, informer.Update(versionOf("10")))
	require.Equal(t, "10", version(), "also before the handler is told")
	seen.OnUpdate(nil, versionOf("10"))
	require.Empty(t, s.written)

	s.wrote(versionOf("8"))
	require.Empty(t, s.written, "an answer that comes late is no news")
	s.wrote(versionOf("not a number"))
	require.Empty(t, s.written)
	s.wrote(versionOf("11"))
	require.NoError(t, informer.Delete(versionOf("10")))
	_, ok := s.Node("n")
	require.False(t, ok)
	seen.OnDelete(cache.DeletedFinalStateUnknown{Key: "n", Obj: versionOf("10")})
	require.Empty(t, s.written)
	s.wrote(versionOf("12"))
	require.Empty(t, s.written, "there is no such node")
}

// TestAKeptNodeHasWhatIsRead by the evictor and written back, all its labels, the conditions that announce maintenance, and the
// annotations that are named.
func TestAKeptNodeHasWhatIsRead(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	later := metav1.NewTime(at.Add(time.Minute))
	whole := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", UID: "uid", ResourceVersion: "7", CreationTimestamp: at, Annotations: map[string]string{"large": "text", "hold": "yes"}, Labels: map[string]string{"other": "label", "kubernetes.io/hostname": "n"},
		},
		Spec: v1.NodeSpec{Unschedulable: true, Taints: []v1.Taint{{Key: "theirs", Value: "v", Effect: v1.TaintEffectNoExecute, TimeAdded: &at}}},
		Status: v1.NodeStatus{
			Images:     []v1.ContainerImage{{Names: []string{"image"}}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, LastHeartbeatTime: later, LastTransitionTime: at, Reason: "KubeletNotReady", Message: "text"}},
		},
	}
	kept := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid", ResourceVersion: "7", CreationTimestamp: at, Labels: whole.Labels},
		Spec:       whole.Spec,
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, LastHeartbeatTime: later, LastTransitionTime: at, Reason: "KubeletNotReady"}}},
	}
	for _, announced := range []v1.NodeConditionType{"MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress", "Drained", "GracefulNodeShutdownInProgress"} {
		for _, n := range []*v1.Node{whole, kept} {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: announced, Status: v1.ConditionTrue})
		}
	}
	require.Equal(t, kept, slim.Keep{}.Node(whole))
	kept.Annotations = map[string]string{"hold": "yes"}
	require.Equal(t, kept, (&Options{Keep: Keep{NodeAnnotations: []string{"hold", "not there"}}}).kept().Node(whole))
	require.Equal(t, kept, (&Options{Keep: Keep{NodeAnnotations: []string{"hold"}}}).kept().Node(kept))
}

// TestASlimNodeIsTheOneThatIsKept, and has all its labels; what is neither node, pod nor the lease of a node stays whole.
func TestASlimNodeIsTheOneThatIsKept(t *testing.T) {
	whole := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "p"}, Annotations: map[string]string{"large": "text"}}}
	small, err := Keep{}.Slim(whole)
	require.NoError(t, err)
	require.Equal(t, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "p"}}}, small)
	lease := renewedAt(v1.NamespaceNodeLease, "u", "1", 100)
	lease.Annotations = map[string]string{"large": "text"}
	small, err = Keep{}.Slim(lease)
	require.NoError(t, err)
	require.Equal(t, slim.Lease(lease), small)
	for _, other := range []any{renewedAt("kube-system", "u", "1", 100), &v1.Secret{}, cache.DeletedFinalStateUnknown{}} {
		small, err := Keep{}.Slim(other)
		require.NoError(t, err)
		require.Equal(t, other, small)
	}
}

// TestTaintsThatAreNotKeptAreNotLost when the others are written: they are read again, in the version that was kept.
func TestTaintsThatAreNotKeptAreNotLost(t *testing.T) {
	whole := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7"}}
	for i := range 4000 {
		whole.Spec.Taints = append(whole.Spec.Taints, v1.Taint{Key: fmt.Sprint("other-", i), Effect: v1.TaintEffectNoSchedule})
	}
	whole.Spec.Taints = append(whole.Spec.Taints, v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	client := fake.NewClientset(whole)
	c, err := New(client, Options{})
	require.NoError(t, err)
	writer := c.Clients().NodeWriter
	kept := slim.Keep{}.Node(whole)
	require.Len(t, kept.Spec.Taints, 2)
	require.Equal(t, kept, slim.Keep{}.Node(kept), "the informer's transform function sees what was listed again")
	lift := taints.Change{Remove: []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}
	require.NoError(t, writer.UpdateTaints(context.Background(), kept, lift))
	written, err := client.CoreV1().Nodes().Get(context.Background(), "n", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, whole.Spec.Taints[:4001], written.Spec.Taints)

	kept.ResourceVersion = "6"
	require.True(t, apierrors.IsConflict(writer.UpdateTaints(context.Background(), kept, lift)))
	require.NoError(t, client.CoreV1().Nodes().Delete(context.Background(), "n", metav1.DeleteOptions{}))
	require.True(t, apierrors.IsConflict(writer.UpdateTaints(context.Background(), kept, lift)))
}
