package evictor

import (
	"time"

	"github.com/evictkit/evictkit/evictor/internal/inbox"
)

// NodeChanged says that a node was added, changed or deleted. The node is read when the evictor next
// acts; events may come late, twice and out of order. It never blocks and may be called from anywhere.
func (e *Evictor) NodeChanged(name string) { e.inbox.Node(name) }

// PodChanged says the same of a pod.
func (e *Evictor) PodChanged(key PodKey) { e.inbox.Pod(key) }

// LeaseRenewed tells the renewTime of a node's lease, whenever the lease is seen. A stamp that differs
// from the last one, in either direction, is a sign of life at the time of the call by our own clock;
// the stamp itself is compared with nothing else. It costs O(1), allocates nothing, and is ignored for
// a node that the evictor has not seen yet. What is told before the first Step counts at that Step.
func (e *Evictor) LeaseRenewed(node string, renewTime time.Time) {
	if e.inbox.Early(node, inbox.Lease{RenewTime: renewTime}) {
		return
	}
	if e.monitor.ObserveRenewal(node, renewTime) {
		e.heard(node)
	}
}

// LeaseObserved is LeaseRenewed for a lease with its resourceVersion: one older than the last seen, as
// a relist from a stale cache brings it, is ignored.
func (e *Evictor) LeaseObserved(node string, renewTime time.Time, resourceVersion string) {
	if e.inbox.Early(node, inbox.Lease{RenewTime: renewTime, ResourceVersion: resourceVersion}) {
		return
	}
	if e.monitor.ObserveLease(node, renewTime, resourceVersion) {
		e.heard(node)
	}
}

// heard is told of each sign of life of a lease. In exact mode it wakes Run where a verdict follows; there are too
// many to wake it for all.
func (e *Evictor) heard(node string) {
	if e.dry != nil {
		e.dry.heard(node)
	}
	if e.cfg.NodeMonitorPeriod > 0 {
		return
	}
	now := e.clock.Now()
	if next, ok := e.monitor.NextAt(now); ok && !now.Before(next) {
		e.inbox.Kick()
	}
}
