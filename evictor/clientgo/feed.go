package clientgo

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
)

// each returns a handler that treats every event alike. For a tombstone it passes on the object within.
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
		case *slim.Pod:
			e.PodChanged(p.Key())
		case *v1.Pod:
			e.PodChanged(evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
		}
	})
}

// tellRenewals tells a target of the renewals that were seen before it was fed.
func (c *Cluster) tellRenewals(to evictor.Target) {
	if c.sources.leases == nil {
		return
	}
	for _, obj := range c.sources.leases.List() {
		if l, ok := nodeLease(obj); ok {
			to.LeaseObserved(l.Name, l.Spec.RenewTime.Time, l.ResourceVersion)
		}
	}
}

// renewals returns a handler that is called when a node's lease is first seen and when it was renewed, but not when a
// relist or a resync delivers it unchanged, nor when it is gone, which says nothing about its node.
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

// nodeLease returns obj as a node's lease, or false if it is none or has never been renewed.
func nodeLease(obj any) (*coordinationv1.Lease, bool) {
	l, ok := obj.(*coordinationv1.Lease)
	return l, ok && l.Namespace == v1.NamespaceNodeLease && l.Spec.RenewTime != nil
}
