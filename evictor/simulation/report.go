package simulation

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Report is the result of Play. Instants are durations since time 0. A figure has the same name in scenario files, in
// JSON and in tables of examples/evictsim: the name of its field with a small first letter, and with Seconds at the end
// if it is a duration. SCENARIO.md in examples/scenariofile defines the figures. Figures returns them by name.
type Report struct {
	Until time.Duration
	// WritesWouldWait is how long a write would wait at most to be sent, if each client sent 20 a second in bursts of 30, as is
	// usual. With Scenario.KubeAPIQPS they wait as that says.
	WritesWouldWait time.Duration

	// Nodes and Pods count the objects at time 0, including pods without a node. Pods of DaemonSets are in no figure but
	// DaemonSetPods, because they belong to their nodes.
	Nodes         int `figure:""`
	Pods          int `figure:""`
	DaemonSetPods int `figure:""`
	// KubeletFailures counts how often a kubelet failed or was cut off. UnknownNodes counts how often a node's Ready
	// condition became Unknown. Taints counts how often a node got the not-ready or unreachable taint with effect
	// NoExecute, and TaintedNodes the different nodes that got it. PodsMarkedNotReady counts how often a pod of a
	// failed node was marked not Ready.
	KubeletFailures    int `figure:""`
	UnknownNodes       int `figure:""`
	TaintedNodes       int `figure:""`
	Taints             int `figure:""`
	PodsMarkedNotReady int `figure:""`
	Unserved
	// RunningWithoutEndpoints counts the pods that ran while they were marked: their nodes were only cut off, or lived.
	// MedianWithoutEndpoints is the median of how long pods were marked.
	RunningWithoutEndpoints int           `figure:""`
	MedianWithoutEndpoints  time.Duration `figure:""`

	// Evicted counts the pods that evictors evicted (PodWriter.Evict). EvictedFromLiveNodes counts those whose node had a
	// live kubelet at that time, EvictedWhileRunning those whose node was only cut off from the API. RemovedWhileRunning
	// counts pods whose objects were removed while such a node still ran them. Drained counts the pods that drains evicted,
	// DrainedByForce those of them that a drain deleted after its timeout, without asking budgets.
	Evicted              int `figure:""`
	EvictedFromLiveNodes int `figure:""`
	EvictedWhileRunning  int `figure:""`
	RemovedWhileRunning  int `figure:""`
	Drained              int `figure:""`
	DrainedByForce       int `figure:""`
	// DiedWithNodes counts the pods that went because their node was deleted or replaced. LostForGood counts the pods without a
	// controller that were deleted, by whatever, before they had finished: nothing recreates them. LostPods names the
	// first of these, 20 at most.
	DiedWithNodes int              `figure:""`
	LostForGood   int              `figure:""`
	LostPods      []evictor.PodKey // in the order of their deletion
	// Drains counts the nodes that were drained, by events, rolls and controllers. The next four count those that could
	// not evict everything: they were forced or given up at their timeout, went on at the end, or failed, because of a
	// pod that kubectl refuses to evict or that has two budgets. RollsUnfinished counts the rolls that did not replace
	// all of their nodes. StuckDrains and StuckRolls have the details.
	Drains           int `figure:""`
	DrainsForced     int `figure:""`
	DrainsGivenUp    int `figure:""`
	DrainsUnfinished int `figure:""`
	DrainsFailed     int `figure:""`
	RollsUnfinished  int `figure:""`
	Refusals
	// FirstEviction and LastEviction are the times of the first and the last eviction; 0 if there was none.
	FirstEviction time.Duration `figure:"Evicted"`
	LastEviction  time.Duration `figure:"Evicted"`
	// The delays are the median, the 99th percentile and the maximum of the times from the moment a node fell silent to the
	// eviction of its pods. Pods that are late at the end and still there are among them, with the time that it takes at least.
	// Delayed counts the pods that have such a time; none means that the others are 0.
	Delayed             int
	EvictionDelayMedian time.Duration `figure:"Delayed"`
	EvictionDelayP99    time.Duration `figure:"Delayed"`
	EvictionDelayWorst  time.Duration `figure:"Delayed"`
	// NotEvicted counts the pods on silent nodes at the end that do not tolerate that for ever and were not evicted. Left says
	// why.
	NotEvicted int `figure:""`
	// NeedlessEvictions counts evictions from nodes that were back within NeedlessWithin after they fell silent,
	// EvictedBeforeReturn those from nodes that were back within NeedlessWithin after the eviction. LostEvictions counts
	// evictions that were overdue by a minute and had not happened when the node was back, its taint was gone, or the
	// simulation ended.
	NeedlessEvictions   int `figure:""`
	EvictedBeforeReturn int `figure:""`
	LostEvictions       int `figure:""`

	// ReturnedPods counts the pods that were replaced: on another node, or as another object of the same name.
	ReturnedPods int `figure:""`
	// PendingAtEnd counts the pods that had found no node at the end, MostPending at the worst time.
	PendingAtEnd int `figure:""`
	MostPending  int `figure:""`
	// PendingThatCouldPreempt is how many of the pending pods at most would find a node if pods of lower priority left it.
	PendingThatCouldPreempt int `figure:""`
	// HeldByOrder counts the pods of StatefulSets that were not created at the end, because one with a lower ordinal was
	// not Running and Ready (podManagementPolicy OrderedReady), MostHeld at the worst time. They are not Pending.
	HeldByOrder int `figure:""`
	MostHeld    int `figure:""`
	// TerminatingAtEnd and MostTerminating count the deleted pods whose objects stayed: on silent nodes, or for their grace
	// period.
	TerminatingAtEnd int `figure:""`
	MostTerminating  int `figure:""`
	// PodHoursLost is the time that pods had no live node, in hours, summed over all pods except completed ones and those of
	// DaemonSets. Pods that do not come back, such as those of a Job that has failed, are not among them once they are
	// deleted. PodHoursMissing is the time that workloads had fewer live pods than they want, summed over the missing pods
	// of all of them.
	PodHoursLost    float64 `figure:""`
	PodHoursMissing float64 `figure:""`

	// WorkloadsBelowHalf counts the workloads that had fewer than half of their pods live at some time.
	// LongestBelowHalf is the longest time without a break that one workload had, SumBelowHalf the sum over all
	// workloads, and AnyBelowHalf the time that at least one had.
	WorkloadsBelowHalf int           `figure:""`
	LongestBelowHalf   time.Duration `figure:""`
	SumBelowHalf       time.Duration `figure:""`
	AnyBelowHalf       time.Duration `figure:""`
	// LowestReadyShare is the lowest share of live pods that any workload had; 1 if there is none.
	LowestReadyShare float64 `figure:""`
	// BudgetsBroken counts the budgets that were not kept at some time. LongestBelowBudget is the longest time without
	// a break that one budget was not kept, SumBelowBudget the sum over all budgets.
	BudgetsBroken      int           `figure:""`
	LongestBelowBudget time.Duration `figure:""`
	SumBelowBudget     time.Duration `figure:""`

	Zones     []ZoneReport     // by name
	Workloads []WorkloadReport // by namespace, kind and name
	Budgets   []BudgetReport   // by namespace and name

	FailedJobs []FailedJob // by name
	Unplaced   []Unplaced  // why pods are Pending at the end: most pods first, at most 20

	StuckDrains []StuckDrain // in the order of At
	StuckRolls  []StuckRoll  // in the order in which they stopped; those that go on are the last
	Series      *Series      // nil unless Scenario.Points asks for it
	// Cancelled counts evictions that were due later and were cancelled, by evictor.Decision.Reason.
	Cancelled map[string]int
	// Left counts the pods on silent nodes at the end, by reason.
	Left map[string]int
	// HeldBack has the evictions that were due and held back, by reason, but those that disruption budgets refused.
	HeldBack []HeldBack
	// Removed counts pods that the garbage collector removed, from nodes that are out of service or deleted, without
	// those of DaemonSets and mirror pods. Waiting counts the pods to be replaced that have no node at the end, whether
	// or not their replacement is due. CameBackNodes and CameBackPods count nodes that recovered before they were
	// tainted, and their pods.
	Removed, Waiting, CameBackNodes, CameBackPods int

	// NotSimulated counts pods by the feature that is not simulated, such as "resource claims", and the pods that were left
	// out, by reason. Understated has those features that could only keep more pods from more nodes, so that the
	// figures of Pending pods are lower bounds. Both are nil if there are none.
	NotSimulated, Understated map[string]int
	Warnings                  []string // what the author of the scenario may have meant differently
	After                     []int    // numbers of the events that come after the end
	// Changes are the lines of the timeline about zones and the cluster, in order.
	Changes []timeline.Line
}

