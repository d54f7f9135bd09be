package main

import (
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const (
	zones             = 3
	podsPerNode       = 2
	podSeconds  int64 = 30 // tolerationSeconds
)

// fleet makes the objects of n nodes in three zones. Both sides get the same.
type fleet struct {
	names   []string
	version int64
}

func zoneOf(i int) string { return string(rune('a' + i%zones)) }

// node returns what the kubelet of node i reports now. Real nodes are several times as large.
func (f *fleet) node(i int) *v1.Node {
	f.version++
	now := metav1.Now()
	condition := func(t v1.NodeConditionType, s v1.ConditionStatus, reason string) v1.NodeCondition {
		return v1.NodeCondition{Type: t, Status: s, Reason: reason, LastHeartbeatTime: now}
	}
	name := f.names[i]
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: strconv.FormatInt(f.version, 10),
			Labels: map[string]string{
				v1.LabelTopologyRegion: "r1", v1.LabelTopologyZone: zoneOf(i), v1.LabelHostname: name,
				v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
			},
		},
		Status: v1.NodeStatus{Conditions: []v1.NodeCondition{
			condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory"),
			condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure"),
			condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID"),
			condition(v1.NodeReady, v1.ConditionTrue, "KubeletReady"),
		}},
	}
}

// lease returns the lease of node i, renewed now.
func (f *fleet) lease(i int) *coordinationv1.Lease {
	now := metav1.NewMicroTime(time.Now())
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: f.names[i], Namespace: v1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &f.names[i], RenewTime: &now},
	}
}

// pod returns pod k of node i.
func (f *fleet) pod(i, k int) *v1.Pod {
	name, now, seconds := fmt.Sprintf("app-%s-%d", f.names[i], k), metav1.Now(), podSeconds
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), ResourceVersion: "1", CreationTimestamp: now},
		Spec: v1.PodSpec{NodeName: f.names[i], Tolerations: []v1.Toleration{
			{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		}},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue},
			{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now},
		}},
	}
}

const tick = 100 * time.Millisecond

// heartbeats are how often a kubelet renews its lease and reports its node; 0 means never.
type heartbeats struct{ renew, report time.Duration }

// usual are a kubelet's defaults.
var usual = heartbeats{renew: 10 * time.Second, report: 5 * time.Minute}

// kubelets sends the heartbeats of all nodes except those that fail, spread evenly, some in each tick.
type kubelets struct {
	*fleet
	heartbeats
	leases cache.Indexer
	told   func(node string, renewTime time.Time) // called for a renewal, after the lease is stored
	report func(i int)
	failed func(i int) bool
	ticks  int
}

func (k *kubelets) tick() {
	portion := func(interval time.Duration, beat func(i int)) {
		if interval == 0 {
			return
		}
		n, parts := len(k.names), int(interval/tick)
		part := k.ticks % parts
		for i := part * n / parts; i < (part+1)*n/parts; i++ {
			if !k.failed(i) {
				beat(i)
			}
		}
	}
	portion(k.heartbeats.renew, k.renew)
	portion(k.heartbeats.report, k.report)
	k.ticks++
}

func (k *kubelets) renew(i int) {
	lease := k.lease(i)
	if err := k.leases.Update(lease); err != nil {
		return
	}
	k.told(lease.Name, lease.Spec.RenewTime.Time)
}
