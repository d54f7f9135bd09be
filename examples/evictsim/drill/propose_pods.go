package drill

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// owned proposes controllers for pods that have none.
func owned(g *Group) []Remedy {
	isTrue := true
	return []Remedy{{
		Name: "a controller for each", How: []string{"kind: Deployment   # or Job: with replicas: 1, and what the pod is as its template"},
		But: []string{"A pod that exists gets no controller by this: delete it once the new one runs."}, Hasty: -1,
		alters: []alter{g.onPods(func(pod *v1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pod.Name, Controller: &isTrue}}
		})},
	}}
}

// parallel proposes StatefulSets whose pods do not wait for each other.
func parallel(g *Group) []Remedy {
	return []Remedy{{
		Name: "podManagementPolicy: Parallel", How: []string{"podManagementPolicy: Parallel"}, Hasty: -1,
		But: []string{"It cannot be changed in a StatefulSet that exists: kubectl delete statefulset --cascade=orphan, then make it anew."},
		alters: []alter{onObjects(func(set *appsv1.StatefulSet) {
			if g.has(nameOf(set.Namespace, "StatefulSet", set.Name)) {
				set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			}
		})},
	}}
}

// secondReplica proposes another pod for workloads that have one.
func (c *Cluster) secondReplica(g *Group, loss *Loss) []Remedy {
	return []Remedy{{
		Name: "a second replica elsewhere", How: append([]string{"replicas: 2"}, spreadLines(loss.Label)...), Hasty: -1, template: true,
		alters: []alter{g.secondReplicas(loss.Label, c.selectors(g))},
	}}
}

// spreading proposes that workloads be spread over what is lost.
func (c *Cluster) spreading(g *Group, loss *Loss) []Remedy {
	selectors := c.selectors(g)
	if len(selectors) < len(g.names) {
		return nil // no selector would find their pods
	}
	return []Remedy{{
		Name: "topologySpreadConstraints over " + loss.Label, How: spreadLines(loss.Label),
		Hasty: -1, template: true, alters: []alter{g.spreadOver(loss.Label, selectors)},
	}}
}

// spreadLines are a constraint that a lost domain does not keep from placing pods elsewhere.
func spreadLines(label string) []string {
	return []string{
		"topologySpreadConstraints:",
		"- {topologyKey: " + label + ", maxSkew: 1, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: …}}",
	}
}

// hard returns the required spread constraints of a group's pods, one of each kind, and whether one has minDomains.
func (c *Cluster) hard(g *Group) (all []v1.TopologySpreadConstraint, least bool) {
	for _, pod := range c.objects.Pods {
		if !g.has(workloadOf(pod)) {
			continue
		}
		for _, t := range pod.Spec.TopologySpreadConstraints {
			known := slices.ContainsFunc(all, func(o v1.TopologySpreadConstraint) bool {
				return o.TopologyKey == t.TopologyKey && o.MaxSkew == t.MaxSkew
			})
			if t.WhenUnsatisfiable == v1.DoNotSchedule && !known {
				all, least = append(all, t), least || t.MinDomains != nil
			}
		}
	}
	return all, least
}

