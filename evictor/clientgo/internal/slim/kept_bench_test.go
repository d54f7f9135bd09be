package slim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// decoded returns the labels as if they had just been decoded: no two objects share a string.
func decoded(pairs ...string) map[string]string {
	set := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		set[strings.Clone(pairs[i])] = strings.Clone(pairs[i+1])
	}
	return set
}

// metaOf is the metadata of the i-th object of a kind.
func metaOf(kind, namespace, name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("%06x00-0000-4000-8000-%012x", kind[:3], i)), ResourceVersion: fmt.Sprint(100_000_000 + i), CreationTimestamp: metav1.Now(),
	}
}

// labelledNode is the i-th node of a cloud, with 15 labels, of which the host name is its own.
func labelledNode(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metaOf("node", "", fmt.Sprintf("ip-10-%d-%d-%d.region.compute.internal", i>>16, i>>8&255, i&255), i)}
	zone, kind := fmt.Sprint("region-", i%3), fmt.Sprintf("m6i.%dxlarge", 1<<(i%5))
	n.Labels = decoded(
		v1.LabelOSStable, "linux", v1.LabelArchStable, "amd64", "beta.kubernetes.io/os", "linux", "beta.kubernetes.io/arch", "amd64",
		v1.LabelTopologyZone, zone, v1.LabelTopologyRegion, "region", v1.LabelFailureDomainBetaZone, zone, v1.LabelFailureDomainBetaRegion, "region",
		v1.LabelInstanceTypeStable, kind, v1.LabelInstanceType, kind, "topology.ebs.csi.aws.com/zone", zone, "karpenter.sh/nodepool", "general", "karpenter.sh/capacity-type", "on-demand",
		v1.LabelHostname, n.Name, "example.com/pool", fmt.Sprint("pool-", i%10),
	)
	for _, kind := range keptConditions[:4] {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: kind, Status: "False", Reason: "KubeletHasSufficient" + string(kind), LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
	}
	return n
}

// labelledPod is the i-th pod, in workloads of 20. Every tenth workload is a StatefulSet, whose pods have two labels of their own.
func labelledPod(i int) *v1.Pod {
	workload, yes := i/20, true
	app, namespace := fmt.Sprint("app-", workload), fmt.Sprint("namespace-", workload%1000)
	common := []string{"app.kubernetes.io/name", app, "app.kubernetes.io/instance", app + "-prod", "app.kubernetes.io/version", "1.2.3"}
	var p *v1.Pod
	if workload%10 == 0 {
		index := fmt.Sprint(i % 20)
		p = &v1.Pod{ObjectMeta: metaOf("pod", namespace, app+"-"+index, i)}
		p.Labels = decoded(append(common, "controller-revision-hash", fmt.Sprintf("%s-%09x", app, workload), "statefulset.kubernetes.io/pod-name", p.Name, "apps.kubernetes.io/pod-index", index)...)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: app, UID: metaOf("sts", "", "", workload).UID, Controller: &yes, BlockOwnerDeletion: &yes}}
	} else {
		hash := fmt.Sprintf("%09x", workload)
		p = &v1.Pod{ObjectMeta: metaOf("pod", namespace, fmt.Sprintf("%s-%s-%05x", app, hash, i), i)}
		p.Labels = decoded(append(common, "app.kubernetes.io/component", "server", "pod-template-hash", hash)...)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: metaOf("rs_", "", "", workload).UID, Controller: &yes, BlockOwnerDeletion: &yes}}
	}
	p.Annotations = map[string]string{"scheduling.k8s.io/group-name": strings.Clone(app), "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	seconds := int64(300)
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	p.Spec.NodeName, p.Status.Phase = fmt.Sprintf("ip-10-%d-%d-%d.region.compute.internal", i/10>>16, i/10>>8&255, i/10&255), v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()}, {Type: v1.PodReady, Status: v1.ConditionTrue}}
	return p
}

// BenchmarkKept measures what an informer's store and index take for each object, with what is kept of it.
func BenchmarkKept(b *testing.B) {
	const nodes, pods = 100_000, 1_000_000
	for _, row := range []struct {
		what string
		n    int
		keep Keep
	}{
		{"nodes", nodes, Keep{}},
		{"pods", pods, Keep{}},
		{"pods/EvictionAPI", pods, Keep{Controllers: true}},
		{"pods/named", pods, Keep{PodAnnotations: []string{"scheduling.k8s.io/group-name"}, Owners: true}},
	} {
		b.Run(row.what, func(b *testing.B) {
			for range b.N {
				before := steadyHeap()
				store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"node": func(obj any) ([]string, error) {
					if p, ok := obj.(*Pod); ok {
						return []string{p.Node()}, nil
					}
					return nil, nil
				}})
				for i := range row.n {
					var object any
					if row.what == "nodes" {
						object = row.keep.Node(labelledNode(i))
					} else {
						object = row.keep.Pod(labelledPod(i))
					}
					if err := store.Add(object); err != nil {
						b.Fatal(err)
					}
				}
				took := float64(steadyHeap() - before)
				b.ReportMetric(took/float64(row.n), "B/object")
				b.ReportMetric(took/(1<<20), "MiB")
				runtime.KeepAlive(store)
			}
		})
	}
}
