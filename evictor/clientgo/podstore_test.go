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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
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
				c.Reason = slim.DisruptionReason
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
	ready := slim.Condition(p.Status.Conditions, v1.PodReady)
	scheduled := slim.Condition(p.Status.Conditions, v1.PodScheduled)
	_, mirror := p.Annotations[v1.MirrorPodAnnotationKey]
	var bound int64
	if scheduled != nil && scheduled.Status == v1.ConditionTrue {
		bound = scheduled.LastTransitionTime.Unix()
	}
	return []any{
		p.Namespace, p.Name, p.UID, p.ResourceVersion, p.CreationTimestamp.Unix(), p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp != nil,
		append([]v1.Toleration{}, p.Spec.Tolerations...), mirror, owner != nil && owner.Kind == "DaemonSet",
		ready != nil, ready != nil && ready.Status == v1.ConditionTrue, bound, slim.Disrupted(p), p.Status.StartTime, p.DeletionTimestamp, p.Labels,
	}
}

func TestAKeptPodReadsLikeTheWholeOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	store := &podStore{pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByNode: nodeOf})}
	whole := make(map[evictor.PodKey]*v1.Pod)
	for i := range 2000 {
		p := randomPod(r, i)
		whole[evictor.PodKey{Namespace: p.Namespace, Name: p.Name}] = p
		require.NoError(t, store.pods.(cache.Indexer).Add(slim.Keep{}.Pod(p)))
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
		require.NoError(t, store.daemonSets.Add(slim.DaemonSet(&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: set.name}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: set.app}},
		})))
	}
	for _, p := range []struct {
		namespace, app string
		daemon         bool
	}{{"ns", "agent", true}, {"ns", "web", false}, {"other", "agent", false}} {
		whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.app, Labels: map[string]string{"app": p.app}}}
		require.NoError(t, store.pods.(cache.Indexer).Add(opts.kept().Pod(whole)))
		kept, ok := store.Pod(evictor.PodKey{Namespace: p.namespace, Name: p.app})
		require.True(t, ok)
		require.Equal(t, p.daemon, metav1.GetControllerOf(kept) != nil, "an empty selector selects nothing")
	}
}

// TestASlimPodShowsTheSame to an evictor, has kept its labels, and stays as it is when it is made slim again.
func TestASlimPodShowsTheSame(t *testing.T) {
	r, opts := rand.New(rand.NewPCG(5, 6)), &Options{DaemonSets: true, EvictionAPI: true}
	for i := range 500 {
		whole := randomPod(r, i)
		small, err := Keep{}.Slim(whole)
		require.NoError(t, err)
		require.Equal(t, opts.kept().Pod(whole), opts.kept().Pod(small.(*v1.Pod)))
		require.Equal(t, whole.Labels, small.(*v1.Pod).Labels)
		again, err := Keep{}.Slim(small)
		require.NoError(t, err)
		require.Equal(t, small, again)
	}
}

// TestTooManyLabelsSpareTheirOwn: where labels are matched with DaemonSets, what is too much for that evicts nobody of another tenant,
// and spares nobody.
func TestTooManyLabelsSpareTheirOwn(t *testing.T) {
	yes, many := true, make(map[string]string)
	for i := range 400 {
		many[fmt.Sprint("label-", i)] = strings.Repeat("x", 60)
	}
	sets := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	spared := func(namespace string, labels map[string]string) bool {
		opts := &Options{DaemonSets: true, EvictionAPI: true}
		shown, ok := (&podStore{daemonSets: sets}).shown(opts.kept().Pod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "p", Labels: labels, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: &yes}},
		}}), new(v1.Pod))
		require.True(t, ok)
		return metav1.GetControllerOf(shown).Kind == "DaemonSet"
	}
	require.False(t, spared("tenant", nil))
	require.True(t, spared("tenant", many))
	require.NoError(t, sets.Add(slim.DaemonSet(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "d"}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: many}},
	})))
	require.True(t, spared("tenant", nil))
	require.False(t, spared("other", nil))
}