// otherSpread proposes other spread constraints: such that do not count lost nodes, let more pods into the other domains, or are
// no more than a wish.
func (c *Cluster) otherSpread(g *Group, loss *Loss) (all []Remedy) {
	hard, least := c.hard(g)
	add := func(name, but string, change func(*v1.TopologySpreadConstraint)) {
		m := Remedy{Name: name, How: []string{"topologySpreadConstraints:   # labelSelector as it is"}, Hasty: -1, template: true}
		for _, t := range hard {
			change(&t)
			m.How = append(m.How, lineOf(&t))
		}
		if but != "" {
			m.But = []string{but}
		}
		m.alters = []alter{g.onPods(func(pod *v1.Pod) {
			for i := range pod.Spec.TopologySpreadConstraints {
				if t := &pod.Spec.TopologySpreadConstraints[i]; t.WhenUnsatisfiable == v1.DoNotSchedule {
					change(t)
				}
			}
		})}
		all = append(all, m)
	}
	honor, name := v1.NodeInclusionPolicyHonor, "nodeTaintsPolicy: Honor"
	if least {
		add(name+", without minDomains", "", func(t *v1.TopologySpreadConstraint) { t.NodeTaintsPolicy, t.MinDomains = &honor, nil })
	}
	add(name, "", func(t *v1.TopologySpreadConstraint) { t.NodeTaintsPolicy = &honor })
	skew := c.skew(g, hard, loss)
	add(fmt.Sprintf("maxSkew: %d", skew), "Their domains may then differ by as many pods when no node is lost, too.", func(t *v1.TopologySpreadConstraint) {
		t.MaxSkew, t.MinDomains = max(t.MaxSkew, skew), nil
	})
	add("whenUnsatisfiable: ScheduleAnyway", "The scheduler then only prefers an even spread.", func(t *v1.TopologySpreadConstraint) {
		t.WhenUnsatisfiable, t.MinDomains = v1.ScheduleAnyway, nil
	})
	return all
}

// skew is the number of pods in each domain that is left, if the largest of a group's workloads is spread over these.
func (c *Cluster) skew(g *Group, hard []v1.TopologySpreadConstraint, loss *Loss) int32 {
	largest, fewest := 0, 0
	for _, w := range g.Workloads {
		largest = max(largest, w.Desired)
	}
	for i := range hard {
		left := 0
		for _, nodes := range c.byLabel(hard[i].TopologyKey) {
			if slices.ContainsFunc(nodes, func(name string) bool { return !slices.Contains(loss.Nodes, name) }) {
				left++
			}
		}
		if fewest == 0 || left < fewest {
			fewest = left
		}
	}
	return int32((largest + fewest - 1) / max(fewest, 1))
}

// lineOf is a constraint as a line of YAML, without its selector.
func lineOf(t *v1.TopologySpreadConstraint) string {
	text := fmt.Sprintf("- {topologyKey: %s, maxSkew: %d, whenUnsatisfiable: %s", t.TopologyKey, t.MaxSkew, t.WhenUnsatisfiable)
	if t.MinDomains != nil {
		text += fmt.Sprintf(", minDomains: %d", *t.MinDomains)
	}
	if t.NodeTaintsPolicy != nil {
		text += ", nodeTaintsPolicy: " + string(*t.NodeTaintsPolicy)
	}
	return text + "}"
}

// shorter proposes shorter tolerations of lost nodes.
func (c *Cluster) shorter(g *Group) []Remedy {
	seconds := int64(60)
	lost := []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable}
	m := Remedy{Name: fmt.Sprintf("tolerationSeconds: %d", seconds), How: []string{"tolerations:"}, template: true}
	for _, key := range lost {
		m.How = append(m.How, fmt.Sprintf("- {key: %s, operator: Exists, effect: NoExecute, tolerationSeconds: %d}", key, seconds))
	}
	m.alters = []alter{g.onPods(func(pod *v1.Pod) {
		var tolerations []v1.Toleration
		for _, key := range lost {
			tolerations = append(tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
		pod.Spec.Tolerations = append(tolerations, pod.Spec.Tolerations...) // the first that matches counts
	})}
	return []Remedy{m}
}

// preferred proposes that required pod affinity and anti-affinity be a wish.
func preferred(g *Group) []Remedy {
	return []Remedy{{
		Name: "preferred pod (anti-)affinity in place of the required one",
		How: []string{
			"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {…}}]}}",
		},
		But: []string{"Several of them may then share a node, and be lost with it."}, Hasty: -1, template: true,
		alters: []alter{g.onPods(func(pod *v1.Pod) {
			if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
				a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}
			if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
				a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}
		})},
	}}
}

