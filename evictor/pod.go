package evictor

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
)

type podUID = types.UID

func refOf(pod *v1.Pod) PodRef {
	return PodRef{PodKey: PodKey{Namespace: pod.Namespace, Name: pod.Name}, UID: pod.UID, Node: pod.Spec.NodeName}
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func podReady(pod *v1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1.PodReady {
			return pod.Status.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

// spared says why a pod is never evicted, empty when it may be. Completed pods hold no resources, and
// mirror pods only show what a kubelet runs: deleting one brings it back at once.
func spared(pod *v1.Pod) string {
	if finished(pod) {
		return "Completed"
	}
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return "MirrorPod"
	}
	return ""
}

func sparedWithoutTaints(pod *v1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		return "DaemonSet"
	}
	return spared(pod)
}

func sortedPods(pods map[PodKey]*trackedPod) []PodKey {
	return slices.SortedFunc(maps.Keys(pods), func(a, b PodKey) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// syncPod reads the pod again; e.mu is held.
func (e *Evictor) syncPod(key PodKey, now time.Time) {
	pod, ok := e.clients.Pods.Pod(key)
	tp := e.tracked[key]
	if tp != nil && ok && tp.knowsNewer(pod) {
		return
	}
	if tp != nil && (!ok || pod.UID != tp.uid || pod.Spec.NodeName != tp.rec.name) {
		// Gone, replaced or elsewhere: what was armed for the old one must not hit the new one.
		e.disarm(key, tp)
		e.untrack(key, tp.rec)
	}
	if !ok {
		e.evicted.Shown(key)
		return
	}
	e.wasEvicted(pod)
	rec := e.records[pod.Spec.NodeName]
	if rec == nil {
		return
	}
	rec.PodsChanged = true
	about := e.about(rec)
	if about.Silent() && podReady(pod) && !finished(pod) && pod.DeletionTimestamp == nil && rec.Marks.MarkNow(pod.UID) {
		e.attention[rec.name] = rec
		if about.Marks() {
			wake(e.writes, rec, e.read)
		}
	}
	if rec.Emptied() && about.Standing().Wanted() && pod.DeletionTimestamp == nil && sparedWithoutTaints(pod) == "" {
		wake(e.writes, rec, e.read)
	}
	if len(rec.taints) > 0 {
		e.armPod(rec, pod, now)
	}
}

// wasEvicted says whether the pod was evicted though the store does not show it to go yet; e.mu is held.
func (e *Evictor) wasEvicted(pod *v1.Pod) bool {
	return e.evicted.Has(PodKey{Namespace: pod.Namespace, Name: pod.Name}, pod.UID, pod.DeletionTimestamp != nil)
}

// knowsNewer says whether a newer version of the pod was seen than this one, which is ignored then.
func (tp *trackedPod) knowsNewer(pod *v1.Pod) bool {
	v := version(pod.ResourceVersion)
	return v != 0 && v < tp.version
}

func (e *Evictor) untrack(key PodKey, rec *record) {
	delete(rec.pods, key)
	if tp := e.tracked[key]; tp != nil && tp.rec == rec {
		delete(e.tracked, key)
	}
}

// arm decides anew about every pod on the node when its NoExecute taints changed, or what we make of our own ones; e.mu is held.
func (e *Evictor) arm(rec *record, now time.Time) {
	eligible := e.about(rec).Standing().Wanted()
	if eligible == rec.eligible && !rec.rearm {
		return
	}
	rec.eligible, rec.rearm = eligible, true // until it is done: a store may panic
	if len(rec.taints) == 0 {
		for _, key := range sortedPods(rec.pods) {
			e.unarmPod(key, rec.pods[key], now)
			e.untrack(key, rec)
		}
		rec.pods, rec.rearm = nil, false
		e.turns.NotOverdue(rec.name)
		return
	}
	present := make(map[PodKey]struct{}, len(rec.pods))
	e.clients.Pods.PodsOnNode(rec.name, func(pod *v1.Pod) bool {
		if pod.Spec.NodeName == rec.name {
			present[PodKey{Namespace: pod.Namespace, Name: pod.Name}] = struct{}{}
			e.armPod(rec, pod, now)
		}
		return true
	})
	for key, tp := range rec.pods {
		if _, ok := present[key]; !ok {
			e.disarm(key, tp)
			e.untrack(key, rec)
		}
	}
	rec.rearm = false
}

// armPod decides when, if at all, the pod is to be evicted; e.mu is held.
func (e *Evictor) armPod(rec *record, pod *v1.Pod, now time.Time) {
	key := PodKey{Namespace: pod.Namespace, Name: pod.Name}
	tp := e.tracked[key]
	if tp != nil && tp.knowsNewer(pod) {
		return
	}
	if tp != nil && (tp.uid != pod.UID || tp.rec != rec) {
		e.disarm(key, tp)
		e.untrack(key, tp.rec)
		tp = nil
	}
	if tp == nil {
		// All pods of a tainted node are known, so that one more has arrived since.
		tp = &trackedPod{uid: pod.UID, rec: rec, bound: now}
		if !e.started {
			tp.bound = boundAt(pod, now)
		}
		if rec.pods == nil {
			rec.pods = make(map[PodKey]*trackedPod)
		}
		rec.pods[key] = tp
		e.tracked[key] = tp
	}
	tp.version = version(pod.ResourceVersion)
	if e.wasEvicted(pod) {
		return
	}
	if pod.DeletionTimestamp != nil {
		// On its way out: nothing to decide, and no cancellation to report.
		e.disarm(key, tp)
		tp.armed = false
		return
	}
	if why := spared(pod); why != "" {
		e.cancelPod(key, tp, why, now)
		return
	}
	due := rec.taints.Deadline(e.matcher, tp.asked(pod), e.own, rec.eligible)
	if due.Forever {
		e.unarmPod(key, tp, now)
		return
	}
	e.schedulePod(key, tp, pod, due.At, e.evictionOf(rec, due), now)
}

// asked is what a deadline of the pod is decided from.
func (tp *trackedPod) asked(pod *v1.Pod) pods.Pod {
	return pods.Pod{Bound: tp.bound, Tolerations: pod.Spec.Tolerations}
}

// evictionOf is why a pod has to leave by that deadline.
func (e *Evictor) evictionOf(rec *record, d taints.Deadline) eviction {
	why := eviction{node: rec.name, taint: *d.Taint, own: e.own(d.Taint), toleration: d.Toleration, tolerated: d.For}
	why.taint.TimeAdded = nil // two evictions are the same, or not, without it
	return why
}

// unarmedReason is why an eviction is not wanted any more: what became of its taint.
func (e *Evictor) unarmedReason(rec *record, why eviction) string {
	about := e.about(rec)
	if s := about.Standing(); why.own && !rec.eligible && !s.Wanted() && (s != node.Settling || len(rec.taints) > 0) {
		return about.Why()
	}
	if rec.taints.Has(&why.taint, e.own) {
		return "Tolerated"
	}
	return "TaintRemoved"
}

func (e *Evictor) schedulePod(key PodKey, tp *trackedPod, pod *v1.Pod, due time.Time, why eviction, now time.Time) {
	if tp.armed {
		if st, ok := e.pods.Get(key); ok && (tp.due.Equal(due) || !tp.due.After(now) && !due.After(now)) && (st.Value == why || st.Queued) {
			// When it is tried next is another matter: it may wait for its backoff. But if it waits for its node to be
			// shown or watched, a look at the node or a taint of others may let it go now.
			if tp.delayed == pods.NotShown || tp.delayed == pods.NotSettled {
				e.pods.Schedule(key, tp, why, now, e.read)
			}
			return
		}
	}
	tp.due = due
	result := e.pods.Schedule(key, tp, why, due, e.read)
	kind := EvictionArmed
	if !tp.armed {
		tp.refused, tp.conflicts = 0, 0
	}
	if tp.armed {
		if result == timedworker.Unchanged {
			return
		}
		kind = EvictionMoved
	}
	tp.armed, tp.delayed, tp.deadline, tp.decided = true, 0, due, now
	e.decide(e.evictionDecision(kind, refOf(pod), why, due, now))
}

func (e *Evictor) evictionDecision(kind Kind, ref PodRef, why eviction, due, now time.Time) Decision {
	taint := why.taint
	return Decision{Time: now, Kind: kind, Node: why.node, Pod: ref, Taint: &taint, Toleration: why.toleration, Tolerated: why.tolerated, Deadline: due}
}

// disarm drops the pod's work; e.mu is held.
func (e *Evictor) disarm(key PodKey, tp *trackedPod) timedworker.CancelResult {
	e.outage.Ended(task{pod: key}, e.now)
	return e.pods.Cancel(key, tp)
}

// cancelPod drops what is armed for the pod, if anything, and reports it once. It needs no permission.
func (e *Evictor) cancelPod(key PodKey, tp *trackedPod, reason string, now time.Time) {
	if !tp.armed {
		return
	}
	tp.armed = false
	if e.disarm(key, tp) == timedworker.Cancelled && reason != "NodeDeleted" {
		e.decide(Decision{Time: now, Kind: EvictionCancelled, Node: tp.rec.name, Pod: PodRef{PodKey: key, UID: tp.uid, Node: tp.rec.name}, Toleration: -1, Reason: reason})
	}
}

// unarmPod is cancelPod where what asked for the eviction does not any more.
func (e *Evictor) unarmPod(key PodKey, tp *trackedPod, now time.Time) {
	if st, ok := e.pods.Get(key); tp.armed && ok {
		e.cancelPod(key, tp, e.unarmedReason(tp.rec, st.Value), now)
	}
	tp.armed = false
}

// boundAt is when a pod that we did not see arrive was bound, as far as its object tells.
func boundAt(pod *v1.Pod, now time.Time) time.Time {
	var at time.Time
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			at = c.LastTransitionTime.Time
		}
	}
	if at.IsZero() && pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	if at.IsZero() {
		at = pod.CreationTimestamp.Time
	}
	if at.IsZero() || at.After(now) {
		return now
	}
	return at
}
