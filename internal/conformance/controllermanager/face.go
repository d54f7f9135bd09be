package controllermanager

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/frontend"
	"github.com/evictkit/evictkit/internal/outside"
)

// face shows a World to clients as an API server. The World knows nodes, and the pods that are on one; the store knows
// everything else, and the fields of pods that the World does not have.
type face struct {
	*store
	world   *simulation.World
	clients evictor.Clients
	parts   *outside.Parts
	opened  func(node string) // a node is not cordoned

	given   map[evictor.PodKey]*v1.Pod // of the scenario
	objects []runtime.Object           // of the scenario, but nodes and pods
	pods    map[string]int32           // how many each workload has at first
	begun   bool                       // its objects are shown
	fed     bool                       // and its pods
	fault   error                      // what upstream's controllers cannot play

	calls  map[string][]call // by what the new pod is known by
	called int               // how many there ever were
}

// call is a reason for a controller to make a pod: one was lost, or, where one is made after the other, the one before is there.
type call struct {
	at   time.Time
	pod  string // that was lost, or is there
	rank int
}

func newFace(c *frontend.Clock, parts *outside.Parts) *face {
	f := &face{store: newStore(c), parts: parts, given: make(map[evictor.PodKey]*v1.Pod), pods: make(map[string]int32), calls: make(map[string][]call)}
	f.deletes, f.created, f.lost, f.failing, f.stored = f.delete, f.queue, f.loses, f.fails, f.failed
	f.reach = func() error { return f.parts.Reach() }
	return f
}

// Grain is how exactly times are compared. Within it, people act a moment after their events.
const Grain = 10 * time.Millisecond

// last is the rank of the first pod of a set that makes one after the other: the World places these last.
const last = 1 << 30

// queue lets a new pod wait for the scheduler. The rank is the order in which the pods of an instant could be replaced. If its
// controller leaves the name to the API server, it gets the one that the World would give it, so that both name pods alike.
func (f *face) queue(pod *v1.Pod, named bool) error {
	since, of, ordered, rank, instead := f.now().Truncate(Grain), f.knownBy(pod), f.ordered(pod), f.called, ""
	calls := f.calls[of]
	if ordered { // only this instant's count, and for each pod of it
		calls = slices.DeleteFunc(calls, func(c call) bool { return c.at.Before(since) })
	}
	if len(calls) > 0 {
		rank = calls[0].rank
	}
	if len(calls) > 0 && !ordered {
		instead, calls = calls[0].pod, calls[1:]
		if !named {
			f.rename(pod, instead)
		}
	}
	f.calls[of] = calls
	if ordered {
		rank += last
	}
	if ownerKind(pod) == "StatefulSet" {
		instead = pod.Name
	}
	at := since.Sub(simulation.Epoch)
	return f.parts.Create(pod, instead, at, rank)
}

// rename names a pod <lost>-r1, or -r2 after that, and so on.
func (f *face) rename(pod *v1.Pod, lost string) {
	base, n := lost, 0
	if i := strings.LastIndex(lost, "-r"); i >= 0 {
		if number, err := strconv.Atoi(lost[i+2:]); err == nil && number > 0 {
			base, n = lost[:i], number
		}
	}
	for taken := true; taken; taken = f.pod(keyOf(pod.Namespace, pod.Name)) != nil {
		n++
		pod.Name = fmt.Sprintf("%s-r%d", base, n)
	}
}

// loses calls for the successor of a pod whose deletion begins, unless that comes when the pod is gone. One that has finished has
// its successor already, or gets none.
func (f *face) loses(pod *v1.Pod) {
	if !finished(pod) && !f.whenGone(pod) {
		f.call(pod)
	}
}

// fails calls for the successor of a pod that PodGC calls failed right before it deletes it: its controller may be quicker than
// that. A StatefulSet waits until the name is free.
func (f *face) fails(pod *v1.Pod) {
	if ownerKind(pod) != "StatefulSet" {
		f.ends(pod)
	}
}

// goes calls for the successor of a pod that is gone.
func (f *face) goes(pod *v1.Pod) {
	if !finished(pod) || ownerKind(pod) == "StatefulSet" {
		f.ends(pod)
	}
}

// ends calls for a successor unless the beginning of the deletion did.
func (f *face) ends(pod *v1.Pod) {
	if f.whenGone(pod) || pod.DeletionTimestamp == nil {
		f.call(pod)
	}
}

func (f *face) call(pod *v1.Pod) {
	of := f.knownBy(pod)
	f.calls[of] = append(f.calls[of], call{f.now().Truncate(Grain), pod.Name, f.called})
	f.called++
}

