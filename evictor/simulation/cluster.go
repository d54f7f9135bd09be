package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/jobs"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/internal/statefulsets"
	"github.com/evictkit/evictkit/zone"
)

// cluster is an in-memory cluster with simulated kubelets. It keeps compact records, so that millions of pods fit, and
// builds API objects when they are asked for. It is not safe for concurrent use.
type cluster struct {
	Clock  worldClock
	world  watch     // is told of everything that changes
	newest time.Time // in the objects of time 0

	nodes    []node
	nodeByID map[string]int32
	pods     []pod
	podByID  map[podID]int32
	free     []int32 // of pods, to be used again
	specs    map[specKey]*podSpec
	spaces   []string // namespaces, by index
	spaceOf  map[string]uint32

	renewals fifo
	held     []held // in the order in which they are shown
	advanced int64  // when the watch last showed a renewal
	blind    bool   // the watches are broken and show nothing
	loses    bool   // the watch has lost renewals of some node

	comparing bool // kubelets compare the status of their nodes
	reports   fifo
	startEnds fifo // of kubelets that are not Ready at first
	kubelets  calls
	serial    uint64

	notReadyFor int64 // how long a kubelet that starts says so
	readyAfter  int64 // how long a pod takes to be Ready; 0 if pods take no time
	podTimers   []podTimer

	filters   *placement.Filters
	claimants []claimant
	replaces  bool // pods come back
	waiting   waiting
	unbound   []comeback // before time 0

	unboundKeys map[evictor.PodKey]bool
	stats       stats
	endpoints   endpoints
	refusals    refusals
	scratch     podObject

	jobs          map[podID]*job
	jobController *jobs.Controller[podID, comeback] // nil if there is none
	failedJobs    []FailedJob
	setRules      map[podID]setRules                        // of StatefulSets
	setController *statefulsets.Controller[podID, comeback] // nil if there is none

	notSimulated map[string]int // pods of files, by which feature of them plays no part

	levels       levels
	zones        map[string]*zoneRecord // by the name of the zone
	hindrances   map[int32]hindrance    // of failed nodes
	emptied      map[int32][]int64      // when pods were evicted from silent nodes
	happened     func(Happening)        // nil if not needed
	outOfService map[int32]bool         // nodes with the taint
	collects     bool                   // somebody collects garbage: pods of deleted nodes stay until then
	orphans      map[string]int32       // deleted nodes to whose names pods are bound
	lost         map[uint64]bool        // pods, by serial, whose due eviction did not happen
	outside      lent                   // of the world, to those who play parts of it
}

// watch is told of what changes in the API, and of leases.
type watch interface {
	nodeChanged(name string)
	podChanged(key evictor.PodKey)
	renewed(node string, at time.Time)
	missed(node string, at time.Time) // a renewal that is shown later, or never
	late(node string, at time.Time)   // a renewal of that time that is shown now
}

type podID struct {
	space uint32
	name  string
}

// node is one machine with its kubelet.
type node struct {
	*placement.NodeInfo
	uid        types.UID
	zone       zone.Key
	created    metav1.Time
	reported   int64                                       // time of the last status report, -1 before the first: overrides heartbeats
	kubelet    map[v1.NodeConditionType]v1.ConditionStatus // what the kubelet would report, if it is not healthy
	renewed    int64
	firstPod   int32
	epoch      uint32 // a recovered kubelet starts new rounds of renewals
	marked     int32  // pods that are not Ready because the controller said so
	finished   int32  // completed ones among those that load it
	taken      int32  // pods that take room: those of DaemonSets too, and none that has ended
	failedAt   int64
	starting   bool // its kubelet has started, and is not Ready yet
	failed     bool
	parted     bool   // failed, but its pods run on
	reach      uint16 // how many thousandths of the clients reach its pods while it is partitioned
	wasTainted bool   // with a NoExecute taint of ours, since it failed
	unseen     bool   // the watch loses the renewals of its lease
	later      int64  // or shows them that much later
	shown      int64  // when the last one was made that was seen after it had been missed
	missed     bool   // it has not shown the last one
	seen       int64  // when the last one was made that it has shown
	version    uint64
	gone       uint32     // how many pods have gone from it
	fresh      []v1.Taint // that a replacement of the node has too
	booked     nodeAccount
}

// pod is one pod; free records have node -1.
type pod struct {
	id               podID
	serial           uint64
	spec             *podSpec
	node             int32
	next             int32
	previous         int32
	deleted          uint32 // when it began to terminate, in seconds
	bound            int64
	member           int32 // see Cluster.member
	ready            bool
	unstarted        bool // its kubelet has not started it: it could not learn of it, or that takes time
	terminating      bool
	marked           bool // not Ready, because the controller said so
	wasMarked        bool // so at some time
	wasMarkedRunning bool // while it ran
	owed             bool // of a StatefulSet: counts as without a live node until it is replaced
	phase            phase
	until            int64     // when its kubelet is done with what takes time, see podTimer
	object           *podTimes // only for pods read from files
	booked           account
}

type podTimes struct {
	uid                         types.UID
	created, scheduled, started metav1.Time
	given                       *v1.Pod // only of pods that World.Add added
}

// phase is a v1.PodPhase in one byte; the zero phase is Running.
type phase uint8

const (
	running phase = iota
	pending
)

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

// Reserve makes room for that many more nodes and pods.
func (c *cluster) Reserve(nodes, pods int) {
	c.nodes = slices.Grow(c.nodes, nodes)
	c.pods = slices.Grow(c.pods, pods)
}

