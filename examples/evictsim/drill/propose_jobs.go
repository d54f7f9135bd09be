package drill

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// forJobs proposes what keeps Jobs from failing because their pods are evicted.
func (c *Cluster) forJobs(g *Group, loss *Loss) []Remedy {
	limit, restarted := c.limits(g, loss)
	backoff := Remedy{Name: fmt.Sprintf("backoffLimit: %d", limit), Hasty: -1, But: []string{
		"It can be changed while a Job runs. Each failure doubles the time until the Job makes its next pod, up to 10m.",
	}}
	for i, w := range g.Workloads {
		if i == mostCommands {
			backoff.How = append(backoff.How, fmt.Sprintf("and the same for the other %d", len(g.Workloads)-i))
			break
		}
		backoff.How = append(backoff.How, fmt.Sprintf(`kubectl patch job -n %s %s --type=merge -p '{"spec":{"backoffLimit":%d}}'`, w.Namespace, w.Name, limit))
	}
	backoff.alters = []alter{g.onJobs(func(job *batchv1.Job) {
		limit := int32(limit)
		job.Spec.BackoffLimit = &limit
	})}
	policy := Remedy{Name: "podFailurePolicy that ignores disruptions", Hasty: -1, How: []string{
		`podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}`,
	}, But: []string{
		"It cannot be changed in a Job that exists: it holds for new Jobs.",
		"With it, a pod is replaced only when it is gone (podReplacementPolicy: Failed): those on silent nodes not until these are back.",
	}}
	if restarted {
		policy.But = append(policy.But, "It needs restartPolicy: Never, which some of these do not have.")
	}
	policy.alters = []alter{g.onJobs(func(job *batchv1.Job) {
		failed := batchv1.Failed
		job.Spec.PodReplacementPolicy, job.Spec.PodFailurePolicy = &failed, &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
		}}}
	})}
	return []Remedy{backoff, policy.and(c.outOfServiceTaint(loss)), policy}
}

// mostCommands is how many Jobs have their command shown.
const mostCommands = 2

// onJobs alters copies of the group's Jobs.
func (g *Group) onJobs(change func(*batchv1.Job)) alter {
	return onObjects(func(job *batchv1.Job) {
		if g.has(nameOf(job.Namespace, "Job", job.Name)) {
			change(job)
		}
	})
}

// usualBackoffLimit is the API server's default.
const usualBackoffLimit = 6

// limits returns a backoffLimit that all of a group's Jobs keep to if each of their pods on the lost nodes fails, and as many others
// as today's limits allow. It also says whether kubelets restart some of their pods.
func (c *Cluster) limits(g *Group, loss *Loss) (enough int, restarted bool) {
	lost := make(map[string]int)
	for _, pod := range c.pods {
		if slices.Contains(loss.Nodes, pod.node) {
			lost[pod.workload]++
		}
	}
	for _, object := range c.objects.Objects {
		job, is := object.(*batchv1.Job)
		if !is || !g.has(nameOf(job.Namespace, "Job", job.Name)) {
			continue
		}
		today := usualBackoffLimit
		if job.Spec.BackoffLimit != nil {
			today = int(*job.Spec.BackoffLimit)
		}
		enough = max(enough, today+lost[nameOf(job.Namespace, "Job", job.Name)])
	}
	for _, pod := range c.objects.Pods {
		restarted = restarted || g.has(workloadOf(pod)) && pod.Spec.RestartPolicy != v1.RestartPolicyNever
	}
	return enough, restarted
}
