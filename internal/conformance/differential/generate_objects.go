package differential

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/zone"
)

// today is about now, after the beginning of a scenario.
const today = 9830 * 24 * time.Hour

func cut(s string) (before, after string, found bool) { return strings.Cut(s, ":") }

// objects makes nodes and pods that the scenario format cannot express: labels of both generations, nodes that do not
// count, taints and conditions from the start, and every kind of toleration.
func (g *generator) objects() {
	if !g.one(2) {
		return
	}
	for i := range 1 + g.IntN(3) {
		n := &v1.Node{}
		n.Name, n.UID = fmt.Sprintf("file-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
		n.CreationTimestamp = metav1.NewTime(simulation.Epoch)
		n.Labels = map[string]string{}
		key := g.zones[g.IntN(len(g.zones))].key
		if g.one(2) {
			n.Labels["topology.kubernetes.io/zone"] = key.Zone
			if key.Region != "" {
				n.Labels["topology.kubernetes.io/region"] = key.Region
			}
		} else if g.one(2) {
			n.Labels["failure-domain.beta.kubernetes.io/zone"] = "old"
			n.Labels["topology.kubernetes.io/zone"] = key.Zone
		}
		if g.one(6) {
			n.Labels["node.kubernetes.io/exclude-disruption"] = ""
		}
		if g.one(3) {
			n.Labels["kubernetes.io/os"] = "linux"
		}
		if g.one(4) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "gpu", Value: "now", Effect: pick(g, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute)})
		}
		mute := g.one(4)
		if mute { // it was created before the start, and has never reported
			n.CreationTimestamp = metav1.NewTime(simulation.Epoch.Add(-time.Duration(pick(g, 3, 20, 58, 600)) * time.Second))
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse}}
			g.add(time.Duration(1+i)*time.Millisecond, simulation.Event{Fail: &simulation.Nodes{Names: []string{n.Name}}})
		}
		g.c.Nodes = append(g.c.Nodes, n)
		g.addNode(n.Name, g.zone(zone.KeyOf(n.Labels)))
		g.nodes[n.Name].failed = mute
		for k := range g.IntN(4) {
			g.c.Pods = append(g.c.Pods, g.pod(fmt.Sprintf("%s-q%d", n.Name, k), n.Name))
		}
		if g.against == V118Direct {
			p := g.pod(n.Name+"-plain", n.Name)
			p.Annotations, p.Status.Phase, p.Status.Conditions[0].Status = nil, v1.PodRunning, v1.ConditionTrue
			g.c.Pods = append(g.c.Pods, p)
		}
	}
}

// dates makes the file's objects, which are from the beginning of the scenario, as old as if they had been read today, or takes
// their dates away. Neither changes what anybody does.
func (g *generator) dates() {
	kind := g.IntN(4)
	date := func(at *metav1.Time) {
		switch kind {
		case 0:
			*at = metav1.NewTime(at.Add(today))
		case 1:
			*at = metav1.Time{}
		}
	}
	for _, n := range g.c.Nodes {
		if kind != 1 || !mute(n) { // whose age decides
			date(&n.CreationTimestamp)
		}
	}
	for _, p := range g.c.Pods {
		date(&p.CreationTimestamp)
		for i := range p.Status.Conditions {
			if at := &p.Status.Conditions[i].LastTransitionTime; !at.IsZero() {
				date(at)
			}
		}
	}
}

// fileNode makes a node of the scenario's file of objects.
func (g *generator) fileNode(i int, in string) *v1.Node {
	n := &v1.Node{}
	n.Name, n.UID = fmt.Sprintf("file-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
	n.CreationTimestamp = metav1.NewTime(simulation.Epoch)
	n.Labels = map[string]string{v1.LabelTopologyZone: in}
	g.c.Nodes = append(g.c.Nodes, n)
	g.addNode(n.Name, g.zone(zone.KeyOf(n.Labels)))
	return n
}

func (g *generator) pod(name, node string) *v1.Pod {
	p := &v1.Pod{}
	p.Namespace, p.Name, p.UID = "default", name, types.UID("uid-"+name)
	p.CreationTimestamp = metav1.NewTime(simulation.Epoch)
	p.Spec.NodeName = node
	p.Status.Phase = pick(g, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodSucceeded)
	status := v1.ConditionTrue
	if p.Status.Phase == v1.PodSucceeded {
		status = v1.ConditionFalse
	}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: status}, {Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: p.CreationTimestamp}}
	if g.one(10) {
		p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "m"}
	}
	for range g.IntN(5) {
		t := v1.Toleration{
			Key:      pick(g, "", "maintenance", "gpu", v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeUnreachable),
			Operator: pick(g, "", v1.TolerationOpEqual, v1.TolerationOpExists, v1.TolerationOpExists),
			Effect:   pick(g, "", v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule),
		}
		if t.Operator != v1.TolerationOpExists {
			t.Value = pick(g, "", "now")
		}
		if !g.one(3) {
			t.TolerationSeconds = of(pick[int64](g, -1, 0, 7, 30, 90, 200))
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
	return p
}
