package nodelifecycle

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// look reads a node from the store. Nothing else does, so identity, version and heartbeat are judged in one place. It
// returns nil for a known node that the store does not show as it is; gone says that it shows none, or another.
func (e *engine) look(name string) (object *v1.Node, gone bool) {
	object, ok := e.clients.Nodes.Node(name)
	n := e.nodes[name]
	switch {
	case !ok || object == nil:
		return nil, true
	case n == nil:
		return object, false
	case n.uid != object.UID:
		return object, !e.monitor.ObserveNode(object).Stale
	}
	seen := e.monitor.ObserveNode(object)
	if seen.Stale {
		return nil, false
	}
	v, _ := e.monitor.Verdict(name)
	e.note(n, object, seen.Heartbeat || n.verdict.Expired && !v.Expired)
	return object, false
}

// current is look for a caller about to act.
func (e *engine) current(n *node) *v1.Node {
	if e.nodes[n.name] != n {
		return nil
	}
	object, gone := e.look(n.name)
	if gone {
		e.around.Inbox.Node(n.name)
	}
	if object == nil || object.UID != n.uid {
		return nil
	}
	return object
}

// note records what the node's object says.
func (e *engine) note(n *node, object *v1.Node, heartbeat bool) {
	belongs, excluded, hold := e.facts(n, object)
	if belongs != n.domain || excluded != n.excluded || hold != n.hold {
		e.attention[n.name] = n
		e.around.Inbox.Kick()
	}
	n.belongs, n.excluded, n.hold = belongs, excluded, hold
	n.heard = n.heard || heartbeat && n.verdict.Ready == v1.ConditionUnknown
	if n.heard || n.status != upToDate && len(health.UnknownConditions(object, e.mu.Now)) == 0 {
		n.status = upToDate
	}
	n.says = readyOf(object).Status
	n.emptied = n.emptied && !n.reported() // that ends an outage, even if the next pass finds it not ready again
	n.tainted = e.cfg.TaintBasedEviction && slices.ContainsFunc(object.Spec.Taints, isOwn)
	n.taints, _ = n.taints.Observe(object, e.started, e.mu.Now, e.mu.Lead)
	e.resolve(n, object.ResourceVersion)
}

// facts asks the user's functions about a node. While one of them panics, the node is held.
func (e *engine) facts(n *node, object *v1.Node) (domain zone.Key, excluded bool, hold string) {
	domain, excluded = n.belongs, n.excluded
	answered := e.around.Ask("Domain", func() { domain = e.opts.Domain(object) }) &&
		e.around.Ask("Excluded", func() { excluded = e.opts.Excluded(object) }) &&
		(e.opts.Hold == nil || e.around.Ask("Hold", func() {
			if reason, held := e.opts.Hold(object); held {
				hold = cmp.Or(reason, "Held")
			}
		}))
	if !answered {
		hold = "Panic"
	}
	return domain, excluded, hold
}

func readyOf(object *v1.Node) *v1.NodeCondition {
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == v1.NodeReady {
			return c
		}
	}
	return &v1.NodeCondition{}
}
