package twins

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
)

// cast is what a cluster has, with everything that admission, defaults and controllers set and that controllers read.
type cast struct {
	nodes     []*v1.Node
	pods      []*v1.Pod
	objects   []runtime.Object // the rest
	workloads int
	next      int // the node of the next pod
}

// hourAgo is when everything was created.
var hourAgo = metav1.NewTime(simulation.Epoch.Add(-3600e9))

func clusterOf(n int) *cast {
	c := &cast{}
	for i := range n {
		node := &v1.Node{}
		node.Name, node.UID, node.CreationTimestamp = "n"+string(rune('a'+i)), types.UID(fmt.Sprint("uid-node-", i)), hourAgo
		node.Labels = map[string]string{v1.LabelTopologyZone: "z" + string(rune('a'+i%3)), v1.LabelHostname: node.Name}
		node.Status.Capacity = v1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
		c.nodes = append(c.nodes, node)
	}
	return c
}

func template(app string) v1.PodTemplateSpec {
	t := v1.PodTemplateSpec{}
	t.Labels = map[string]string{"app": app}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		t.Spec.Tolerations = append(t.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)})
	}
	t.Spec.Containers = []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("100m")}}}}
	t.Spec.RestartPolicy = v1.RestartPolicyAlways
	return t
}

// pod adds a running pod on the next node.
func (c *cast) pod(name string, t *v1.PodTemplateSpec, owner *metav1.OwnerReference) *v1.Pod {
	p := &v1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
	p.Namespace, p.Name, p.UID, p.CreationTimestamp = "default", name, types.UID("uid-"+name), hourAgo
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	p.Spec.NodeName = c.nodes[c.next%len(c.nodes)].Name
	c.next++
	p.Status.Phase, p.Status.StartTime = v1.PodRunning, ptr.To(hourAgo)
	p.Status.Conditions = []v1.PodCondition{
		{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: hourAgo},
		{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: hourAgo},
	}
	c.pods = append(c.pods, p)
	return p
}

// owns fills in what all workloads have, and returns the reference of their pods.
func (c *cast) owns(m *metav1.ObjectMeta, api, kind, name string) *metav1.OwnerReference {
	c.workloads++
	m.Namespace, m.Name, m.UID, m.CreationTimestamp = "default", name, types.UID("uid-"+kind+"-"+name), hourAgo
	return &metav1.OwnerReference{APIVersion: api, Kind: kind, Name: name, UID: m.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
}

func (c *cast) bare(name string, n int) {
	t := template(name)
	for i := range n {
		c.pod(fmt.Sprintf("%s-bare-%d", name, i), &t, nil)
	}
}

// selectorOf selects the pods of a set, and no bare ones, which it would adopt.
func selectorOf(set string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"set": set}}
}

func (c *cast) replicaSet(name string, n int) {
	rs := &appsv1.ReplicaSet{}
	owner := c.owns(&rs.ObjectMeta, "apps/v1", "ReplicaSet", name)
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(n)), Template: template(name), Selector: selectorOf(name)}
	rs.Spec.Template.Labels["set"] = name
	c.objects = append(c.objects, rs)
	for i := range n {
		c.pod(fmt.Sprintf("%s-%d", name, i), &rs.Spec.Template, owner)
	}
}

func (c *cast) statefulSet(name string, n int, policy appsv1.PodManagementPolicyType) {
	s := &appsv1.StatefulSet{}
	owner := c.owns(&s.ObjectMeta, "apps/v1", "StatefulSet", name)
	s.Spec = appsv1.StatefulSetSpec{
		Replicas: ptr.To(int32(n)), Template: template(name), PodManagementPolicy: policy, RevisionHistoryLimit: ptr.To[int32](10),
		Selector: selectorOf(name),
		// The pods have no controller-revision-hash, so a rolling update would replace them.
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
	}
	s.Spec.Template.Labels["set"] = name
	c.objects = append(c.objects, s)
	for i := range n {
		p := c.pod(fmt.Sprintf("%s-%d", name, i), &s.Spec.Template, owner)
		p.Labels[appsv1.StatefulSetPodNameLabel], p.Labels[appsv1.PodIndexLabel], p.Spec.Hostname = p.Name, fmt.Sprint(i), p.Name
	}
}

func (c *cast) job(name string, parallel, limit int, policy batchv1.PodReplacementPolicy) *batchv1.Job {
	j := &batchv1.Job{}
	owner := c.owns(&j.ObjectMeta, "batch/v1", "Job", name)
	j.Spec = batchv1.JobSpec{
		Parallelism: ptr.To(int32(parallel)), Completions: ptr.To(int32(parallel * 10)), BackoffLimit: ptr.To(int32(limit)), PodReplacementPolicy: &policy,
		CompletionMode: ptr.To(batchv1.NonIndexedCompletion), Suspend: ptr.To(false), Template: template(name),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(j.UID)}},
	}
	j.Spec.Template.Spec.RestartPolicy = v1.RestartPolicyNever
	for key, value := range map[string]string{batchv1.ControllerUidLabel: string(j.UID), batchv1.JobNameLabel: name, "controller-uid": string(j.UID), "job-name": name} {
		j.Spec.Template.Labels[key] = value
	}
	j.Status.StartTime, j.Status.Active = ptr.To(hourAgo), int32(parallel)
	c.objects = append(c.objects, j)
	for i := range parallel {
		c.pod(fmt.Sprintf("%s-%d", name, i), &j.Spec.Template, owner).Finalizers = []string{batchv1.JobTrackingFinalizer}
	}
	return j
}

// index gives each pod of a Job a part of the work by number.
func (c *cast) index(j *batchv1.Job) {
	j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	for _, p := range c.pods {
		if controllermanager.WorkloadOf(p) == "Job/"+j.Name {
			_, index, _ := strings.Cut(p.Name, j.Name+"-")
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		}
	}
}

// ignoring makes a Job count no pod that somebody has evicted as failed.
func ignoring(j *batchv1.Job) {
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
	}}}
}

// budget is a disruption budget of the pods with that label.
func (c *cast) budget(name, app string, least, most *intstr.IntOrString, policy *policyv1.UnhealthyPodEvictionPolicyType) {
	b := &policyv1.PodDisruptionBudget{}
	b.Namespace, b.Name, b.UID, b.CreationTimestamp = "default", name, types.UID("uid-pdb-"+name), hourAgo
	b.Spec = policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, MinAvailable: least, MaxUnavailable: most, UnhealthyPodEvictionPolicy: policy,
	}
	c.objects = append(c.objects, b)
}
