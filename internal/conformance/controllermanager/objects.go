package controllermanager

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/utils/ptr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// notes remembers the objects of a scenario.
func (f *face) notes(s *simulation.Scenario) {
	for _, pod := range s.Pods {
		f.note(pod)
	}
	for _, object := range s.Objects {
		f.note(object)
	}
	if read := s.Read; read != nil {
		s.Read = func(add func(runtime.Object) error) error {
			return read(func(object runtime.Object) error {
				f.note(object)
				return add(object)
			})
		}
	}
}

func (f *face) note(object runtime.Object) {
	object = object.DeepCopyObject()
	m := metaOf(object)
	switch o := object.(type) {
	case *v1.Node, *v1.PersistentVolume, *appsv1.Deployment, *appsv1.DaemonSet:
		return // the world shows nodes, and what these stand for is not played
	case *v1.Pod:
		m.SetNamespace(cmp.Or(m.GetNamespace(), v1.NamespaceDefault))
		f.given[evictor.PodKey{Namespace: m.GetNamespace(), Name: m.GetName()}] = o
		return
	}
	m.SetNamespace(cmp.Or(m.GetNamespace(), v1.NamespaceDefault))
	f.objects = append(f.objects, object)
}

// begins shows the scenario's objects, and the pods that have no node.
func (f *face) begins() {
	if f.begun {
		return
	}
	f.begun = true
	for _, object := range f.objects {
		f.add(complete(object))
	}
	f.objects = nil
	for _, key := range slices.SortedFunc(maps.Keys(f.given), func(a, b evictor.PodKey) int { return cmp.Compare(a.String(), b.String()) }) {
		if pod := f.given[key]; pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !finished(pod) && f.parts.Workloads {
			pod.UID = cmp.Or(pod.UID, types.UID("uid-"+key.String()))
			f.adopt(pod)
			f.put("pods", key.String(), pod)
		}
	}
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// complete fills in what the API server would have.
func complete(object runtime.Object) runtime.Object {
	if strings.HasSuffix(fmt.Sprintf("%T", object), ".PodDisruptionBudget") {
		if _, current := object.(*policyv1.PodDisruptionBudget); !current {
			object = budgetOf(object)
		}
	}
	m := metaOf(object)
	m.SetUID(cmp.Or(m.GetUID(), uidOf(object)))
	legacyscheme.Scheme.Default(object)
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		o.Spec.Selector = selects(o.Spec.Selector, &o.Spec.Template, o.UID)
	case *appsv1.StatefulSet:
		o.Spec.Selector = selects(o.Spec.Selector, &o.Spec.Template, o.UID)
		// Nobody updates a set in a scenario. Its revision has another hash here than in the cluster that it comes from.
		o.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		o.Status.CurrentRevision, o.Status.UpdateRevision, o.Status.CollisionCount = "", "", nil
	case *batchv1.Job:
		o.Spec.Selector = selects(o.Spec.Selector, &o.Spec.Template, o.UID)
		if start := o.Status.StartTime; start == nil || start.After(simulation.Epoch) {
			o.Status.StartTime = ptr.To(metav1.NewTime(simulation.Epoch)) // the world moves dates back to its own
		}
	}
	return object
}

// uidOf makes a UID that can be the value of a label.
func uidOf(object runtime.Object) types.UID {
	m, h := metaOf(object), fnv.New64a()
	fmt.Fprintf(h, "%T %s", object, keyOf(m.GetNamespace(), m.GetName()))
	return types.UID(fmt.Sprintf("uid-%x", h.Sum64()))
}

// budgetOf is a budget of an older version of the API.
func budgetOf(object runtime.Object) runtime.Object {
	budget := &policyv1.PodDisruptionBudget{}
	if text, err := json.Marshal(object); err != nil || json.Unmarshal(text, budget) != nil {
		return object // impossible: the world has read it so, too
	}
	return budget
}

// ours marks the pods of a workload whose object has no selector, or is made here.
const ours = "evictkit.example/workload"

func selects(selector *metav1.LabelSelector, template *v1.PodTemplateSpec, uid types.UID) *metav1.LabelSelector {
	if selector != nil {
		return selector
	}
	template.Labels = labels.Merge(template.Labels, labels.Set{ours: string(uid)})
	return &metav1.LabelSelector{MatchLabels: map[string]string{ours: string(uid)}}
}

// appears is a pod that the World shows for the first time, with what the scenario says of it beside.
func (f *face) appears(key evictor.PodKey, now *v1.Pod) *v1.Pod {
	pod := now.DeepCopy()
	if given := f.given[key]; given != nil && !f.fed {
		pod = given.DeepCopy()
		pod.Spec.NodeName, pod.Spec.Tolerations, pod.Status = now.Spec.NodeName, now.Spec.Tolerations, *now.Status.DeepCopy()
		pod.UID, pod.CreationTimestamp, pod.DeletionTimestamp = cmp.Or(given.UID, now.UID), now.CreationTimestamp, now.DeletionTimestamp.DeepCopy()
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = pod.CreationTimestamp
		}
	}
	f.adopt(pod)
	return pod
}

