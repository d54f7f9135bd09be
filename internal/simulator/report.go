package simulator

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/taints"
)

// Report is the result of a simulation.
type Report struct {
	Settings scenario.Settings // in effect

	// NotSimulated counts pods of files by the feature that is not simulated; nil if none.
	NotSimulated map[string]int

	Warnings []string // what may not be meant as it is said
	Until    time.Duration
	Passes   int // calls of Step
	Writes   int // of the controller
	Removed  int // pods removed from nodes that are out of service
	Waiting  int // evicted pods that still have no node at the end

	// Zones are the lines about zones and the cluster, in order.
	Zones []scenario.Line

	Nodes              int `figure:"nodes"` // at the start, like pods
	Pods               int `figure:"pods"`
	DaemonSetPods      int `figure:"daemonSetPods"` // of these
	KubeletFailures    int `figure:"kubeletFailures"`
	UnknownNodes       int `figure:"unknownNodes"` // times a node was marked Unknown
	TaintedNodes       int `figure:"taintedNodes"` // number of different nodes that got one of our NoExecute taints
	Taints             int `figure:"taints"`       // times that a node got one
	PodsMarkedNotReady int `figure:"podsMarkedNotReady"`
	MostEndpointsGone  int `figure:"mostEndpointsGone"` // pods marked not Ready and not deleted, at the worst time

	Evicted              int           `figure:"evicted"`
	EvictedFromLiveNodes int           `figure:"evictedFromLiveNodes"` // whose kubelet was alive
	EvictedWhileRunning  int           `figure:"evictedWhileRunning"`  // from nodes that were cut off from the API and still ran their pods
	RemovedWhileRunning  int           `figure:"removedWhileRunning"`  // pods whose objects were removed while such a node still ran them
	Drained              int           `figure:"drained"`              // evicted by a drain
	FirstEviction        time.Duration `figure:"firstEvictionSeconds"` // when it was; 0 if there was none, like the last
	LastEviction         time.Duration `figure:"lastEvictionSeconds"`
	Delays
	NeedlessEvictions int `figure:"needlessEvictions"` // from nodes that were back within NeedlessWithin of them
	LostEvictions     int `figure:"lostEvictions"`     // overdue by LostAfter when the node was back, its taint gone, or the simulation over
	ReturnedPods      int `figure:"returnedPods"`
	PendingAtEnd      int `figure:"pendingAtEnd"` // pods without a node
	MostPending       int `figure:"mostPending"`
	// PendingThatCouldPreempt is how many of the pending pods at most would find a node if pods of lower priority left it.
	PendingThatCouldPreempt int     `figure:"pendingThatCouldPreempt"`
	TerminatingAtEnd        int     `figure:"terminatingAtEnd"` // deleted pods whose objects are still on silent nodes
	MostTerminating         int     `figure:"mostTerminating"`
	PodHoursLost            float64 `figure:"podHoursLost"` // pods without a live node, except completed pods and pods of DaemonSets

	WorkloadsBelowHalf int           `figure:"workloadsBelowHalf"`
	LongestBelowHalf   time.Duration `figure:"longestBelowHalfSeconds"` // the longest that one workload was without a break
	SumBelowHalf       time.Duration `figure:"sumBelowHalfSeconds"`     // of all workloads
	AnyBelowHalf       time.Duration `figure:"anyBelowHalfSeconds"`     // how long at least one was
	LowestReadyShare   float64       `figure:"lowestReadyShare"`        // of any workload; 1 if there is none
	BudgetsBroken      int           `figure:"budgetsBroken"`
	LongestBelowBudget time.Duration `figure:"longestBelowBudgetSeconds"` // the longest that one budget was not kept without a break
	SumBelowBudget     time.Duration `figure:"sumBelowBudgetSeconds"`     // of all budgets

	FailedJobs []FailedJob
	Unplaced   []Unplaced // why pods are Pending at the end: most pods first, at most MostUnplaced
	ByZone     []Zone
	Workloads  []Workload
	Budgets    []Budget
	Series     *Series // nil unless Options.Points asks for it
	After      []int   // numbers of the events that come after the end

	// Cancelled counts armed evictions that were cancelled, by reason.
	Cancelled map[string]int
	// CameBackNodes and CameBackPods count nodes that recovered before they were tainted, and their pods.
	CameBackNodes, CameBackPods int
	// Left counts the pods on silent nodes at the end, by reason.
	Left map[string]int
}

