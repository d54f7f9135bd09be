package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/zone"
)

// Cluster is an in-memory cluster with simulated kubelets. It keeps compact records, because millions
// of pods are to fit, and builds API objects when asked. It is not safe for concurrent use: whoever
// shares it locks it.
type Cluster struct {
	Clock VirtualClock
	// Changed are told of every node and pod that changed; nil means nobody.
	NodeChanged func(name string)
	PodChanged  func(key evictor.PodKey)
	Renewed     func(node string, at time.Time)

	nodes    []node
	nodeByID map[string]int32
	pods     []pod
	podIndex keyindex.Index[podID] // numbers the pods
	specs    map[string]*PodSpec
	spaces   []string // namespaces, by index
	spaceOf  map[string]uint16

	renewals fifo
	reports  fifo
	serial   uint64

	load      *loadIndex // by pods a node has, only with rescheduling
	comebacks []comeback // evicted pods that wait for a node, in order
	refused   int        // how many of the first of them found none
	stats     Stats
	scratch   podObject
}

type podID struct {
	space uint16
	name  string
}

// node is one machine with its kubelet.
type node struct {
	name          string
	uid           types.UID
	labels        map[string]string // shared and never changed in place
	zone          zone.Key
	created       metav1.Time
	taints        []v1.Taint                                  // as the API has them; replaced, not changed in place
	conditions    []v1.NodeCondition                          // as the API has them; shared until it differs
	reported      int64                                       // time of the last status report, -1 before the first: overrides heartbeats
	kubelet       map[v1.NodeConditionType]v1.ConditionStatus // what the kubelet would report where it differs from health
	renewed       int64
	firstPod      int32
	epoch         uint32 // a recovered kubelet starts new rounds of renewals
	pods          int32  // neither terminating nor of a DaemonSet
	failedAt      int64
	failed        bool
	deleted       bool
	unschedulable bool
	version       uint64
}

// pod is one pod; free records have node -1.
type pod struct {
	serial      uint64
	spec        *PodSpec
	node        int32
	next        int32
	previous    int32
	bound       int64
	ready       bool
	terminating bool
	phase       phase
	object      *podTimes // only for pods read from files
}

type podTimes struct {
	uid                         types.UID
	created, scheduled, started metav1.Time
}

// phase is a v1.PodPhase in one byte; the zero phase is Running.
type phase uint8

var phases = [...]v1.PodPhase{v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown, ""}

func phaseOf(p v1.PodPhase) phase {
	for i := range phases {
		if phases[i] == p {
			return phase(i)
		}
	}
	return phase(len(phases) - 1)
}

func (p phase) finished() bool { return phases[p] == v1.PodSucceeded || phases[p] == v1.PodFailed }

// Reserve makes room for so many more nodes and pods.
func (c *Cluster) Reserve(nodes, pods int) {
	c.nodes = slices.Grow(c.nodes, nodes)
	c.pods = slices.Grow(c.pods, pods)
}

// PodSpec is what many pods share.
type PodSpec struct {
	Tolerations []v1.Toleration
	OwnerKind   string // of the controller; empty: none
	OwnerName   string
	Mirror      bool
}

// New returns an empty cluster at time 0.
func New(clock VirtualClock) *Cluster {
	return &Cluster{
		Clock:    clock,
		nodeByID: make(map[string]int32),
		specs:    make(map[string]*PodSpec),
		spaceOf:  make(map[string]uint16),
	}
}

func (c *Cluster) now() int64 { return int64(c.Clock.Elapsed()) }

func (c *Cluster) nodeChanged(n *node) {
	c.serial++
	n.version = c.serial
	if c.load != nil {
		c.load.update(c, c.nodeByID[n.name])
	}
	if c.NodeChanged != nil {
		c.NodeChanged(n.name)
	}
}

func (c *Cluster) podChanged(id podID) {
	if c.PodChanged != nil {
		c.PodChanged(evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name})
	}
}

func (c *Cluster) space(namespace string) uint16 {
	i, ok := c.spaceOf[namespace]
	if !ok {
		i = uint16(len(c.spaces))
		c.spaces = append(c.spaces, namespace)
		c.spaceOf[namespace] = i
	}
	return i
}

func (c *Cluster) id(key evictor.PodKey) podID { return podID{c.space(key.Namespace), key.Name} }

// stamp is a time as API objects carry it: cut to whole seconds.
func stamp(at int64) metav1.Time {
	return metav1.NewTime(Epoch.Add(time.Duration(at)).Truncate(time.Second))
}

