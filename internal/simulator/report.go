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

	Until       time.Duration
	Nodes, Pods int // at the start
	Passes      int // calls of Step

	// Zones are the lines about zones and the cluster, in order.
	Zones []scenario.Line

	NodeFailures int // failures of kubelets
	Unknown      int // times a node was marked Unknown
	Tainted      int // times a node got one of our NoExecute taints
	TaintedNodes int // number of different nodes
	MarkedPods   int
	Writes       int

	Evicted         int
	EvictedFromLive int // from nodes whose kubelet was alive
	EvictedRunning  int // from nodes that were cut off from the API and still ran their pods
	RemovedRunning  int // pods whose objects were removed while such a node still ran them
	Drained         int // evicted by a drain
	Removed         int // removed from nodes that are out of service
	Delays          Delays
	Rescheduled     int
	Waiting         int // evicted pods that still have no node at the end

	First, Last     time.Duration // times of the first and last eviction; 0 if there was none
	Needless        int           // evictions from nodes that were back within NeedlessWithin of them
	Lost            int           // pods whose eviction was overdue by LostAfter when the node was back, its taint gone, or the simulation over
	Pending         int           // pods without a node at the end
	MostPending     int
	Unplaced        []Unplaced // why pods are Pending at the end: most pods first, at most MostUnplaced
	CouldPreempt    int        // how many of Pending at most would find a node if pods of lower priority left it
	FailedJobs      []FailedJob
	Terminating     int // deleted pods whose objects are still on silent nodes at the end
	MostTerminating int
	MostEndpoints   int // pods marked not Ready and not deleted, at the worst time: endpoints that are gone

	ByZone    []Zone
	Workloads []Workload
	// AnyBelowHalf is how long some workload had fewer than half of its pods live.
	AnyBelowHalf time.Duration
	Budgets      []Budget
	Series       *Series // nil unless Options.Points asks for it
	After        []int   // numbers of the events that come after the end

	// Cancelled counts armed evictions that were cancelled, by reason.
	Cancelled map[string]int
	// CameBackNodes and CameBackPods count nodes that recovered before they were tainted, and their pods.
	CameBackNodes, CameBackPods int
	// Left counts the pods on silent nodes at the end, by reason.
	Left map[string]int

	// Stranded is the time that pods were without a live node, summed over all pods except completed pods and pods of
	// DaemonSets.
	Stranded time.Duration
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
			r.Unknown++
		}
	case scenario.KindTaint:
		if l.Op == scenario.OpAdd && l.Effect == string(v1.TaintEffectNoExecute) {
			r.Tainted++
			seen[l.Node] = struct{}{}
		}
	case scenario.KindPodNotReady:
		r.MarkedPods++
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
