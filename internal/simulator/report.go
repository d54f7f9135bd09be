package simulator

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/taints"
)

// Report is what a simulation came to.
type Report struct {
	Settings scenario.Settings // those in effect

	// NotSimulated counts pods of files by what of them plays no part; nil: none.
	NotSimulated map[string]int

	Until       time.Duration
	Nodes, Pods int // at the start
	Passes      int // calls of Step

	// Zones are the lines about zones and the cluster, in order.
	Zones []scenario.Line

	NodeFailures int // of kubelets
	Unknown      int // times a node was declared Unknown
	Tainted      int // times a node got a NoExecute taint of ours
	TaintedNodes int // different nodes
	MarkedPods   int
	Writes       int

	Evicted         int
	EvictedFromLive int // of nodes whose kubelet was alive
	Delays          Delays
	Rescheduled     int
	Waiting         int // evicted pods that still have no node at the end

	// Cancelled counts armed evictions that were dropped, by reason.
	Cancelled map[string]int
	// CameBack counts nodes, and their pods, that recovered before they were tainted.
	CameBackNodes, CameBackPods int
	// Left is what is still on silent nodes at the end, by why.
	Left map[string]int

	// Stranded is the time that pods were without a live node, all pods together but for those of DaemonSets and completed ones.
	Stranded time.Duration
}

// why pods are still on silent nodes at the end of a simulation.
const (
	LeftForever     = "tolerate the taint for ever (DaemonSet pods, mostly)"
	LeftPending     = "tolerate it for a while that is not over"
	LeftTurn        = "on nodes whose turn has not come"
	LeftTerminating = "deleted, wait for their kubelet"
	LeftCompleted   = "completed or mirror pods, never evicted"
)

// left sorts what is still on silent nodes. Without taints only a DaemonSet's pods are left for ever.
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

// note counts a line.
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
	case scenario.KindCancel, scenario.KindSchedule:
		return
	}
	r.Writes++
}

// LineOf is the line that a decision makes, beside those of the writes.
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
