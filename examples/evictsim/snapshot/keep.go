package snapshot

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A snapshot has only what is named here, so a field of a later Kubernetes stays out until somebody has looked at it.

func meta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, Labels: m.Labels,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		OwnerReferences: m.OwnerReferences,
	}
	if _, mirrors := m.Annotations[v1.MirrorPodAnnotationKey]; mirrors {
		kept.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "mirror"}
	}
	return kept
}

func node(n *v1.Node) *v1.Node {
	kept := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta(&n.ObjectMeta)}
	kept.Spec.Unschedulable = n.Spec.Unschedulable
	for _, t := range n.Spec.Taints {
		kept.Spec.Taints = append(kept.Spec.Taints, v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: t.TimeAdded})
	}
	kept.Status.Capacity, kept.Status.Allocatable = n.Status.Capacity, n.Status.Allocatable
	for _, c := range n.Status.Conditions { // messages may reveal more than intended
		kept.Status.Conditions = append(kept.Status.Conditions, v1.NodeCondition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, LastHeartbeatTime: c.LastHeartbeatTime, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return kept
}

func budget(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta(&b.ObjectMeta),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: b.Spec.MinAvailable, MaxUnavailable: b.Spec.MaxUnavailable, Selector: b.Spec.Selector,
			UnhealthyPodEvictionPolicy: b.Spec.UnhealthyPodEvictionPolicy,
		},
	}
}

// volume keeps where a volume is, and whether it is of a kind that is attached to nodes.
func volume(v *v1.PersistentVolume) *v1.PersistentVolume {
	kept := &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: meta(&v.ObjectMeta)}
	kept.Spec.AccessModes, kept.Spec.NodeAffinity = v.Spec.AccessModes, v.Spec.NodeAffinity
	if of := v.Spec.ClaimRef; of != nil {
		kept.Spec.ClaimRef = &v1.ObjectReference{Namespace: of.Namespace, Name: of.Name}
	}
	switch {
	case v.Spec.NFS != nil:
		kept.Spec.NFS = &v1.NFSVolumeSource{}
	case v.Spec.Local != nil:
		kept.Spec.Local = &v1.LocalVolumeSource{}
	case v.Spec.HostPath != nil:
		kept.Spec.HostPath = &v1.HostPathVolumeSource{}
	case v.Spec.CephFS != nil:
		kept.Spec.CephFS = &v1.CephFSPersistentVolumeSource{}
	case v.Spec.Glusterfs != nil:
		kept.Spec.Glusterfs = &v1.GlusterfsPersistentVolumeSource{}
	case v.Spec.AzureFile != nil:
		kept.Spec.AzureFile = &v1.AzureFilePersistentVolumeSource{}
	}
	return kept
}

func claim(c *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	kept := &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: meta(&c.ObjectMeta)}
	kept.Spec.AccessModes, kept.Spec.VolumeName = c.Spec.AccessModes, c.Spec.VolumeName
	return kept
}

func job(j *batchv1.Job) *batchv1.Job {
	kept := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta(&j.ObjectMeta)}
	kept.Spec = batchv1.JobSpec{
		BackoffLimit: j.Spec.BackoffLimit, BackoffLimitPerIndex: j.Spec.BackoffLimitPerIndex,
		PodReplacementPolicy: j.Spec.PodReplacementPolicy, Suspend: j.Spec.Suspend,
	}
	if j.Spec.PodFailurePolicy != nil {
		kept.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	}
	kept.Status.Failed = j.Status.Failed
	if u := j.Status.UncountedTerminatedPods; u != nil {
		kept.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: u.Failed}
	}
	for _, c := range j.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, batchv1.JobCondition{Type: c.Type, Status: c.Status})
	}
	return kept
}

// set keeps what a StatefulSet says about its ordinals.
func set(s *appsv1.StatefulSet) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta(&s.ObjectMeta),
		Spec: appsv1.StatefulSetSpec{PodManagementPolicy: s.Spec.PodManagementPolicy, Ordinals: s.Spec.Ordinals},
	}
}

func pod(p *v1.Pod) *v1.Pod {
	kept := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(&p.ObjectMeta)}
	kept.Spec = v1.PodSpec{
		NodeName: p.Spec.NodeName, NodeSelector: p.Spec.NodeSelector, Affinity: p.Spec.Affinity, Tolerations: p.Spec.Tolerations,
		TopologySpreadConstraints: p.Spec.TopologySpreadConstraints, SchedulingGates: p.Spec.SchedulingGates, SchedulerName: p.Spec.SchedulerName,
		Priority: p.Spec.Priority, PreemptionPolicy: p.Spec.PreemptionPolicy, RestartPolicy: p.Spec.RestartPolicy, PriorityClassName: p.Spec.PriorityClassName, Overhead: p.Spec.Overhead, Resources: p.Spec.Resources,
		HostNetwork: p.Spec.HostNetwork, TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
		Containers: containers(p.Spec.Containers), InitContainers: containers(p.Spec.InitContainers), Volumes: volumes(p.Spec.Volumes),
	}
	for _, c := range p.Spec.ResourceClaims {
		kept.Spec.ResourceClaims = append(kept.Spec.ResourceClaims, v1.PodResourceClaim{
			Name: c.Name, ResourceClaimName: c.ResourceClaimName, ResourceClaimTemplateName: c.ResourceClaimTemplateName,
		})
	}
	kept.Status = v1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime, QOSClass: p.Status.QOSClass}
	for _, c := range p.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, v1.PodCondition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return kept
}

func containers(all []v1.Container) (kept []v1.Container) {
	for i := range all {
		c := v1.Container{Name: all[i].Name, Resources: all[i].Resources, RestartPolicy: all[i].RestartPolicy}
		for _, p := range all[i].Ports {
			if p.HostPort > 0 {
				c.Ports = append(c.Ports, v1.ContainerPort{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: p.Protocol})
			}
		}
		kept = append(kept, c)
	}
	return kept
}

// volumes keeps the volumes that bind a pod to the place of its data, or are lost when it leaves.
func volumes(all []v1.Volume) (kept []v1.Volume) {
	for i := range all {
		v := v1.Volume{Name: all[i].Name}
		switch {
		case all[i].PersistentVolumeClaim != nil:
			v.PersistentVolumeClaim = all[i].PersistentVolumeClaim
		case all[i].Ephemeral != nil:
			v.Ephemeral = &v1.EphemeralVolumeSource{}
		case all[i].EmptyDir != nil: // a drain deletes its data
			v.EmptyDir = &v1.EmptyDirVolumeSource{}
		default:
			continue
		}
		kept = append(kept, v)
	}
	return kept
}
