package drill

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// onPods alters copies of the group's pods.
func (g *Group) onPods(change func(*v1.Pod)) alter {
	return func(s *simulation.Scenario) {
		s.Pods = slices.Clone(s.Pods)
		for i, pod := range s.Pods {
			if g.has(workloadOf(pod)) && !finished(pod) {
				s.Pods[i] = pod.DeepCopy()
				change(s.Pods[i])
			}
		}
	}
}

// onObjects alters copies of the objects of a type, all of the cluster.
func onObjects[T runtime.Object](change func(T)) alter {
	return func(s *simulation.Scenario) {
		s.Objects = slices.Clone(s.Objects)
		for i, object := range s.Objects {
			if _, is := object.(T); is {
				altered, _ := object.DeepCopyObject().(T)
				change(altered)
				s.Objects[i] = altered
			}
		}
	}
}

// onNodes alters copies of the nodes that are not lost.
func onNodes(loss *Loss, change func(*v1.Node)) alter {
	return func(s *simulation.Scenario) {
		s.Nodes = slices.Clone(s.Nodes)
		for i, node := range s.Nodes {
			if !slices.Contains(loss.Nodes, node.Name) {
				s.Nodes[i] = node.DeepCopy()
				change(s.Nodes[i])
			}
		}
	}
}

// remedyAfter is how long people take to see that lost nodes are off and to taint them.
const remedyAfter = 5 * time.Minute

// outOfService says that people see after five minutes that the lost nodes are off and taint them out of service, and remove that
// taint when the nodes are back.
func outOfService(loss *Loss) alter {
	nodes := simulation.Nodes{Names: loss.Nodes}
	return func(s *simulation.Scenario) {
		if slices.ContainsFunc(s.Events, func(e simulation.Event) bool { return e.OutOfService != nil }) {
			return // of several remedies, one is enough
		}
		lift := simulation.Untaint{Nodes: nodes, Key: v1.TaintNodeOutOfService, Effect: v1.TaintEffectNoExecute}
		s.Events = append(s.Events,
			simulation.Event{At: Begins + remedyAfter, OutOfService: &nodes}, simulation.Event{At: Begins + loss.For, Untaint: &lift})
	}
}

// spreadOver puts a workload's pods on nodes anew, as they would be if a required constraint spread them over a label.
func (g *Group) spreadOver(label string, of map[string]map[string]string) alter {
	return g.onPods(func(pod *v1.Pod) {
		constrain(pod, label, of[workloadOf(pod)])
		pod.Spec.NodeName, pod.Status = "", v1.PodStatus{}
	})
}

// constrain spreads a pod over a label, with others that have these labels.
func constrain(pod *v1.Pod, label string, others map[string]string) {
	honor := v1.NodeInclusionPolicyHonor
	pod.Spec.TopologySpreadConstraints = append(slices.Clone(pod.Spec.TopologySpreadConstraints), v1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: label, WhenUnsatisfiable: v1.DoNotSchedule, NodeTaintsPolicy: &honor,
		LabelSelector: &metav1.LabelSelector{MatchLabels: others},
	})
}

// generated are labels that controllers give pods, so that pods of one workload may differ in them.
var generated = []string{
	"pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
}

// selectors returns the labels that all pods of a workload share, by workload. Those that share none are missing.
func (c *Cluster) selectors(g *Group) map[string]map[string]string {
	shared := make(map[string]map[string]string)
	for _, pod := range c.objects.Pods {
		name := workloadOf(pod)
		if !g.has(name) {
			continue
		}
		if _, seen := shared[name]; !seen {
			shared[name] = maps.Clone(pod.Labels)
		}
		maps.DeleteFunc(shared[name], func(key, value string) bool { return pod.Labels[key] != value || slices.Contains(generated, key) })
	}
	maps.DeleteFunc(shared, func(_ string, labels map[string]string) bool { return len(labels) == 0 })
	return shared
}

// secondReplicas gives each of a group's pods a second one, elsewhere by this label. That of a StatefulSet has volumes of its own.
func (g *Group) secondReplicas(label string, of map[string]map[string]string) alter {
	return func(s *simulation.Scenario) {
		for _, pod := range slices.Clone(s.Pods) {
			name := workloadOf(pod)
			if !g.has(name) || finished(pod) {
				continue
			}
			second := pod.DeepCopy()
			second.Name, second.UID, second.Spec.NodeName, second.Status = pod.Name+"-second", "", "", v1.PodStatus{}
			if kind, set := simulation.ControllerOf(&pod.ObjectMeta); kind == "StatefulSet" {
				ordinal, _ := strconv.Atoi(strings.TrimPrefix(pod.Name, set+"-")) // it has one
				second.Name, second.Spec.Volumes = fmt.Sprintf("%s-%d", set, ordinal+1), nil
			}
			constrain(second, label, of[name])
			s.Pods = append(slices.Clip(s.Pods), second)
		}
		onObjects(func(set *appsv1.StatefulSet) {
			if g.has(nameOf(set.Namespace, "StatefulSet", set.Name)) {
				two := int32(2)
				set.Spec.Replicas = &two
			}
		})(s)
	}
}

// whereLabels say where a node is.
var whereLabels = []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion}

// moreNodes adds copies of a lost node, with what DaemonSets run there, where these other nodes are.
func moreNodes(like *v1.Node, label string, others []*v1.Node, count int) alter {
	if label == v1.LabelHostname {
		others = nil
	}
	return func(s *simulation.Scenario) {
		daemons := slices.DeleteFunc(slices.Clone(s.Pods), func(pod *v1.Pod) bool {
			kind, _ := simulation.ControllerOf(&pod.ObjectMeta)
			return pod.Spec.NodeName != like.Name || kind != "DaemonSet"
		})
		s.Nodes, s.Pods = slices.Clip(s.Nodes), slices.Clip(s.Pods)
		for i := range count {
			node, number := like.DeepCopy(), len(s.Nodes) // unique
			node.Name, node.UID, node.Status.Conditions = fmt.Sprintf("%s-more-%d", like.Name, number), "", nil
			if _, has := node.Labels[v1.LabelHostname]; has {
				node.Labels[v1.LabelHostname] = node.Name
			}
			if len(others) > 0 {
				standWhere(node, others[i%len(others)], label)
			}
			s.Nodes = append(s.Nodes, node)
			for _, pod := range daemons {
				daemon := pod.DeepCopy()
				daemon.Name, daemon.UID, daemon.Spec.NodeName = fmt.Sprintf("%s-more-%d", pod.Name, number), "", node.Name
				s.Pods = append(s.Pods, daemon)
			}
		}
	}
}

// standWhere gives a node the place of another: its zone, its region and the label.
func standWhere(node, other *v1.Node, label string) {
	if node.Labels == nil {
		node.Labels = make(map[string]string)
	}
	for _, key := range append(slices.Clip(whereLabels), label) {
		if value, has := other.Labels[key]; has {
			node.Labels[key] = value
		}
	}
}
