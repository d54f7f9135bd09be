package simulation

import (
	"cmp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/sending"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Scenario says what exists at time 0, what happens, and when it ends. Play does not change it, so it can be copied,
// changed and played again. [Scenario.WithDefaults] is what it plays.
type Scenario struct {
	// Nodes, Pods and Objects are objects as the API server returns them; see the package comment.
	//
	// A node without conditions is Ready; one whose Ready condition is Unknown is silent. Its allocatable resources (its
	// capacity if there are none) limit the pods that the scheduler puts there; a node with neither has no limit.
	//
	// A pod without conditions is Ready. A pod without a namespace is in default. A pod without a node is scheduled at time
	// 0. Pods on nodes that are neither in Nodes nor in Zones are left out; Report.NotSimulated counts them.
	//
	// Objects may be of any date. If the newest time in nodes and pods is later than Epoch, all are moved back until it is
	// Epoch: each taint, condition, node and pod has the age at time 0 that it had at that time.
	Nodes []*v1.Node
	Pods  []*v1.Pod
	// Objects are the rest: PodDisruptionBudgets, PersistentVolumes, PersistentVolumeClaims, and workloads, which are the
	// Deployments, ReplicaSets and StatefulSets of apps/v1, and the Jobs of batch/v1. Nodes and pods may be here too.
	//
	// Pods whose owner references name a workload count as its replicas. The missing ones are made from its template and
	// scheduled at time 0. Nobody deletes those that are too many; of a StatefulSet's, they do not come back. A Job has as
	// many pods as its parallelism, and ends once more of them have failed than its backoffLimit says; evicted pods count
	// as failed.
	Objects []runtime.Object
	// Read, if not nil, adds more objects, for example from a file that is too large to hold. Nodes should come before
	// their pods: a pod that comes before its node is kept in memory until then.
	Read func(add func(runtime.Object) error) error
	// Zones are generated nodes and pods.
	Zones []Zone

	// Events happen at their times; events of the same time happen in this order. Errors name them by number, from 1.
	Events []Event
	// Traces are recorded outages that decide which nodes are live.
	Traces []Trace
	// Until is when the scenario ends; events at that time still happen. It must be positive, and at most ten years.
	Until time.Duration

	// Config configures the evictors that World.NewEvictor makes. The zero Config means evictor.DefaultConfig.
	Config evictor.Config
	// LeaseInterval is the time between two renewals of a kubelet's lease; 0 means 10 seconds. The renewals of all nodes
	// are spread evenly over it, unless LeasesTogether is set. StatusInterval is the time between two status reports; 0
	// means 5 minutes. Both, and the evictor's NodeMonitorPeriod, are at least a millisecond.
	LeaseInterval, StatusInterval time.Duration
	LeasesTogether                bool
	// NotReadyFor is how long a kubelet that starts after time 0 reports that it is not Ready, as real ones do for about
	// 15 seconds; it renews its lease and runs its pods meanwhile. A kubelet starts when its node registers, and when Recover or a
	// Trace ends Fail, but not when Recover ends Partition. A Condition of type Ready ends it. 0 means that it is Ready at once.
	NotReadyFor time.Duration
	// ReplaceAfter is how long a controller and the scheduler take to replace a pod: the time from the moment a deleted pod
	// may be replaced until the scheduler first looks for a node. Outages of the API do not count. 0 means 10 seconds. If it is
	// negative, no pod is replaced and pods without a node are left out.
	ReplaceAfter time.Duration
	// ReadyAfter is how long a pod takes to be Ready on its node once it is bound there by the scheduler. If it is not 0, deleted
	// pods of Pods and Objects also take their terminationGracePeriodSeconds to end on a live node, if they say so. 0 means
	// that pods end and start at once, except those whose PodFields have a grace period.
	ReadyAfter time.Duration
	// DefaultTolerationSeconds is what the API server adds to pods that do not say how long they tolerate that their node is
	// not ready or unreachable; nil means 300. If it is not nil, it also replaces exactly 300 seconds in the objects' pods,
	// because their cluster's API server has added these.
	DefaultTolerationSeconds *TolerationSeconds
	// AskBudgets makes PodWriter.Evict call the eviction API, which refuses evictions that would violate a
	// PodDisruptionBudget. Otherwise evictions are deletions, as in kube-controller-manager, and budgets matter only for
	// the Report.
	AskBudgets bool
	// KubeAPIQPS limits how many writes a second the controllers send, KubeAPIBurst how many at once; 0 means 30. There are two
	// clients with this limit each: for evictions, and for everything else. Writes that wait are sent in order, those of nodes
	// before those of pods. If KubeAPIQPS is 0 there is no limit, and Report.WritesWouldWait says what the usual one, of 20 and
	// 30, would do.
	KubeAPIQPS   float64
	KubeAPIBurst int
	// Together are labels. Pods of a namespace that have the same value of one of them leave together: World.NewEvictor and
	// World.ClientsFor put a together.Writer around the PodWriter. Of several labels that a pod has the first counts.
	// Report.Warnings names those that no pod ever had.
	Together []string

	// NoLeaderElection says that one replica of the controllers acts without a lease. Otherwise one that cannot reach the
	// API for 10 seconds stops writing, and the next one continues once the API is back; see Controller.
	NoLeaderElection bool
	// ControllersOnly is for comparing engines line by line: in an outage of the API, evictors have no guard, the leader
	// keeps leading, kubelets report only every StatusInterval, and workloads, the scheduler and events go on.
	ControllersOnly bool

	// Timeline, if not nil, gets a line for each write to the API, each event, and each change of a zone, in the order of
	// time. timeline.To writes them as JSON.
	Timeline func(timeline.Line) error
	// Happened, if not nil, gets what happens to nodes and pods without the controllers.
	Happened func(Happening)
	// Refused, if not nil, gets each pod that finds no node when it could come back, once, and not each time it is tried
	// again. pod is the one to be replaced. why is what refused it at each node: its Pods is 1. Pods that are alike share it within
	// a second, so it must not be changed.
	Refused func(at time.Duration, pod evictor.PodKey, why *Unplaced)
	// Progress, if not nil, gets the virtual time from time to time.
	Progress func(at time.Duration)
	// Points is about how many steps the Report's Series has; 0 means no Series.
	Points int
	// Clock, if not nil, is the clock of the world, such as a fake clock of k8s.io/utils/clock/testing: a clock.PassiveClock with the
	// method SetTime(time.Time). It must stand at Epoch. SetTime may stop before the given time, when a controller that has timers of
	// its own has written something: then what that causes happens at its time.
	Clock settable
}

// settable is a clock that the simulation moves.
type settable interface {
	clock.PassiveClock
	SetTime(time.Time)
}

// Zone generates the nodes <name>-000, <name>-001, … with the labels of that zone and region. Each node has pods of a
// ReplicaSet with the zone's name, default/<node>-p0, …, and pods of a DaemonSet, default/<node>-ds0, …. ReplicaSet pods
// tolerate not-ready and unreachable for Scenario.DefaultTolerationSeconds; DaemonSet pods tolerate every NoExecute taint.
type Zone struct {
	Name                 string `yaml:"name,omitempty"`
	Region               string `yaml:"region,omitempty"` // may be empty
	Nodes                int    `yaml:"nodes,omitempty"`
	PodsPerNode          int    `yaml:"podsPerNode,omitempty"`
	DaemonSetPodsPerNode int    `yaml:"daemonSetPodsPerNode,omitempty"`
	NodeFields           `yaml:",inline"`
	Pod                  PodFields `yaml:"pod,omitempty"` // of all its pods but those of the DaemonSet
	// TolerationSeconds replaces Scenario.DefaultTolerationSeconds if it is not nil.
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds,omitempty"`
}

// Trace is the recorded number of live machines over time. As many nodes of the zone are live, the first by name; the
// others are silent. No event may fail or recover nodes of that zone.
type Trace struct {
	Zone string        // the zone's name; region:name if two regions have a zone of that name
	Gap  time.Duration // from one value to the next, in whole seconds
	// Alive holds the values. The first applies from time 0 on, the last one until the end.
	Alive []int
	// Scale is the number of nodes that one recorded machine stands for. If it is 0, the largest value stands for the whole
	// zone, and smaller ones for their share of it.
	Scale int
}

// Defaults of a Scenario.
const (
	leaseInterval  = 10 * time.Second
	statusInterval = 5 * time.Minute
	replaceAfter   = 10 * time.Second
	usualTolerance = TolerationSeconds(300)
)

// WithDefaults returns the scenario with the defaults of fields that are zero.
func (s Scenario) WithDefaults() Scenario {
	s.Config = cmp.Or(s.Config, evictor.DefaultConfig())
	s.LeaseInterval, s.StatusInterval = cmp.Or(s.LeaseInterval, leaseInterval), cmp.Or(s.StatusInterval, statusInterval)
	s.ReplaceAfter = cmp.Or(s.ReplaceAfter, replaceAfter)
	return s
}

// Settings are those in effect, as the timeline tells them. The scenario must have its defaults.
func (s *Scenario) Settings() timeline.Fields {
	c := &s.Config.Nodes
	fields := timeline.Fields{
		"nodeMonitorPeriod": c.NodeMonitorPeriod, "nodeMonitorGracePeriod": c.NodeMonitorGracePeriod,
		"nodeStartupGracePeriod": c.NodeStartupGracePeriod, "nodeEvictionRate": c.NodeEvictionRate,
		"secondaryNodeEvictionRate": c.SecondaryNodeEvictionRate, "largeClusterSizeThreshold": c.LargeClusterSizeThreshold,
		"unhealthyZoneThreshold": c.UnhealthyZoneThreshold, "podEvictionTimeout": c.PodEvictionTimeout,
		"taintBasedEviction": c.TaintBasedEviction, "useEvictionAPI": s.AskBudgets, "leaderElection": !s.NoLeaderElection,
		"heartbeatInterval": s.LeaseInterval, "statusInterval": s.StatusInterval, "spread": "even",
		"tolerationSeconds": int(usualTolerance), "rescheduleAfter": "never", "until": s.Until,
	}
	switch seconds := s.DefaultTolerationSeconds; {
	case seconds == nil:
	case *seconds == NoToleration:
		fields["tolerationSeconds"] = "none"
	default:
		fields["tolerationSeconds"] = int(*seconds)
	}
	if s.LeasesTogether {
		fields["spread"] = "none"
	}
	if s.NotReadyFor > 0 {
		fields["notReadyFor"] = s.NotReadyFor
	}
	if s.KubeAPIQPS > 0 {
		fields["kubeAPIQPS"], fields["kubeAPIBurst"] = s.KubeAPIQPS, cmp.Or(s.KubeAPIBurst, sending.UsualBurst)
	}
	if len(s.Together) > 0 {
		fields["together"] = strings.Join(s.Together, ", ")
	}
	if s.ReadyAfter > 0 {
		fields["rescheduleReady"] = s.ReadyAfter
	}
	if s.ReplaceAfter >= 0 {
		fields["rescheduleAfter"] = s.ReplaceAfter
	}
	return fields
}
