package drill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// reason is why a workload suffers from a loss, and what Kubernetes offers against it.
type reason struct{ text, remedy, refused string }

// OutOfService is the remedy for stuck pods.
const OutOfService = "kubectl taint node NAME node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"

// jobFails counts no eviction as a failure; a Job's default does.
const jobFails = "podFailurePolicy: ignore pods with the condition DisruptionTarget"

// reason says what kept a workload's pods waiting longest. What would help is named only if it does: if the Job has not failed for
// good, if the taint frees the pods, and if spreading would leave more of them.
func (c *Cluster) reason(w *simulation.WorkloadReport, r Result, outOfService *Result) reason {
	wait := r.waits[w.String()]
	failed := slices.ContainsFunc(r.FailedJobs, func(j simulation.FailedJob) bool {
		return w.Kind == "Job" && j.Namespace == w.Namespace && j.Name == w.Name
	})
	switch {
	case failed:
		return reason{text: fmt.Sprintf("the Job fails: evicted pods count as failed, and its backoffLimit is %d", c.limits[w.String()]), remedy: jobFails}
	case wait == nil:
		return reason{text: "it lacked pods before the loss", remedy: "find out why these are Pending"}
	case wait.placing > max(wait.deleted, wait.evicting()) && wait.refusal != nil:
		return refusedBy(wait.refusal)
	case wait.deleted > max(wait.placing, wait.evicting()):
		return stuck(w, outOfService)
	case w.Desired == 1 && w.Kind != "Job":
		return reason{text: "it has one pod", remedy: "a second replica on another node"}
	case w.Kind != "Job" && 2*wait.pods >= w.Desired && wait.pods > c.atBest(w.Desired, r.Label):
		return reason{text: fmt.Sprintf("%d of its %d pods were on the lost nodes", wait.pods, w.Desired), remedy: "topologySpreadConstraints over " + r.Label}
	}
	return wait.before()
}

// evicting is how long the pods waited until they were evicted.
func (w *wait) evicting() time.Duration { return w.noticing + w.turn + w.tolerated }

// atBest returns how many of so many pods a domain of this label has if they are spread evenly.
func (c *Cluster) atBest(pods int, label string) int {
	domains := len(c.byLabel(label))
	if label == v1.LabelHostname {
		domains = len(c.nodes) // not all dumps have it
	}
	return (pods + domains - 1) / max(domains, 1)
}

// stuck is the reason for pods that wait until their silent nodes let go of them.
func stuck(w *simulation.WorkloadReport, outOfService *Result) reason {
	if outOfService != nil && !outOfService.halves(w) {
		const wouldNotHelp = "its pods are stuck, and tainting their nodes out of service would not help: "
		switch freed := outOfService.waits[w.String()]; {
		case freed.refusal != nil:
			because := refusedBy(freed.refusal)
			because.text = wouldNotHelp + because.text
			return because
		case freed.held > 0:
			return reason{text: wouldNotHelp + "a pod before them is not Ready", remedy: "find out why that one is not Ready, or podManagementPolicy: Parallel"}
		}
	}
	return reason{text: "its pods are stuck until their nodes are back, or are tainted out of service", remedy: OutOfService}
}

// halves says whether a workload misses at most half of the pod-hours that it misses otherwise.
func (r *Result) halves(otherwise *simulation.WorkloadReport) bool {
	return !slices.ContainsFunc(r.Workloads, func(w simulation.WorkloadReport) bool {
		return w.String() == otherwise.String() && w.PodHoursMissing > otherwise.PodHoursMissing/2
	})
}

// before is the reason for pods that come back soon after they are evicted.
func (w *wait) before() reason {
	switch most := max(w.noticing, w.turn, w.tolerated); {
	case w.untainted > 0 && w.turn == most:
		return reason{text: "the turn of their nodes never came: evictions are slow or stop where many nodes have failed", remedy: "a higher secondaryNodeEvictionRate or unhealthyZoneThreshold"}
	case w.turn == most:
		return reason{text: "its pods wait for their node's turn", remedy: "a higher nodeEvictionRate"}
	case w.noticing == most:
		return reason{text: "its pods wait until the silence of their node counts", remedy: "a shorter nodeMonitorGracePeriod"}
	case w.forever > 0:
		return reason{text: "its pods tolerate lost nodes for longer than this loss", remedy: "shorter tolerationSeconds for unreachable and not-ready"}
	}
	return reason{text: "its pods wait for their tolerationSeconds", remedy: "shorter tolerationSeconds for unreachable and not-ready"}
}

// refusals are the rules that refuse a pod, by their names in simulation.Unplaced.Because. Any other name is that of a resource.
var refusals = map[string]reason{
	"topology spread": {text: "its topologySpreadConstraints still count the lost nodes", remedy: "nodeTaintsPolicy: Honor in them, or whenUnsatisfiable: ScheduleAnyway"},
	"pod affinity":    {text: "its required pod affinity or anti-affinity leaves no node", remedy: "preferred pod (anti-)affinity in place of the required one, or more nodes"},
	"host port":       {text: "its host ports are taken on the other nodes", remedy: "a Service in place of the host ports, or more nodes"},
	"volume in use":   {text: "its volume is in use by the pod on the lost node", remedy: OutOfService},
	"volume":          {text: "its volumes cannot be reached from the other nodes", remedy: "storage that several zones reach, or replicas with volumes elsewhere"},
	"selector":        {text: "its node selector or affinity leaves no node", remedy: "a selector that more nodes match, or more such nodes"},
	"taint":           {text: "it does not tolerate the taints of the other nodes", remedy: "more nodes without these taints"},
	"cordoned":        {text: "the other nodes are cordoned", remedy: "kubectl uncordon NAME"},
	"not Ready":       {text: "no other node is there", remedy: "more nodes"},
}

// rulesOfNodes say for whom a node is. Where a node for the pod refuses it, that is the reason, however many other nodes there are.
var rulesOfNodes = []string{"selector", "taint", "cordoned", "not Ready"}

// refusedBy is the reason for a pod that finds no node: the rule but for which most nodes would take it.
func refusedBy(r *simulation.Refusal) (because reason) {
	most := func(among func(check string) bool) (best string) {
		for _, check := range slices.Sorted(maps.Keys(r.Alone)) {
			if among(check) && r.Alone[check] > r.Alone[best] {
				best = check
			}
		}
		return best
	}
	ofNodes := func(check string) bool { return slices.Contains(rulesOfNodes, check) }
	check := cmp.Or(
		most(func(check string) bool { return !ofNodes(check) }),
		most(func(check string) bool { return ofNodes(check) && check != "not Ready" }),
	)
	because, known := refusals[check]
	switch {
	case check == "" && r.Why.Because["not Ready"] == r.Why.Nodes:
		because = refusals["not Ready"]
	case check == "":
		because = reason{text: "every other node refuses its pods for several reasons", remedy: "more nodes like the lost ones"}
	case !known:
		because = reason{text: "there is no room for its pods elsewhere (" + check + ")", remedy: "more room, or lower requests"}
	}
	because.refused = r.Why.String()
	return because
}
