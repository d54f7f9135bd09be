package drill

import (
	"cmp"
	"context"
	"slices"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Hurt is a workload that a loss hurts, and what helps.
type Hurt struct {
	*simulation.WorkloadReport
	Lost    int // its pods on the lost nodes
	Because string
	Remedy  string
	Refused string // what refused its pods at the nodes, as in 0/12 nodes: 8 taint, 4 cpu; empty if it is not the reason
}

// Hurts returns the workloads that a loss hurts most, at most so many. If pods are stuck on silent nodes, it also returns the outcome
// if people taint those nodes out of service; otherwise nil.
func (c *Cluster) Hurts(ctx context.Context, r Result, most int) (hurts []Hurt, outOfService *Result, err error) {
	var below []*simulation.WorkloadReport
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Below > 0 {
			below = append(below, w)
		}
	}
	slices.SortStableFunc(below, func(a, b *simulation.WorkloadReport) int {
		return cmp.Or(cmp.Compare(b.BelowHalf, a.BelowHalf), cmp.Compare(a.LowestReadyShare, b.LowestReadyShare), cmp.Compare(b.PodHoursMissing, a.PodHoursMissing))
	})
	if r.Stuck() > 0 {
		with, err := c.Play(ctx, r.Loss, true)
		if err != nil {
			return nil, nil, err
		}
		outOfService = &with
	}
	for _, w := range below[:min(len(below), most)] {
		h := Hurt{WorkloadReport: w}
		if wait := r.waits[w.String()]; wait != nil {
			h.Lost = wait.pods
		}
		because := c.reason(w, r, outOfService)
		h.Because, h.Remedy, h.Refused = because.text, because.remedy, because.refused
		hurts = append(hurts, h)
	}
	return hurts, outOfService, nil
}

// Stuck counts the pods that were deleted and could not be replaced before the lost nodes were back, because their objects, or the
// volumes attached to those nodes, stood in the way.
func (r *Result) Stuck() (stuck int) {
	for _, w := range r.waits {
		stuck += w.stuck
	}
	return stuck
}
