package slim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// heap is what is in use, in bytes, after a collection.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// steadyHeap is heap once nothing is given back any more of what tests before have left: that may take several collections.
func steadyHeap() int64 {
	for last := heap(); ; {
		runtime.Gosched()
		now := heap()
		if last-now < 4<<10 {
			return now
		}
		last = now
	}
}

// takes requires that no more than so many bytes are in use than before. What is shared weakly takes more than one collection, and a
// goroutine of the runtime that must have its turn.
func takes(t *testing.T, before, most int64) {
	t.Helper()
	var took int64
	for began := time.Now(); time.Since(began) < time.Minute; runtime.Gosched() {
		if took = heap() - before; took <= most {
			return
		}
	}
	require.LessOrEqual(t, took, most)
}

// tolerating is a pod with so many tolerations of 250 bytes each, unlike those of any other number.
func tolerating(number, tolerations int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("p", number), UID: "u"}}
	for k := range tolerations {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{
			Key: fmt.Sprintf("%s/%d-%d", strings.Repeat("x", 240), number, k), Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
		})
	}
	return p
}

// TestTolerationsGoWithTheirPods: a tenant that creates and deletes pods, each with other tolerations, leaves nothing.
func TestTolerationsGoWithTheirPods(t *testing.T) {
	before := heap()
	for i := range 1000 {
		_ = Keep{}.Pod(tolerating(i, 50)) // added, and forgotten: 12 MiB
	}
	takes(t, before, 1<<20)
	kept := Keep{}.Pod(tolerating(-1, 50))
	runtime.GC()
	require.Len(t, kept.tolerations.appendTo(nil), 50, "while there is such a pod its own stay")
}

// many are labels of an object that has far too many.
func many(number int) map[string]string {
	labels := make(map[string]string)
	for k := range 4000 {
		labels[fmt.Sprintf("label-%d", k)] = fmt.Sprintf("%s-%d", strings.Repeat("x", 200), number)
	}
	return labels
}

// TestOnePodBringsABoundedNumberOfBytes, of whatever it has many of.
func TestOnePodBringsABoundedNumberOfBytes(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, whole := range map[string]func(i int) *v1.Pod{
		"tolerations": func(i int) *v1.Pod { return tolerating(i, 4000) },
		"short tolerations": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			for range 4000 {
				p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: fmt.Sprint(i), Operator: v1.TolerationOpExists})
			}
			return p
		},
		"annotations": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: large + fmt.Sprint(i)}
			return p
		},
		"labels": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Labels = map[string]string{large + fmt.Sprint(i): ""}
			return p
		},
		"many labels": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Labels = many(i)
			return p
		},
		"named annotations": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Annotations = map[string]string{"large": large + fmt.Sprint(i), "gang": strings.Repeat("x", 15<<10) + fmt.Sprint(i)}
			return p
		},
		"owners": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			for k := range 4000 {
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: fmt.Sprint("Kind", i), Name: fmt.Sprint("owner-", k)})
			}
			p.OwnerReferences[0].APIVersion = large + fmt.Sprint(i)
			return p
		},
		"names": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Name, p.UID, p.ResourceVersion = large[:253], types.UID(large+fmt.Sprint(i)), large+fmt.Sprint(-i) // a name is bounded by API servers
			return p
		},
		"conditions": func(i int) *v1.Pod {
			p := tolerating(i, 0)
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionStatus(large + fmt.Sprint(i)), Message: large + fmt.Sprint(i)}}
			p.Status.Phase = v1.PodPhase(large + fmt.Sprint(i))
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Keep{DaemonSets: true, PodAnnotations: []string{"gang", "large"}, Owners: true}
			const pods = 20
			kept := make([]any, 0, pods)
			before := heap()
			for i := range pods {
				kept = append(kept, opts.Pod(whole(i)))
			}
			takes(t, before, pods*(maxTolerations+2048))
			runtime.KeepAlive(kept)
		})
	}
}

