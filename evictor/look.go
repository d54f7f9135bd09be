//go:build !thin

package evictor

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/armed"
	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/zone"
)

// sight is what the store shows under a node's name.
type sight uint8

const (
	upToDate sight = iota // the node as last seen, or newer
	older                 // an older version, which a relist from a stale cache may bring: ignored
	missing               // nothing
	another               // a node with another UID
)

// look reads a node from the store. Nothing else does, so identity, version and heartbeat are judged in one place. For a
// node that we know, it notes what the object says; later questions are answered from that note.
func (e *engine) look(name string) (*v1.Node, sight) {
	node, ok := e.clients.Nodes.Node(name)
	rec := e.records[name]
	switch {
	case !ok || node == nil:
		return nil, missing
	case rec == nil:
		return node, upToDate
	case rec.uid != node.UID:
		return node, another
	}
	seen := e.monitor.ObserveNodeAt(node, e.read)
	if seen.Stale {
		return nil, older
	}
	e.note(rec, node, seen.Heartbeat || e.renewed(rec))
	return node, upToDate
}

// renewed says whether a node that its verdict calls silent has had a heartbeat since, its lease included.
func (e *engine) renewed(rec *record) bool {
	if !rec.Verdict().Expired {
		return false
	}
	v, ok := e.monitor.Verdict(rec.name)
	return ok && !v.Expired
}

// current returns a known node for a caller about to act, or nil if the store shows an older one, another, or none. The next event of an older one marks it dirty; current itself marks one that seems to be gone or replaced.
func (e *engine) current(rec *record) *v1.Node {
	if e.records[rec.name] != rec {
		return nil
	}
	node, s := e.look(rec.name)
	switch s {
	case missing:
		e.inbox.Node(rec.name)
	case another: // once for each version: a stale store may show an older node of that name for long
		if version := string(node.UID) + "/" + node.ResourceVersion; rec.another != version {
			rec.another = version
			e.inbox.Node(rec.name)
		}
	}
	if s != upToDate {
		return nil
	}
	return node
}

// note records what the node's object says.
func (e *engine) note(rec *record, object *v1.Node, heartbeat bool) {
	hold := ""
	if e.opts.Hold != nil {
		if reason, held := e.opts.Hold(object); held {
			hold = cmp.Or(reason, "Held")
		}
	}
	counts, movedOn := rec.Note(object, node.Belongs{Zone: e.opts.Domain(object), Excluded: e.opts.Excluded(object)}, heartbeat, e.cfg.tainting(), e.now)
	if counts || rec.domain != rec.Zone || hold != rec.Hold {
		rec.Hold, e.attention[rec.name] = hold, rec
		e.inbox.Kick() // it need not have been Run that noticed
	}
	if e.cfg.Half == TaintEviction {
		rec.domain = rec.Zone // this half has no passes that would do it
	}
	if movedOn {
		at := e.read.Add(e.cfg.RetryInitial) // not in the same Step as the conflict
		armed.Sooner(e.writes, rec.name, at)
		armed.Sooner(e.lifts, rec.name, at)
	}
	if e.opts.Budget != nil {
		rec.labels, rec.allowance.Since = object.Labels, node.TaintedSince(object)
		e.tellBudget(rec)
	}
	e.pods.Ahead = e.ahead
	e.pods.Observe(&rec.pods, object, e.started, e.now)
}

// tellBudget tells the budget about a node that has a verdict, even if the store shows an older version of the node now.
func (e *engine) tellBudget(rec *record) {
	if e.opts.Budget != nil && rec.Stage() != node.New {
		about := e.about(rec)
		e.opts.Budget.SetAt(rec.name, Member{
			Domain: rec.Zone, Labels: rec.labels, Ready: rec.Stage() == node.Calm, Excluded: about.Excluded, Held: about.Held() != "",
		}, e.read)
	}
}

// about returns the facts that decisions about a node follow from. They are built once for an event and handed down; only
// World.NoHarm is left to planNode.
func (e *engine) about(rec *record) node.Facts {
	return rec.Facts(node.World{
		TaintBased: e.cfg.TaintBasedEviction, Timeout: e.cfg.PodEvictionTimeout, MaxAnnounced: e.cfg.MaxAnnounced, Passes: e.cfg.NodeMonitorPeriod > 0, Unseen: e.cfg.NodeMonitorGracePeriod,
		Now: e.now, Ahead: e.ahead, AllDown: e.zones.AllDown(), Cancelled: e.gates.Pending(rec.domain, rec.name) == zone.Cancel, Hold: e.holds[rec.name], Turn: e.turns.Of(rec.name) != nil, NoMarks: !e.marks.Granted(rec.name),
	})
}

// may returns why the gates do not permit that to the node now, nil if they do.
func (e *engine) may(class gate.Class, rec *record) error {
	return e.gates.May(class, rec.domain, rec.name)
}

// oursOf says whether our own taints evict the node's pods now or, without taints, whether the node is being emptied or
// has been.
func (e *engine) oursOf(rec *record, about node.Facts) pods.Ours {
	s := about.Standing()
	evict := s.Wanted() && (!e.cfg.empties() || rec.Stage() >= node.Emptying)
	return pods.Ours{Evict: evict, Settling: s == node.Settling, Why: about.Why()}
}

// still looks at the node again, because the writes before took time. It returns errGone if the node is not there any
// more, and errUnwanted if wanted, which is called with e.mu held, returns false.
func (e *Evictor) still(rec *record, wanted func() bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.records[rec.name] != rec { // it was deleted, or another node has its name
		return errGone
	}
	e.tick() // a heartbeat that this look finds counts from now
	switch _, s := e.look(rec.name); {
	case s == missing || s == another:
		return errGone
	case wanted != nil && !wanted():
		return errUnwanted
	}
	return nil
}
