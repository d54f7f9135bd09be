package snapshot_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// secret is in every field that a snapshot must not read.
const secret = "s3cret"

func described(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.UID = types.UID("uid-" + m.Namespace + m.Name)
	m.CreationTimestamp = metav1.NewTime(time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC).Local())
	m.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": secret}
	m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: secret}}
	return m
}

// cluster has one of everything that a simulation could depend on, in two zones.
func cluster() (all []runtime.Object) {
	for i := range 8 {
		n := &v1.Node{ObjectMeta: described(metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{
			v1.LabelTopologyZone: fmt.Sprint("z", i%2), v1.LabelTopologyRegion: "r", v1.LabelHostname: fmt.Sprint("n", i), "pool": fmt.Sprint(i % 3),
		}})}
		n.Spec = v1.NodeSpec{ProviderID: secret, PodCIDR: secret}
		n.Status = v1.NodeStatus{
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: secret}},
			Capacity: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("12"),
			},
			NodeInfo: v1.NodeSystemInfo{MachineID: secret}, Addresses: []v1.NodeAddress{{Address: secret}}, Images: []v1.ContainerImage{{Names: []string{secret}}},
		}
		if i%2 == 0 {
			n.Status.Allocatable = n.Status.Capacity.DeepCopy()
			n.Status.Allocatable["example.org/gpu"] = resource.MustParse("3")
		}
		switch i {
		case 5:
			n.Spec.Taints = []v1.Taint{{Key: "spot", Value: "yes", Effect: v1.TaintEffectNoSchedule}}
		case 6:
			n.Spec.Unschedulable = true
		case 7:
			n.Status.Conditions[0].Status = v1.ConditionUnknown
			added := metav1.NewTime(time.Date(1999, 12, 31, 23, 58, 0, 0, time.UTC))
			n.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &added}}
		}
		all = append(all, n)
	}
	two, half := intstr.FromInt32(2), intstr.FromString("50%")
	always := policyv1.AlwaysAllow
	for i, spec := range []policyv1.PodDisruptionBudgetSpec{{MinAvailable: &half}, {MaxUnavailable: &two, UnhealthyPodEvictionPolicy: &always}} {
		spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"a0", "a1"}}}}
		all = append(all, &policyv1.PodDisruptionBudget{ObjectMeta: described(metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("b", i)}), Spec: spec})
	}
	for i := range 64 {
		all = append(all, pod(i))
	}
	set := &appsv1.StatefulSet{ObjectMeta: described(metav1.ObjectMeta{Namespace: "default", Name: "owner-1"})}
	set.Spec = appsv1.StatefulSetSpec{
		Replicas: new(int32), PodManagementPolicy: appsv1.ParallelPodManagement, Ordinals: &appsv1.StatefulSetOrdinals{Start: 4},
		Template: v1.PodTemplateSpec{Spec: v1.PodSpec{Hostname: secret}},
	}
	return append(append(all, set), volumes()...)
}

// volumes returns the volume of the pod with a claim, and the Jobs of the pods that have one.
func volumes() (all []runtime.Object) {
	v := &v1.PersistentVolume{ObjectMeta: described(metav1.ObjectMeta{Name: "v", Labels: map[string]string{v1.LabelTopologyZone: "z1"}})}
	v.Spec.AccessModes, v.Spec.PersistentVolumeSource.NFS = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, &v1.NFSVolumeSource{Server: secret, Path: secret}
	v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyRegion, Operator: v1.NodeSelectorOpExists}},
	}}}}
	c := &v1.PersistentVolumeClaim{ObjectMeta: described(metav1.ObjectMeta{Namespace: "default", Name: "data"})}
	c.Spec.AccessModes, c.Spec.VolumeName = v.Spec.AccessModes, "v"
	c.Spec.StorageClassName = new(secret)
	all = append(all, v, c)
	for name, spec := range jobs {
		j := &batchv1.Job{ObjectMeta: described(metav1.ObjectMeta{Namespace: "default", Name: name})}
		j.Spec.Parallelism = new(int32) // all its pods are there
		j.Spec.BackoffLimit, j.Spec.Template.Spec.Hostname = new(int32(max(spec.Limit, 0))), secret
		if spec.Other {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: secret}}}
		}
		if spec.OnlyFailed {
			j.Spec.PodReplacementPolicy = new(batchv1.Failed)
		}
		j.Status.Failed = int32(spec.Failed) - 1
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"gone"}}
		all = append(all, j)
	}
	return all
}

