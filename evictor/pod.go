package evictor

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
)

func refOf(pod pods.Ref) PodRef {
	return PodRef{PodKey: PodKey(pod.Key), UID: pod.UID, Node: pod.Node}
}

func (r PodRef) asked() pods.Ref {
	return pods.Ref{Key: pods.Key(r.PodKey), UID: r.UID, Node: r.Node}
}

// readPod reads a pod from the store, nil when there is none; e.mu is held.
func (e *Evictor) readPod(key PodKey) *v1.Pod {
	if pod, ok := e.clients.Pods.Pod(key); ok {
		return pod
	}
	return nil
}

// syncPod reads the pod again; e.mu is held.
func (e *Evictor) syncPod(key PodKey, now time.Time) {
	pod := e.readPod(key)
	todo, news := e.pods.Shown(pods.Key(key), pod)
	e.carryOut(todo, now)
	if !news || pod == nil {
		return
	}
	rec := e.records[pod.Spec.NodeName]
	if rec == nil {
		return
	}
	rec.podsChanged = true
	about := e.about(rec)
	if about.Silent() && !rec.markPods && pods.Ready(pod) && pod.DeletionTimestamp == nil {
		if _, done := rec.marked[pod.UID]; !done {
			rec.markPods = true
			e.attention[rec.name] = rec
			if about.Marks() {
				wake(e.writes, rec, now)
			}
		}
	}
	if rec.emptied && about.Standing().Wanted() && pod.DeletionTimestamp == nil && pods.SparedWithoutTaints(pod) == "" {
		wake(e.writes, rec, now)
	}
	if rec.pods.Tainted() {
		e.carryOut(e.pods.Decide(&rec.pods, pod, e.started, e.ours(rec), now), now)
	}
}

// ours says whether our own taints evict the node's pods; e.mu is held.
func (e *Evictor) ours(rec *record) pods.Ours {
	about := e.about(rec)
	s := about.Standing()
	return pods.Ours{Evict: s.Wanted(), Settling: s == node.Settling, Why: about.Why()}
}

// arm decides anew about every pod on the node when its NoExecute taints changed, or what we make of our own ones; e.mu is held.
func (e *Evictor) arm(rec *record, now time.Time) {
	ours := e.ours(rec)
	if !e.pods.Anew(&rec.pods, ours) {
		return
	}
	if rec.pods.Tainted() {
		e.clients.Pods.PodsOnNode(rec.name, func(pod *v1.Pod) bool {
			if pod.Spec.NodeName == rec.name {
				e.carryOut(e.pods.Decide(&rec.pods, pod, e.started, ours, now), now)
			}
			return true
		})
	} else {
		e.turns.NotOverdue(rec.name)
	}
	e.carryOut(e.pods.EndRound(&rec.pods, ours), now)
}

// carryOut does what was decided about evictions, and tells; e.mu is held.
func (e *Evictor) carryOut(todo []pods.Action, now time.Time) {
	for _, a := range todo {
		ref := refOf(a.Pod)
		switch a.Do {
		case pods.Cancel: // it needs no permission
			e.outage.Ended(task{pod: ref.PodKey}, now)
			if e.armed.Cancel(a.Pod) == timedworker.Cancelled && a.Reason != "" {
				e.decide(Decision{Time: now, Kind: EvictionCancelled, Node: ref.Node, Pod: ref, Toleration: -1, Reason: a.Reason})
			}
		case pods.Retry:
			e.armed.Schedule(a.Eviction, now)
		case pods.Arm, pods.Move:
			why, due, _ := a.Eviction.Plan()
			kind := EvictionArmed
			if a.Do == pods.Move {
				kind = EvictionMoved
			}
			if e.armed.Schedule(a.Eviction, due) != timedworker.Unchanged {
				e.decide(evictionDecision(kind, ref, why, due, now))
			}
		}
	}
}

func evictionDecision(kind Kind, ref PodRef, why pods.Why, due, now time.Time) Decision {
	return Decision{Time: now, Kind: kind, Node: ref.Node, Pod: ref, Taint: &why.Taint, Toleration: why.Toleration, Tolerated: why.Tolerated, Deadline: due}
}
