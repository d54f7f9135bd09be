package clientgo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
)

// randomPod has every combination of what the evictor reads.
func randomPod(r *rand.Rand, i int) *v1.Pod {
	coin := func() bool { return r.IntN(2) == 0 }
	at := func() metav1.Time { return metav1.NewTime(time.Unix(1_700_000_000+r.Int64N(1e6), 0)) }
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("ns", i%3), Name: fmt.Sprint("p-", i), UID: types.UID(fmt.Sprint("uid", i)), ResourceVersion: fmt.Sprint(i), CreationTimestamp: at(),
	}}
	if coin() {
		p.Spec.NodeName = fmt.Sprint("node", r.IntN(3))
	}
	for range r.IntN(3) {
		t := v1.Toleration{Key: fmt.Sprint("key", r.IntN(3)), Operator: v1.TolerationOpExists}
		if coin() {
			seconds := r.Int64N(3)
			t.TolerationSeconds = &seconds
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
	p.Status.Phase = []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, ""}[r.IntN(5)]
	for _, kind := range []v1.PodConditionType{v1.PodInitialized, v1.PodScheduled, v1.PodReady, v1.DisruptionTarget} {
		if coin() {
			c := v1.PodCondition{Type: kind, Status: []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}[r.IntN(3)], LastTransitionTime: at()}
			if kind == v1.DisruptionTarget && coin() {
				c.Reason = disruptionReason
			}
			p.Status.Conditions = append(p.Status.Conditions, c)
		}
	}
	if coin() {
		started := at()
		p.Status.StartTime = &started
	}
	if r.IntN(4) == 0 {
		deleted := at()
		p.DeletionTimestamp = &deleted
	}
	if r.IntN(4) == 0 {
		p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: []string{"x", ""}[r.IntN(2)]}
	}
	for range r.IntN(4) {
		if p.Labels == nil {
			p.Labels = make(map[string]string)
		}
		p.Labels[fmt.Sprint("label", r.IntN(5))] = []string{"", "value", p.Name, fmt.Sprint(i), strings.Repeat("x", 200)}[r.IntN(5)]
	}
	if coin() {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: []string{"ReplicaSet", "DaemonSet"}[r.IntN(2)], Controller: &[]bool{coin()}[0]}}
	}
	return p
}

// read is everything that the evictor and the writers read of a pod.
func read(p *v1.Pod) []any {
	owner := metav1.GetControllerOf(p)
	ready := conditionOf(p.Status.Conditions, v1.PodReady)
	scheduled := conditionOf(p.Status.Conditions, v1.PodScheduled)
	_, mirror := p.Annotations[v1.MirrorPodAnnotationKey]
	var bound int64
	if scheduled != nil && scheduled.Status == v1.ConditionTrue {
		bound = scheduled.LastTransitionTime.Unix()
	}
	return []any{
		p.Namespace, p.Name, p.UID, p.ResourceVersion, p.CreationTimestamp.Unix(), p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp != nil,
		append([]v1.Toleration{}, p.Spec.Tolerations...), mirror, owner != nil && owner.Kind == daemonSetKind,
		ready != nil, ready != nil && ready.Status == v1.ConditionTrue, bound, disrupted(p), seconds(p.Status.StartTime), seconds(p.DeletionTimestamp), p.Labels,
	}
}

func TestAKeptPodReadsLikeTheWholeOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	store := &podStore{pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByNode: nodeOf})}
	whole := make(map[evictor.PodKey]*v1.Pod)
	for i := range 2000 {
		p := randomPod(r, i)
		whole[evictor.PodKey{Namespace: p.Namespace, Name: p.Name}] = p
		require.NoError(t, store.pods.(cache.Indexer).Add(slimPod(&Options{}, p)))
	}
	onNode := make(map[string]int)
	for key, p := range whole {
		kept, ok := store.Pod(key)
		require.True(t, ok)
		require.Equal(t, read(p), read(kept))
		onNode[p.Spec.NodeName]++
	}
	_, ok := store.Pod(evictor.PodKey{Namespace: "ns0", Name: "none"})
	require.False(t, ok)
	for _, node := range []string{"node0", "node1", "node2", "none"} {
		count := 0
		store.PodsOnNode(node, func(kept *v1.Pod) bool {
			count++
			require.Equal(t, read(whole[evictor.PodKey{Namespace: kept.Namespace, Name: kept.Name}]), read(kept), "in an object that was used for another")
			return true
		})
		require.Equal(t, onNode[node], count)
	}
	visited := 0
	store.PodsOnNode("node0", func(*v1.Pod) bool { visited++; return false })
	require.Equal(t, 1, visited)
}

