package evictor

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	if tp := e.tracked[key]; tp != nil && (!ok || pod.UID != tp.uid || pod.Spec.NodeName != tp.rec.name) {
		// Gone, replaced or elsewhere: what was armed for the old one must not hit the new one.
		e.pods.CancelIdentity(key, string(tp.uid))
		e.untrack(key, tp.rec)
	}
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	rec := e.records[pod.Spec.NodeName]
	if rec == nil {
		return
	}
	rec.podsChanged = true
	if rec.known && rec.verdict.Ready == v1.ConditionUnknown && !rec.beatSince && !rec.markPods && podReady(pod) && !finished(pod) && pod.DeletionTimestamp == nil {
		if _, done := rec.marked[pod.UID]; !done {
			rec.markPods = true
			e.attention[rec.name] = rec
			if !rec.waitSettle && !e.zones.AllDown() {
				wake(e.writes, rec, now)
			}
		}
	}
	if rec.emptied && e.failing(rec) && pod.DeletionTimestamp == nil && sparedWithoutTaints(pod) == "" {
		wake(e.writes, rec, now)
	}
	if len(rec.taints) > 0 {
		e.armPod(rec, pod, now)
	}
}

func (e *Evictor) untrack(key PodKey, rec *record) {
	delete(rec.pods, key)
	if tp := e.tracked[key]; tp != nil && tp.rec == rec {
		delete(e.tracked, key)
	}
}

// arm compares the node's NoExecute taints with those seen before and, when they or what we make of
// our own ones changed, decides anew about every pod on the node; e.mu is held.
func (e *Evictor) arm(rec *record, node *v1.Node, now time.Time) {
	eligible := e.failing(rec) && rec.hold == "" && !rec.waitSettle && !e.zones.AllDown()
	changed := e.seeTaints(rec, node, now) || eligible != rec.eligible || rec.rearm
	rec.eligible, rec.rearm = eligible, changed // until it is done: a store may panic
	if !changed {
		return
	}
	if len(rec.taints) == 0 {
		for _, key := range sortedPods(rec.pods) {
			e.unarmPod(key, rec.pods[key], now)
			e.untrack(key, rec)
		}
		rec.pods, rec.rearm = nil, false
		e.forgetOverdue(rec)
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
			e.pods.CancelIdentity(key, string(tp.uid))
			e.untrack(key, rec)
		}
	}
	rec.rearm = false
}

func (e *Evictor) liftReason(rec *record) string {
	switch {
	case rec.verdict.Ready == v1.ConditionTrue:
		return "NodeReady"
	case e.zones.AllDown():
		return "AllZonesDown"
	case rec.hold != "":
		return rec.hold
	case rec.waitSettle && len(rec.taints) > 0:
		return "NotSettled"
	case !e.failing(rec):
		return "NotFailed"
	}
	return "TaintRemoved"
}

// seeTaints notes the node's NoExecute taints and when each began to count, and says whether any came
// or went. What is seen to appear counts from now; what was there when we started counts from its
// TimeAdded, unless that is absent, in the future or before the node itself.
func (e *Evictor) seeTaints(rec *record, node *v1.Node, now time.Time) (changed bool) {
	var current []seenTaint
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		own := e.cfg.TaintBasedEviction && taints.OwnNoExecute(t)
		seen := seenTaint{taint: v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}, own: own, start: now}
		if !e.started {
			seen.start = plausibleStart(t, node, now)
		}
		known := false
		for _, old := range rec.taints {
			same := old.taint.Key == t.Key && old.taint.Value == t.Value
			if same || own && old.own { // a swap of our own taints is one outage
				seen.start = old.start
				known = known || same
			}
		}
		changed = changed || !known
		current = append(current, seen)
	}
	changed = changed || len(current) != len(rec.taints)
	rec.taints = current
	return changed
}

func plausibleStart(t *v1.Taint, node *v1.Node, now time.Time) time.Time {
	if t.TimeAdded == nil || t.TimeAdded.After(now) || t.TimeAdded.Time.Before(node.CreationTimestamp.Time) {
		return now
	}
	return t.TimeAdded.Time
}

