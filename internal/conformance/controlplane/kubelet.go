package controlplane

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kubelet is the kubelet of one node, as far as others can see it. Its pods start at once and need no time to end.
type kubelet struct {
	fleet      *Fleet
	name, zone string
	stop       context.CancelFunc // nil while it does not run; guarded by Fleet.mu
	stopped    chan struct{}

	// Used only by register and run.
	lease *coordinationv1.Lease
	since metav1.Time // since when it is healthy
	beat  time.Time   // of its last sign of life; LastBeat reads it after it has stopped

	mu   sync.Mutex            // guards what follows
	todo map[types.UID]*v1.Pod // to be started, marked ready again or deleted for good
	due  chan struct{}
}

// register makes the node and its lease, healthy from the start.
func (k *kubelet) register(ctx context.Context) error {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.name, Labels: k.fleet.Config.labels(map[string]string{
		v1.LabelTopologyZone: k.zone, v1.LabelTopologyRegion: "region", v1.LabelHostname: k.name,
		v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	})}}
	k.since = metav1.Now()
	node.Status.Conditions = k.conditions()
	made, err := k.fleet.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seconds := int32(40)
	now := metav1.NowMicro()
	k.lease = &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: k.name, Namespace: v1.NamespaceNodeLease, Labels: k.fleet.Config.labels(map[string]string{}), OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: made.Name, UID: made.UID}}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &k.name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	k.lease, err = k.fleet.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(ctx, k.lease, metav1.CreateOptions{})
	return err
}

func (k *kubelet) conditions() (list []v1.NodeCondition) {
	now := metav1.Now()
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		c := v1.NodeCondition{Type: kind, Status: v1.ConditionFalse, Reason: "Kubelet", LastHeartbeatTime: now, LastTransitionTime: k.since}
		if kind == v1.NodeReady {
			c.Status = v1.ConditionTrue
		}
		list = append(list, c)
	}
	return list
}

// run renews, reports and handles pods until ctx ends. What fails is tried again at the next turn, as kubelets do.
func (k *kubelet) run(ctx context.Context) {
	k.since = metav1.Now()
	k.report(ctx)
	k.renew(ctx)
	k.fleet.view.Look(func(now *Now) {
		for _, name := range k.fleet.Pods(k.name) {
			if pod := now.Pod(name); pod != nil {
				k.hear(pod)
			}
		}
	})
	renewals, reports := time.NewTicker(k.fleet.Config.Renewal), time.NewTicker(k.fleet.Config.Report)
	defer renewals.Stop()
	defer reports.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewals.C:
			k.renew(ctx)
			k.retry()
		case <-reports.C:
			k.report(ctx)
		case <-k.due:
			k.tend(ctx)
		}
	}
}

func (k *kubelet) renew(ctx context.Context) {
	leases := k.fleet.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	now := metav1.NowMicro()
	k.lease.Spec.RenewTime = &now
	if store := k.fleet.Config.store; store != nil {
		if store.renew(ctx, k.lease) == nil {
			k.renewed()
		}
		return
	}
	lease, err := leases.Update(ctx, k.lease, metav1.UpdateOptions{})
	if err != nil {
		// Perhaps the last renewal succeeded and its answer was lost.
		if lease, err = leases.Get(ctx, k.name, metav1.GetOptions{}); err != nil {
			return
		}
		lease.Spec.RenewTime = &now
		if lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
			return
		}
	}
	k.lease = lease
	k.renewed()
}

func (k *kubelet) renewed() {
	k.beat = time.Now()
	k.fleet.Renewals.Add(1)
}

func (k *kubelet) report(ctx context.Context) {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": k.conditions()}})
	if err == nil {
		_, err = k.fleet.client.CoreV1().Nodes().Patch(ctx, k.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err == nil {
		k.beat = time.Now()
	}
}

// hear notes a pod that needs something done.
func (k *kubelet) hear(pod *v1.Pod) {
	if podReady(pod) && pod.DeletionTimestamp == nil {
		return
	}
	k.mu.Lock()
	k.todo[pod.UID] = pod
	k.mu.Unlock()
	k.retry()
}

func (k *kubelet) retry() {
	select {
	case k.due <- struct{}{}:
	default:
	}
}

// tend does what the noted pods need.
func (k *kubelet) tend(ctx context.Context) {
	k.mu.Lock()
	todo := k.todo
	k.todo = map[types.UID]*v1.Pod{}
	k.mu.Unlock()
	for _, pod := range todo {
		if err := k.tendPod(ctx, pod); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			k.mu.Lock()
			if k.todo[pod.UID] == nil { // otherwise there is news of it
				k.todo[pod.UID] = pod
			}
			k.mu.Unlock()
		}
	}
}

func (k *kubelet) tendPod(ctx context.Context, pod *v1.Pod) error {
	pods := k.fleet.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		now := int64(0)
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": runningNow()})
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// runningNow returns the status of a pod that starts now.
func runningNow() v1.PodStatus {
	since := metav1.Now()
	return v1.PodStatus{Phase: v1.PodRunning, StartTime: &since, Conditions: []v1.PodCondition{
		{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: since}, {Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: since},
	}}
}

func podReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
