package descheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/features"

	"github.com/evictkit/evictkit/evictor/budget"
)

// rounds are of three cycles each; with EVICTKIT_FULL there are more.
func rounds() uint64 {
	if os.Getenv("EVICTKIT_FULL") != "" {
		return 5_000
	}
	return 500
}

// limits are those of one cycle; nil means none.
type limits struct{ total, node, namespace *uint }

// theirs is descheduler's evictor, in front of an API that does as fails says.
func theirs(t *testing.T, l limits, fails func() error) *evictions.PodEvictor {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		require.Equal(t, "eviction", a.GetSubresource())
		return true, nil, fails()
	})
	gates := featuregate.NewFeatureGate()
	require.NoError(t, gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{features.EvictionsInBackground: {Default: false}}))
	e, err := evictions.NewPodEvictor(context.Background(), client, &events.FakeRecorder{}, nil, gates,
		evictions.NewOptions().WithMaxPodsToEvictTotal(l.total).WithMaxPodsToEvictPerNode(l.node).WithMaxPodsToEvictPerNamespace(l.namespace))
	require.NoError(t, err)
	return e
}

// ours is a budget with the same limits. A pod counts until the cycle ends, whether or not it is gone.
func ours(t *testing.T, l limits) *budget.Budget[types.UID, *corev1.Pod] {
	var bounds []budget.Bound
	add := func(per string, limit *uint) {
		if limit != nil {
			bounds = append(bounds, budget.Bound{Name: "per " + per, Per: per, Of: budget.Acting, Max: budget.Count(int64(*limit))})
		}
	}
	add("", l.total)
	add("node", l.node)
	add("namespace", l.namespace)
	if len(bounds) == 0 { // a budget without any is a mistake
		bounds = append(bounds, budget.Bound{Name: "none that is met", Of: budget.Acting, Max: budget.Count(math.MaxInt64)})
	}
	b, err := budget.New(budget.Config[types.UID, *corev1.Pod]{
		Dimensions: map[string]func(*corev1.Pod) (string, bool){
			"node":      func(p *corev1.Pod) (string, bool) { return p.Spec.NodeName, p.Spec.NodeName != "" },
			"namespace": func(p *corev1.Pod) (string, bool) { return p.Namespace, true },
		},
		Bounds: bounds,
	})
	require.NoError(t, err)
	return b
}

// refusedBy returns the limit that refused, empty if none did.
func refusedBy(err error) string {
	var total *evictions.EvictionTotalLimitError
	var node *evictions.EvictionNodeLimitError
	var namespace *evictions.EvictionNamespaceLimitError
	var refusal *budget.Refusal
	switch {
	case errors.As(err, &total):
		return "per "
	case errors.As(err, &node):
		return "per node"
	case errors.As(err, &namespace):
		return "per namespace"
	case errors.As(err, &refusal):
		return refusal.Bound
	}
	return ""
}

func TestSameEvictions(t *testing.T) {
	klog.SetLogger(klog.Logger{})
	evicted, refused, failed := 0, map[string]int{}, 0
	for seed := range rounds() {
		r := rand.New(rand.NewPCG(seed, 0))
		limit := func(most int) *uint {
			if r.IntN(3) == 0 {
				return nil
			}
			return ptr.To(uint(r.IntN(most)))
		}
		l := limits{limit(12), limit(5), limit(6)}
		var answer error
		e, b := theirs(t, l, func() error { return answer }), ours(t, l)
		for cycle := range 3 {
			var acted []types.UID
			for i := range 5 + r.IntN(25) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprint("p", i), Namespace: fmt.Sprint("n", r.IntN(3)), UID: types.UID(fmt.Sprint(cycle, "-", i)),
				}}
				if r.IntN(10) > 0 {
					pod.Spec.NodeName = fmt.Sprint("node", r.IntN(4))
				}
				answer = nil
				if r.IntN(6) == 0 {
					answer = apierrors.NewTooManyRequests("a disruption budget", 1)
				}
				err := e.EvictPod(context.Background(), pod, evictions.EvictOptions{})
				b.Set(pod.UID, pod)
				reservation, refusal := b.Reserve(pod.UID)
				require.Equal(t, refusedBy(err), refusedBy(refusal), "seed %d, cycle %d, pod %d: theirs: %v; ours: %v", seed, cycle, i, err, refusal)
				switch {
				case refusal != nil:
					refused[refusedBy(err)]++
				case answer != nil:
					require.Error(t, err)
					require.True(t, reservation.GiveBack())
					failed++
				default:
					require.NoError(t, err)
					require.True(t, reservation.Commit())
					acted = append(acted, pod.UID)
					evicted++
				}
			}
			st, _ := b.Status("per ", "")
			require.True(t, l.total == nil || uint(st.Used) == e.TotalEvicted())
			e.ResetCounters()
			for _, uid := range acted {
				require.True(t, b.End(uid))
			}
		}
	}
	t.Logf("seeds 0 to %d: %d evicted, %d failed, refused by both: %v", rounds()-1, evicted, failed, refused)
	require.Len(t, refused, 3)
}