// jobs are those of namespace default.
// jobSpec is what decides about a Job's pods.
type jobSpec struct {
	Limit, Failed     int
	OnlyFailed, Other bool
}

var jobs = map[string]jobSpec{"owner-1": {Limit: 3, Failed: 2}, "owner-2": {Limit: -1, Failed: 1, OnlyFailed: true, Other: true}}

// pod returns the i-th pod, each of another kind.
func pod(i int) *v1.Pod {
	kinds := []string{"ReplicaSet", "StatefulSet", "DaemonSet", "Job", ""}
	p := &v1.Pod{ObjectMeta: described(metav1.ObjectMeta{
		Namespace: []string{"shop", "default"}[i%5%2], Name: fmt.Sprint("p", i), Labels: map[string]string{"app": fmt.Sprint("a", i%3), "pod-template-hash": "1"},
	})}
	if kind := kinds[i%5]; kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner-1", Controller: new(true)}}
		if kind == "Job" && i%3 == 0 {
			p.OwnerReferences[0].Name = "owner-2"
		}
	}
	p.Spec = v1.PodSpec{
		NodeName: fmt.Sprint("n", i%8), SchedulerName: v1.DefaultSchedulerName, ServiceAccountName: secret, Hostname: secret,
		Containers: []v1.Container{{
			Name: "main", Image: secret, Command: []string{secret}, Args: []string{secret}, Env: []v1.EnvVar{{Name: secret, Value: secret}},
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}},
		}},
		Volumes:     []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: secret}}}},
		Tolerations: []v1.Toleration{{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(30 * (i % 4)))}},
	}
	p.Status = v1.PodStatus{
		Phase: v1.PodRunning, Message: secret, PodIP: secret, HostIP: secret, StartTime: new(metav1.NewTime(time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC))),
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, Message: secret}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}},
	}
	peculiar(p, i)
	return p
}

func peculiar(p *v1.Pod, i int) {
	matching := []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a0"}}}}
	s := &p.Spec
	switch i {
	case 9: // kubectl drain refuses its node
		s.Volumes = append(s.Volumes, v1.Volume{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: secret}}})
	case 1, 2:
		s.NodeSelector = map[string]string{"pool": "0"}
	case 3, 4:
		s.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpGt, Values: []string{"0"}}}}},
		}}}
	case 5, 6:
		s.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: matching}}
	case 8:
		matching[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: matching}}
	case 10:
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: matching[0]}}}}
	case 12:
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule}}
	case 13:
		s.Volumes = append(s.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
	case 14:
		s.Volumes = append(s.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
			VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: secret}},
		}}})
	case 15:
		s.Containers[0].Ports = []v1.ContainerPort{{Name: secret, ContainerPort: 80, HostPort: 80}}
	case 16:
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	case 17:
		s.SchedulerName = "own"
	case 18:
		s.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	case 20:
		s.Priority = new(int32(7))
	case 21:
		p.Annotations[v1.MirrorPodAnnotationKey] = secret
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: s.NodeName, Controller: new(true)}}
	case 22:
		p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))), []string{secret}
	case 23, 24:
		p.Status.Phase = v1.PodSucceeded
	case 25:
		s.NodeName = ""
	case 26, 27:
		s.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	case 28, 29, 30, 31, 32:
		s.InitContainers = []v1.Container{{Name: "side", Image: secret, RestartPolicy: new(v1.ContainerRestartPolicyAlways), Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2500m"), "example.org/gpu": resource.MustParse("1")},
		}}}
	case 33, 34:
		s.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}
	}
}
