package clientgo

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
)

// each is a handler that treats every event alike. A tombstone stands for its object.
func each(handle func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, obj any) { handle(obj) },
		DeleteFunc: func(obj any) { handle(objectOf(obj)) },
	}
}

func nodeHandler(e evictor.Target) cache.ResourceEventHandler {
	return each(func(obj any) {
		if node, ok := obj.(*v1.Node); ok {
			e.NodeChanged(node.Name)
		}
	})
}

func podHandler(e evictor.Target) cache.ResourceEventHandler {
	return each(func(obj any) {
		switch p := obj.(type) {
		case *pod:
			e.PodChanged(p.podKey())
		case *v1.Pod:
			e.PodChanged(evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
		}
	})
}

// leaseHandler tells of renewals only: a lease that is gone is no news of its node.
func leaseHandler(e evictor.Target) cache.ResourceEventHandler {
	return renewals(func(l *coordinationv1.Lease) { e.LeaseObserved(l.Name, l.Spec.RenewTime.Time, l.ResourceVersion) })
}

// renewals is a handler of the nodes' leases, told when one is first seen and when it was renewed; relists and
// resyncs bring leases again that were not.
func renewals(handle func(*coordinationv1.Lease)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if l, ok := nodeLease(obj); ok {
				handle(l)
			}
		},
		UpdateFunc: func(was, obj any) {
			old, known := nodeLease(was)
			if l, ok := nodeLease(obj); ok && (!known || !old.Spec.RenewTime.Equal(l.Spec.RenewTime) || old.UID != l.UID) {
				handle(l)
			}
		},
	}
}

// nodeLease is a node's lease that has been renewed at all.
func nodeLease(obj any) (*coordinationv1.Lease, bool) {
	l, ok := obj.(*coordinationv1.Lease)
	return l, ok && l.Namespace == v1.NamespaceNodeLease && l.Spec.RenewTime != nil
}

// slimLease keeps when it was renewed.
func slimLease(whole *coordinationv1.Lease) runtime.Object {
	return &coordinationv1.Lease{ObjectMeta: slim(&whole.ObjectMeta), Spec: coordinationv1.LeaseSpec{RenewTime: whole.Spec.RenewTime}}
}
