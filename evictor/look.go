package evictor

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/node"
)

// sight is what the store shows under a node's name.
type sight uint8

const (
	shown   sight = iota // the node as it was seen last, or newer
	older                // an older version of it, as a relist from a stale cache brings: it is ignored
	missing              // nothing
	another              // a node with another UID
)

// look reads a node from the store: nothing else does, so that identity, version and heartbeat are decided upon in one place. Of
// a node that we know it notes what the object says; questions are answered from that, and change nothing.
func (e *engine) look(name string) (*v1.Node, sight) {
	node, ok := e.clients.Nodes.Node(name)
	rec := e.records[name]
	switch {
	case !ok:
		return nil, missing
	case rec == nil:
		return node, shown
	case rec.uid != node.UID:
		return node, another
	}
	seen := e.monitor.ObserveNodeAt(node, e.read)
	if seen.Stale {
		return nil, older
	}
	e.note(rec, node, seen.Heartbeat || e.renewed(rec))
	return node, shown
}

// renewed says whether a node that was silent by its verdict has given a sign of life since, its lease included.
func (e *engine) renewed(rec *record) bool {
	if !rec.Verdict().Expired {
		return false
	}
	v, ok := e.monitor.Verdict(rec.name)
	return ok && !v.Expired
}

// current is look for whoever wants to act upon a node that we know: nil unless the store shows it as it is. Then the next event
// of it, or this one where the node seems to be gone, has it looked at again.
func (e *engine) current(rec *record) *v1.Node {
	if e.records[rec.name] != rec {
		return nil
	}
	node, s := e.look(rec.name)
	if s == missing || s == another {
		e.inbox.Node(rec.name)
	}
	if s != shown {
		return nil
	}
	return node
}

// note takes over what the node's object says.
func (e *engine) note(rec *record, object *v1.Node, heartbeat bool) {
	counts, movedOn := rec.Note(object, node.Belongs{Zone: e.opts.Domain(object), Excluded: e.opts.Excluded(object)}, heartbeat, e.cfg.tainting())
	if counts || rec.zone != rec.Zone {
		e.attention[rec.name] = rec
	}
	if e.cfg.Half == TaintEviction {
		rec.zone = rec.Zone // no pass moves it
	}
	if movedOn {
		at := e.read.Add(e.cfg.RetryInitial) // not in the Step that met the conflict
		sooner(e.writes, rec.name, at)
		sooner(e.lifts, rec.name, at)
	}
	hold := ""
	if e.opts.Hold != nil {
		if reason, held := e.opts.Hold(object); held {
			hold = cmp.Or(reason, "Held")
		}
	}
	if hold != rec.Hold {
		rec.Hold, e.attention[rec.name] = hold, rec
	}
	e.pods.Ahead = e.ahead
	e.pods.Observe(&rec.pods, object, e.started, e.now)
}

// world is what the node depends on besides what we know of it, but for what only a plan asks for.
func (e *engine) world(rec *record) node.World {
	return node.World{
		TaintBased: e.cfg.TaintBasedEviction, Timeout: e.cfg.PodEvictionTimeout, Passes: e.cfg.NodeMonitorPeriod > 0, Unseen: e.cfg.NodeMonitorGracePeriod,
		Now: e.now, Ahead: e.ahead, Watched: rec.seen.Add(e.cfg.NodeMonitorGracePeriod), AllDown: e.zones.AllDown(), Cancelled: e.permitted.Cancels(rec.zone), Hold: e.holds[rec.name], Turn: e.turns.Of(rec.name) != nil,
	}
}

// about is what the node's standing follows from.
func (e *engine) about(rec *record) node.Facts { return rec.Facts(e.world(rec)) }