// TestASelectorOfBoundedSizeIsKept of a DaemonSet.
func TestASelectorOfBoundedSizeIsKept(t *testing.T) {
	set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: many(0)}}}
	require.Less(t, DaemonSet(set).(*appsv1.DaemonSet).Spec.Selector.Size(), maxLabels)
}

// TestAUsualPodIsKeptInFewBytes, beside what the informer's store and index take.
func TestAUsualPodIsKeptInFewBytes(t *testing.T) {
	const pods = 10_000
	kept := make([]any, 0, pods)
	before := heap()
	for i := range pods {
		p := tolerating(0, 2)
		p.Namespace, p.Name, p.ResourceVersion = "a-namespace", fmt.Sprintf("deployment-%010d-%05d", i, i), fmt.Sprint(1_000_000+i)
		p.UID, p.Spec.NodeName = types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)), fmt.Sprint("node-", i%100)
		p.Labels = map[string]string{"app.kubernetes.io/name": fmt.Sprint("web-", i/20), "app.kubernetes.io/part-of": "shop", "pod-template-hash": fmt.Sprintf("%010d", i/20)}
		kept = append(kept, Keep{}.Pod(p))
	}
	takes(t, before, pods*(112+48+48)) // itself and its key, its share of the labels of 20 pods, and what else lives in this process
	runtime.KeepAlive(kept)
}

// TestEqualTolerationsAreKeptOnce, as those that admission adds to almost every pod.
func TestEqualTolerationsAreKeptOnce(t *testing.T) {
	const pods = 200
	kept := make([]any, 0, pods)
	before := heap()
	for i := range pods {
		p := tolerating(0, 50)
		p.Name = fmt.Sprint("p", i)
		kept = append(kept, Keep{}.Pod(p))
	}
	takes(t, before, pods*512)
	runtime.KeepAlive(kept)
}

// TestTooManyTolerationsEvictNobodyEarly: those that no NoExecute taint can meet are left away first, and a pod that still has too
// many counts as one that tolerates everything.
func TestTooManyTolerationsEvictNobodyEarly(t *testing.T) {
	show := func(whole *v1.Pod) []v1.Toleration {
		var shown v1.Pod
		Keep{}.Pod(whole).Show(&shown)
		return shown.Spec.Tolerations
	}
	require.Equal(t, toleratesAll, show(tolerating(0, 100)))
	whole := tolerating(0, 100)
	for i := range whole.Spec.Tolerations {
		whole.Spec.Tolerations[i].Effect = v1.TaintEffectNoSchedule
	}
	few := tolerating(1, 3).Spec.Tolerations
	few[1].Effect = ""
	whole.Spec.Tolerations = append(whole.Spec.Tolerations, few...)
	require.Equal(t, few, show(whole))
}

// TestANodeIsKeptInABoundedNumberOfBytes: a kubelet writes its own labels, annotations and status.
func TestANodeIsKeptInABoundedNumberOfBytes(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	const nodes = 20
	kept := make([]any, 0, nodes)
	before := heap()
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"l": large, v1.LabelTopologyZone: large + fmt.Sprint(i)}, Annotations: map[string]string{"a": large + fmt.Sprint(i)}}}
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionStatus(large + fmt.Sprint(i)), Reason: large + fmt.Sprint(i), Message: large + fmt.Sprint(-i)}}
		for k := range 4000 {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: v1.NodeConditionType(fmt.Sprint(i, k)), Reason: "X"}, v1.NodeCondition{Type: v1.NodeReady})
		}
		kept = append(kept, Keep{}.Node(n))
	}
	takes(t, before, nodes*4096)
	runtime.KeepAlive(kept)
}

