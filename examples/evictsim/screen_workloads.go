package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation"
)

func tellWorkloads(w io.Writer, r *simulation.Report) {
	workloads := slices.DeleteFunc(slices.Clone(r.Workloads), func(l simulation.WorkloadReport) bool { return !hurt(&l) })
	slices.SortStableFunc(workloads, func(a, b simulation.WorkloadReport) int { return worse(&a, &b) })
	if len(workloads) > 0 {
		c := columns{titles: []string{"WORST WORKLOADS", ">LIVE", ">OF", ">FROM", ">BELOW", ">HALF", ">MISSING"}}
		if len(r.Budgets) > 0 {
			c.titles = append(c.titles, ">BUDGET")
		}
		marked := slices.ContainsFunc(workloads, func(l simulation.WorkloadReport) bool { return l.PodsWithoutEndpoints > 0 })
		if marked {
			c.titles = append(c.titles, ">NO ENDPOINTS")
		}
		for i := range workloads[:min(len(workloads), mostWorkloads)] {
			l := &workloads[i]
			cells := []string{l.String(), count(l.LowestReady), count(l.Desired), short(l.LowestAt), short(l.Below), short(l.BelowHalf), precise(l.PodHoursMissing) + "h"}
			switch {
			case l.Budgets > 0:
				cells = append(cells, short(l.BelowBudget))
			case len(r.Budgets) > 0:
				cells = append(cells, "-")
			}
			if marked {
				cells = append(cells, fmt.Sprintf("%s for %s", count(l.MostEndpointsGone), short(l.LongestWithoutEndpoints)))
			}
			c.add(cells...)
		}
		fmt.Fprintln(w)
		c.write(w, "")
		if more := len(workloads) - mostWorkloads; more > 0 {
			fmt.Fprintf(w, "… and %s more of %s workloads with fewer pods than they want, or without endpoints\n", count(more), count(len(r.Workloads)))
		}
	}
}

// hurt says whether a workload lacked pods, or some were marked not Ready.
func hurt(l *simulation.WorkloadReport) bool { return l.Below > 0 || l.PodsWithoutEndpoints > 0 }

// worse orders workloads, the worst first: by the lowest share of pods that were live, or that were not marked not Ready.
func worse(a, b *simulation.WorkloadReport) int {
	serving := func(l *simulation.WorkloadReport) float64 {
		return min(l.LowestReadyShare, 1-float64(l.MostEndpointsGone)/float64(max(l.Desired, 1)))
	}
	return cmp.Or(cmp.Compare(serving(a), serving(b)), cmp.Compare(b.BelowHalf, a.BelowHalf), cmp.Compare(b.PodHoursMissing, a.PodHoursMissing),
		cmp.Compare(b.LongestWithoutEndpoints, a.LongestWithoutEndpoints))
}

// tellBudgets prints the budgets that were not kept. tellLimits prints what they refused. Who asks them keeps them: drains, and the evictor
// if it uses the eviction API.
func tellBudgets(w io.Writer, r *simulation.Report, evictionAPI bool) {
	if len(r.Budgets) == 0 {
		return
	}
	broken := slices.DeleteFunc(slices.Clone(r.Budgets), func(b simulation.BudgetReport) bool { return b.Below == 0 })
	slices.SortStableFunc(broken, func(a, b simulation.BudgetReport) int { return cmp.Compare(b.Below, a.Below) })
	why := "evictions are deletions, which ignore them"
	switch {
	case evictionAPI:
		why = "evictions respect them; failures and deletions do not"
	case r.DrainedByForce > 0:
		why = "drains respect them until their timeout; the evictor's deletions and failures do not"
	case r.Drains > 0:
		why = "drains respect them; the evictor's deletions and failures do not"
	}
	refusing := 0
	for i := range r.Budgets {
		refusing += min(r.Budgets[i].EvictionsRefused, 1)
	}
	held := ""
	if refusing > 0 {
		held = fmt.Sprintf("; %s refused evictions, see below", count(refusing))
	}
	fmt.Fprintf(w, "\n%s of %s not kept (%s)%s\n", count(len(broken)), some(len(r.Budgets), "disruption budget"), why, held)
	if len(broken) > 0 {
		c := columns{titles: []string{"BUDGET", ">LIVE", ">NEEDED", ">OF", ">BELOW FOR", ">BELOW BY"}}
		for i := range broken[:min(len(broken), mostWorkloads)] {
			b := &broken[i]
			c.add(b.String(), count(b.LowestReady), count(b.Needed), count(b.Desired), short(b.Below), count(b.MostBelow))
		}
		c.write(w, "")
	}
}

// refusals says which budgets refused evictions, those that kept most pods first; it is empty if none did.
func refusals(r *simulation.Report) string {
	refusing := slices.DeleteFunc(slices.Clone(r.Budgets), func(b simulation.BudgetReport) bool { return b.EvictionsRefused == 0 })
	if len(refusing) == 0 {
		return ""
	}
	slices.SortStableFunc(refusing, func(a, b simulation.BudgetReport) int {
		return cmp.Or(cmp.Compare(b.RefusedAtEnd, a.RefusedAtEnd), cmp.Compare(b.EvictionsRefused, a.EvictionsRefused), cmp.Compare(b.LongestRefused, a.LongestRefused))
	})
	var parts []string
	for i := range refusing[:min(len(refusing), mostUnplaced)] {
		b := &refusing[i]
		parts = append(parts, fmt.Sprintf("%s %s for up to %s", b, some(b.EvictionsRefused, "pod"), short(b.LongestRefused)))
	}
	if more := len(refusing) - mostUnplaced; more > 0 {
		parts = append(parts, some(more, "more budget"))
	}
	return fmt.Sprintf("%s refused evictions of %s, %s of them still at the end: %s", some(len(refusing), "disruption budget"), some(r.EvictionsRefused, "pod"),
		count(r.RefusedAtEnd), strings.Join(parts, ", "))
}