// withoutPorts proposes a Service in place of host ports.
func withoutPorts(g *Group) []Remedy {
	return []Remedy{{
		Name: "a Service in place of the host ports", How: []string{"ports: [{containerPort: …}]   # without hostPort, and without hostNetwork"},
		Hasty: -1, template: true,
		alters: []alter{g.onPods(func(pod *v1.Pod) {
			pod.Spec.HostNetwork = false
			for i := range pod.Spec.Containers {
				for k := range pod.Spec.Containers[i].Ports {
					pod.Spec.Containers[i].Ports[k].HostPort = 0
				}
			}
		})},
	}}
}

// anyNode proposes that pods may go to all nodes.
func anyNode(g *Group) []Remedy {
	return []Remedy{{
		Name: "a node selector and node affinity that other nodes match", How: []string{"nodeSelector: …, or the same labels on other nodes"},
		Hasty: -1, template: true,
		alters: []alter{g.onPods(func(pod *v1.Pod) {
			pod.Spec.NodeSelector = nil
			if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
				a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}
		})},
	}}
}

// tolerating proposes tolerations of the other nodes' taints.
func (c *Cluster) tolerating(g *Group, loss *Loss) []Remedy {
	effects := make(map[string]v1.TaintEffect)
	for _, n := range c.objects.Nodes {
		for _, t := range n.Spec.Taints {
			if !slices.Contains(loss.Nodes, n.Name) && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && t.Effect != v1.TaintEffectPreferNoSchedule {
				effects[t.Key] = t.Effect
			}
		}
	}
	m := Remedy{Name: "tolerations of the other nodes' taints", How: []string{"tolerations:"}, Hasty: -1}
	var all []v1.Toleration
	for _, key := range slices.Sorted(maps.Keys(effects)) {
		m.How = append(m.How, "- {key: "+key+", operator: Exists}")
		all = append(all, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
	m.But, m.template = []string{"Somebody put these taints there to keep such pods away."}, true
	m.alters = []alter{g.onPods(func(pod *v1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, all...) })}
	return []Remedy{m}
}

// uncordoned proposes to use cordoned nodes again.
func (c *Cluster) uncordoned(loss *Loss) []Remedy {
	var names []string
	for _, n := range c.objects.Nodes {
		if n.Spec.Unschedulable && !slices.Contains(loss.Nodes, n.Name) {
			names = append(names, n.Name)
		}
	}
	return []Remedy{{
		Name: "uncordoned nodes", How: []string{"kubectl uncordon " + firstOf(names)},
		But: []string{"Find out first why they are cordoned."}, Hasty: -1,
		alters: []alter{onNodes(loss, func(n *v1.Node) {
			n.Spec.Unschedulable = false
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnschedulable })
		})},
	}}
}

// reachable proposes volumes that other zones reach.
func (c *Cluster) reachable(g *Group) []Remedy {
	claims := make(map[string]bool)
	for _, pod := range c.objects.Pods {
		for i := range pod.Spec.Volumes {
			if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && g.has(workloadOf(pod)) {
				claims[pod.Namespace+"/"+claim.ClaimName] = true
			}
		}
	}
	return []Remedy{{
		Name: "volumes that several zones reach",
		How:  []string{"storageClassName: …   # of regional or replicated storage"},
		But: []string{
			"A volume stays where it is, and volumeClaimTemplates of a StatefulSet that exists cannot be changed: new claims, and a copy of the data.",
		}, Hasty: -1,
		alters: []alter{onObjects(func(pv *v1.PersistentVolume) {
			if of := pv.Spec.ClaimRef; of != nil && claims[of.Namespace+"/"+of.Name] {
				pv.Spec.NodeAffinity = nil
				maps.DeleteFunc(pv.Labels, func(key, _ string) bool { return slices.Contains(whereLabels, key) })
			}
		})},
	}}
}
