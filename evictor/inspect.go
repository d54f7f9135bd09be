package evictor

import (
	"time"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// Zones returns a copy of every zone, in the order of their keys, as of the last monitor pass.
func (e *Evictor) Zones() []zone.Status { return e.zones.Zones() }

// AllZonesDown says whether every zone with a counted node was fully disrupted at the last pass.
func (e *Evictor) AllZonesDown() bool { return e.zones.AllDown() }

// NodeStatus is a copy of what the evictor thinks of a node.
type NodeStatus struct {
	Verdict health.Verdict
	Zone    zone.Key
	// Held is why the node is held, empty when it is not.
	Held string
	// Waiting: it is in its zone's queue.
	Waiting bool
	// Evictions is how many of its pods have an eviction armed.
	Evictions int
}

// Node returns what is thought of the node; false before its first verdict.
func (e *Evictor) Node(name string) (NodeStatus, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.records[name]
	if rec == nil || !rec.known {
		return NodeStatus{}, false
	}
	status := NodeStatus{Verdict: rec.verdict, Zone: rec.zone, Held: rec.hold}
	if q, ok := e.queues[rec.zone]; ok {
		st, known := q.Get(queueKey{Node: name})
		status.Waiting = known && st.State == ratelimitqueue.StateQueued
	}
	for _, tp := range rec.pods {
		if tp.armed {
			status.Evictions++
		}
	}
	return status, true
}

// Pending is an eviction that is armed.
type Pending struct {
	Pod PodRef
	// Due is when it is tried next: its deadline, or later when it was held back or failed.
	Due     time.Time
	Attempt int
}

// Evictions returns what is armed, in the order in which it is due.
func (e *Evictor) Evictions() []Pending {
	now := e.clock.Now()
	items := e.pods.Snapshot()
	pending := make([]Pending, len(items))
	for i, it := range items {
		pending[i] = Pending{
			Pod: PodRef{PodKey: it.Key, UID: podUID(it.Identity), Node: it.Payload.node},
			Due: now.Add(it.In), Attempt: it.Attempt,
		}
	}
	return pending
}