// note counts a line of the timeline.
func (r *Report) note(l timeline.Line, seen map[string]struct{}) {
	switch l.Kind {
	case timeline.KindZone, timeline.KindCluster:
		r.Changes = append(r.Changes, l)
	case timeline.KindCondition:
		if l.Type == string(v1.NodeReady) {
			r.UnknownNodes++
		}
	case timeline.KindTaint:
		if l.Op == timeline.OpAdd && l.Effect == string(v1.TaintEffectNoExecute) {
			r.Taints++
			seen[l.Node] = struct{}{}
		}
	default: // nothing counts it
	}
}

// lineOf returns the line for a decision, in addition to those of the writes.
func lineOf(d *evictor.NodeDecision) (timeline.Line, bool) {
	l := timeline.Line{T: d.Time.Sub(Epoch)}
	switch d.Kind {
	case nodelifecycle.ZoneChanged:
		l.Kind, l.Zone, l.State, l.Rate = timeline.KindZone, d.Zone.String(), string(d.State), d.Rate
		l.Ready, l.NotReady = d.Counts.Total-d.Counts.Bad, d.Counts.Bad
	case nodelifecycle.AllZonesDown:
		l.Kind, l.State = timeline.KindCluster, timeline.AllZonesDisrupted
	case nodelifecycle.AllZonesDownEnded:
		l.Kind, l.State = timeline.KindCluster, timeline.ClusterNormal
	default:
		return l, false
	}
	return l, true
}
