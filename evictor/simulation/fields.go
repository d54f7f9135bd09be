package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

// template is what generated or added nodes of one kind, and their pods, have in common.
type template struct {
	zone        zone.Key
	fields      *NodeFields
	pods        *podSpec
	daemons     *podSpec
	pod, daemon int  // per node
	registers   bool // the nodes are new, and did not exist before time 0
}

// everything is the tolerations of a generated DaemonSet's pods.
var everything = []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}

func (p *player) template(key zone.Key, fields *NodeFields, pods *PodFields, seconds *TolerationSeconds) template {
	c := p.cluster
	return template{
		zone: key, fields: fields,
		pods:    c.podSpec(pods, Owner("ReplicaSet/"+key.Zone), cmp.Or(seconds, p.scenario.DefaultTolerationSeconds)),
		daemons: c.spec(podSpec{OwnerKind: "DaemonSet", OwnerName: key.Zone, Spec: placement.Spec{Tolerations: everything}}),
	}
}

// podSpec returns the shared form of the fields.
func (c *cluster) podSpec(f *PodFields, owner Owner, seconds *TolerationSeconds) *podSpec {
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Labels: f.Labels}}
	object.Spec.NodeSelector = f.NodeSelector
	s := podSpec{Spec: placement.Spec{Tolerations: tolerations(f.Tolerations, seconds), Labels: c.filters.LabelsOf(&object.ObjectMeta)}}
	s.OwnerKind, s.OwnerName = f.Owner.split(owner)
	s.Grace = int32(f.TerminationGracePeriodSeconds) //nolint:gosec // at most mostGrace
	if f.Requests != nil || f.NodeSelector != nil {
		object.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: resourcesOf(f.Requests)}}}
		s.Needs = c.filters.NeedsOf(object)
	}
	return c.spec(s)
}

// tolerations returns the given ones, and those that the API server adds if they do not cover an outage.
func tolerations(given []Toleration, replaced *TolerationSeconds) (all []v1.Toleration) {
	for _, t := range given {
		all = append(all, v1.Toleration(t))
	}
	seconds := usualTolerance
	if replaced != nil {
		seconds = *replaced
	}
	if seconds == NoToleration {
		return all
	}
	return admitted(all, int64(seconds))
}

