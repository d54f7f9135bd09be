package evictor

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Zones returns a copy of every zone, in the order of their keys, as of the last monitor pass.
func (e *Evictor) Zones() []zone.Status[zone.Key] { return e.zones.Zones() }

// AllZonesDown says whether every zone with a counted node was fully disrupted at the last pass.
func (e *Evictor) AllZonesDown() bool { return e.zones.AllDown() }

// NodeStatus is a copy of what the evictor thinks of a node.
type NodeStatus struct {
	Verdict health.Verdict
	Zone    zone.Key
	// Held is why the node is held, empty when it is not.
	Held string
	// HeldBack is why our own taints and evictions by them are held back in its zone: a pause, a permission or the zone policy.
	// It is nil when they are not.
	HeldBack error
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
	if rec == nil || rec.Stage() == node.New {
		return NodeStatus{}, false
	}
	return NodeStatus{
		Verdict: rec.Verdict(), Zone: rec.zone, Held: e.about(rec).Hold, HeldBack: e.permitted.May(permit.Own, rec.zone),
		Waiting: e.turns.Waits(name), Evictions: len(rec.pods.Armed(0)),
	}, true
}

// Pending is an eviction that is armed.
type Pending struct {
	Pod PodRef
	// Due is when it is tried next: its deadline, or later when it was held back or failed.
	Due     time.Time
	Attempt int
	// Why is the decision that armed or last moved it, with the taint, the toleration and the deadline.
	Why Decision
}

// Evictions returns what is armed, in the order in which it is due.
func (e *Evictor) Evictions() []Pending {
	now := e.clock.Now()
	items := e.armed.Items()
	pending := make([]Pending, 0, len(items))
	for some := range slices.Chunk(items, atOnce) {
		e.mu.Lock() // others act in between
		for _, it := range some {
			why, decided := it.Value.Why()
			ref := refOf(it.Value.Pod())
			pending = append(pending, Pending{Pod: ref, Due: now.Add(it.In), Attempt: it.Attempts, Why: e.asShown(evictionDecision(EvictionArmed, ref, why, decided))})
		}
		e.mu.Unlock()
	}
	return pending
}

// atOnce is how many of many are looked at before others may have the lock.
const atOnce = 128

// Waiting is a failed node that waits for its zone's rate: to be tainted or emptied or, after a time in
// which no harm was permitted, to let its overdue pods go.
type Waiting struct {
	Node string
	Zone zone.Key
	// Since is when it began to wait.
	Since time.Time
	// Turn is when it comes if nothing changes: its place in the queue over the
	// zone's rate. It is zero while the rate is 0 or taints are held back.
	Turn time.Time
}

// Waiting returns the nodes that wait, zone by zone and in the order of their turns, which
// Options.Prefer may change.
func (e *Evictor) Waiting() []Waiting {
	e.mu.Lock()
	e.tick()
	list := e.turns.Waiting(e.read)
	e.mu.Unlock()
	waiting := make([]Waiting, len(list))
	for i := range list {
		waiting[i] = Waiting(list[i])
	}
	return waiting
}

// Backlog is how much work of one sort there is.
type Backlog struct {
	// Name is "nodes" (failed nodes that wait for their zone's rate), "evictions" (armed ones), "writes"
	// or "lifts" (nodes to be written, and those of which taints are lifted).
	Name string
	Len  int
	// Oldest is how long the first of them has waited: a node for its turn, an eviction since its
	// deadline, a write since it was last due. It is 0 when nothing waits or nothing is due.
	Oldest time.Duration
}

// Backlogs returns what there is to do, of each sort. It costs nothing that grows, so it may be asked often.
func (e *Evictor) Backlogs() []Backlog {
	now := e.clock.Now()
	nodes, evictions := Backlog{Name: "nodes"}, Backlog{Name: "evictions", Len: e.armed.Len()}
	e.mu.Lock()
	e.tick()
	var since time.Time
	if nodes.Len, since = e.turns.Backlog(); nodes.Len > 0 {
		nodes.Oldest = max(0, e.read.Sub(since))
	}
	if due, ok := e.pods.First(); ok {
		evictions.Oldest = max(0, now.Sub(e.shown(due)))
	}
	e.mu.Unlock()
	return []Backlog{nodes, evictions, backlogOf("writes", e.writes), backlogOf("lifts", e.lifts)}
}

func backlogOf(name string, work *timedworker.Set[string, struct{}]) Backlog {
	stats := work.Stats()
	return Backlog{Name: name, Len: stats.Waiting + stats.Running, Oldest: stats.Overdue}
}
