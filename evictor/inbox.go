package evictor

import (
	"sync"
	"sync/atomic"
	"time"
)

// inbox collects what to look at again. It has its own lock so that feeding never waits for a Step
// and may be done from inside a client's call.
type inbox struct {
	mu      sync.Mutex
	nodes   []string
	pods    []PodKey
	hasNode map[string]struct{}
	hasPod  map[PodKey]struct{}
	wake    chan struct{} // size 1: a pending wake-up is enough
	fed     atomic.Bool   // something has been told at all

	watching atomic.Bool // the nodes have been listed
	leases   map[string]earlyLease
}

// earlyLease is one that was seen before its node could be: before the first pass.
type earlyLease struct {
	renewTime       time.Time
	resourceVersion string
}

func (b *inbox) init() {
	b.hasNode = make(map[string]struct{})
	b.hasPod = make(map[PodKey]struct{})
	b.wake = make(chan struct{}, 1)
	b.leases = make(map[string]earlyLease)
}

// early keeps a lease for the first pass, the newest of each node; false once that has begun.
func (b *inbox) early(node string, l earlyLease) bool {
	if b.watching.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watching.Load() {
		return false
	}
	b.leases[node] = l
	b.fed.Store(true)
	return true
}

// watch ends that, and returns what was kept.
func (b *inbox) watch() map[string]earlyLease {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watching.Store(true)
	leases := b.leases
	b.leases = nil
	return leases
}

func (b *inbox) kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.nodes) == 0 && len(b.pods) == 0
}

// take empties the inbox, in the order of the first mention of each key.
func (b *inbox) take() (nodes []string, pods []PodKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	nodes, pods = b.nodes, b.pods
	b.nodes, b.pods = nil, nil
	clear(b.hasNode)
	if len(b.hasPod) > 1<<16 {
		b.hasPod = make(map[PodKey]struct{})
	} else {
		clear(b.hasPod)
	}
	return nodes, pods
}

// NodeChanged says that a node was added, changed or deleted. The node is read when the evictor next
// acts; events may come late, twice and out of order. It never blocks and may be called from anywhere.
func (e *Evictor) NodeChanged(name string) {
	b := &e.inbox
	b.mu.Lock()
	if _, ok := b.hasNode[name]; !ok {
		b.hasNode[name] = struct{}{}
		b.nodes = append(b.nodes, name)
	}
	b.mu.Unlock()
	b.fed.Store(true)
	b.kick()
}

// PodChanged says the same of a pod.
func (e *Evictor) PodChanged(key PodKey) {
	b := &e.inbox
	b.mu.Lock()
	if _, ok := b.hasPod[key]; !ok {
		b.hasPod[key] = struct{}{}
		b.pods = append(b.pods, key)
	}
	b.mu.Unlock()
	b.fed.Store(true)
	b.kick()
}

// LeaseRenewed tells the renewTime of a node's lease, whenever the lease is seen. A stamp that differs
// from the last one, in either direction, is a sign of life at the time of the call by our own clock;
// the stamp itself is compared with nothing else. It costs O(1), allocates nothing, and is ignored for
// a node that the evictor has not seen yet. What is told before the first Step counts at that Step.
func (e *Evictor) LeaseRenewed(node string, renewTime time.Time) {
	if e.inbox.early(node, earlyLease{renewTime: renewTime}) {
		return
	}
	if e.monitor.ObserveRenewal(node, renewTime) {
		e.heard(node)
	}
}

// LeaseObserved is LeaseRenewed for a lease with its resourceVersion: one older than the last seen, as
// a relist from a stale cache brings it, is ignored.
func (e *Evictor) LeaseObserved(node string, renewTime time.Time, resourceVersion string) {
	if e.inbox.early(node, earlyLease{renewTime, resourceVersion}) {
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
		e.inbox.kick()
	}
}
