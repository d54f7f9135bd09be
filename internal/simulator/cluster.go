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
	specs    map[specKey]*PodSpec
	spaces   []string // namespaces, by index
	spaceOf  map[string]uint32

	renewals fifo
	reports  fifo
	serial   uint64

	resources map[v1.ResourceName]int // numbers of the extended ones
	needs     map[string]*needs
	labelSets map[string]*labelSet
	tallies   []*tally
	tallied   bool // the tallies are up to date

	load    *loadIndex // only with rescheduling
	waiting waiting
	stats   Stats
	scratch podObject

	notSimulated map[string]int // pods of files, by what of them plays no part
}

type podID struct {
	space uint32
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
	finished      int32  // of them: completed, so that they miss nothing when the node falls silent
	failedAt      int64
	failed        bool
	wasTainted    bool // with a NoExecute taint of ours, since it failed
	deleted       bool
	unschedulable bool
	version       uint64
	room          *room // nil: not known, so that everything fits
}

// pod is one pod; free records have node -1.
type pod struct {
	serial      uint64
	spec        *PodSpec
	node        int32
	next        int32
	previous    int32
	deleted     uint32 // when it began to terminate, in seconds
	bound       int64
	ready       bool
	terminating bool
	owed        bool // of a StatefulSet: counted as without a live node until it is replaced
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

	needs          *needs
	labels         *labelSet // only of pods of files
	tolerationsKey string    // of shared ones: a text that equal tolerations have in common
}

// New returns an empty cluster at time 0.
func New(clock VirtualClock) *Cluster {
	return &Cluster{
		Clock:    clock,
		nodeByID: make(map[string]int32),
		specs:    make(map[specKey]*PodSpec),
		spaceOf:  make(map[string]uint32),

		resources: make(map[v1.ResourceName]int),
		needs:     make(map[string]*needs),
		labelSets: make(map[string]*labelSet),
	}
}

func (c *Cluster) now() int64 { return int64(c.Clock.Elapsed()) }

func (c *Cluster) nodeChanged(n *node) {
	c.serial++
	n.version = c.serial
	n.wasTainted = n.wasTainted || tainted(n)
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

func (c *Cluster) space(namespace string) uint32 {
	i, ok := c.spaceOf[namespace]
	if !ok {
		i = uint32(len(c.spaces))
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
		labels["topology.kubernetes.io/zone"] = key.Zone
	}
	if key.Region != "" {
		labels["topology.kubernetes.io/region"] = key.Region
	}
	return labels
}

// AddNodeObject adds a node as a file holds it: its own conditions, taints and labels are kept. One
// without conditions has reported that it is Ready; one whose Ready condition is Unknown is silent.
func (c *Cluster) AddNodeObject(object *v1.Node) error {
	n := node{
		name: object.Name, uid: object.UID, labels: object.Labels, created: object.CreationTimestamp,
		taints: object.Spec.Taints, unschedulable: object.Spec.Unschedulable, conditions: object.Status.Conditions, reported: -1,
		room: c.newRoom(&object.Status),
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
