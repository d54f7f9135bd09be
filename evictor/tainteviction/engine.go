package tainteviction

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// engine is everything that the controller's lock guards. Its methods are called with the lock held, the controller's
// without.
type engine struct {
	mu      environment.Lock // never held during a write, nor while the Gate is asked
	cfg     Config
	clients Clients
	opts    Options
	around  *environment.Environment

	started bool
	begun   time.Time // the first Plan

	armed *timedworker.Set[cluster.PodRef, *pod]
	nodes map[string]*node
	pods  map[cluster.PodKey]*pod // those on tainted nodes
}

// node is what is remembered of a node.
type node struct {
	name    string
	uid     types.UID
	version uint64 // of the object last seen
	taints  seen.Taints
	domain  zone.Key // by its labels
	ours    bool     // our own taints evict, as of the last round
	stale   bool     // something has changed since the last round
	untold  bool     // some of its pods are overdue since, and whoever judges it does not know
	pods    map[cluster.PodKey]*pod
}

// pod is a pod on a tainted node.
type pod struct {
	ref     cluster.PodRef
	node    *node
	version uint64          // of the object last seen
	bound   time.Time       // when it was bound, or when the node was tainted if it was there before
	why     taints.Deadline // of its eviction
	armed   bool            // it has to leave
	delayed string          // what last held it back
	no      *gate.Refused   // the refusal that was last reported, if nothing else was since
	refused int             // how often in a row it was refused
	again   time.Time       // until when that is believed, whatever else changes; zero if nothing may leave there
	closed  bool            // nothing may leave there
	overdue bool            // it became due by our own taint while harm was refused, or before this process began
}

// decide records a decision for the next deliver.
func (e *engine) decide(d Decision) {
	if e.opts.Observer != nil {
		d.Time = e.mu.Shown(e.mu.Now)
		e.around.Out.Add(func() { e.opts.Observer(d) })
	}
}

// decision is a decision about the eviction of a pod.
func (e *engine) decision(p *pod, kind Kind, reason string, err error) Decision {
	taint := *p.why.Taint
	taint.TimeAdded = nil
	return Decision{
		Time: e.mu.Shown(e.mu.Now), Kind: kind, Pod: p.ref, Toleration: p.why.Toleration, Deadline: e.mu.Shown(p.why.At), Taint: &taint, Tolerated: p.why.For, Reason: reason, Err: err,
	}
}

// own asks about our own taints on a node, of which the store shows that version. Without Verdicts they count like any.
func (e *engine) own(n *node, version string) cluster.Own {
	if e.clients.Verdicts == nil {
		return cluster.Own{Wanted: true, Domain: n.domain, Stale: seen.Older(version, n.version)}
	}
	return e.clients.Verdicts.Own(n.name)
}

// deadline is when the pod has to leave; ours says whether our own taints count.
func (e *engine) deadline(p *pod, object *v1.Pod, ours bool) taints.Deadline {
	var counts func(*v1.Taint) bool
	if !ours {
		counts = func(t *v1.Taint) bool { return !taints.OwnNoExecute(t) }
	}
	return taints.DeadlineOf(p.node.taints, p.bound, object.Spec.Tolerations, counts, e.cfg.NumericTolerations)
}

func (e *engine) readPod(key cluster.PodKey) *v1.Pod {
	if object, ok := e.clients.Pods.Pod(key); ok {
		return object
	}
	return nil
}

func (n *node) sorted() []*pod {
	return slices.SortedFunc(maps.Values(n.pods), func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.ref.Namespace, b.ref.Namespace), cmp.Compare(a.ref.Name, b.ref.Name))
	})
}

// same says whether the decision is unchanged. Two deadlines that have both passed count as equal.
func (p *pod) same(why taints.Deadline, now time.Time) bool {
	was := p.why
	return seen.Same(was.Taint, why.Taint) && was.Toleration == why.Toleration && was.For == why.For &&
		(was.At.Equal(why.At) || !was.At.After(now) && !why.At.After(now))
}

// newer says whether the known version of the pod is newer than the object.
func (p *pod) newer(object *v1.Pod) bool {
	return p != nil && object != nil && seen.Older(object.ResourceVersion, p.version)
}

// boundAt estimates from its object when a pod that we did not see arrive was bound; now at the latest.
func boundAt(object *v1.Pod, now time.Time) time.Time {
	var scheduled, started time.Time
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			scheduled = c.LastTransitionTime.Time
		}
	}
	if object.Status.StartTime != nil {
		started = object.Status.StartTime.Time
	}
	if at := cmp.Or(scheduled, started, object.CreationTimestamp.Time); !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}
