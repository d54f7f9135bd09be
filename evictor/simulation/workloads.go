package simulation

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/internal/simulator"
)

// workload is a controller of pods.
type workload struct {
	kind     string
	meta     *metav1.ObjectMeta
	replicas *int32
	template *v1.PodTemplateSpec
	job      *batchv1.Job // nil if it is another kind
}

func workloadOf(object runtime.Object) (w workload, err error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o != nil {
			return workload{"Deployment", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil}, nil
		}
	case *appsv1.ReplicaSet:
		if o != nil {
			return workload{"ReplicaSet", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil}, nil
		}
	case *appsv1.StatefulSet:
		if o != nil {
			return workload{"StatefulSet", &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template, nil}, nil
		}
	case *batchv1.Job:
		if o != nil {
			return workload{"Job", &o.ObjectMeta, o.Spec.Parallelism, &o.Spec.Template, o}, nil
		}
	case nil:
	default:
		return w, fmt.Errorf("%T is not a Deployment, ReplicaSet, StatefulSet or Job", object)
	}
	return w, errNil
}

// jobOf is what the engine knows of a Job. Its rules for failures, by index or by reason, are not simulated.
func jobOf(job *batchv1.Job) simulator.JobSpec {
	s := simulator.JobSpec{Limit: 6, Failed: int(job.Status.Failed)} // 6 is the API server's default
	if job.Spec.BackoffLimit != nil {
		s.Limit = int(*job.Spec.BackoffLimit)
	}
	if policy := job.Spec.PodReplacementPolicy; policy != nil {
		s.OnlyFailed = *policy == batchv1.Failed
	}
	if job.Spec.PodFailurePolicy != nil || job.Spec.BackoffLimitPerIndex != nil {
		s.Other, s.Limit = true, -1
	}
	return s
}

// hash stands in for the hash of a Deployment's pod template.
const hash = "sim"

// wanted returns the desired number of pods.
func (w *workload) wanted() (int, error) {
	switch {
	case w.meta.Name == "":
		return 0, errNoName
	case w.replicas == nil: // the API server's default
		return 1, nil
	case *w.replicas < 0:
		return 0, fmt.Errorf("%s %s: replicas: %d is negative", w.kind, w.meta.Name, *w.replicas)
	}
	return int(*w.replicas), nil
}

// pod returns the i-th pod of the workload.
func (w *workload) pod(i int) *v1.Pod {
	isTrue := true
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
	pod.Spec.Tolerations = simulator.Admitted(pod.Spec.Tolerations, 300)
	return pod
}
