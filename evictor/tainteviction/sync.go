package tainteviction

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/zone"
)

// half is the controller as a loop drives it.
type half struct{ *Controller }

func (h half) Next() time.Time { return time.Time{} }

// Blind does nothing: while the evictor is blind, nothing is permitted.
func (h half) Blind(bool) {}

// Retry tries again what has failed or was refused.
func (h half) Retry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	environment.RetryNow(h.armed, h.mu.Now)
	for _, p := range h.pods {
		p.again = time.Time{}
		if p.armed && (p.closed || p.refused > 0) {
			h.armed.Schedule(p.ref, p, h.mu.Now)
		}
	}
}

func (h half) Report(what string, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kind := Awaiting
	if failed != nil {
		kind = FunctionFailed
	}
	h.decide(Decision{Kind: kind, Toleration: -1, Reason: what, Err: failed})
}

// Plan notes what has changed.
func (h half) Plan(_ context.Context, nodes []string, pods []cluster.PodKey) (changed []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started {
		h.begun = h.mu.Now
	}
	for _, name := range nodes {
		h.syncNode(name)
	}
	for _, key := range pods {
		h.syncPod(key)
	}
	h.started = true
	return nil
}

// look reads a node from the store and notes its taints. It returns nil if the store does not show the node as it is.
func (e *engine) look(n *node) (own cluster.Own, shown bool) {
	object, ok := e.clients.Nodes.Node(n.name)
	if !ok || object == nil || object.UID != n.uid {
		return own, false
	}
	if own = e.own(n, object.ResourceVersion); own.Stale {
		return own, false
	}
	e.note(n, object)
	return own, true
}

func (e *engine) note(n *node, object *v1.Node) {
	taints, changed := n.taints.Observe(object, e.started, e.mu.Now, e.mu.Lead)
	n.taints, n.stale, n.version = taints, n.stale || changed, seen.Version(object.ResourceVersion)
	e.around.Ask("Domain", func() { n.domain = e.opts.Domain(object) })
}

// syncNode reads the node again and decides what follows for its pods.
func (e *engine) syncNode(name string) {
	object, ok := e.clients.Nodes.Node(name)
	n := e.nodes[name]
	if n != nil && (!ok || object == nil || object.UID != n.uid) {
		if ok && object != nil && e.own(n, object.ResourceVersion).Stale {
			return // an old store shows the node that was replaced
		}
		e.forgetNode(n, ok && object != nil)
		n = nil
	}
	if !ok || object == nil {
		return
	}
	if n == nil {
		n = &node{name: name, uid: object.UID, domain: zone.KeyOf(object.Labels)} // while Domain panics
		e.nodes[name] = n
	}
	if len(n.taints) == 0 && len(n.pods) == 0 && !slices.ContainsFunc(object.Spec.Taints, noExecute) {
		n.version = max(n.version, seen.Version(object.ResourceVersion))
		return // a healthy node
	}
	if own, shown := e.look(n); shown {
		e.round(n, own)
	}
}

func noExecute(t v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute }

// forgetNode is called when a node is gone: its pods are not ours to evict. If it was replaced, a store that lags may show
// them on the new node.
func (e *engine) forgetNode(n *node, replaced bool) {
	for _, p := range n.sorted() {
		e.forget(p, "")
	}
	if delete(e.nodes, n.name); !replaced {
		e.around.Evicted.NodeGone(n.name)
	}
}

// round decides again about every pod on the node, if its NoExecute taints have changed or whether ours evict has.
func (e *engine) round(n *node, own cluster.Own) {
	if own.Wanted == n.ours && !n.stale && !n.waits(e.mu.Now) {
		return
	}
	n.ours, n.stale = own.Wanted, true // stale until the end, because the store may panic
	if len(n.taints) > 0 {
		e.clients.Pods.PodsOnNode(n.name, func(object *v1.Pod) bool {
			if object.Spec.NodeName == n.name {
				e.shown(cluster.RefOf(object).PodKey, object, n, own)
			}
			return true
		})
		e.tellOverdue(n)
	} else {
		for _, p := range n.sorted() {
			e.forget(p, p.reason(own))
		}
	}
	n.stale = false
}

// waits says whether some of its pods wait for another state of the node.
func (n *node) waits(now time.Time) bool {
	for _, p := range n.pods {
		if p.waits(now) {
			return true
		}
	}
	return false
}

// syncPod reads the pod again and decides what follows.
func (e *engine) syncPod(key cluster.PodKey) {
	object := e.readPod(key)
	var n *node
	var own cluster.Own
	if object != nil {
		if n = e.nodes[object.Spec.NodeName]; n != nil && len(n.taints) > 0 {
			own = e.own(n, "")
		}
	}
	e.shown(key, object, n, own)
	if n != nil {
		e.tellOverdue(n)
	}
}

// shown records what the store shows in a slot, nil for nothing, and decides when, if at all, the pod leaves its node.
func (e *engine) shown(key cluster.PodKey, object *v1.Pod, n *node, own cluster.Own) {
	known := e.pods[key]
	if known.newer(object) {
		return
	}
	if known != nil && !known.ref.Shows(object) {
		e.forget(known, "") // its eviction must not hit the pod that has its name now
		known = nil
	}
	switch {
	case object == nil:
		e.around.Evicted.Gone(key)
	case n == nil || len(n.taints) == 0:
		e.around.Evicted.Was(object)
	default:
		if known == nil {
			known = e.meet(object, n)
		}
		known.version = seen.Version(object.ResourceVersion)
		e.decideOn(known, object, own)
	}
}

func (e *engine) meet(object *v1.Pod, n *node) *pod {
	p := &pod{ref: cluster.RefOf(object), node: n, bound: e.mu.Now}
	if !e.started {
		p.bound = e.mu.Now.Add(boundAt(object, e.mu.Shown(e.mu.Now)).Sub(e.mu.Shown(e.mu.Now))) // an age, however the clock is set
	}
	if n.pods == nil {
		n.pods = make(map[cluster.PodKey]*pod)
	}
	n.pods[p.ref.PodKey], e.pods[p.ref.PodKey] = p, p
	return p
}