// Reasons why pods are still on silent nodes at the end of a simulation.
const (
	LeftForever     = "tolerate the taint forever (mostly DaemonSet pods)"
	LeftPending     = "still within their tolerationSeconds"
	LeftTurn        = "on nodes whose turn has not come"
	LeftTerminating = "deleted, waiting for their kubelet"
	LeftCompleted   = "completed or mirror pods, never evicted"
)

// left counts the pods on silent nodes, by reason. Without taints, only pods of DaemonSets stay forever.
func (c *Cluster) left(taintBased bool) map[string]int {
	left := make(map[string]int)
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.deleted || !n.failed {
			continue
		}
		for p := n.firstPod; p >= 0; p = c.pods[p].next {
			pod := &c.pods[p]
			switch {
			case pod.terminating:
				left[LeftTerminating]++
			case pod.phase.finished() || pod.spec.Mirror:
				left[LeftCompleted]++
			case !taintBased && pod.spec.OwnerKind == "DaemonSet":
				left[LeftForever]++
			case !taintBased:
				left[LeftTurn]++
			case !tainted(n) && toleratesForever(pod.spec):
				left[LeftForever]++
			case !tainted(n):
				left[LeftTurn]++
			case taints.Tolerate(taints.NoExecute(n.taints), pod.spec.Tolerations).Forever:
				left[LeftForever]++
			default:
				left[LeftPending]++
			}
		}
	}
	return left
}

var unreachable = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}

func toleratesForever(s *PodSpec) bool {
	return taints.Tolerate(taints.NoExecute(unreachable), s.Tolerations).Forever
}

// note counts a line of the timeline.
func (r *Report) note(l scenario.Line, seen map[string]struct{}) {
	switch l.Kind {
	case scenario.KindZone, scenario.KindCluster:
		r.Zones = append(r.Zones, l)
		return
	case scenario.KindCondition:
		if l.Type == string(v1.NodeReady) {
			r.UnknownNodes++
		}
	case scenario.KindTaint:
		if l.Op == scenario.OpAdd && l.Effect == string(v1.TaintEffectNoExecute) {
			r.Taints++
			seen[l.Node] = struct{}{}
		}
	case scenario.KindPodNotReady:
		r.PodsMarkedNotReady++
	case scenario.KindEvict:
		r.Evicted++
	default: // not a write of the controller
		return
	}
	r.Writes++
}

// LineOf returns the line for a decision, in addition to those of the writes.
func LineOf(d evictor.Decision) (scenario.Line, bool) {
	l := scenario.Line{T: d.Time.Sub(Epoch)}
	switch d.Kind {
	case evictor.ZoneChanged:
		l.Kind, l.Zone, l.State, l.Rate = scenario.KindZone, d.Zone.String(), d.State.String(), d.Rate
		l.Ready, l.NotReady = d.Counts.Good(), d.Counts.Bad
	case evictor.AllZonesDown:
		l.Kind, l.State = scenario.KindCluster, scenario.AllZonesDisrupted
	case evictor.AllZonesDownEnded:
		l.Kind, l.State = scenario.KindCluster, scenario.ClusterNormal
	case evictor.EvictionCancelled:
		l.Kind, l.Node, l.Pod = scenario.KindCancel, d.Node, scenario.JoinPodName(d.Pod.Namespace, d.Pod.Name)
	default:
		return l, false
	}
	return l, true
}