// admitted are tolerations, and those of not-ready and unreachable that the API server's admission adds where they are
// missing.
func admitted(given []v1.Toleration, seconds int64) []v1.Toleration {
	all := slices.Clip(given)
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		has := slices.ContainsFunc(given, func(t v1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "")
		})
		if !has {
			all = append(all, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	return all
}

// addTemplated adds a node and its pods.
func (p *player) addTemplated(name string, t *template) error {
	c := p.cluster
	n := node{
		NodeInfo: &placement.NodeInfo{
			Name: name, Labels: nodeLabels(name, t.zone, t.fields.Labels), Conditions: c.registered(), Unschedulable: t.fields.Unschedulable,
			Room: c.filters.NewRoom(&v1.NodeStatus{Capacity: resourcesOf(t.fields.Capacity)}),
		},
		created: stamp(c.now()), reported: c.now(),
	}
	for _, taint := range t.fields.Taints {
		n.Taints = append(n.Taints, newTaint(taint.Key, taint.Value, taint.Effect, stamp(c.now())))
	}
	if t.registers {
		n.Taints = admittedWith(n.Taints)
	}
	if err := c.addNode(n); err != nil {
		return err
	}
	for i := range t.pod + t.daemon {
		spec := t.pods
		if i >= t.pod {
			spec = t.daemons
		}
		key := evictor.PodKey{Namespace: metav1.NamespaceDefault, Name: t.podName(name, i)}
		if at, ok := c.findPod(key); ok && c.pods[at].node == c.nodeByID[name] {
			continue
		}
		if err := p.addFresh(key.Name, name, spec); err != nil {
			return err
		}
	}
	return nil
}

// podName returns the name of the i-th pod of a node; those of the DaemonSet are the last.
func (t *template) podName(node string, i int) string {
	if i < t.pod {
		return podNameOf(node, i)
	}
	return daemonSetPodName(node, i-t.pod)
}

func newTaint(key, value string, effect v1.TaintEffect, at metav1.Time) v1.Taint {
	t := v1.Taint{Key: key, Value: value, Effect: effect}
	if t.Effect == v1.TaintEffectNoExecute {
		t.TimeAdded = &at
	}
	return t
}

// generate adds the zones of the scenario, if the fields of all are sound, and reports their faults.
func (p *player) generate(f faults) (complete bool) {
	before, nodes, pods, zones := len(*f.found), 0, 0, p.scenario.Zones
	place := func(i int) faults { return f.at(fmt.Sprintf("zone %d (%q)", i+1, zones[i].Name), "zones", item(i)) }
	for i := range zones {
		z := &zones[i]
		z.check(place(i))
		nodes, pods = nodes+z.Nodes, pods+z.Nodes*(z.PodsPerNode+z.DaemonSetPodsPerNode)
	}
	if len(*f.found) == before && (nodes > maxNodes || pods > maxPods) {
		f.in("zones").add("there are %d nodes and %d pods in all; at most %d and %d are allowed", nodes, pods, maxNodes, maxPods)
	}
	if len(*f.found) > before {
		return false
	}
	p.cluster.Reserve(nodes, pods)
	for i := range zones {
		if err := p.addZone(&zones[i]); err != nil {
			place(i).add("%w", err)
		}
	}
	return true
}

// check reports the faults of a zone's fields.
func (z *Zone) check(f faults) {
	if z.Name == "" {
		f.missing("name")
	}
	checkLabel(f.in("name"), z.Name)
	checkLabel(f.in("region"), z.Region)
	z.NodeFields.check(f)
	z.Pod.check(f.in("pod"))
	bounded(f.in("nodes"), z.Nodes, maxNodes)
	bounded(f.in("podsPerNode"), z.PodsPerNode, maxPodsPerNode)
	bounded(f.in("daemonSetPodsPerNode"), z.DaemonSetPodsPerNode, maxPodsPerNode)
}

// addZone adds a generated zone. A name that exists already does not keep it from adding the others.
func (p *player) addZone(z *Zone) (err error) {
	t := p.template(zone.Key{Region: z.Region, Zone: z.Name}, &z.NodeFields, &z.Pod, z.TolerationSeconds)
	t.pod, t.daemon = z.PodsPerNode, z.DaemonSetPodsPerNode
	for k := range z.Nodes {
		err = cmp.Or(err, p.addTemplated(z.NodeName(k), &t))
	}
	return err
}

// fields returns what there is to add, with the fields of the object if there is one.
func (a *AddNode) fields() *AddNode {
	if a.Node == nil {
		return a
	}
	key := zone.KeyOf(a.Node.Labels)
	to := &AddNode{Name: a.Node.Name, Zone: key.Zone, Region: key.Region}
	to.Unschedulable, to.Labels = a.Node.Spec.Unschedulable, maps.Clone(a.Node.Labels)
	for _, label := range zoneLabelKeys {
		delete(to.Labels, label) // Zone and Region stand for them
	}
	for _, t := range a.Node.Spec.Taints {
		to.Taints = append(to.Taints, NodeTaint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	resources := a.Node.Status.Allocatable
	if resources == nil {
		resources = a.Node.Status.Capacity
	}
	for name, amount := range resources {
		if to.Capacity == nil {
			to.Capacity = make(map[string]Quantity, len(resources))
		}
		to.Capacity[string(name)] = Quantity(amount.String())
	}
	return to
}

func (p *player) addNode(a *AddNode) error {
	a = a.fields()
	c := p.cluster
	if pods := len(c.podByID) + a.PodsPerNode + a.DaemonSetPodsPerNode; pods > maxPods {
		return fmt.Errorf("podsPerNode: this makes %d pods; at most %d are allowed", pods, maxPods)
	}
	t := p.template(zone.Key{Region: a.Region, Zone: a.Zone}, &a.NodeFields, &a.Pod, a.TolerationSeconds)
	t.pod, t.daemon, t.registers = a.PodsPerNode, a.DaemonSetPodsPerNode, true
	orphan, gone := c.orphans[a.Name] // whose pods the new node will run
	for i := range t.pod + t.daemon {
		key := evictor.PodKey{Namespace: metav1.NamespaceDefault, Name: t.podName(a.Name, i)}
		if at, taken := c.findPod(key); taken && !(gone && c.pods[at].node == orphan) {
			return fmt.Errorf("pod %s already exists", key)
		}
	}
	if err := p.addTemplated(a.Name, &t); err != nil {
		return err
	}
	c.tellHappening(a.Name, "the node registers")
	if c.happened != nil {
		for _, key := range c.SortedPods(a.Name) {
			c.tellPod(a.Name, key, "is added")
		}
	}
	c.startKubelet(c.nodeByID[a.Name])
	p.remember()
	return nil
}

func (p *player) addPod(a *AddPod) error {
	c := p.cluster
	if _, exists := c.nodeByID[a.Node]; !exists {
		return fmt.Errorf("node %s does not exist", a.Node)
	}
	if err := p.addFresh(a.Name, a.Node, c.podSpec(&a.PodFields, NoOwner, cmp.Or(a.TolerationSeconds, p.scenario.DefaultTolerationSeconds))); err != nil {
		return err
	}
	c.tellPod(a.Node, evictor.PodKey{Namespace: metav1.NamespaceDefault, Name: a.Name}, "is added")
	return nil
}

// addFresh adds a new pod of namespace default.
func (p *player) addFresh(name, node string, spec *podSpec) error {
	c := p.cluster
	fresh := c.newPod(spec, c.member(metav1.NamespaceDefault, spec.OwnerKind, spec.OwnerName, spec.Labels), &c.nodes[c.nodeByID[node]])
	return c.addWanted(c.id(evictor.PodKey{Namespace: metav1.NamespaceDefault, Name: name}), fresh, node)
}