// healthy is what a kubelet without trouble reports.
var healthy = []v1.NodeCondition{
	{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientMemory", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodeDiskPressure, Status: v1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodePIDPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientPID", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
}

// AddNode adds a healthy node that has reported and renewed now. It fails when the name is taken.
func (c *Cluster) AddNode(name string, key zone.Key) error {
	return c.addNode(node{name: name, labels: zoneLabels(key), created: stamp(c.now()), conditions: healthy, reported: c.now()})
}

// zoneLabels are the labels of a node of that zone; an empty part has none.
func zoneLabels(key zone.Key) map[string]string {
	labels := map[string]string{v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
	if key.Zone != "" {
		labels[v1.LabelTopologyZone] = key.Zone
	}
	if key.Region != "" {
		labels[v1.LabelTopologyRegion] = key.Region
	}
	return labels
}

// AddNodeObject adds a node as a file holds it: its own conditions, taints and labels are kept. One
// without conditions has reported that it is Ready; one whose Ready condition is Unknown is silent.
func (c *Cluster) AddNodeObject(object *v1.Node) error {
	n := node{
		name: object.Name, uid: object.UID, labels: object.Labels, created: object.CreationTimestamp,
		taints: object.Spec.Taints, unschedulable: object.Spec.Unschedulable, conditions: object.Status.Conditions, reported: -1,
	}
	if len(n.conditions) == 0 {
		n.conditions, n.reported = healthy, c.now()
	}
	for _, cond := range n.conditions {
		if cond.Type == v1.NodeReady && cond.Status == v1.ConditionUnknown {
			n.failed, n.failedAt = true, c.now()
		}
		if cond.Type == v1.NodeReady && cond.Status == v1.ConditionTrue || cond.Type != v1.NodeReady && cond.Status == v1.ConditionFalse || cond.Status == v1.ConditionUnknown {
			continue
		}
		n.setKubelet(cond.Type, cond.Status)
	}
	return c.addNode(n)
}

func (n *node) setKubelet(t v1.NodeConditionType, s v1.ConditionStatus) {
	if n.kubelet == nil {
		n.kubelet = make(map[v1.NodeConditionType]v1.ConditionStatus, 1)
	}
	n.kubelet[t] = s
}

func (c *Cluster) addNode(n node) error {
	if n.name == "" {
		return fmt.Errorf("a node without a name")
	}
	if _, taken := c.nodeByID[n.name]; taken {
		return fmt.Errorf("node %s exists already", n.name)
	}
	c.serial++
	if n.uid == "" {
		n.uid = types.UID("node-" + strconv.FormatUint(c.serial, 10))
	}
	n.zone = zone.KeyOf(n.labels)
	n.firstPod, n.renewed = -1, c.now()
	i := int32(len(c.nodes))
	c.nodes = append(c.nodes, n)
	c.nodeByID[n.name] = i
	if c.load != nil {
		c.load.add(c, i)
	}
	c.nodeChanged(&c.nodes[i])
	return nil
}

// spec returns the shared form of a pod's spec.
func (c *Cluster) spec(s PodSpec) *PodSpec {
	key := fmt.Sprintf("%v|%s|%s|%v", s.Tolerations, s.OwnerKind, s.OwnerName, s.Mirror)
	if s.Tolerations != nil {
		key = s.OwnerKind + "|" + s.OwnerName + "|" + strconv.FormatBool(s.Mirror)
		for i := range s.Tolerations {
			t := &s.Tolerations[i]
			seconds := "-"
			if t.TolerationSeconds != nil {
				seconds = strconv.FormatInt(*t.TolerationSeconds, 10)
			}
			key += "|" + t.Key + "\x00" + string(t.Operator) + "\x00" + t.Value + "\x00" + string(t.Effect) + "\x00" + seconds
		}
	}
	if shared, ok := c.specs[key]; ok {
		return shared
	}
	shared := &s
	c.specs[key] = shared
	return shared
}

// AddPod adds a Ready pod bound now to a node that exists.
func (c *Cluster) AddPod(key evictor.PodKey, nodeName string, s PodSpec) error {
	return c.addPod(c.id(key), pod{spec: c.spec(s), ready: true, bound: c.now()}, nodeName)
}

// AddPodObject adds a pod as a file holds it. One on a node that does not exist, or on none, is
// reported as false: nothing here decides about it.
func (c *Cluster) AddPodObject(object *v1.Pod) (bound bool, err error) {
	if _, ok := c.nodeByID[object.Spec.NodeName]; !ok {
		return false, nil
	}
	s := PodSpec{Tolerations: object.Spec.Tolerations, Mirror: object.Annotations[v1.MirrorPodAnnotationKey] != ""}
	if owner := metav1.GetControllerOf(object); owner != nil {
		s.OwnerKind = owner.Kind
		if owner.Kind != "ReplicaSet" { // one for each pod would defeat sharing, and only the kind decides
			s.OwnerName = owner.Name
		}
	}
	p := pod{
		spec: c.spec(s), phase: phaseOf(object.Status.Phase), terminating: object.DeletionTimestamp != nil, bound: c.now(),
		object: &podTimes{uid: object.UID, created: object.CreationTimestamp},
	}
	if object.Status.StartTime != nil {
		p.object.started = *object.Status.StartTime
	}
	for i := range object.Status.Conditions {
		switch cond := &object.Status.Conditions[i]; cond.Type {
		case v1.PodReady:
			p.ready = cond.Status == v1.ConditionTrue
		case v1.PodScheduled:
			p.object.scheduled = cond.LastTransitionTime
		}
	}
	if len(object.Status.Conditions) == 0 && !p.phase.finished() {
		p.ready = true
	}
	return true, c.addPod(c.id(evictor.PodKey{Namespace: object.Namespace, Name: object.Name}), p, object.Spec.NodeName)
}

func (c *Cluster) addPod(id podID, p pod, nodeName string) error {
	at, ok := c.nodeByID[nodeName]
	if !ok {
		return fmt.Errorf("pod %s: node %s does not exist", id.name, nodeName)
	}
	i, isNew := c.podIndex.Insert(id)
	if !isNew {
		return fmt.Errorf("pod %s/%s exists already", c.spaces[id.space], id.name)
	}
	c.serial++
	p.serial, p.node, p.previous = c.serial, at, -1
	if int(i) == len(c.pods) {
		c.pods = append(c.pods, pod{})
	}
	n := &c.nodes[at]
	p.next = n.firstPod
	if p.next >= 0 {
		c.pods[p.next].previous = i
	}
	n.firstPod = i
	c.pods[i] = p
	c.counted(&c.pods[i], 1)
	c.podChanged(id)
	return nil
}

// counted keeps a node's load and the number of pods without a live node, when the pod starts (+1) or
// stops (-1) counting.
func (c *Cluster) counted(p *pod, by int32) {
	if p.terminating || p.phase.finished() || p.spec.OwnerKind == "DaemonSet" {
		return
	}
	n := &c.nodes[p.node]
	n.pods += by
	if c.load != nil {
		c.load.update(c, p.node)
	}
	if n.failed {
		c.stats.stranded(c.now(), int(by))
	}
}

// removePod takes the pod out of the cluster.
func (c *Cluster) removePod(i int32) {
	p := &c.pods[i]
	c.counted(p, -1)
	if p.previous >= 0 {
		c.pods[p.previous].next = p.next
	} else {
		c.nodes[p.node].firstPod = p.next
	}
	if p.next >= 0 {
		c.pods[p.next].previous = p.previous
	}
	id := c.podIndex.Key(i)
	c.podIndex.Delete(id)
	*p = pod{node: -1}
	c.podChanged(id)
}

// DeletePod deletes a pod: at once on a live node, on a failed one it stays terminating.
func (c *Cluster) DeletePod(key evictor.PodKey) bool {
	i, ok := c.podIndex.Find(c.id(key))
	if !ok {
		return false
	}
	c.deletePod(i)
	return true
}

func (c *Cluster) deletePod(i int32) {
	p := &c.pods[i]
	if !c.nodes[p.node].failed {
		c.removePod(i)
		return
	}
	if !p.terminating {
		c.counted(p, -1)
		p.terminating = true
		c.podChanged(c.podIndex.Key(i))
	}
}

// DeleteNode removes a node and its pods.
func (c *Cluster) DeleteNode(name string) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	for c.nodes[i].firstPod >= 0 {
		c.removePod(c.nodes[i].firstPod)
	}
	n := &c.nodes[i]
	n.deleted = true
	n.epoch++
	if c.load != nil {
		c.load.remove(i)
	}
	delete(c.nodeByID, name)
	if c.NodeChanged != nil {
		c.NodeChanged(name)
	}
	return true
}