// armPod decides when, if at all, the pod is to be evicted; e.mu is held.
func (e *Evictor) armPod(rec *record, pod *v1.Pod, now time.Time) {
	key := PodKey{Namespace: pod.Namespace, Name: pod.Name}
	tp := e.tracked[key]
	if tp != nil && (tp.uid != pod.UID || tp.rec != rec) {
		e.pods.CancelIdentity(key, string(tp.uid))
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
	if tp.evicted {
		return
	}
	if pod.DeletionTimestamp != nil {
		// On its way out: nothing to decide, and no cancellation to report.
		e.pods.CancelIdentity(key, string(tp.uid))
		tp.armed = false
		return
	}
	if why := spared(pod); why != "" {
		e.cancelPod(key, tp, why, now)
		return
	}
	due, why, finite := e.dueAt(rec, tp, pod.Spec.Tolerations, rec.eligible)
	if !finite {
		e.unarmPod(key, tp, now)
		return
	}
	e.schedulePod(key, tp, pod, due, why, now)
}

// unarmedReason is why an eviction is not wanted any more: what became of its taint.
func (e *Evictor) unarmedReason(rec *record, why eviction) string {
	if why.own && !rec.eligible {
		return e.liftReason(rec)
	}
	for i := range rec.taints {
		seen := &rec.taints[i]
		if seen.taint.Key == why.taint.Key && seen.taint.Value == why.taint.Value || seen.own && why.own {
			return "Tolerated"
		}
	}
	return "TaintRemoved"
}

func (e *Evictor) schedulePod(key PodKey, tp *trackedPod, pod *v1.Pod, due time.Time, why eviction, now time.Time) {
	if tp.armed {
		if st, ok := e.pods.Get(key); ok && (tp.due.Equal(due) || !tp.due.After(now) && !due.After(now)) && (st.Payload == why || st.Queued) {
			// When it is tried next is another matter: it may wait for its backoff. But if it waits for its node to be
			// watched, a taint of others may evict it now.
			if tp.delayed == notSettled {
				e.pods.ScheduleEntry(timedworker.Entry[PodKey, eviction]{Key: key, Identity: string(tp.uid), Payload: why, At: now})
			}
			return
		}
	}
	tp.due = due
	result := e.pods.ScheduleEntry(timedworker.Entry[PodKey, eviction]{Key: key, Identity: string(tp.uid), Payload: why, At: due})
	kind := EvictionArmed
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

// cancelPod drops what is armed for the pod, if anything, and reports it once. It needs no permission.
func (e *Evictor) cancelPod(key PodKey, tp *trackedPod, reason string, now time.Time) {
	if !tp.armed {
		return
	}
	tp.armed = false
	if e.pods.CancelIdentity(key, string(tp.uid)) == timedworker.Cancelled && reason != "NodeDeleted" {
		e.decide(Decision{Time: now, Kind: EvictionCancelled, Node: tp.rec.name, Pod: PodRef{PodKey: key, UID: tp.uid, Node: tp.rec.name}, Toleration: -1, Reason: reason})
	}
}

// unarmPod is cancelPod where what asked for the eviction does not any more.
func (e *Evictor) unarmPod(key PodKey, tp *trackedPod, now time.Time) {
	if st, ok := e.pods.Get(key); tp.armed && ok {
		e.cancelPod(key, tp, e.unarmedReason(tp.rec, st.Payload), now)
	}
	tp.armed = false
}

// dueAt is the earliest end over the finite tolerations used, each counted from the later of its
// taint's start and the pod's binding. Our own taints count if own says so. finite is false when nothing evicts the pod.
func (e *Evictor) dueAt(rec *record, tp *trackedPod, tolerations []v1.Toleration, own bool) (due time.Time, why eviction, finite bool) {
	for i := range rec.taints {
		seen := &rec.taints[i]
		if seen.own && !own {
			continue
		}
		start := laterOf(seen.start, tp.bound)
		one := eviction{node: rec.name, taint: seen.taint, own: seen.own, toleration: e.matcher.Using(&seen.taint, tolerations)}
		if one.toleration >= 0 {
			d, forever := taints.Seconds(&tolerations[one.toleration])
			if forever {
				continue
			}
			one.tolerated = d
		}
		at := start.Add(one.tolerated)
		if at.Before(start) { // beyond what time.Time can hold: for ever
			continue
		}
		if !finite || at.Before(due) {
			due, why, finite = at, one, true
		}
	}
	return due, why, finite
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
