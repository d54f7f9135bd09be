package simulation

import (
	"reflect"
	"time"

	"github.com/evictkit/evictkit/internal/simulator"
)

// Report is the result of Play. Instants are durations since time 0. Each figure has the same name in scenario files, in JSON
// and in tables of examples/evictsim, in lower case at first and with Seconds at the end of a duration; package
// examples/scenariofile defines them.
type Report struct {
	// Nodes and Pods count the objects at time 0, including pods without a node and the DaemonSetPods.
	Nodes, Pods, DaemonSetPods int
	// Steps counts the steps of the controllers. A step runs every controller once, or more often if they react to each
	// other.
	Steps int

	// KubeletFailures counts how often a kubelet failed or was cut off, UnknownNodes how often a node's Ready condition
	// became Unknown, Taints how often a node got the not-ready or unreachable taint with effect NoExecute, TaintedNodes the
	// different nodes that did, and PodsMarkedNotReady how often a pod of a failed node was marked not Ready.
	// MostEndpointsGone counts the pods that were marked so and not deleted, at the worst time.
	KubeletFailures, UnknownNodes, Taints, TaintedNodes, PodsMarkedNotReady, MostEndpointsGone int

	// Evicted counts the pods that evictors evicted (PodWriter.Evict). EvictedFromLiveNodes counts those whose node had a
	// live kubelet at that time, EvictedWhileRunning those whose node was only cut off from the API. RemovedWhileRunning
	// counts pods whose objects were removed while such a node still ran them. Drained counts the pods that drains evicted.
	Evicted, EvictedFromLiveNodes, EvictedWhileRunning, RemovedWhileRunning, Drained int
	// FirstEviction and LastEviction are the times of the first and the last eviction; 0 if there was none.
	FirstEviction, LastEviction time.Duration
	// These are the times from the moment a node fell silent to the eviction of its pods.
	EvictionDelayMedian, EvictionDelayP99, EvictionDelayWorst time.Duration
	// NeedlessEvictions counts evictions from nodes that were back within ten minutes afterwards. LostEvictions counts
	// evictions that were overdue by a minute and had not happened when the node was back, its taint was gone, or the
	// simulation ended.
	NeedlessEvictions, LostEvictions int
	// Cancelled counts evictions that were due later and were cancelled, by evictor.Decision.Reason.
	Cancelled map[string]int

	// ReturnedPods counts the pods that were replaced: on another node, or as another object of the same name.
	ReturnedPods int
	// PendingAtEnd counts the pods that had found no node at the end, MostPending at the worst time. TerminatingAtEnd and
	// MostTerminating count the deleted pods whose objects stayed on silent nodes.
	PendingAtEnd, MostPending, TerminatingAtEnd, MostTerminating int
	// PendingThatCouldPreempt is how many of the pending pods at most would find a node if pods of lower priority left it.
	PendingThatCouldPreempt int
	// PodHoursLost is the time that pods had no live node, in hours, summed over all pods except completed ones and those of
	// DaemonSets.
	PodHoursLost float64

	// WorkloadsBelowHalf counts the workloads that had fewer than half of their pods live at some time. LongestBelowHalf is
	// the longest time of one without a break, SumBelowHalf the sum over all, and AnyBelowHalf how long at least one had.
	WorkloadsBelowHalf                           int
	LongestBelowHalf, SumBelowHalf, AnyBelowHalf time.Duration
	// LowestReadyShare is the lowest share of live pods that any workload had; 1 if there is none.
	LowestReadyShare float64
	// BudgetsBroken counts the budgets that were not kept at some time. LongestBelowBudget is the longest time of one without
	// a break, SumBelowBudget the sum over all.
	BudgetsBroken                      int
	LongestBelowBudget, SumBelowBudget time.Duration

	Zones     []ZoneReport     // by name
	Workloads []WorkloadReport // by namespace, kind and name
	Budgets   []BudgetReport   // by namespace and name

	// NotSimulated counts pods by the feature that is not simulated, such as "resource claims", and the pods that were left
	// out, by reason. It is nil if there are none.
	NotSimulated map[string]int
}

// ZoneReport is the result for one zone.
type ZoneReport struct {
	Name string // region:name
	// Nodes counts the zone's nodes at the end, LowestNodes the live ones at the worst time.
	Nodes, LowestNodes int
	// Below is how long fewer nodes were live than there are, BelowHalf how long fewer than half of them, in all.
	Below, BelowHalf time.Duration
	// Pods counts the pods that are on the zone's nodes at time 0, without completed pods and pods of DaemonSets. Those of
	// Scenario.Workloads have no node yet.
	Pods int

	KubeletFailures, UnknownNodes, Taints, Evicted int // as in Report

	FirstEviction, LastEviction time.Duration // 0 if there was none
	NodesWaited                 time.Duration // how long at least one failed node waited for the zone's rate, in all
}

// WorkloadReport is the result for the pods of one controller. Pods of a Deployment's ReplicaSet count for the
// Deployment. A pod is live while its node is live and the pod is neither deleted nor completed.
type WorkloadReport struct {
	Namespace, Kind, Name string
	// Desired is the wanted number of pods. LowestReady is the smallest number of live pods, first reached at LowestAt, and
	// LowestReadyShare its share of Desired. ReadyAtEnd is the number of live pods at the end.
	Desired, LowestReady, ReadyAtEnd int
	LowestReadyShare                 float64
	LowestAt                         time.Duration
	// Below is how long fewer pods were live than desired, BelowHalf how long fewer than half, in all. LongestBelowHalf is
	// the longest time without a break.
	Below, BelowHalf, LongestBelowHalf time.Duration
	BelowBudget                        time.Duration // how long at least one of its disruption budgets was not kept, in all
	PodHoursLost                       float64       // time below, in hours, summed over the missing pods
}

// BudgetReport is the result for the pods of one PodDisruptionBudget.
type BudgetReport struct {
	Namespace, Name string
	// Desired is the wanted number of pods, Needed how many of them must be live, and LowestReady the smallest number of
	// live pods.
	Desired, Needed, LowestReady int
	// Below is how long fewer pods than Needed were live, in all, LongestBelow the longest time without a break, and
	// MostBelow the largest number that was missing.
	Below, LongestBelow time.Duration
	MostBelow           int
}

// reportOf converts the engine's report, whose figures have the same names.
func reportOf(r *simulator.Report) *Report {
	to := &Report{Steps: r.Passes}
	figures(to, r)
	to.Zones = each[ZoneReport](r.ByZone)
	to.Workloads = each[WorkloadReport](r.Workloads)
	to.Budgets = each[BudgetReport](r.Budgets)
	return to
}

func each[To, From any](from []From) (to []To) {
	for i := range from {
		to = append(to, *new(To))
		figures(&to[i], &from[i])
	}
	return to
}

// figures copies the fields that both structs have, by name and type.
func figures(to, from any) {
	a, b := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range a.NumField() {
		if of := b.FieldByName(a.Type().Field(i).Name); of.IsValid() && of.Type() == a.Field(i).Type() {
			a.Field(i).Set(of)
		}
	}
}
