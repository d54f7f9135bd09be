package noderecord

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim returns what a record needs of a pod: its name, UID, priority, resources, volumes, tolerations and grace period,
// and what says that it is a static pod. Everything else may be secret: environments, commands, images, paths.
func Trim(pod *v1.Pod) *v1.Pod {
	trimmed := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Spec: v1.PodSpec{
			Containers: containers(pod.Spec.Containers), InitContainers: containers(pod.Spec.InitContainers), Resources: pod.Spec.Resources, Overhead: pod.Spec.Overhead,
			Priority: pod.Spec.Priority, Tolerations: pod.Spec.Tolerations, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds,
		},
	}
	for _, key := range []string{"kubernetes.io/config.source", v1.MirrorPodAnnotationKey} {
		if value, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, value)
		}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		kept := v1.Volume{Name: v.Name, VolumeSource: v1.VolumeSource{EmptyDir: v.EmptyDir}}
		switch {
		case v.HostPath != nil:
			kept.HostPath = &v1.HostPathVolumeSource{}
		case v.GitRepo != nil:
			kept.GitRepo = &v1.GitRepoVolumeSource{}
		case v.ConfigMap != nil:
			kept.ConfigMap = &v1.ConfigMapVolumeSource{}
		}
		trimmed.Spec.Volumes = append(trimmed.Spec.Volumes, kept)
	}
	return trimmed
}

func containers(all []v1.Container) (kept []v1.Container) {
	for i := range all {
		kept = append(kept, v1.Container{Name: all[i].Name, Resources: all[i].Resources, RestartPolicy: all[i].RestartPolicy})
	}
	return kept
}
