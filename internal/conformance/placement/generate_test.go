package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gpu       = v1.ResourceName("example.org/gpu")
	hugePages = v1.ResourceName("hugepages-2Mi")
	poolLabel = "pool"
	genLabel  = "generation"
	teamLabel = "team"
	appLabel  = "app"
)

var (
	namespaces   = []string{"default", "shop", "bank"}
	zones        = []string{"a", "b", "c"}
	pools        = []string{"small", "large", "gpu"}
	apps         = []string{"web", "cart", "db", "cache"}
	topologies   = []string{v1.LabelTopologyZone, v1.LabelHostname, poolLabel}
	taintKeys    = []string{"dedicated", "spot", v1.TaintNodeMemoryPressure}
	taintValues  = []string{"", "x", "y"}
	taintEffects = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule}
)

// generator makes objects that an API server would accept.
type generator struct{ *rand.Rand }

func (g generator) one(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) some(of []string) []string {
	shuffled := slices.Clone(of)
	g.Shuffle(len(of), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	return shuffled[:1+g.IntN(len(of)-1)]
}

func nodeName(i int) string {
	name := fmt.Sprintf("node-%02d", i)
	if i%5 == 0 {
		name += "." + strings.Repeat("very-long-name.", 5) + "example" // longer than a label's value may be
	}
	return name
}

func (g generator) taint() v1.Taint {
	return v1.Taint{Key: pick(g, taintKeys...), Value: pick(g, taintValues...), Effect: pick(g, taintEffects...)}
}

func (g generator) node(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{}}}
	if len(n.Name) <= 63 && g.one(95) {
		n.Labels[v1.LabelHostname] = n.Name
	}
	for label, values := range map[string][]string{v1.LabelTopologyZone: zones, poolLabel: pools, genLabel: {"1", "2", "3", "old"}} {
		if g.one(85) {
			n.Labels[label] = pick(g, values...)
		}
	}
	for g.one(25) {
		if taint := g.taint(); !slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect }) {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
	}
	n.Spec.Unschedulable = g.one(8)
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	switch {
	case g.one(3):
		n.Status.Conditions[0].Status = v1.ConditionFalse
		if !g.one(10) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule})
		}
	case g.one(3):
		n.Status.Conditions[0].Status = v1.ConditionUnknown
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule})
	case g.IntN(1000) < 2:
		n.Status.Conditions[0].Type = v1.NodeDiskPressure
		n.Status.Conditions[0].Status = v1.ConditionFalse
	}
	if g.IntN(1000) < 3 {
		return n // without capacity
	}
	n.Status.Capacity = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(pick(g, "2", "3500m", "8")), v1.ResourceMemory: resource.MustParse(pick(g, "4Gi", "7900Mi", "16Gi")),
		v1.ResourcePods: resource.MustParse(pick(g, "3", "8", "110")), v1.ResourceEphemeralStorage: resource.MustParse(pick(g, "10Gi", "50Gi")),
	}
	if g.IntN(1000) < 3 {
		delete(n.Status.Capacity, pick(g, v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods, v1.ResourceEphemeralStorage))
	}
	for _, name := range []v1.ResourceName{gpu, hugePages} {
		if g.one(40) {
			n.Status.Capacity[name] = resource.MustParse(map[v1.ResourceName]string{gpu: pick(g, "0", "2", "8"), hugePages: pick(g, "0", "8Mi")}[name])
		}
	}
	n.Status.Allocatable = n.Status.Capacity // as the API server defaults it
	return n
}

func (g generator) requests() v1.ResourceRequirements {
	list := v1.ResourceList{}
	for name, of := range map[v1.ResourceName][]string{
		v1.ResourceCPU: {"0", "100m", "250m", "1", "1500m"}, v1.ResourceMemory: {"0", "64Mi", "500M", "2Gi"},
		v1.ResourceEphemeralStorage: {"1Gi", "6Gi"},
	} {
		if g.one(45) {
			list[name] = resource.MustParse(pick(g, of...))
		}
	}
	if g.one(8) {
		list[gpu] = resource.MustParse(pick(g, "0", "1", "2"))
	}
	if g.one(4) {
		list[hugePages] = resource.MustParse("4Mi")
	}
	return v1.ResourceRequirements{Requests: list}
}

func (g generator) toleration() v1.Toleration {
	t := v1.Toleration{
		Key:    pick(g, append([]string{v1.TaintNodeUnschedulable, v1.TaintNodeNotReady, v1.TaintNodeUnreachable}, taintKeys...)...),
		Effect: pick(g, append([]v1.TaintEffect{""}, taintEffects...)...),
	}
	switch g.IntN(8) {
	case 0:
		return v1.Toleration{Operator: v1.TolerationOpExists, Effect: t.Effect}
	case 1, 2, 3:
		t.Operator = v1.TolerationOpExists
	case 4, 5:
		t.Operator, t.Value = v1.TolerationOpEqual, pick(g, taintValues...)
	default:
		t.Value = pick(g, taintValues...)
	}
	return t
}

func (g generator) pod(name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pick(g, namespaces...)}}
	if g.one(90) {
		p.Labels = map[string]string{appLabel: pick(g, apps...)}
		if g.one(30) {
			p.Labels["tier"] = pick(g, "front", "back")
		}
	}
	for i := range 1 + g.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprint("c", i), Resources: g.requests()})
	}
	for i := 0; g.one(20); i++ {
		c := v1.Container{Name: fmt.Sprint("i", i), Resources: g.requests()}
		if g.one(50) {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if g.one(8) {
		p.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("120Mi")}
	}
	if g.one(8) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{
			pick(g, v1.ResourceCPU, v1.ResourceMemory): resource.MustParse("3"), // almost no memory
		}}
	}
	if g.one(25) {
		c := &p.Spec.Containers[0]
		if n := len(p.Spec.InitContainers); n > 0 && g.one(50) {
			c = &p.Spec.InitContainers[n-1] // counts if it is a sidecar
		}
		c.Ports = []v1.ContainerPort{{
			ContainerPort: 80, HostPort: int32(8000 + g.IntN(2)), Protocol: pick(g, v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP),
			HostIP: pick(g, "", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
		}}
	}
	for g.one(35) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, g.toleration())
	}
	if g.one(15) {
		p.Spec.NodeSelector = map[string]string{pick(g, poolLabel, v1.LabelTopologyZone): pick(g, "a", "b", "small", "large")}
	}
	p.Spec.Affinity = g.affinity()
	if g.one(25) {
		p.Spec.TopologySpreadConstraints = g.spread()
	}
	if g.one(20) {
		p.Spec.Volumes = g.podVolumes()
	}
	return p
}
