package drill

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// otherwise is what else may help, and cannot be played.
var otherwise = map[string]string{
	jobFailed:   "The pods of a Job that has failed count as missing, and no longer as lost: so what keeps a Job going may cost pod-hours lost.",
	lackedPods:  "Find out why they were missing: kubectl get pods -A --field-selector status.phase=Pending",
	notReadyOne: "Find out why that pod is not Ready.",
	noRoom:      "Lower requests make room, too, if the pods need less than they ask for.",
	severalNo:   "Look at what refuses them, rule by rule: kubectl describe pod.",
}

// propose returns what could help a group, to be played.
func (c *Cluster) propose(g *Group, loss *Loss) (all []Remedy) {
	switch g.of.kind {
	case nobodys:
		all = owned(g)
	case jobFailed:
		all = c.forJobs(g, loss)
	case stuckPods, inUse:
		all = []Remedy{c.outOfServiceTaint(loss)}
	case notReadyOne:
		all = parallel(g)
	case singlePod:
		all = c.secondReplica(g, loss)
	case together:
		all = c.spreading(g, loss)
	case turnNever, turnLate, noticedLate:
		all = c.settings(g.of.kind)
	case tolerated, forEver:
		all = c.shorter(g)
	case spreadNo:
		all = c.otherSpread(g, loss)
	case affinityNo:
		all = preferred(g)
	case portNo:
		all = withoutPorts(g)
	case volumeNo:
		all = c.reachable(g)
	case selectorNo:
		all = anyNode(g)
	case taintNo:
		all = c.tolerating(g, loss)
	case cordonedNo:
		all = c.uncordoned(loss)
	}
	if slices.Contains([]string{noRoom, severalNo, nodesGone, affinityNo, portNo, selectorNo}, g.of.kind) {
		all = append(all, c.nodesLike(g, loss))
	}
	for i := range all {
		if g.of.freed {
			all[i] = all[i].and(c.outOfServiceTaint(loss))
		}
	}
	return all
}

// and is a remedy together with the taint.
func (m Remedy) and(taint Remedy) Remedy {
	m.Name, m.Tainted = m.Name+", and out-of-service taint if surely off", true
	m.How, m.But, m.alters = slices.Concat(m.How, taint.How), slices.Concat(m.But, taint.But), slices.Concat(m.alters, taint.alters)
	return m
}

// outOfServiceTaint frees stuck pods.
func (c *Cluster) outOfServiceTaint(loss *Loss) Remedy {
	const taint = "node.kubernetes.io/out-of-service"
	nodes := c.chosen(loss)
	return Remedy{
		Name: fmt.Sprintf("out-of-service taint after %.0fm, if the machines are surely off", remedyAfter.Minutes()),
		How: []string{
			"kubectl taint node " + nodes + " " + taint + "=nodeshutdown:NoExecute",
			"kubectl taint node " + nodes + " " + taint + "-   # when they are back",
		},
		But: []string{
			"Only if the lost machines are surely off: on one that still runs, the old pods go on, and write to the same volumes as the new ones.",
		},
		Hasty: -1, alters: []alter{outOfService(loss)},
	}
}

// chosen selects the nodes of a loss for kubectl.
func (c *Cluster) chosen(loss *Loss) string {
	for value, nodes := range c.byLabel(loss.Label) {
		if len(nodes) > 1 && len(nodes) == len(loss.Nodes) && slices.Contains(nodes, loss.Nodes[0]) {
			return "-l " + loss.Label + "=" + value
		}
	}
	return firstOf(loss.Nodes)
}

// firstOf names the first of some things.
func firstOf(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], " ")
	if len(names) > most {
		text += " …"
	}
	return text
}

// templates says for whom a change of a pod template holds.
func templates(g *Group) (but []string) {
	job := slices.ContainsFunc(g.Workloads, func(w *simulation.WorkloadReport) bool { return w.Kind == "Job" })
	other := slices.ContainsFunc(g.Workloads, func(w *simulation.WorkloadReport) bool { return w.Kind != "Job" })
	if other {
		but = append(but, "Pods that exist keep what their template said. Those of a Deployment or StatefulSet are replaced when it changes.")
	}
	if job {
		but = append(but, "The template of a Job that exists cannot be changed: only new Jobs have another.")
	}
	return but
}

