//go:build !thin

package evictor

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
)

func refOf(r pods.Ref) PodRef { return PodRef{PodKey: PodKey(r.Key), UID: r.UID, Node: r.Node} }

func (r PodRef) ref() pods.Ref { return pods.Ref{Key: pods.Key(r.PodKey), UID: r.UID, Node: r.Node} }

// readPod reads a pod from the store; nil means that there is none.
func (e *engine) readPod(key PodKey) *v1.Pod {
	if pod, ok := e.clients.Pods.Pod(key); ok {
		return pod
	}
	return nil
}

// podsOn are the pods that the store shows on a node.
func (e *engine) podsOn(node string) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		e.clients.Pods.PodsOnNode(node, func(pod *v1.Pod) bool { return pod.Spec.NodeName != node || yield(pod) })
	}
}

// syncPod reads the pod again and decides what follows.
func (e *engine) syncPod(key PodKey) {
	pod := e.readPod(key)
	defer e.carryOut()
	var rec *record
	if pod != nil {
		rec = e.records[pod.Spec.NodeName]
	}
	if rec == nil {
		e.pods.Shown(pods.Key(key), pod, nil, e.started, pods.Ours{}, e.now)
		return
	}
	about := e.about(rec)
	if !e.pods.Shown(pods.Key(key), pod, &rec.pods, e.started, e.oursOf(rec, about), e.now) {
		return
	}
	rec.PodsChanged = true
	e.marks.Look(rec.name)
	if about.Silent() && pods.Ready(pod) && pod.DeletionTimestamp == nil && rec.Marks.MarkNow(pod.UID) {
		e.attention[rec.name] = rec
		if about.Marks() {
			schedule(e.writes, rec, e.read)
		}
	}
}

// carryOut does what e.pods decided about evictions, and reports it.
func (e *engine) carryOut() {
	for _, a := range e.pods.Todo() {
		ref := refOf(a.Pod)
		switch a.Do {
		case pods.Cancel: // needs no permission
			e.tried(task{pod: ref.PodKey}, 0)
			if e.armed.Cancel(ref.PodKey, string(ref.UID)) == timedworker.Waiting && a.Reason != "" {
				e.decide(Decision{Kind: EvictionCancelled, Node: ref.Node, Pod: ref, Toleration: -1, Reason: a.Reason})
			}
		case pods.Retry:
			e.armed.Schedule(a.Eviction, e.read)
		case pods.Spare:
			e.decide(Decision{Kind: PodSpared, Node: ref.Node, Pod: ref, Toleration: -1, Reason: a.Reason})
		default:
			kind := EvictionArmed
			if a.Do == pods.Move {
				kind = EvictionMoved
			}
			why, _ := a.Eviction.Why()
			if e.armed.Schedule(a.Eviction, e.shown(why.At)) && !a.Eviction.Emptying() {
				e.decide(e.evictionDecision(kind, ref, why, e.now))
				e.pods.ReportAnew(a.Pod.Key)
			}
		}
	}
}

// evictionDecision is a decision made at a time of ours.
func (e *engine) evictionDecision(kind Kind, ref PodRef, why taints.Deadline, at time.Time) Decision {
	d := Decision{Time: e.shown(at), Kind: kind, Node: ref.Node, Pod: ref, Toleration: why.Toleration, Deadline: e.shown(why.At)}
	if pods.Emptying(why) {
		d.Reason = reasonTimeout
		return d
	}
	taint := *why.Taint
	taint.TimeAdded = nil
	d.Taint, d.Tolerated = &taint, why.For
	return d
}
