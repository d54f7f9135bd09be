package nodepressure

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// request returns how much the pod requests of a resource. The pod's overhead is added if it requests any. The result
// is in whole units, rounded down: a pod exceeds the result if and only if it exceeds the exact request.
// Requests of the pod as a whole replace those of its containers. If the request does not fit an int64, the result is
// the largest one, and exact is the request.
func request(pod *v1.Pod, name v1.ResourceName) (n int64, exact *resource.Quantity) {
	if pod.Spec.Resources == nil && len(pod.Spec.InitContainers)+len(pod.Spec.Overhead) == 0 {
		if sum, ok := requestOfContainers(pod.Spec.Containers, name); ok {
			return sum, nil
		}
	}
	var total resource.Quantity
	if r := pod.Spec.Resources; r != nil && podLevel(name) && (anyPodLevel(r.Requests) || anyPodLevel(r.Limits)) {
		total = r.Requests[name].DeepCopy()
	} else {
		total, _ = aggregate(pod, name, func(r *v1.ResourceRequirements) v1.ResourceList { return r.Requests })
	}
	if overhead, ok := pod.Spec.Overhead[name]; ok && !total.IsZero() {
		total.Add(overhead)
	}
	n = whole(&total)
	switch total.CmpInt64(n) {
	case -1:
		n--
	case 1:
		exact = &total
	}
	return n, exact
}

// requestOfContainers is a cheaper request for most pods: those whose requests are whole numbers with a sum that fits
// an int64.
func requestOfContainers(containers []v1.Container, name v1.ResourceName) (sum int64, ok bool) {
	for i := range containers {
		q, requested := containers[i].Resources.Requests[name]
		if !requested {
			continue
		}
		n, whole := q.AsInt64()
		if !whole || n > math.MaxInt64-sum {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// podLevel says whether a resource can be requested for a pod as a whole.
func podLevel(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// anyPodLevel says whether the list names a resource that counts for a pod as a whole; upstream ignores the others.
func anyPodLevel(list v1.ResourceList) bool {
	for name := range list {
		if podLevel(name) {
			return true
		}
	}
	return false
}

// aggregate returns what the containers of a pod need together of a resource, by their requests or limits, and whether
// any of them sets it. It is the larger of two amounts: the sum over containers and sidecars, and the most that an init
// container needs together with the sidecars started before it.
func aggregate(pod *v1.Pod, name v1.ResourceName, of func(*v1.ResourceRequirements) v1.ResourceList) (total resource.Quantity, found bool) {
	for i := range pod.Spec.Containers {
		if q, ok := of(&pod.Spec.Containers[i].Resources)[name]; ok {
			total.Add(q)
			found = true
		}
	}
	if len(pod.Spec.InitContainers) == 0 {
		return total, found
	}
	var sidecars, most resource.Quantity
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		q, ok := of(&c.Resources)[name]
		found = found || ok
		if isSidecar(c) {
			total.Add(q)
			sidecars.Add(q)
			continue
		}
		q = q.DeepCopy()
		q.Add(sidecars)
		if q.Cmp(most) > 0 {
			most = q
		}
	}
	if most.Cmp(total) > 0 {
		total = most
	}
	return total, found
}

// QOSClass returns the pod's quality of service class. It follows from the pod's resources, as upstream computes it
// when it admits a pod: Guaranteed if every container has equal requests and limits of cpu and memory, BestEffort if
// none has any, otherwise Burstable. Resources of the pod as a whole replace those of its containers. The pod's status
// does not matter. Requests above their limits, which the API refuses, make a pod Burstable.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	q := qos{guaranteed: true}
	if r := pod.Spec.Resources; r != nil && (anyPodLevel(r.Requests) || anyPodLevel(r.Limits)) {
		q.add(r)
		return q.class()
	}
	for i := range pod.Spec.Containers {
		q.add(&pod.Spec.Containers[i].Resources)
		if q.class() == v1.PodQOSBurstable {
			return v1.PodQOSBurstable
		}
	}
	for i := range pod.Spec.InitContainers {
		q.add(&pod.Spec.InitContainers[i].Resources)
	}
	return q.class()
}

// qos accumulates what decides the class.
type qos struct {
	guaranteed bool // so far all limits are set and equal to the requests
	any        bool // something is requested or limited
}

func (q *qos) add(r *v1.ResourceRequirements) {
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		requested, limited := r.Requests[name], r.Limits[name]
		limits := limited.Sign() > 0
		q.any = q.any || limits || requested.Sign() > 0
		q.guaranteed = q.guaranteed && limits && limited.Cmp(requested) == 0
	}
}

// class is final once it is Burstable.
func (q *qos) class() v1.PodQOSClass {
	switch {
	case !q.any:
		return v1.PodQOSBestEffort
	case q.guaranteed:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// qosOrder returns the place of the class in the order of eviction.
func qosOrder(class v1.PodQOSClass) int {
	switch class {
	case v1.PodQOSBestEffort:
		return 0
	case v1.PodQOSBurstable:
		return 1
	}
	return 2
}

// Protection says why a pod is never evicted: it is a [StaticPod], a [MirrorPod] or a [CriticalPod]. [Evictable] means
// that it may be.
type Protection uint8

// The reasons, in the order in which they are checked.
const (
	Evictable Protection = iota
	// StaticPod: the pod comes from a file or URL on the node; nothing would start it again.
	StaticPod
	// MirrorPod: the pod represents a static pod in the API.
	MirrorPod
	// CriticalPod: the pod's priority is that of system-cluster-critical or higher.
	CriticalPod
)

var protectionNames = [...]string{"Evictable", "StaticPod", "MirrorPod", "CriticalPod"}

// String returns the name of the constant.
func (p Protection) String() string {
	if int(p) >= len(protectionNames) {
		return fmt.Sprintf("Protection(%d)", uint8(p))
	}
	return protectionNames[p]
}

// systemCriticalPriority is the priority of system-cluster-critical, the lowest that makes a pod critical.
const systemCriticalPriority = 2_000_000_000

// ProtectionOf says whether and why a pod is protected from eviction and from a refusal of admission.
func ProtectionOf(pod *v1.Pod) Protection {
	if source, ok := pod.Annotations["kubernetes.io/config.source"]; ok && source != "api" {
		return StaticPod
	}
	if _, ok := pod.Annotations[v1.MirrorPodAnnotationKey]; ok {
		return MirrorPod
	}
	if priority(pod) >= systemCriticalPriority {
		return CriticalPod
	}
	return Evictable
}

// priority returns the pod's priority. A pod without one is from before the cluster had a default priority.
func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// byName orders pods that are otherwise equal.
func byName(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
