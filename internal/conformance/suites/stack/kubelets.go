package stack

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientset "k8s.io/client-go/kubernetes"
)

// beat renews the leases of nodes until ctx ends, but not of those that were Unknown from the beginning.
func beat(ctx context.Context, client clientset.Interface) {
	silent := map[types.UID]bool{}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for _, node := range nodes.Items {
			if _, known := silent[node.UID]; !known {
				conditions := node.Status.Conditions
				silent[node.UID] = len(conditions) > 0 && conditions[0].Status == v1.ConditionUnknown
			}
			if !silent[node.UID] {
				renew(ctx, client, node.Name)
			}
		}
	}, 100*time.Millisecond)
}

// renew does what can be done; the next turn does the rest.
func renew(ctx context.Context, client clientset.Interface, node string) {
	leases, now, seconds := client.CoordinationV1().Leases(v1.NamespaceNodeLease), metav1.NowMicro(), int32(40)
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		_, _ = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: v1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}, metav1.CreateOptions{})
		return
	}
	lease.Spec.RenewTime = &now
	_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
}
