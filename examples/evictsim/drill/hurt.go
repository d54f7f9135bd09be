package drill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Result is a loss and its outcome with some settings.
type Result struct {
	Loss
	*simulation.Report
}

// Hurt is a workload that a loss hurts, and what helps.
type Hurt struct {
	*simulation.WorkloadReport
	Lost    int // its pods on the lost nodes
	Because string
	Remedy  string
}

// OutOfService is the remedy for stuck pods.
const OutOfService = "kubectl taint node NAME node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"

// remedyAfter is how long people take to see that lost nodes are off and to taint them.
const remedyAfter = 5 * time.Minute

// Hurts returns the workloads that a loss hurts most, at most so many. If pods of StatefulSets are stuck on silent nodes, it also
// returns the pod-hours lost if people taint those nodes out of service five minutes later; otherwise 0.
func (c *Cluster) Hurts(ctx context.Context, r Result, most int) (hurts []Hurt, withTaint float64, err error) {
	var below []*simulation.WorkloadReport
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Below > 0 {
			below = append(below, w)
		}
	}
	slices.SortStableFunc(below, func(a, b *simulation.WorkloadReport) int {
		return cmp.Or(cmp.Compare(b.BelowHalf, a.BelowHalf), cmp.Compare(a.LowestReadyShare, b.LowestReadyShare), cmp.Compare(b.PodHoursMissing, a.PodHoursMissing))
	})
	if c.Stuck(r) > 0 {
		remedied, err := c.Play(ctx, r.Loss, c.Today(), remedyAfter, 0)
		if err != nil {
			return nil, 0, err
		}
		withTaint = remedied.PodHoursLost
	}
	for _, w := range below[:min(len(below), most)] {
		hurts = append(hurts, c.hurt(w, r))
	}
	return hurts, withTaint, nil
}

// Stuck counts the pods, all of StatefulSets, that cannot come back before the lost nodes do.
func (c *Cluster) Stuck(r Result) (stuck int) {
	for i := range r.Workloads {
		if w := &r.Workloads[i]; c.stuck(w, r) {
			stuck += c.lost(w, r)
		}
	}
	return stuck
}

// lost counts the pods of a workload on the lost nodes.
func (c *Cluster) lost(w *simulation.WorkloadReport, r Result) (lost int) {
	on := c.workloads[w.String()]
	for _, name := range r.Loss.Nodes {
		lost += on[name]
	}
	return lost
}

// stuck says whether the workload's pods cannot come back before their nodes do.
func (c *Cluster) stuck(w *simulation.WorkloadReport, r Result) bool {
	return w.Kind == "StatefulSet" && c.lost(w, r) > 0 && w.Below >= r.For/2
}

// hurt says why a workload suffers, and what Kubernetes offers against it.
func (c *Cluster) hurt(w *simulation.WorkloadReport, r Result) Hurt {
	h := Hurt{WorkloadReport: w, Lost: c.lost(w, r)}
	waits := w.Below >= r.For/2
	switch {
	case c.stuck(w, r):
		h.Because = "its pods are stuck until their nodes are back, or are tainted out of service"
		h.Remedy = OutOfService
	case w.Desired == 1:
		h.Because = "it has one pod"
		h.Remedy = "a second replica on another node"
	case h.Lost > 1 && 2*h.Lost >= w.Desired && len(r.Loss.Nodes) < len(c.nodes):
		h.Because = fmt.Sprintf("%d of its %d pods were on the lost nodes", h.Lost, w.Desired)
		h.Remedy = "topologySpreadConstraints over " + r.spreadKey()
	case waits && r.MostPending > 0:
		h.Because = "there is no room for its pods elsewhere"
		if len(r.Unplaced) > 0 {
			h.Because += " (" + r.Unplaced[0].String() + ")"
		}
		h.Remedy = "more room, or lower requests"
	case w.BelowBudget > 0:
		h.Because = "its disruption budget needs more pods than this loss leaves"
		h.Remedy = "more replicas, or a budget that allows for a loss"
	default:
		h.Because = "its pods wait for their tolerationSeconds and their node's turn"
		h.Remedy = "shorter tolerationSeconds for unreachable and not-ready"
	}
	return h
}

// spreadKey is the topology key to spread over, so that such a loss takes less of a workload.
func (r *Result) spreadKey() string {
	if strings.HasPrefix(r.Name, "zone ") {
		return "topology.kubernetes.io/zone"
	}
	if label, _, ok := strings.Cut(r.Name, "="); ok {
		return label
	}
	return "kubernetes.io/hostname"
}
