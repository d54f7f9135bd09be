package slim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor/cluster"
)

func TestEqualTolerationsAreOne(t *testing.T) {
	list := func(seconds int64) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}}}
	}
	kept := func(p *v1.Pod) tolerations { return Keep{}.Pod(p).tolerations }
	require.Equal(t, kept(list(300)), kept(list(300)))
	require.NotEqual(t, kept(list(300)), kept(list(30)))
	whole := list(300)
	own := kept(whole)
	*whole.Spec.Tolerations[0].TolerationSeconds = 1
	require.Equal(t, int64(300), *own.appendTo(nil)[0].TolerationSeconds, "nothing of the whole pod is kept")
}

// TestAPodThatHasTheCondition is not given it again; somebody else's, or one that was taken back, is another.
func TestAPodThatHasTheCondition(t *testing.T) {
	for want, conditions := range map[bool][]v1.PodCondition{
		true: {{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager"}},
		false: {
			{Type: v1.DisruptionTarget, Status: v1.ConditionFalse, Reason: "DeletionByTaintManager"},
			{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "PreemptionByScheduler"},
			{Type: v1.PodReady, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager"},
		},
	} {
		for _, c := range conditions {
			require.Equal(t, want, Disrupted(&v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{c}}}), c)
		}
	}
}

// TestAPodsNamesAreReadAsTheyWereWritten, in whatever form they are kept, and the informer's key with them.
func TestAPodsNamesAreReadAsTheyWereWritten(t *testing.T) {
	usual := types.UID("0f8fad5b-d9cb-469f-a165-70867728950e")
	for _, row := range []struct {
		namespace string
		uid       types.UID
		version   string
		odd       bool
	}{
		{"shop", usual, "18446744073709551615", false},
		{"shop", usual, "0", false},
		{"", usual, "7", false},
		{"shop", usual, "18446744073709551616", true},
		{"shop", usual, "007", true},
		{"shop", usual, "-7", true},
		{"shop", usual, "", true},
		{"shop", "0F8FAD5B-D9CB-469F-A165-70867728950E", "7", true},
		{"shop", "0f8fad5bad9cb-469f-a165-70867728950e", "7", true},
		{"shop", "0f8fad5b-d9cb-469f-a165-70867728950g", "7", true},
		{"shop", "uid", "7", true},
		{"shop", "", "7", true},
	} {
		whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: row.namespace, Name: "cart", UID: row.uid, ResourceVersion: row.version}}
		kept := Keep{}.Pod(whole)
		require.Equal(t, row.odd, kept.odd != nil, "%q %q", row.uid, row.version)
		var shown v1.Pod
		kept.Show(&shown)
		require.Equal(t, whole.ObjectMeta, shown.ObjectMeta)
		require.Equal(t, cluster.PodKey{Namespace: row.namespace, Name: "cart"}, kept.Key())
		for object, version := range map[any]string{whole: row.version, kept: row.version} {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
			require.NoError(t, err)
			require.Equal(t, kept.key, key)
			about, err := meta.Accessor(object)
			require.NoError(t, err)
			require.Equal(t, version, about.GetResourceVersion())
			require.Equal(t, row.uid, about.GetUID())
		}
	}
}

// TestThePodsOfAControllerAreKnownAsSuch where a disruption budget may refuse one of them: the others wait for it, and not the other
// pods of its node. An owner of unusual size is not kept.
func TestThePodsOfAControllerAreKnownAsSuch(t *testing.T) {
	yes := true
	whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "u", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "owner", Controller: &yes},
	}}}
	shown := func(k Keep) *metav1.OwnerReference {
		var as v1.Pod
		k.Pod(whole).Show(&as)
		return metav1.GetControllerOf(&as)
	}
	require.Equal(t, &whole.OwnerReferences[0], shown(Keep{Controllers: true}))
	require.Nil(t, shown(Keep{}), "pods that are deleted are refused by nobody")
	whole.OwnerReferences[0].Kind = strings.Repeat("x", maxOwners)
	require.Nil(t, shown(Keep{Controllers: true}))
}