// WorkloadOf is Kind/name of the workload of a pod, or bare.
func WorkloadOf(pod *v1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Kind + "/" + owner.Name
	}
	return "bare"
}

func ownerKind(pod *v1.Pod) string {
	kind, _, _ := strings.Cut(WorkloadOf(pod), "/")
	return kind
}

// knownBy is the name of a pod that comes back under its own, the index of one that has one, and else the workload.
func (f *face) knownBy(pod *v1.Pod) string {
	of := pod.Namespace + "/" + WorkloadOf(pod)
	if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		return of + "/" + index
	}
	if ownerKind(pod) == "StatefulSet" && !f.ordered(pod) {
		return of + "/" + pod.Name
	}
	return of
}

// whenGone says whether a pod is replaced when it is gone, and not when its deletion begins.
func (f *face) whenGone(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" {
		return owner != nil && owner.Kind == "StatefulSet"
	}
	job, ok := f.kind("jobs").objects[keyOf(pod.Namespace, owner.Name)].(*batchv1.Job)
	return ok && job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}

// ordered says whether a pod is of a set that makes one after the other.
func (f *face) ordered(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return false
	}
	set, ok := f.kind("statefulsets").objects[keyOf(pod.Namespace, owner.Name)].(*appsv1.StatefulSet)
	return ok && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

// NodeChanged shows the current node.
func (f *face) NodeChanged(name string) {
	n, ok := f.clients.Nodes.Node(name)
	if !ok {
		f.put("nodes", name, nil)
		return
	}
	f.put("nodes", name, n.DeepCopy())
	if !n.Spec.Unschedulable {
		f.opened(name)
	}
}

// PodChanged shows the current pod.
func (f *face) PodChanged(key evictor.PodKey) {
	k := key.String()
	stored := f.pod(k)
	now, on := f.clients.Pods.Pod(key)
	switch {
	case !on && (stored == nil || stored.Spec.NodeName == ""):
	case !on:
		f.goes(stored)
		f.vanish("pods", k)
	case stored == nil:
		f.put("pods", k, f.appears(key, now))
	default:
		if stored.Spec.NodeName == "" && f.ordered(stored) {
			f.call(stored)
		}
		merged := stored.DeepCopy()
		merged.Spec.NodeName, merged.Status.Phase, merged.Status.StartTime = now.Spec.NodeName, now.Status.Phase, now.Status.StartTime
		if now.DeletionTimestamp != nil && stored.DeletionTimestamp == nil {
			merged.DeletionTimestamp = now.DeletionTimestamp.DeepCopy()
			f.loses(stored)
		}
		setReady(merged, isReady(now), f.stamp())
		f.put("pods", k, merged)
	}
}

// LeaseObserved does nothing: none of these controllers reads leases.
func (f *face) LeaseObserved(string, time.Time, string) {}

// SetObserverHealth does nothing.
func (f *face) SetObserverHealth(error) {}

// delete deletes a pod of the World. It returns false if the pod is on no node.
func (f *face) delete(who, key string, grace *int64) (done bool) {
	namespace, name, _ := strings.Cut(key, "/")
	pod := types.NamespacedName{Namespace: namespace, Name: name}
	now := grace != nil && *grace == 0
	switch _, held := f.clients.Pods.Pod(evictor.PodKey{Namespace: namespace, Name: name}); {
	case !held:
		f.parts.Withdraw(pod)
		return false
	case now && who == podGC:
		f.parts.Collect(pod)
	case now:
		f.parts.ForceDelete(pod)
	case who == kubectl || who == byForce:
		f.parts.Drained(pod, who == byForce)
	default:
		f.parts.Delete(pod)
	}
	return true
}

// failed tells the World of a Job that has failed.
func (f *face) failed(object runtime.Object) {
	job, ok := object.(*batchv1.Job)
	if ok && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) && c.Status == v1.ConditionTrue
	}) {
		f.parts.JobFails(types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, int(job.Status.Failed))
	}
}

// patched adds the conditions of a patch to a pod.
func (f *face) patched(key string, patch []byte) {
	stored, of := f.pod(key), v1.Pod{}
	if stored == nil || json.Unmarshal(patch, &of) != nil {
		return
	}
	merged := stored.DeepCopy()
	for _, c := range of.Status.Conditions {
		i := slices.IndexFunc(merged.Status.Conditions, func(old v1.PodCondition) bool { return old.Type == c.Type })
		if i < 0 {
			merged.Status.Conditions = append(merged.Status.Conditions, c)
		} else {
			merged.Status.Conditions[i] = c
		}
	}
	f.put("pods", key, merged)
}

// sleep lets time pass in a bubble of synctest, in which all of this runs.
func sleep(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // the bubble's time
