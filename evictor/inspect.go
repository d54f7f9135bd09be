//go:build !thin

package evictor

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Zones returns the status of every zone as of the last monitor pass, sorted by key.
func (e *Evictor) Zones() []zone.Status[zone.Key] { return e.zones.Zones() }

// AllZonesDown reports whether every zone with a counted node was fully disrupted at the last monitor pass.
func (e *Evictor) AllZonesDown() bool { return e.zones.AllDown() }

// NodeStatus is a copy of what the evictor knows about a node.
type NodeStatus struct {
	// Verdict is the last one, but its LastBeat is as of now. So a verdict of Unknown can come at the first pass after
	// LastBeat plus Grace.
	Verdict health.Verdict
	Zone    zone.Key
	// Held is why the node is held, or the condition that announces its maintenance (Config.MaxAnnounced); empty means
	// neither.
	Held string
	// HeldBack is what holds back our taints on the node and evictions by them: a pause, MayHarm or MayHarmIn, the zone
	// policy, or an exceeded bound of Options.Budget, which holds back only evictions. Nil means none of these. MayWrite
	// does not show here.
	HeldBack error
	// Waiting says that the node is in its zone's queue.
	Waiting bool
	// Evictions is how many of its pods have an eviction armed. Refused is how many of these wait because Options.MayEvict
	// refuses them, or because a pod that must leave with them was refused (Options.Together).
	Evictions, Refused int
	// Unanswered is why Clients.Confirmer could not say whether the node, a suspect (Verdict.Suspect), is alive.
	Unanswered error
}

// Node returns the status of a node, or false before its first verdict.
func (e *Evictor) Node(name string) (NodeStatus, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.records[name]; rec != nil && rec.Stage() != node.New {
		return e.status(rec), true
	}
	return NodeStatus{}, false
}

// Suspects returns the status of the nodes that have been silent for their grace periods (Verdict.LastBeat and Verdict.Grace)
// and that Clients.Confirmer has not answered for, in the order in which these periods ended.
func (e *Evictor) Suspects() []NodeStatus {
	e.mu.Lock()
	list := make([]NodeStatus, 0, len(e.suspects))
	for name := range e.suspects {
		list = append(list, e.status(e.records[name]))
	}
	e.mu.Unlock()
	due := func(s NodeStatus) time.Time { return s.Verdict.LastBeat.Add(s.Verdict.Grace) }
	slices.SortFunc(list, func(a, b NodeStatus) int {
		return cmp.Or(due(a).Compare(due(b)), cmp.Compare(a.Verdict.Node, b.Verdict.Node))
	})
	return list
}

func (e *engine) status(rec *record) NodeStatus {
	verdict := rec.Verdict()
	if now, ok := e.latest(rec); ok {
		verdict.LastBeat = now.LastBeat
	}
	status := NodeStatus{Verdict: verdict, Zone: rec.domain, Held: e.about(rec).Held(), HeldBack: e.may(gate.Own, rec), Waiting: e.turns.Waits(rec.name)}
	for _, ev := range rec.pods.Armed(0) {
		if status.Evictions++; e.pods.Refusal(ev) != nil {
			status.Refused++
		}
	}
	if s := e.suspects[rec.name]; s != nil {
		status.Unanswered = s.err
	}
	return status
}

// Eviction is an armed eviction: the pod has to leave, and has not yet.
type Eviction struct {
	Pod PodRef
	// Due is when the evictor tries it next: at its deadline, or later if something held it back or it failed. If it waits
	// for its node's turn, the evictor tries it when the turn comes (Waiting.Turn), even if that is earlier.
	Due time.Time
	// Attempt is how many tries have failed so far. A refusal is no failure.
	Attempt int
	// Refused is the error with which Options.MayEvict refuses it, or with which a pod that must leave with it was
	// refused; nil if neither holds it back. The evictor asks again at Due.
	Refused error
	// Why is the decision that armed or last moved it, with the taint, the toleration and the deadline.
	Why Decision
}

// Evictions returns the armed evictions, in the order in which they are due.
func (e *Evictor) Evictions() []Eviction {
	now := e.opts.Clock.Now()
	items := e.armed.Items()
	list := make([]Eviction, 0, len(items))
	for some := range slices.Chunk(items, atOnce) {
		e.mu.Lock() // taken for each chunk, so that others can act in between
		for _, it := range some {
			why, decided := it.Value.Why()
			ref := refOf(it.Value.Pod())
			list = append(list, Eviction{Pod: ref, Due: now.Add(it.In), Attempt: it.Attempts, Refused: e.pods.Refusal(it.Value), Why: e.evictionDecision(EvictionArmed, ref, why, decided)})
		}
		e.mu.Unlock()
	}
	return list
}

// atOnce is how many items are looked at under one holding of the lock.
const atOnce = 128

// Waiting is a failed node that waits for its turn: to be tainted or emptied or, after a time without permission to
// evict, to release its overdue pods.
type Waiting struct {
	Node string
	Zone zone.Key
	// Since is when it began to wait.
	Since time.Time
	// Turn is when its turn comes if nothing changes, by its place in the queue and the zone's rate. It is zero while the
	// zone's rate is 0, or while a pause or a permission holds taints back there. It does not foresee that Options.Budget,
	// Config.MaxFailedNodes or Options.MayWrite may refuse the turn. While one of them does, Turn is now whenever you ask.
	Turn time.Time
}

// Waiting returns the waiting nodes zone by zone, in the order of their turns; Options.Prefer may change that order.
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

// Backlog is the work of one sort that waits.
type Backlog struct {
	// Name is "nodes" (failed nodes that wait for their turn), "evictions" (armed ones), "writes" (nodes to write),
	// "lifts" (nodes with taints to lift) or "suspects" (silent nodes that nobody has answered for).
	Name string
	Len  int
	// Oldest is how long the first of them has waited: a node for its turn, an eviction since its deadline, a write
	// since it was last due, a suspect since its grace period ended. It is 0 when nothing waits or nothing is due.
	Oldest time.Duration
}

// Backlogs returns a Backlog of each sort. Its cost grows with the number of suspects, but not with the cluster, so you
// may call it often.
func (e *Evictor) Backlogs() []Backlog {
	nodes, evictions := Backlog{Name: "nodes"}, Backlog{Name: "evictions", Len: e.armed.Len()}
	e.mu.Lock()
	e.tick()
	var since time.Time
	if nodes.Len, since = e.turns.Backlog(); nodes.Len > 0 {
		nodes.Oldest = max(0, e.read.Sub(since))
	}
	if due, ok := e.pods.First(); ok {
		evictions.Oldest = max(0, e.read.Sub(e.shown(due)))
	}
	suspects := Backlog{Name: "suspects", Len: len(e.suspects)}
	for _, s := range e.suspects {
		suspects.Oldest = max(suspects.Oldest, e.read.Sub(s.due()))
	}
	e.mu.Unlock()
	return []Backlog{nodes, evictions, backlogOf("writes", e.writes), backlogOf("lifts", e.lifts), suspects}
}

func backlogOf(name string, work *timedworker.Set[string, struct{}]) Backlog {
	stats := work.Stats()
	return Backlog{Name: name, Len: stats.Waiting + stats.InFlight, Oldest: stats.Overdue}
}