// podSpec is shared by many pods.
type podSpec struct {
	placement.Spec
	OwnerKind string // of the controller; empty if none
	OwnerName string
	Mirror    bool
	Grace     int32 // seconds that it takes to end once it is deleted
	emptyDir  bool
}

// newCluster returns an empty cluster at time 0.
func newCluster(clock worldClock) *cluster {
	c := &cluster{
		Clock:    clock,
		world:    new(World),
		nodeByID: make(map[string]int32),
		podByID:  make(map[podID]int32),
		specs:    make(map[specKey]*podSpec),
		spaceOf:  make(map[string]uint32),

		unboundKeys:  make(map[evictor.PodKey]bool),
		jobs:         make(map[podID]*job),
		setRules:     make(map[podID]setRules),
		levels:       levels{byKey: make(map[workloadKey]int32), memberOf: make(map[memberKey]int32)},
		endpoints:    endpoints{since: make(map[int32]int64)},
		refusals:     refusals{pods: make(map[uint64]refusedPod)},
		zones:        make(map[string]*zoneRecord),
		hindrances:   make(map[int32]hindrance),
		emptied:      make(map[int32][]int64),
		outOfService: make(map[int32]bool),
		stats:        stats{Report: new(Report)},
		orphans:      make(map[string]int32),
		lost:         make(map[uint64]bool),
		outside:      newLent(),
	}
	c.filters = placement.New(c)
	return c
}

func (c *cluster) now() int64 { return int64(c.Clock.Elapsed()) }

func (c *cluster) tellHappening(node, text string) {
	if c.happened != nil {
		c.happened(Happening{At: c.Clock.Elapsed(), Node: node, Text: text})
	}
}

// tellPod tells what happens to a pod that was not there before.
func (c *cluster) tellPod(node string, pod evictor.PodKey, does string) {
	if c.happened != nil {
		c.happened(Happening{At: c.Clock.Elapsed(), Node: node, Pod: pod, Text: fmt.Sprintf("pod %s %s", pod, does)})
	}
}

// tellGone tells that the object of a deleted pod is gone.
func (c *cluster) tellGone(p *pod) {
	if c.happened != nil {
		key := c.keyOf(p)
		c.happened(Happening{At: c.Clock.Elapsed(), Node: c.nodes[p.node].Name, Gone: key, Text: fmt.Sprintf("pod %s: its object is gone", key)})
	}
}

func (c *cluster) space(namespace string) uint32 {
	i, ok := c.spaceOf[namespace]
	if !ok {
		i = uint32(len(c.spaces))
		c.spaces = append(c.spaces, namespace)
		c.spaceOf[namespace] = i
	}
	return i
}

func (c *cluster) keyOf(p *pod) evictor.PodKey {
	return evictor.PodKey{Namespace: c.spaces[p.id.space], Name: p.id.name}
}

func (c *cluster) id(key evictor.PodKey) podID { return podID{c.space(key.Namespace), key.Name} }

// stamp returns a time as API objects have it: truncated to whole seconds.
func stamp(at int64) metav1.Time {
	return metav1.NewTime(Epoch.Add(time.Duration(at)).Truncate(time.Second))
}

// healthy is what a healthy kubelet reports.
var healthy = []v1.NodeCondition{
	{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientMemory", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodeDiskPressure, Status: v1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodePIDPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientPID", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
	{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: stamp(0), LastTransitionTime: stamp(0)},
}

func (n *node) setKubelet(t v1.NodeConditionType, s v1.ConditionStatus) {
	if n.kubelet == nil {
		n.kubelet = make(map[v1.NodeConditionType]v1.ConditionStatus, 1)
	}
	n.kubelet[t] = s
	n.starting = n.starting && t != v1.NodeReady
}

// runsOn says whether the pod runs while its kubelet is cut off from the API.
func (c *cluster) runsOn(p *pod) bool { return c.nodes[p.node].parted && !p.unstarted }

// lacks returns the share of the clients, in thousandths, that do not reach the pods of the node.
func (n *node) lacks() int {
	if !n.failed {
		return 0
	}
	return whole - int(n.reach)
}

// serves says whether most clients reach the pods of the node.
func (n *node) serves() bool { return 2*n.lacks() < whole }

// Failed says whether the node exists and its kubelet is silent.
func (c *cluster) Failed(name string) bool {
	i, ok := c.nodeByID[name]
	return ok && c.nodes[i].failed
}

// kubeletStatus returns the kubelet's status of a condition: not Ready while it starts, then what was last set or else healthy.
func (n *node) kubeletStatus(kind v1.NodeConditionType) v1.ConditionStatus {
	if n.starting && kind == v1.NodeReady {
		return v1.ConditionFalse
	}
	if status, ok := n.kubelet[kind]; ok {
		return status
	}
	if kind == v1.NodeReady {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

func (c *cluster) uidOf(p *pod) types.UID {
	if p.object != nil && p.object.uid != "" {
		return p.object.uid
	}
	return types.UID("pod-" + strconv.FormatUint(p.serial, 10))
}

func (c *cluster) findPod(key evictor.PodKey) (int32, bool) {
	space, ok := c.spaceOf[key.Namespace]
	if !ok {
		return 0, false
	}
	i, ok := c.podByID[podID{space, key.Name}]
	return i, ok
}

func without(taints []v1.Taint, key string, effect v1.TaintEffect) []v1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t v1.Taint) bool { return t.Key == key && t.Effect == effect })
}