// nodesLike proposes more nodes, where the others are.
func (c *Cluster) nodesLike(g *Group, loss *Loss) Remedy {
	pods := make(map[string]int)
	for _, pod := range c.pods {
		if g.has(pod.workload) && slices.Contains(loss.Nodes, pod.node) {
			pods[pod.node]++
		}
	}
	var like *v1.Node
	var others []*v1.Node
	for _, n := range c.objects.Nodes {
		switch {
		case !slices.Contains(loss.Nodes, n.Name):
			others = append(others, n)
		case like == nil || pods[n.Name] > pods[like.Name]:
			like = n
		}
	}
	alike := 0
	for i := range c.nodes {
		if n := &c.nodes[i]; slices.Contains(loss.Nodes, n.name) && n.class == class(like.Labels) {
			alike++
		}
	}
	name := "like " + like.Name
	if class := class(like.Labels); class != "" {
		name += " (" + class + ")"
	}
	if loss.Label != v1.LabelHostname && len(others) > 0 {
		name += " elsewhere"
	}
	others = domains(others, loss.Label)
	return Remedy{
		Name: name, Hasty: -1, count: alike, How: []string{describe(like, loss.Label, others)},
		more: func(count int) alter { return moreNodes(like, loss.Label, others, count) },
	}
}

// describe says what such nodes have, and where they are to be.
func describe(like *v1.Node, label string, others []*v1.Node) string {
	var has, where []string
	for _, name := range slices.Sorted(maps.Keys(like.Status.Allocatable)) {
		amount := like.Status.Allocatable[name]
		has = append(has, fmt.Sprintf("%s: %s", name, amount.String()))
	}
	for _, n := range others {
		where = append(where, n.Labels[label])
	}
	text := "allocatable: {" + strings.Join(has, ", ") + "}"
	if label != v1.LabelHostname && len(where) > 0 {
		text += "   # in turn where " + label + " is " + firstOf(where)
	}
	return text
}

// domains returns a node for each value of a label.
func domains(nodes []*v1.Node, label string) (one []*v1.Node) {
	seen := make(map[string]bool)
	for _, n := range nodes {
		if value := n.Labels[label]; !seen[value] {
			seen[value] = true
			one = append(one, n)
		}
	}
	return one
}

// settings proposes settings that let pods leave earlier.
func (c *Cluster) settings(kind string) (all []Remedy) {
	today := c.Config.Nodes
	set := func(flag, value string, change func(*simulation.Scenario)) {
		all = append(all, Remedy{
			Name: flag + "=" + value, How: []string{"kube-controller-manager --" + flag + "=" + value + ", or the same flag of evictord"},
			Hasty: 0, alters: []alter{change},
		})
	}
	switch kind {
	case turnNever:
		set("unhealthy-zone-threshold", "1", func(s *simulation.Scenario) { s.Config.Nodes.UnhealthyZoneThreshold = 1 })
		set("secondary-node-eviction-rate", fmt.Sprint(today.NodeEvictionRate), func(s *simulation.Scenario) {
			s.Config.Nodes.SecondaryNodeEvictionRate, s.Config.Nodes.LargeClusterSizeThreshold = today.NodeEvictionRate, 0
		})
		all[1].How = append(all[1].How, "kube-controller-manager --large-cluster-size-threshold=0, or the same flag of evictord")
	case turnLate:
		set("node-eviction-rate", fmt.Sprint(10*today.NodeEvictionRate), func(s *simulation.Scenario) { s.Config.Nodes.NodeEvictionRate = 10 * today.NodeEvictionRate })
	default:
		if today.NodeMonitorGracePeriod > leastGrace {
			set("node-monitor-grace-period", leastGrace.String(), func(s *simulation.Scenario) { s.Config.Nodes.NodeMonitorGracePeriod = leastGrace })
		}
	}
	return all
}