// TestANodesLabelsAreKeptInABoundedNumberOfBytes, those first that an evictor reads.
func TestANodesLabelsAreKeptInABoundedNumberOfBytes(t *testing.T) {
	whole := func(i int) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: many(i)}}
		for _, key := range readLabels {
			n.Labels[key] = "read"
		}
		return n
	}
	first := Keep{}.Node(whole(0))
	for _, key := range append([]string{"label-0", "label-1", "label-10", "label-100"}, readLabels...) {
		require.Contains(t, first.Labels, key)
	}
	require.NotContains(t, first.Labels, "label-999")
	require.Equal(t, first, Keep{}.Node(whole(0)))
	require.Equal(t, first, Keep{}.Node(first))
	features := make(map[string]string)
	for k := range 400 { // as many as discovery writes, and more
		features[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.FEATURE%d", k)] = "true"
	}
	require.Equal(t, features, Keep{}.Node(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: features}}).Labels)

	const nodes = 20
	kept := make([]any, 0, nodes)
	before := heap()
	for i := range nodes {
		kept = append(kept, Keep{}.Node(whole(i)))
	}
	takes(t, before, nodes*(maxNodeLabels+16<<10))
	runtime.KeepAlive(kept)
}

// tainted is a node with so many taints of 250 bytes each that evict nobody, and behind them some that do.
func tainted(number, others int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", number), UID: "u", ResourceVersion: "7"}}
	for k := range others {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: fmt.Sprintf("%s/%d-%d", strings.Repeat("x", 240), number, k), Effect: v1.TaintEffectNoSchedule})
	}
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	return n
}

// TestTaintsAreKeptInABoundedNumberOfBytes, those first that an evictor writes or evicts for.
func TestTaintsAreKeptInABoundedNumberOfBytes(t *testing.T) {
	few := tainted(0, 40)
	require.Equal(t, few.Spec.Taints, Keep{}.Node(few).Spec.Taints)
	require.Empty(t, Keep{}.Node(few).Annotations)
	many := tainted(0, 4000)
	require.Equal(t, many.Spec.Taints[4000:], Keep{}.Node(many).Spec.Taints)
	for i := range many.Spec.Taints {
		many.Spec.Taints[i].Effect = v1.TaintEffectNoExecute
	}
	kept := Keep{}.Node(many).Spec.Taints
	require.Equal(t, v1.TaintNodeUnreachable, kept[len(kept)-1].Key)

	const nodes = 20
	all := make([]any, 0, nodes)
	before := heap()
	for i := range nodes {
		n := tainted(i, 4000)
		for k := range n.Spec.Taints {
			n.Spec.Taints[k].Effect = v1.TaintEffectNoExecute
		}
		all = append(all, Keep{}.Node(n))
	}
	takes(t, before, nodes*(maxTaints+4096))
	runtime.KeepAlive(all)
}

// TestAUsualNodeIsKeptInFewBytes.
func TestAUsualNodeIsKeptInFewBytes(t *testing.T) {
	const nodes = 2000
	kept := make([]any, 0, nodes)
	before := heap()
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: map[string]string{"other": fmt.Sprint(i)}}}
		for _, label := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch"} {
			n.Labels[label] = fmt.Sprint("value-", i%3)
		}
		for _, kind := range keptConditions[:4] {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: kind, Status: v1.ConditionStatus(fmt.Sprint("Fal", "se")), Reason: fmt.Sprint("Reason", kind), Message: "text"})
		}
		kept = append(kept, Keep{}.Node(n))
	}
	takes(t, before, nodes*1800)
	runtime.KeepAlive(kept)
}

// TestTolerationsAreReadAsTheyWereWritten, whatever they say.
func TestTolerationsAreReadAsTheyWereWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		b := make([]byte, r.IntN(3)*r.IntN(200))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	}
	for range 2000 {
		list := make([]v1.Toleration, r.IntN(5))
		for i := range list {
			list[i] = v1.Toleration{Key: text(), Operator: v1.TolerationOperator(text()), Value: text(), Effect: v1.TaintEffect(text())}
			if r.IntN(2) == 0 {
				seconds := []int64{0, 1, -1, 300, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(7)]
				list[i].TolerationSeconds = &seconds
			}
		}
		read := tolerationsOf(list).appendTo(nil)
		require.Equal(t, append([]v1.Toleration{}, list...), append([]v1.Toleration{}, read...))
	}
}
