//go:build !thin

package evictor

import (
	"time"

	"github.com/evictkit/evictkit/evictor/internal/inbox"
)

// NodeChanged says that a node was added, changed or deleted. The evictor reads the node from the store when it next
// acts, so calls may come late, twice and out of order. NodeChanged never blocks, and you may call it from anywhere,
// even from a client's callback.
func (e *Evictor) NodeChanged(name string) { e.inbox.Node(name) }

// PodChanged is NodeChanged for a pod.
func (e *Evictor) PodChanged(key PodKey) { e.inbox.Pod(key) }

// LeaseRenewed reports the renewTime of a node's lease; call it whenever you see the lease. A renewTime that differs
// from the last one, in either direction, is a heartbeat at the time of the call by our own clock; the evictor compares
// it with nothing else. A call costs O(1), allocates nothing, and does nothing for a node that the evictor has not seen
// yet. Calls before the first Step count at that Step.
func (e *Evictor) LeaseRenewed(node string, renewTime time.Time) {
	if !e.inbox.Early(node, inbox.Lease{RenewTime: renewTime}) && e.monitor.ObserveRenewal(node, renewTime) {
		e.heard(node)
	}
}

// LeaseObserved is LeaseRenewed with the lease's resourceVersion: it ignores a version older than the last one seen,
// which a relist from a stale cache may bring.
func (e *Evictor) LeaseObserved(node string, renewTime time.Time, resourceVersion string) {
	lease := inbox.Lease{RenewTime: renewTime, ResourceVersion: resourceVersion}
	if !e.inbox.Early(node, lease) && e.monitor.ObserveLease(node, renewTime, resourceVersion) {
		e.heard(node)
	}
}

// heard is called for each heartbeat that a lease brings. In exact mode it wakes Run, but only when a verdict is due:
// heartbeats are too many to wake it for each. The half that evicts has no verdicts.
func (e *Evictor) heard(node string) {
	if e.dry != nil {
		e.dry.heard(node)
	}
	if e.cfg.NodeMonitorPeriod == 0 && e.cfg.Half != TaintEviction && due(e.monitor.NextAt, e.opts.Clock.Now()) {
		e.inbox.Kick()
	}
}