// adopt makes a pod one of its workload's, whose object it makes if there is none. A workload wants all the pods that it has, and
// whoever adds one later wants one more.
func (f *face) adopt(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind == "Node" {
		return
	}
	if owner.Kind == "DaemonSet" {
		f.daemonSet(pod, owner)
		return
	}
	resource, name := "replicasets", owner.Name
	switch owner.Kind {
	case "StatefulSet":
		resource = "statefulsets"
	case "Job":
		resource = "jobs"
	case "ReplicaSet":
	default: // somebody else's controller, for which the one of ReplicaSets stands in
		name = strings.ToLower(owner.Kind) + "." + owner.Name
		owner.Kind, owner.Name, owner.APIVersion = "ReplicaSet", name, "apps/v1"
	}
	key := keyOf(pod.Namespace, name)
	object, known := f.kind(resource).objects[key]
	if !known {
		object = complete(made(pod, resource, name))
	}
	if _, numbered := ordinal(pod); resource == "statefulsets" && !numbered && f.parts.Workloads {
		f.fault = fmt.Errorf("pod %s/%s: the StatefulSet controller does not know a pod of that name: set %s has %s-0, %s-1 and so on", pod.Namespace, pod.Name, name, name, name)
	}
	owner.UID = metaOf(object).GetUID()
	f.matches(pod, object)
	if pod.DeletionTimestamp == nil && !finished(pod) {
		f.pods[resource+" "+key]++
		object = object.DeepCopyObject()
		if f.fed {
			grow(object, pod, 1<<30)
		} else {
			grow(object, pod, f.pods[resource+" "+key])
		}
	}
	f.put(resource, key, object)
}

func (f *face) daemonSet(pod *v1.Pod, owner *metav1.OwnerReference) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: owner.Name, UID: types.UID("uid-daemonset-" + owner.Name)}}
	owner.UID = set.UID
	if key := keyOf(set.Namespace, set.Name); f.kind("daemonsets").objects[key] == nil {
		f.put("daemonsets", key, set)
	}
}

// made is the object of a workload of which a scenario has only pods.
func made(pod *v1.Pod, resource, name string) runtime.Object {
	m := metav1.ObjectMeta{Namespace: pod.Namespace, Name: name, CreationTimestamp: metav1.NewTime(simulation.Epoch.Add(-time.Hour))}
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: *pod.Spec.DeepCopy()}
	template.Spec.NodeName = ""
	switch resource {
	case "statefulsets":
		return &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](0), Template: template}}
	case "jobs":
		template.Spec.RestartPolicy = v1.RestartPolicyNever
		// Nobody knows how many of its pods may fail, nor when it is done.
		return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](0), Completions: ptr.To[int32](1 << 20), BackoffLimit: ptr.To[int32](1 << 30), Template: template,
		}}
	default:
		return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](0), Template: template}}
	}
}

// grow makes a workload want one pod more, but not for that more than so many.
func grow(object runtime.Object, pod *v1.Pod, most int32) {
	more := func(n *int32) *int32 { return ptr.To(max(*n, min(*n+1, most))) }
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = more(o.Spec.Replicas)
	case *batchv1.Job:
		o.Spec.Parallelism = more(o.Spec.Parallelism)
	case *appsv1.StatefulSet:
		number, ok := ordinal(pod)
		if !ok {
			return
		}
		first, n := int32(0), *o.Spec.Replicas
		if o.Spec.Ordinals != nil {
			first = o.Spec.Ordinals.Start
		}
		end := max(first+n, number+1)
		if n == 0 {
			first, end = number, number+1
		}
		first = min(first, number)
		o.Spec.Ordinals, o.Spec.Replicas = &appsv1.StatefulSetOrdinals{Start: first}, ptr.To(end-first)
	}
}

// ordinal returns the number at the end of the name of a StatefulSet's pod.
func ordinal(pod *v1.Pod) (number int32, ok bool) {
	_, set, _ := strings.Cut(WorkloadOf(pod), "/")
	text, cut := strings.CutPrefix(pod.Name, set+"-")
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), cut && err == nil
}

// matches makes a pod match the selector of its workload, and gives one of a Job what the Job's controller counts by.
func (f *face) matches(pod *v1.Pod, object runtime.Object) {
	selector := &metav1.LabelSelector{}
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		selector = o.Spec.Selector
	case *appsv1.StatefulSet:
		selector = o.Spec.Selector
	case *batchv1.Job:
		selector = o.Spec.Selector
		if len(pod.Finalizers) == 0 && !finished(pod) {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
	}
	if of, err := metav1.LabelSelectorAsSelector(selector); err == nil && !of.Matches(labels.Set(pod.Labels)) {
		pod.Labels = labels.Merge(pod.Labels, selector.MatchLabels)
	}
}
