package simulation

import (
	"time"

	"github.com/evictkit/evictkit/internal/simulator"
)

// Report is the result of Play. Instants are durations since time 0.
type Report struct {
	// Nodes and Pods count the objects at time 0, including pods without a node.
	Nodes, Pods int
	// Steps counts the steps of the controllers. A step runs every controller once, or more often if they react to each
	// other.
	Steps int

	// Failures counts how often a kubelet failed or was cut off, Unknown how often a node's Ready condition became Unknown,
	// Tainted how often a node got the not-ready or unreachable taint with effect NoExecute, and MarkedPods how often a pod
	// of a failed node was marked not Ready.
	Failures, Unknown, Tainted, MarkedPods int

	// Evicted counts the pods that evictors evicted (PodWriter.Evict). EvictedFromLive counts those whose node had a live
	// kubelet at that time, EvictedWhileRunning those whose node was only cut off from the API.
	Evicted, EvictedFromLive, EvictedWhileRunning int
	// FirstEviction and LastEviction are the times of the first and the last eviction; 0 if there was none.
	FirstEviction, LastEviction time.Duration
	// MedianDelay and WorstDelay are the time from the moment a node fell silent to the eviction of its pods.
	MedianDelay, WorstDelay time.Duration
	// Needless counts evictions from nodes that were back within ten minutes afterwards. Lost counts evictions that were
	// overdue by a minute and had not happened when the node was back, its taint was gone, or the simulation ended.
	Needless, Lost int
	// Cancelled counts evictions that were due later and were cancelled, by evictor.Decision.Reason.
	Cancelled map[string]int
	// Drained counts the pods that drains evicted.
	Drained int

	// MostEndpointsGone counts the pods that were marked not Ready and not deleted, at the worst time.
	MostEndpointsGone int
	// Returned counts the pods that were replaced: on another node, or as another object of the same name.
	Returned int
	// PodHoursLost is the time that pods had no live node, in hours, summed over all pods.
	PodHoursLost float64
	// Pending counts the pods that had found no node at the end, MostPending at the worst time. Terminating and
	// MostTerminating count the deleted pods whose objects stayed on silent nodes.
	Pending, MostPending, Terminating, MostTerminating int

	Zones     []ZoneReport     // by name
	Workloads []WorkloadReport // by namespace, kind and name
	Budgets   []BudgetReport   // by namespace and name

	// NotSimulated counts pods by the feature that is not simulated, such as "persistent volume claims", and the pods that
	// were left out, by reason. It is nil if there are none.
	NotSimulated map[string]int
}

// ZoneReport is the result for one zone.
type ZoneReport struct {
	Name string // region:name
	// Nodes counts the zone's nodes at the end, LowestNodes the live ones at the worst time.
	Nodes, LowestNodes int
	// Pods counts the pods that are on the zone's nodes at time 0, without completed pods and pods of DaemonSets. Those of
	// Scenario.Workloads have no node yet.
	Pods int

	Failures, Unknown, Tainted, Evicted int // as in Report

	FirstEviction, LastEviction time.Duration // 0 if there was none
}

// WorkloadReport is the result for the pods of one controller. Pods of a Deployment's ReplicaSet count for the
// Deployment. A pod is live while its node is live and the pod is neither deleted nor completed.
type WorkloadReport struct {
	Namespace, Kind, Name string
	// Desired is the wanted number of pods. Lowest is the smallest number of live pods, first reached at LowestAt. AtEnd is
	// the number of live pods at the end.
	Desired, Lowest, AtEnd int
	LowestAt               time.Duration
	// Below is how long fewer pods were live than desired, BelowHalf how long fewer than half.
	Below, BelowHalf time.Duration
	PodHoursLost     float64 // time below, in hours, summed over the missing pods
}

// BudgetReport is the result for the pods of one PodDisruptionBudget.
type BudgetReport struct {
	Namespace, Name string
	// Desired is the wanted number of pods, Needed how many of them must be live, and Lowest the smallest number of live
	// pods.
	Desired, Needed, Lowest int
	// Below is how long fewer pods than Needed were live, and MostBelow the largest number that was missing.
	Below     time.Duration
	MostBelow int
}

// reportOf converts the engine's report.
func reportOf(r *simulator.Report) *Report {
	to := &Report{
		Nodes: r.Nodes, Pods: r.Pods, Steps: r.Passes,
		Failures: r.NodeFailures, Unknown: r.Unknown, Tainted: r.Tainted, MarkedPods: r.MarkedPods, MostEndpointsGone: r.MostEndpoints,
		Evicted: r.Evicted, EvictedFromLive: r.EvictedFromLive, EvictedWhileRunning: r.EvictedRunning,
		FirstEviction: r.First, LastEviction: r.Last, MedianDelay: r.Delays.Median, WorstDelay: r.Delays.Worst,
		Needless: r.Needless, Lost: r.Lost, Cancelled: r.Cancelled, Drained: r.Drained,
		Returned: r.Rescheduled, PodHoursLost: r.Stranded.Hours(),
		Pending: r.Pending, MostPending: r.MostPending, Terminating: r.Terminating, MostTerminating: r.MostTerminating,
		NotSimulated: r.NotSimulated,
	}
	for i := range r.ByZone {
		z := &r.ByZone[i]
		to.Zones = append(to.Zones, ZoneReport{
			Name: z.Name, Nodes: z.Desired, LowestNodes: z.Lowest, Pods: z.Pods,
			Failures: z.Failures, Unknown: z.Unknown, Tainted: z.Tainted, Evicted: z.Evicted,
			FirstEviction: z.First, LastEviction: z.Last,
		})
	}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		to.Workloads = append(to.Workloads, WorkloadReport{
			Namespace: w.Namespace, Kind: w.Kind, Name: w.Name,
			Desired: w.Desired, Lowest: w.Lowest, LowestAt: w.LowestAt, AtEnd: w.AtEnd,
			Below: w.Below, BelowHalf: w.BelowHalf, PodHoursLost: w.Lacking.Hours(),
		})
	}
	for i := range r.Budgets {
		b := &r.Budgets[i]
		to.Budgets = append(to.Budgets, BudgetReport{
			Namespace: b.Namespace, Name: b.Name, Desired: b.Desired, Needed: b.Needed, Lowest: b.Lowest,
			Below: b.BelowNeeded, MostBelow: b.MostBelow,
		})
	}
	return to
}