func TestEqualTolerationsAreOne(t *testing.T) {
	list := func(seconds int64) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}}}
	}
	kept := func(p *v1.Pod) tolerations { return slimPod(&Options{}, p).tolerations }
	require.Equal(t, kept(list(300)), kept(list(300)))
	require.NotEqual(t, kept(list(300)), kept(list(30)))
	whole := list(300)
	own := kept(whole)
	*whole.Spec.Tolerations[0].TolerationSeconds = 1
	require.Equal(t, int64(300), *own.appendTo(nil)[0].TolerationSeconds, "nothing of the whole pod is kept")
}

func TestADaemonSetsPodsAreKnownByItsSelector(t *testing.T) {
	opts := &Options{DaemonSets: true}
	store := &podStore{
		pods:       cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByNode: nodeOf}),
		daemonSets: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
	}
	for _, set := range []struct {
		name string
		app  map[string]string
	}{{"agent", map[string]string{"app": "agent"}}, {"of-everything", nil}} {
		require.NoError(t, store.daemonSets.Add(slimDaemonSet(&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: set.name}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: set.app}},
		})))
	}
	for _, p := range []struct {
		namespace, app string
		daemon         bool
	}{{"ns", "agent", true}, {"ns", "web", false}, {"other", "agent", false}} {
		whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.app, Labels: map[string]string{"app": p.app}}}
		require.NoError(t, store.pods.(cache.Indexer).Add(slimPod(opts, whole)))
		kept, ok := store.Pod(evictor.PodKey{Namespace: p.namespace, Name: p.app})
		require.True(t, ok)
		require.Equal(t, p.daemon, metav1.GetControllerOf(kept) != nil, "an empty selector selects nothing")
	}
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
			require.Equal(t, want, disrupted(&v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{c}}}), c)
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
		kept := slimPod(&Options{}, whole)
		require.Equal(t, row.odd, kept.odd != nil, "%q %q", row.uid, row.version)
		var shown v1.Pod
		kept.show(&shown)
		require.Equal(t, whole.ObjectMeta, shown.ObjectMeta)
		require.Equal(t, evictor.PodKey{Namespace: row.namespace, Name: "cart"}, kept.podKey())
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

// TestASlimPodShowsTheSame to an evictor, has kept its labels, and stays as it is when it is made slim again.
func TestASlimPodShowsTheSame(t *testing.T) {
	r, opts := rand.New(rand.NewPCG(5, 6)), &Options{DaemonSets: true, EvictionAPI: true}
	for i := range 500 {
		whole := randomPod(r, i)
		slim, err := Keep{}.Slim(whole)
		require.NoError(t, err)
		require.Equal(t, slimPod(opts, whole), slimPod(opts, slim.(*v1.Pod)))
		require.Equal(t, whole.Labels, slim.(*v1.Pod).Labels)
		again, err := Keep{}.Slim(slim)
		require.NoError(t, err)
		require.Equal(t, slim, again)
	}
}

// TestThePodsOfAControllerAreKnownAsSuch where a disruption budget may refuse one of them: the others wait for it, and not the other
// pods of its node. An owner of unusual size is not kept.
func TestThePodsOfAControllerAreKnownAsSuch(t *testing.T) {
	yes := true
	whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "u", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "owner", Controller: &yes},
	}}}
	shown := func(o Options) *metav1.OwnerReference {
		var as v1.Pod
		slimPod(&o, whole).show(&as)
		return metav1.GetControllerOf(&as)
	}
	require.Equal(t, &whole.OwnerReferences[0], shown(Options{EvictionAPI: true}))
	require.Nil(t, shown(Options{}), "pods that are deleted are refused by nobody")
	whole.OwnerReferences[0].Kind = strings.Repeat("x", maxOwners)
	require.Nil(t, shown(Options{EvictionAPI: true}))
}
