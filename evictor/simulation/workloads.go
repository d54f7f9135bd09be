package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// workloadObject is a controller of pods.
type workloadObject struct {
	kind     string
	meta     *metav1.ObjectMeta
	replicas *int32
	template *v1.PodTemplateSpec
	job      *batchv1.Job        // nil if it is another kind
	set      *appsv1.StatefulSet // nil if it is another kind
}

func workloadOf(object runtime.Object) (w workloadObject, err error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return workloadObject{"Deployment", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil, nil}, nil
	case *appsv1.ReplicaSet:
		return workloadObject{"ReplicaSet", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil, nil}, nil
	case *appsv1.StatefulSet:
		return workloadObject{"StatefulSet", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil, o}, nil
	case *batchv1.Job:
		return workloadObject{"Job", &o.ObjectMeta, o.Spec.Parallelism, &o.Spec.Template, o, nil}, nil
	}
	return w, fmt.Errorf("%T is not a Node, Pod, PodDisruptionBudget, PersistentVolume, PersistentVolumeClaim, Deployment, ReplicaSet, StatefulSet or Job", object)
}

// usualBackoffLimit is what the API server sets.
const usualBackoffLimit = 6

// jobOf is what a simulation knows of a Job. Its rules for failures, by index or by reason, are not simulated. What is
// younger than the oldest API is read by its name.
func jobOf(object *batchv1.Job) jobSpec {
	var j struct {
		Spec struct {
			BackoffLimit         *int
			BackoffLimitPerIndex *int
			PodFailurePolicy     *struct{}
			PodReplacementPolicy string
			Suspend              bool
		}
		Status struct {
			Failed                  int
			UncountedTerminatedPods struct{ Failed []string }
			Conditions              []struct{ Type, Status string }
		}
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	if err != nil {
		return jobSpec{Other: true, Limit: -1} // impossible for this type
	}
	s := jobSpec{
		Limit: usualBackoffLimit, Failed: j.Status.Failed + len(j.Status.UncountedTerminatedPods.Failed),
		OnlyFailed: j.Spec.PodReplacementPolicy == "Failed", Ended: j.Spec.Suspend, PerIndex: j.Spec.BackoffLimitPerIndex != nil,
	}
	if j.Spec.PodReplacementPolicy == "" { // the API server's default
		s.OnlyFailed = j.Spec.PodFailurePolicy != nil
	}
	if j.Spec.BackoffLimit != nil {
		s.Limit = *j.Spec.BackoffLimit
	}
	if j.Spec.PodFailurePolicy != nil || j.Spec.BackoffLimitPerIndex != nil {
		s.Other, s.Limit = true, -1
	}
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case "Complete", "SuccessCriteriaMet", "Failed", "FailureTarget":
			s.Ended = s.Ended || c.Status == "True"
		}
	}
	return s
}

// hash stands in for the hash of a Deployment's pod template.
const hash = "sim"

// wanted returns the desired number of pods.
func (w *workloadObject) wanted() (int, error) {
	switch {
	case w.meta.Name == "":
		return 0, errNoName
	case w.set != nil && firstOrdinal(w.set) < 0:
		return 0, fmt.Errorf("StatefulSet %s: ordinals.start: %d is negative", w.meta.Name, firstOrdinal(w.set))
	case w.replicas == nil: // the API server's default
		return 1, nil
	case *w.replicas < 0:
		return 0, fmt.Errorf("%s %s: replicas: %d is negative", w.kind, w.meta.Name, *w.replicas)
	}
	return int(*w.replicas), nil
}

// pod returns the i-th pod of the workload.
func (w *workloadObject) pod(i int) *v1.Pod {
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: w.kind, Name: w.meta.Name, UID: w.meta.UID, Controller: &isTrue}
	pod := &v1.Pod{Spec: w.template.Spec}
	pod.Labels = w.template.Labels
	switch w.kind {
	case "Deployment":
		owner.Kind, owner.Name = "ReplicaSet", owner.Name+"-"+hash
		pod.Labels = make(map[string]string, len(w.template.Labels)+1)
		maps.Copy(pod.Labels, w.template.Labels)
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	case "Job":
		owner.APIVersion = "batch/v1"
	}
	pod.Name, pod.Namespace = owner.Name+"-"+strconv.Itoa(i), inDefault(w.meta.Namespace)
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	pod.Spec.Tolerations = admitted(pod.Spec.Tolerations, int64(usualTolerance))
	return pod
}
