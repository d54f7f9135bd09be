package drill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

// Cluster is the objects of a cluster. It does not change, so several plays may run at the same time.
type Cluster struct {
	Config      evictor.Config // of today
	NotReadyFor time.Duration  // of lost nodes that are back; see simulation.Scenario
	Waiting     int            // pods that have no node, which are left out: that is no loss's doing

	objects simulation.Scenario // and nothing else
	nodes   []node
	zones   map[zone.Key][]string     // nodes
	pods    map[evictor.PodKey]placed // neither finished nor of DaemonSets
}

// NotReadyFor is how long a kubelet that starts usually reports that it is not Ready.
const NotReadyFor = 15 * time.Second

// placed is where a pod is, and to which workload it belongs; none if it is bare.
type placed struct{ workload, node string }

type node struct {
	name  string
	class string
	pods  int
	label map[string]string
}

// Open reads the objects of files, as scenariofile.Objects does. Config holds today's settings.
func Open(ctx context.Context, files []string, config evictor.Config) (*Cluster, error) {
	objects, _, err := scenariofile.Objects(ctx, files)
	if err != nil {
		return nil, err
	}
	waiting := 0
	objects.Pods = slices.DeleteFunc(objects.Pods, func(pod *v1.Pod) bool {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !finished(pod) {
			waiting++
		}
		return pod.Spec.NodeName == ""
	})
	c := &Cluster{Config: config, NotReadyFor: NotReadyFor, Waiting: waiting, objects: objects, zones: make(map[zone.Key][]string), pods: make(map[evictor.PodKey]placed)}
	pods := make(map[string]int)
	for _, pod := range objects.Pods {
		kind, _ := simulation.ControllerOf(&pod.ObjectMeta)
		if kind == "DaemonSet" || kind == "Node" || finished(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		pods[pod.Spec.NodeName]++
		c.pods[evictor.PodKey{Namespace: cmp.Or(pod.Namespace, v1.NamespaceDefault), Name: pod.Name}] = placed{workloadOf(pod), pod.Spec.NodeName}
	}
	for _, object := range objects.Nodes {
		c.nodes = append(c.nodes, node{object.Name, class(object.Labels), pods[object.Name], object.Labels})
		key := zone.KeyOf(object.Labels)
		c.zones[key] = append(c.zones[key], object.Name)
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("%s: there are no nodes", strings.Join(files, ", "))
	}
	slices.SortFunc(c.nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return c, nil
}

// workloadOf names the workload that a pod belongs to, as simulation.WorkloadReport does; empty if none.
func workloadOf(pod *v1.Pod) string {
	kind, name := simulation.ControllerOf(&pod.ObjectMeta)
	if kind == "" {
		return ""
	}
	return nameOf(pod.Namespace, kind, name)
}

func nameOf(namespace, kind, name string) string {
	return cmp.Or(namespace, v1.NamespaceDefault) + "/" + kind + "/" + name
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// classes are labels by which machines differ, the most telling first.
var classes = []string{
	"karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool",
	v1.LabelInstanceTypeStable, "node-role.kubernetes.io/control-plane",
}

// class names the kind of a machine; empty if no label tells.
func class(labels map[string]string) string {
	for _, label := range classes {
		if value, ok := labels[label]; ok {
			return cmp.Or(value, label)
		}
	}
	return ""
}

// Loss is some nodes that fall silent together.
type Loss struct {
	Name  string
	Nodes []string
	Where string        // the nodes as a scenario file chooses them, such as zone: a
	For   time.Duration // until they are back
	// Label is by which label the nodes are chosen, so that spreading over it would take less of a workload with them.
	Label string
	// FalseAlarm means that they run on, but the API does not hear from them.
	FalseAlarm bool
}

// Alike is how many losses have the same nodes: the loss itself and its false alarms.
const Alike = 5

// falseAlarms are how long the nodes are silent in the false alarms of a loss.
var falseAlarms = [Alike - 1]time.Duration{shortest, 3 * time.Minute, 10 * time.Minute, longest}

// The shortest and the longest false alarm.
const shortest, longest = time.Minute, 30 * time.Minute

// Losses returns what may be lost: each zone, if there are several; the nodes with each value of these labels; and the node with
// the most pods of each class. The same follow as false alarms.
func (c *Cluster) Losses(labels []string, lostFor time.Duration) ([]Loss, error) {
	var all []Loss
	add := func(name, label, where string, nodes []string) {
		all = append(all, Loss{Name: name, Nodes: nodes, Where: where, For: lostFor, Label: label})
	}
	if len(c.zones) > 1 {
		for _, key := range slices.SortedFunc(maps.Keys(c.zones), func(a, b zone.Key) int { return cmp.Compare(a.String(), b.String()) }) {
			name := strings.TrimPrefix(key.String(), ":")
			add("zone "+cmp.Or(name, "(no zone)"), v1.LabelTopologyZone, fmt.Sprintf("zone: %q", name), c.zones[key])
		}
	}
	for _, label := range labels {
		values := c.byLabel(label)
		if len(values) == 0 {
			return nil, fmt.Errorf("no node has the label %s", label)
		}
		for _, value := range slices.Sorted(maps.Keys(values)) {
			add(label+"="+value, label, fmt.Sprintf("selector: {%q: %q}", label, value), values[value])
		}
	}
	fullest := make(map[string]*node)
	for i := range c.nodes {
		if n := &c.nodes[i]; fullest[n.class] == nil || n.pods > fullest[n.class].pods {
			fullest[n.class] = n
		}
	}
	for _, class := range slices.Sorted(maps.Keys(fullest)) {
		name := "node " + fullest[class].name
		if class != "" {
			name += " of " + class
		}
		add(name, v1.LabelHostname, fmt.Sprintf("node: %q", fullest[class].name), []string{fullest[class].name})
	}
	for _, loss := range slices.Clone(all) {
		for _, silent := range falseAlarms {
			loss.For, loss.FalseAlarm = silent, true
			all = append(all, loss)
		}
	}
	return all, nil
}

// byLabel returns the nodes with each value of a label.
func (c *Cluster) byLabel(label string) map[string][]string {
	values := make(map[string][]string)
	for i := range c.nodes {
		if value, ok := c.nodes[i].label[label]; ok {
			values[value] = append(values[value], c.nodes[i].name)
		}
	}
	return values
}

// Settings are what a search changes in the handling of node failures.
type Settings struct {
	Rate      float64       // nodes a second in each zone
	Threshold float64       // evictions in a zone slow down at this share of failed nodes
	Grace     time.Duration // of silence
	// Tolerance is how long pods tolerate a silent node. It replaces only the 5 minutes that the API server adds.
	Tolerance time.Duration
}

// usual is the toleration that the API server adds.
const usual = 5 * time.Minute

// Today returns the settings in effect.
func (c *Cluster) Today() Settings {
	return Settings{c.Config.Nodes.NodeEvictionRate, c.Config.Nodes.UnhealthyZoneThreshold, c.Config.Nodes.NodeMonitorGracePeriod, usual}
}

// Begins is when a loss begins.
const Begins = 10 * time.Minute

// after is the time from the nodes' return to the end.
const after = 30 * time.Minute

// Until is when the play of a loss ends.
func (l *Loss) Until() time.Duration { return Begins + l.For + after }

// alter changes a scenario before it is played.
type alter func(*simulation.Scenario)

// with is an alter that sets what the handling of node failures is.
func (s *Settings) with(played *simulation.Scenario) {
	played.Config.Nodes.NodeEvictionRate, played.Config.Nodes.UnhealthyZoneThreshold, played.Config.Nodes.NodeMonitorGracePeriod = s.Rate, s.Threshold, s.Grace
	if s.Tolerance != usual {
		seconds := simulation.TolerationSeconds(s.Tolerance / time.Second)
		played.DefaultTolerationSeconds = &seconds
	}
}

// Scenario is a loss with these settings.
func (c *Cluster) Scenario(loss Loss, s Settings) simulation.Scenario {
	return c.scenario(loss, s.with)
}

// scenario is a loss with today's settings, altered.
func (c *Cluster) scenario(loss Loss, alters ...alter) simulation.Scenario {
	nodes, played := simulation.Nodes{Names: loss.Nodes}, c.objects
	played.Config, played.Until, played.NotReadyFor = c.Config, loss.Until(), c.NotReadyFor
	begin := simulation.Event{At: Begins, Fail: &nodes}
	if loss.FalseAlarm {
		begin = simulation.Event{At: Begins, Partition: &simulation.Partition{Nodes: nodes}}
	}
	played.Events = []simulation.Event{begin, {At: Begins + loss.For, Recover: &nodes}}
	for _, change := range alters {
		change(&played)
	}
	return played
}
