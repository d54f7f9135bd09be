package drill

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// cause is why a workload suffers from a loss. Workloads with the same kind and text are one group.
type cause struct {
	kind, text string
	refused    string // what refused a pod at each node; empty if that is not why
	// freed means that its pods are stuck on the lost nodes, and suffer from this if those are tainted out of service.
	freed bool
}

// Kinds of causes. The others are the rules that refuse a pod at a node, by their names in simulation.Unplaced.Because.
const (
	nobodys     = "no controller"
	jobFailed   = "Job failed"
	lackedPods  = "lacked pods"
	stuckPods   = "stuck"
	notReadyOne = "behind a pod that is not Ready"
	singlePod   = "one pod"
	together    = "on the lost nodes together"
	turnNever   = "no turn"
	turnLate    = "late turn"
	noticedLate = "noticed late"
	tolerated   = "tolerated"
	forEver     = "tolerated for ever"
	noRoom      = "room"
	severalNo   = "several rules"

	spreadNo   = "topology spread"
	affinityNo = "pod affinity"
	portNo     = "host port"
	inUse      = "volume in use"
	volumeNo   = "volume"
	selectorNo = "selector"
	taintNo    = "taint"
	cordonedNo = "cordoned"
	nodesGone  = "not Ready"
)

var texts = map[string]string{
	nobodys:     "no controller recreates these pods",
	jobFailed:   "evicted pods count as failed, and more of them than backoffLimit end the Job",
	lackedPods:  "pods were missing before the loss",
	stuckPods:   "pods are stuck until their nodes are back, or are tainted out of service",
	notReadyOne: "a pod before them in the StatefulSet is not Ready",
	singlePod:   "there is one pod",
	together:    "half of the pods or more are on the lost nodes, and an even spread would put fewer there",
	turnNever:   "the turn of their nodes never came: evictions are slow or stop where many nodes have failed",
	turnLate:    "pods wait for their node's turn",
	noticedLate: "pods wait until the silence of their node counts",
	tolerated:   "pods wait for their tolerationSeconds",
	forEver:     "pods tolerate lost nodes for longer than this loss",
	severalNo:   "every other node refuses the pods for several reasons",
	spreadNo:    "topologySpreadConstraints still count the lost nodes",
	affinityNo:  "required pod affinity or anti-affinity leaves no node",
	portNo:      "host ports are taken on the other nodes",
	inUse:       "volumes are in use by the pods on the lost nodes",
	volumeNo:    "volumes cannot be reached from the other nodes",
	selectorNo:  "node selectors or node affinity leave no node",
	taintNo:     "pods do not tolerate the taints of the other nodes",
	cordonedNo:  "the other nodes are cordoned",
	nodesGone:   "no other node is there",
}

func because(kind string) cause { return cause{kind: kind, text: texts[kind]} }

// causeOf says what kept a workload's pods waiting longest. outOfService is the same loss with its nodes tainted so; nil if no pod is
// stuck.
func (c *Cluster) causeOf(w *simulation.WorkloadReport, r, outOfService *Result) cause {
	wait := r.waits[w.String()]
	failed := slices.ContainsFunc(r.FailedJobs, func(j simulation.FailedJob) bool {
		return w.Kind == "Job" && j.Namespace == w.Namespace && j.Name == w.Name
	})
	switch {
	case failed:
		return because(jobFailed)
	case wait == nil:
		return because(lackedPods)
	case wait.placing > max(wait.deleted, wait.evicting()) && wait.refusal != nil:
		return refusedBy(wait.refusal)
	case wait.deleted > max(wait.placing, wait.evicting()):
		return stuck(w, outOfService)
	case w.Desired == 1 && w.Kind != "Job":
		return because(singlePod)
	case w.Kind != "Job" && 2*wait.pods >= w.Desired && wait.pods > c.atBest(w.Desired, r.Label):
		return because(together)
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

// stuck is the cause for pods that wait until their silent nodes let go of them, and for those that would wait for something else
// then.
func stuck(w *simulation.WorkloadReport, outOfService *Result) cause {
	if outOfService != nil && !outOfService.halves(w) {
		switch freed := outOfService.waits[w.String()]; {
		case freed.refusal != nil:
			return then(refusedBy(freed.refusal))
		case freed.held > 0:
			return then(because(notReadyOne))
		}
	}
	return because(stuckPods)
}

func then(of cause) cause {
	of.text, of.freed = "pods are stuck, and tainting their nodes out of service would not suffice: "+of.text, true
	return of
}

// halves says whether a workload misses at most half of the pod-hours that it misses otherwise.
func (r *Result) halves(otherwise *simulation.WorkloadReport) bool {
	return !slices.ContainsFunc(r.Workloads, func(w simulation.WorkloadReport) bool {
		return w.String() == otherwise.String() && w.PodHoursMissing > otherwise.PodHoursMissing/2
	})
}

// before is the cause for pods that come back soon after they are evicted.
func (w *wait) before() cause {
	switch most := max(w.noticing, w.turn, w.tolerated); {
	case w.untainted > 0 && w.turn == most:
		return because(turnNever)
	case w.turn == most:
		return because(turnLate)
	case w.noticing == most:
		return because(noticedLate)
	case w.forever > 0:
		return because(forEver)
	}
	return because(tolerated)
}

// rulesOfNodes say for whom a node is. Where a node for the pod refuses it, that is the cause, however many other nodes there are.
var rulesOfNodes = []string{selectorNo, taintNo, cordonedNo, nodesGone}

// refusedBy is the cause for a pod that finds no node: the rule but for which most nodes would take it.
func refusedBy(r *simulation.Unplaced) (of cause) {
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
		most(func(check string) bool { return ofNodes(check) && check != nodesGone }),
	)
	switch _, known := texts[check]; {
	case check == "" && r.Because[nodesGone] == r.Nodes:
		of = because(nodesGone)
	case check == "":
		of = because(severalNo)
	case known:
		of = because(check)
	default: // the name of a resource
		of = cause{kind: noRoom, text: "there is no room for the pods elsewhere (" + check + ")"}
	}
	of.refused = r.String()
	return of
}
