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
	Config evictor.Config // of today

	objects   simulation.Scenario // and nothing else
	nodes     []node
	zones     map[zone.Key][]string // nodes
	workloads map[string]map[string]int
}

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
	c := &Cluster{Config: config, objects: objects, zones: make(map[zone.Key][]string), workloads: make(map[string]map[string]int)}
	pods := make(map[string]int)
	for _, pod := range objects.Pods {
		kind, name := simulation.ControllerOf(&pod.ObjectMeta)
		finished := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if pod.Spec.NodeName == "" || kind == "DaemonSet" || kind == "Node" || finished {
			continue
		}
		pods[pod.Spec.NodeName]++
		if kind != "" {
			key := pod.Namespace + "/" + kind + "/" + name
			if c.workloads[key] == nil {
				c.workloads[key] = make(map[string]int)
			}
			c.workloads[key][pod.Spec.NodeName]++
		}
	}
	for _, object := range objects.Nodes {
		c.nodes = append(c.nodes, node{object.Name, class(object.Labels), pods[object.Name], object.Labels})
		key := zone.KeyOf(object.Labels)
		c.zones[key] = append(c.zones[key], object.Name)
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("%v: no nodes", files)
	}
	slices.SortFunc(c.nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return c, nil
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
	For   time.Duration // until they are back
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
	add := func(name string, nodes []string) { all = append(all, Loss{Name: name, Nodes: nodes, For: lostFor}) }
	if len(c.zones) > 1 {
		for _, key := range slices.SortedFunc(maps.Keys(c.zones), func(a, b zone.Key) int { return cmp.Compare(a.String(), b.String()) }) {
			add("zone "+strings.TrimPrefix(key.String(), ":"), c.zones[key])
		}
	}
	for _, label := range labels {
		values := c.byLabel(label)
		if len(values) == 0 {
			return nil, fmt.Errorf("no node has the label %s", label)
		}
		for _, value := range slices.Sorted(maps.Keys(values)) {
			add(label+"="+value, values[value])
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
		add(name, []string{fullest[class].name})
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
	return Settings{c.Config.NodeEvictionRate, c.Config.UnhealthyZoneThreshold, c.Config.NodeMonitorGracePeriod, usual}
}

// Times of a play.
const (
	begins = 10 * time.Minute
	after  = 30 * time.Minute // from the nodes' return to the end
)

// Play plays the Scenario of a loss. The report has a series of about so many points.
func (c *Cluster) Play(ctx context.Context, loss Loss, s Settings, remedy time.Duration, points int) (*simulation.Report, error) {
	played := c.Scenario(loss, s, remedy)
	played.Points = points
	return simulation.Play(ctx, played)
}

// Scenario is a loss with these settings. If remedy is not 0, lost nodes get the out-of-service taint so long after
// they fell silent.
func (c *Cluster) Scenario(loss Loss, s Settings, remedy time.Duration) simulation.Scenario {
	nodes, played := simulation.Nodes{Names: loss.Nodes}, c.objects
	played.Config, played.Until = c.Config, begins+loss.For+after
	played.Config.ExplainSize = 0 // nobody asks
	played.Config.NodeEvictionRate, played.Config.UnhealthyZoneThreshold, played.Config.NodeMonitorGracePeriod = s.Rate, s.Threshold, s.Grace
	begin := simulation.Event{At: begins, Fail: &nodes}
	if loss.FalseAlarm {
		begin = simulation.Event{At: begins, Partition: &simulation.Partition{Nodes: nodes}}
	}
	played.Events = append(played.Events, begin)
	if remedy > 0 {
		played.Events = append(played.Events, simulation.Event{At: begins + remedy, OutOfService: &nodes})
	}
	played.Events = append(played.Events, simulation.Event{At: begins + loss.For, Recover: &nodes})
	played.Pods = make([]*v1.Pod, len(c.objects.Pods))
	for i, pod := range c.objects.Pods {
		played.Pods[i] = s.tolerated(pod)
	}
	return played
}

// tolerated returns the pod with Tolerance in place of the API server's toleration, if it has that.
func (s *Settings) tolerated(pod *v1.Pod) *v1.Pod {
	if s.Tolerance == usual {
		return pod
	}
	var own []v1.Toleration
	seconds := int64(s.Tolerance / time.Second)
	for i, t := range pod.Spec.Tolerations {
		added := t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable
		if !added || t.Effect != v1.TaintEffectNoExecute || t.TolerationSeconds == nil || *t.TolerationSeconds != int64(usual/time.Second) {
			continue
		}
		if own == nil {
			own = slices.Clone(pod.Spec.Tolerations)
		}
		own[i].TolerationSeconds = &seconds
	}
	if own == nil {
		return pod
	}
	changed := *pod
	changed.Spec.Tolerations = own
	return &changed
}
